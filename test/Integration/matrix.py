# RUN: %python %s --ranks 3 --mechanisms ldst,ll
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value matrix: every collective on every dtype, by every mechanism, on emulated ranks, against the recorder's definition of collectives.

    matrix.py [--ranks 1,2,3,4,5,6,8] [--mechanisms ldst,ll,nccl] [--seed N]

One program per mechanism and number of ranks holds all cells that are legal for it; each is called twice, on other values. Prints a table of collectives and
dtypes per mechanism: right cells of all, over the numbers of ranks; then why cells are missing.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCE, BUILD = os.environ["PKB_SOURCE_DIR"], os.environ["PKB_BUILD_DIR"]
sys.path[:0] = [os.path.join(FOLDER, "Inputs"), os.path.join(SOURCE, "runtime", "torch")]
import cells  # noqa: E402
import ranks as emulated  # noqa: E402

CALLS = 2
NCCL_SCALED = ("f64", "f32", "f16", "bf16")
NCCL_REDUCES = NCCL_SCALED + ("i8", "ui8", "i32", "i64", "i1")


def reason_against(cell, mechanism):
    """Why the mechanism does not carry the cell out, as the table of legality has it; None if it does."""
    several = cell.ways > 1
    if mechanism == "ll":
        if cell.name in cells.ROOTED or cell.name == "permute":
            return "ranks that get no lines of each other would not wait for each other"
        if several and (cell.size == 0 or (cell.uneven and 0 in _flat(cell.counts(cell.rows[0])))):
            return "an empty message has no lines"
    if mechanism == "nccl" and cell.kind:
        if cell.kind in ("band", "bor", "bxor"):
            return "the library has no bitwise reductions"
        names = NCCL_SCALED if cell.kind in ("avg", "premul_sum") else NCCL_REDUCES
        if cells.NAMES[cell.dtype][0] not in names and not (cell.dtype.is_complex and cell.kind != "premul_sum"):
            return "the library does not reduce this dtype in this way"
    return None


def _flat(table):
    return [n for row in table for n in row] if table and isinstance(table[0], list) else table


def manifest_of(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return json.loads(text[text.index("/* pkb-manifest") + len("/* pkb-manifest") : text.index("*/")])


def compile_program(source, target, ranks, mechanism=""):
    """Status and messages of pkb-opt."""
    options = f"target=h200x{ranks}" + (f" mechanism={mechanism}" if mechanism else "")
    command = [os.path.join(BUILD, "bin", "pkb-opt"), source, f"--pkb-pipeline={options}", "-o", target]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def compile_cells(chosen, ranks, mechanism, folder):
    """The emitted program, or what pkb-opt said."""
    base = os.path.join(folder, f"{mechanism}_{ranks}")
    with open(base + ".mlir", "w", encoding="utf-8") as f:
        f.write(cells.module(chosen, ranks))
    status, error = compile_program(base + ".mlir", base + ".cu", ranks, mechanism)
    return (None, error) if status else (base + ".cu", "")


def run_cells(chosen, ranks, program, seed=0):
    """For each cell what is wrong, "" if nothing."""
    given = [[[cell.inputs(rank, call) for rank in range(ranks)] for cell in chosen] for call in range(CALLS)]
    result = emulated.Run(program, ranks, lambda call, rank: [t for cell in given[call] for t in cell[rank]],
                          manifest_of(program)["region_bytes"], calls=CALLS, seed=seed, idle=20.0).go()  # fmt: skip
    if result.finding != "ok" or result.error:
        return [f"{result.finding}: {result.text} {result.error}".strip()] + ["not run"] * (len(chosen) - 1)
    wrong, at = [], 0
    for number, cell in enumerate(chosen):
        wrong.append("")
        for call in range(CALLS):
            for rank in range(ranks):
                for k, want in enumerate(cell.expected(given[call][number], rank)):
                    got = result.outputs[call][rank][at + k]
                    if want is not None and not cell.agrees(got, want):
                        wrong[-1] = f"rank {rank}, call {call}, result {k}: got {got.flatten()[:6].tolist()}, expected {want.flatten()[:6].tolist()}"
        at += len(cell.totals()[1])
    return wrong


def table(mechanism, counted):
    """Lines: collectives down, dtypes across, right cells of all."""
    names = [cells.NAMES[d][0].replace("complex", "c") for d in cells.DTYPES]
    lines = [f"{mechanism:<17}" + "".join(f"{n:>9}" for n in names)]
    for name in cells.REDUCING + cells.MOVING:
        row = [counted.get((mechanism, name, d), (0, 0)) for d in cells.DTYPES]
        lines.append(f"{name:<17}" + "".join(f"{f'{right}/{all_}' if all_ else '-':>9}" for right, all_ in row))
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", default="1,2,3,4,5,6,8")
    parser.add_argument("--mechanisms", default="ldst,ll")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counted, missing, wrong, programs = {}, collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for mechanism in options.mechanisms.split(","):
            for ranks in map(int, options.ranks.split(",")):
                chosen = []
                for cell in cells.cells(ranks, mechanism):
                    reason = reason_against(cell, mechanism)
                    if reason:
                        missing[mechanism, reason] += 1
                    else:
                        chosen.append(cell)
                program, error = compile_cells(chosen, ranks, mechanism, folder)
                outcome = run_cells(chosen, ranks, program, options.seed) if program else [error] + ["not compiled"] * (len(chosen) - 1)
                programs += 1
                for cell, reason in zip(chosen, outcome):
                    right, all_ = counted.get((mechanism, cell.name, cell.dtype), (0, 0))
                    counted[mechanism, cell.name, cell.dtype] = (right + (not reason), all_ + 1)
                    if reason:
                        wrong.append(f"{mechanism}, {ranks} ranks, {cell.label()}: {reason}")
    for mechanism in options.mechanisms.split(","):
        print("\n".join(table(mechanism, counted)) + "\n")
    for (mechanism, reason), count in missing.items():
        print(f"{mechanism}: {count} cells are not there: {reason}")
    print("\n".join(wrong[:20]))
    total = sum(all_ for _, all_ in counted.values())
    print(f"{total - len(wrong)} of {total} cells right, in {programs} programs")
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
