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
    "normalized": ("two", [LAUNCH]), "spread": ("one", [LAUNCH]), "saved": ("one", None), "mixed": ("one", [LAUNCH, COPY]), "twice": ("one", None),
    "some_rows": ("one", [LAUNCH, COPY]),
}  # fmt: skip


def job(name, w):
    return {"function": f"{SOURCE}:{name}", "inputs": f"{SOURCE}:{PROGRAMS[name][0]}_inputs", "world-size": w}


def steps(jobs):
    return {cell: PROGRAMS[cell.partition(".")[0]][1] for cell in jobs if PROGRAMS[cell.partition(".")[0]][1]}


jobs = {f"{name}.w{w}": job(name, w) for name in PROGRAMS for w in (2, 3)} | {f"plain.w{w}": job("plain", w) for w in (5, 8)}
wrong = emulated.check(jobs, steps=steps(jobs))
few = {name: jobs[name] for name in jobs if name.endswith(".w3") and not name.startswith("spread")}
for mechanism in ("ldst", "ll"):
    wrong |= {f"{name}.proof.{mechanism}": why for name, why in
              emulated.check(few, trials=2, mode="proof", options=f"mechanism={mechanism}", steps=steps(few)).items()}  # fmt: skip
plain = {"plain.w3": jobs["plain.w3"], "spread.w3": jobs["spread.w3"]}
wrong |= {f"{name}.copy_engine": why for name, why in emulated.check(plain, trials=2, mode="proof", options="mechanism=copy_engine").items()}
wrong |= {f"{name}.nccl": why for name, why in
          emulated.check(plain, trials=2, options="mechanism=nccl", steps={name: [LIBRARY] for name in plain}).items()}  # fmt: skip
large = {"plain.large": dict(job("plain", 2), inputs=f"{SOURCE}:large_inputs")}
wrong |= emulated.check(large, trials=2, steps={"plain.large": [LAUNCH]})
for name, reason in wrong.items():
    print(f"{name}: {reason}")
sys.exit(1 if wrong else 0)
