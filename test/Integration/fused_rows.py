# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that exchange one number per row are one launch, right on every number of ranks that the emulator is promised for; without fusion they are right,
too."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402
import row_statistics  # noqa: E402

SOURCE = os.path.join(os.path.dirname(__file__), "Inputs", "row_statistics.py")
NORM = os.path.join(emulated.SOURCE, "problems", "018-tp-rms-norm", "reference.py")


def job(file, function, inputs, world_size):
    return {"function": f"{file}:{function}", "inputs": f"{file}:{inputs}", "world-size": world_size}


jobs = {f"018.w{w}": job(NORM, "solution", "inputs_tiny", w) for w in (1, 2, 3, 4, 5, 6, 8)}
jobs["018.large"] = job(NORM, "solution", "inputs_256", 2)
for name in row_statistics.PROGRAMS:
    for w in (2, 3):
        jobs[f"{name}.w{w}"] = job(SOURCE, name, f"{name}_inputs", w)
wrong = emulated.check(jobs, steps={name: ["launch"] for name in jobs})
for mechanism in ("ldst", "ll"):
    some = {name: jobs[name] for name in ("018.w4", "l2_normalize.w3", "half_precision.w2")}
    wrong |= {f"{name}.{mechanism}": why for name, why in
              emulated.check(some, options=f"mechanism={mechanism}", steps={name: ["launch"] for name in some}).items()}
apart = {name: jobs[name] for name in ("018.w2", "mean_of_activation.w2", "strided_rows.w3")}
wrong |= {f"{name}.apart": why for name, why in emulated.check(apart, options="fuse=false").items()}
# Every thread a fiber, under the weak memory model.
wrong |= {f"{name}.proof": why for name, why in emulated.check({"018.w3": jobs["018.w3"]}, trials=1, mode="proof").items()}
for name, reason in wrong.items():
    print(f"{name}: {reason}")
sys.exit(1 if wrong else 0)
