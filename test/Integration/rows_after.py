# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of rows behind a collective are one launch with it, right on every number of ranks that the emulator is promised for, by each mechanism, under proof
mode, and without fusion."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402
import rows_after  # noqa: E402

SOURCE = os.path.join(os.path.dirname(__file__), "Inputs", "rows_after.py")


def job(name, w):
    return {"function": f"{SOURCE}:{rows_after.PROGRAMS[name]}", "inputs": f"{SOURCE}:{name}_inputs", "world-size": w}


jobs = {f"{name}.w{w}": job(name, w) for name in rows_after.PROGRAMS for w in (2, 3)}
jobs |= {f"rms_norm.w{w}": job("rms_norm", w) for w in (1, 4, 5, 6, 8)} | {f"scatter_norm.w{w}": job("scatter_norm", w) for w in (1, 4, 8)}
jobs |= {"softmax.w4": job("softmax", 4), "norm_scatter.w4": job("norm_scatter", 4), "layer_norm.w8": job("layer_norm", 8), "rms_norm_long.w4": job("rms_norm_long", 4)}
jobs |= {"rms_norm_wide.w8": job("rms_norm_wide", 8), "softmax_wide.w5": job("softmax_wide", 5)}
one_launch = {name: ["launch"] for name in jobs}
wrong = emulated.check(jobs, steps=one_launch)
some = {name: jobs[name] for name in jobs if name.endswith(".w3")}
wrong |= {f"{name}.ldst": why for name, why in emulated.check(some, trials=1, options="mechanism=ldst", steps=one_launch).items()}
short = {name: jobs[name] for name in some if not name.startswith(("rms_norm_long", "rms_norm_wide", "rms_norm_team", "vocabulary_softmax_wide"))}
for mechanism in ("ldst", "ll"):
    wrong |= {f"{name}.proof.{mechanism}": why for name, why in
              emulated.check(short, trials=1, mode="proof", options=f"mechanism={mechanism}", steps=one_launch).items()}  # fmt: skip
apart = {name: jobs[name] for name in ("rms_norm.w2", "scatter_norm.w3")}
wrong |= {f"{name}.apart": why for name, why in emulated.check(apart, trials=1, options="fuse=false").items()}
for name, reason in wrong.items():
    print(f"{name}: {reason}")
sys.exit(1 if wrong else 0)
