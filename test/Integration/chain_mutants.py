# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives in a row in one kernel: right under the emulator's proof mode, and every ordering primitive of theirs is needed.

As mutants.py does for single collectives. Known to be equivalent, and left out: a weaker scope of what stays on one device (the flags by which the blocks of a rank
meet); one count more in the last meeting, or one less in the first; the barrier of a sync of scope block, where each thread reads what it has written
itself; and calls that all use one half of staging, for who has ended a call of two phases knows that all others have read what the first one brought.
"""
import argparse
import functools
import os
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "Inputs"), os.path.join(os.environ["PKB_SOURCE_DIR"], "runtime", "torch")]
import chain_cells  # noqa: E402
import executions  # noqa: E402
import mutants  # noqa: E402


CELLS = (("turning", "ldst"), ("turning", "ll"), ("straight", "ldst"), ("own_rows", "ldst"), ("own_rows", "ll"), ("dealt_rows", "ldst"), ("dealt_rows", "ll"),
         ("statistics", "ldst"), ("statistics", "ll"))  # fmt: skip


def kinds_of(sites, index, straight):
    """The mutants of a site that must be found."""
    primitive = sites[index]["primitive"]
    names = [site["primitive"] for site in sites]
    meetings = [i for i, name in enumerate(names) if name == "wait_blocks"]
    if primitive == "wait_blocks":
        return ("drop", "relax") + (("value",) if index != meetings[0] else ())
    if primitive == "signal" and index + 1 in meetings:
        return ("drop", "relax", "peer") + (("value",) if index + 1 != meetings[-1] else ())
    if straight and primitive == "block_barrier" and names[index - 1] == "block_barrier":
        return ()
    return () if primitive == "epoch_begin" else mutants.KINDS[primitive]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=16)
    options = parser.parse_args()
    tally = mutants.Tally(options.seeds)
    with tempfile.TemporaryDirectory() as folder:
        for kind, mechanism in CELLS:
            chain = chain_cells.Chain(kind, options.ranks)
            label = f"{chain.label()} by {mechanism}"
            source, path = os.path.join(folder, f"{kind}_{mechanism}.mlir"), os.path.join(folder, f"{kind}_{mechanism}.cu")
            with open(source, "w", encoding="utf-8") as f:
                f.write(chain.text(mechanism))
            if error := executions.compile_program(source, path, options.ranks):
                tally.fault(label, error)
                continue
            manifest = executions.manifest_of(path)
            sites = manifest["sites"]
            tally.count(label, sites, lambda index, sites=sites, kind=kind: kinds_of(sites, index, kind in ("straight", "statistics")),
                        functools.partial(mutants.outcome, chain, options.ranks, path, manifest))  # fmt: skip
    return tally.status()


if __name__ == "__main__":
    sys.exit(main())
