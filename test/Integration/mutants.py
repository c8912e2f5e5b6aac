# RUN: %python %s --ranks 3 --collectives reduce_scatter,gather,permute,all_to_all_v
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every ordering primitive of the emitted kernels is needed: with one of them dropped or weakened, the emulator's proof mode, or a wrong value, must show it.

    mutants.py [--ranks N] [--seeds N] [--collectives all_reduce,...]

A program per collective by ldst, with several chunks per block in a ring, and some by ll and by copy engines. A mutant sits at one site on all ranks; it is killed if one of the
seeds shows it.
"""
import argparse
import functools
import os
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "Inputs")]
import cells  # noqa: E402
import executions  # noqa: E402
import ranks as emulated  # noqa: E402
import torch  # noqa: E402

CALLS = 3
# Per primitive, what a mutant does that must be found (docs/Rationale/Emulator.md has the whole table). The epoch's are the same in every kernel.
KINDS = {"signal": ("drop", "relax", "narrow", "value", "peer"), "wait": ("drop", "relax", "narrow", "value", "peer"), "wait_blocks": ("drop", "relax"),
         "block_barrier": ("drop", "relax"), "epoch_end": ("drop",), "epoch_begin": ("parity",), "store_ll": ("drop", "value"), "load_ll": ("drop",), "gather_ll": ("drop",)}  # fmt: skip
SCHEDULE = "#xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 1>"
COPIES = "#xfer.schedule<mechanism = copy_engine, blocks = 4, threads = 64, chunk = 64, depth = 0, slots = 1, unroll = 1>"
LINES = "#xfer.schedule<mechanism = ll, blocks = 2, threads = 64, chunk = 80, depth = 0, slots = 1, unroll = 1>"


def mechanism_of(schedule):
    return schedule.split("mechanism = ")[1].split(",")[0]


def kinds_of(site, schedule):
    """The mutants of a site that must be found. Where copies have pushed the data, one half of staging serves all calls, a block has one chunk, and the kernel has stored
    nothing before it signals; the kernels around it only meet, and that of the next call stands for the last one's."""
    primitive = site["primitive"]
    if schedule is not COPIES:
        return KINDS[primitive]
    if site["kernel"].endswith("_barrier"):
        return {"signal": ("drop", "peer"), "wait": ("drop", "peer")}.get(primitive, ())
    return {"signal": ("drop", "relax", "narrow", "peer"), "wait": ("drop", "relax", "narrow", "peer")}.get(primitive, ())


def program(cell, ranks, folder, schedule):
    """One cell's program by the given schedule, called several times in a row by one launch each."""
    base = os.path.join(folder, f"{cell.name}_{mechanism_of(schedule)}")
    text = cells.module([cell], ranks)
    lines = text.split("\n")
    at = next(i for i, line in enumerate(lines) if " = comm." in line)
    place = lines[at].rindex(" : ")
    lines[at] = f"{lines[at][:place]} {{xfer.schedule = {schedule}}}{lines[at][place:]}"
    with open(base + ".mlir", "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    return base + ".mlir", base + ".cu"


def outcome(cell, ranks, path, manifest, seed, mutant):
    """What a run shows: "" if nothing."""
    given = [[cell.inputs(rank, call) for rank in range(ranks)] for call in range(CALLS)]
    result = emulated.Run(path, ranks, lambda call, rank: given[call][rank], manifest["region_bytes"], calls=CALLS, seed=seed, mode=emulated.PROOF,
                          mutant=mutant, idle=0.3).go()  # fmt: skip
    if result.finding != "ok":
        return result.finding
    if result.error:
        return f"error: {result.error}"
    for call in range(CALLS):
        for rank in range(ranks):
            for k, want in enumerate(cell.expected(given[call], rank)):
                if want is not None and not cell.agrees(result.outputs[call][rank][k], want):
                    return "wrong value"
    return ""


class Tally:
    """Mutants tried and killed. A `run` is a function of (seed, mutant) to what shows, "" if nothing; mutant: (site, kind), or None for the program as it is."""

    def __init__(self, seeds):
        self.seeds, self.tried, self.killed, self.alive = seeds, 0, 0, []

    def fault(self, label, text):
        self.alive.append(f"{label}: {text}")

    def count(self, label, sites, kinds, run):
        """Every mutant that kinds(index of the site) names, after three runs of the program as it is."""
        for seed in range(3):
            if found := run(seed, None):
                self.fault(label, f"without a mutant: {found}")
        for index, site in enumerate(sites):
            for kind in kinds(index):
                self.tried += 1
                if any(run(seed, (site["id"], kind)) for seed in range(self.seeds)):
                    self.killed += 1
                else:
                    self.fault(label, f"{kind} of {site['primitive']}, site {site['id']}")

    def status(self):
        """Prints what is alive and the counts; the exit status of the test."""
        print("\n".join(self.alive))
        print(f"{self.killed} of {self.tried} mutants killed")
        return 1 if self.alive or not self.tried else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--collectives", default=",".join(cells.REDUCING + cells.MOVING))
    options = parser.parse_args()
    chosen = []
    everybody = [list(range(options.ranks))]
    for name in options.collectives.split(","):
        kind = "sum" if name in cells.REDUCING else None
        chosen.append((cells.Cell(name, torch.bfloat16, 104, everybody, kind, salt=1), SCHEDULE))
        if name in ("reduce", "all_gather"):
            chosen.append((cells.Cell(name, torch.bfloat16, 96, everybody, kind, salt=1), COPIES))
        if name in ("reduce_scatter", "all_gather_v"):
            chosen.append((cells.Cell(name, torch.bfloat16, 40, everybody, kind, salt=1), LINES))
    tally = Tally(options.seeds)
    with tempfile.TemporaryDirectory() as folder:
        for cell, schedule in chosen:
            label = f"{cell.label()} by {mechanism_of(schedule)}"
            source, path = program(cell, options.ranks, folder, schedule)
            if error := executions.compile_program(source, path, options.ranks):
                tally.fault(label, error)
                continue
            manifest = executions.manifest_of(path)
            sites = manifest["sites"]
            tally.count(label, sites, lambda index, sites=sites, schedule=schedule: kinds_of(sites[index], schedule),
                        functools.partial(outcome, cell, options.ranks, path, manifest))  # fmt: skip
    return tally.status()


if __name__ == "__main__":
    sys.exit(main())
