# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A collective whose result is to be in one of the program's arguments writes it there, if nobody wants what was there: no copy, right by each mechanism and
under proof mode. Else a copy writes it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

SOURCE = os.path.join(os.path.dirname(__file__), "Inputs", "in_place.py")
LAUNCH, COPY, ATEN, LIBRARY = "launch", "copy", "aten", "library"
# The function of the inputs, the steps of our kernels.
PROGRAMS = {
    "plain": ("one", [LAUNCH]), "returned": ("one", [LAUNCH]), "averaged": ("two", [LAUNCH, ATEN]), "computed": ("two", [LAUNCH]),
    "normalized": ("two", [LAUNCH]), "spread": ("one", [LAUNCH]), "saved": ("one", None), "mixed": ("one", [LAUNCH, COPY]), "twice": ("one", [LAUNCH]),
    "some_rows": ("one", [LAUNCH]), "buckets": ("one", [LAUNCH, LAUNCH, ATEN]), "in_turn": ("one", [LAUNCH, LAUNCH]), "across": ("one", [LAUNCH, LAUNCH]),
    "kept_part": ("one", [ATEN, LAUNCH]), "gathered": ("whole", [LAUNCH]), "gathered_part": ("shard", [LAUNCH]), "sharded": ("shard", [LAUNCH]),
    "scattered": ("shard", [LAUNCH]), "scattered_back": ("shard", [LAUNCH]), "exchanged": ("shard", [LAUNCH, COPY]), "transposed": ("one", None),
    "counted": ("state", [LAUNCH, COPY]),
}  # fmt: skip


def job(name, w):
    return {"function": f"{SOURCE}:{name}", "inputs": f"{SOURCE}:{PROGRAMS[name][0]}_inputs", "world-size": w}


def steps(jobs):
    return {cell: PROGRAMS[cell.partition(".")[0]][1] for cell in jobs if PROGRAMS[cell.partition(".")[0]][1]}


jobs = {f"{name}.w{w}": job(name, w) for name in PROGRAMS for w in (2, 3)} | {f"plain.w{w}": job("plain", w) for w in (5, 8)}
wrong = emulated.check(jobs, steps=steps(jobs))
few = {name: jobs[name] for name in jobs if name.endswith(".w3") and not name.startswith(("spread", "in_turn"))}  # no LL lines for a broadcast
for mechanism in ("ldst", "ll"):
    wrong |= {f"{name}.proof.{mechanism}": why for name, why in
              emulated.check(few, trials=2, mode="proof", options=f"mechanism={mechanism}", steps=steps(few)).items()}  # fmt: skip
# The library is only trusted with the whole of one memory.
kinds = {"plain.w3": [LIBRARY], "spread.w3": [LIBRARY], "gathered.w3": [LIBRARY], "sharded.w3": [LIBRARY, COPY], "scattered_back.w3": [LIBRARY, COPY]}
moved = {name: jobs[name] for name in kinds}
wrong |= {f"{name}.copy_engine": why for name, why in emulated.check(moved, trials=2, mode="proof", options="mechanism=copy_engine").items()}
wrong |= {f"{name}.nccl": why for name, why in emulated.check(moved, trials=2, options="mechanism=nccl", steps=kinds).items()}
large = {"plain.large": dict(job("plain", 2), inputs=f"{SOURCE}:large_inputs")}
large |= {f"{name}.long": dict(job(name, 4), inputs=f"{SOURCE}:long_inputs") for name in ("plain", "twice")}
expected = {name: [LAUNCH] * (2 if name.startswith("twice") else 1) for name in large}
wrong |= emulated.check(large, trials=2, steps=expected)
wrong |= {f"{name}.proof": why for name, why in emulated.check(large, trials=1, mode="proof", steps=expected).items()}
for name, reason in wrong.items():
    print(f"{name}: {reason}")
sys.exit(1 if wrong else 0)
