# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The problems of problems/ on every number of ranks from 1 to 8 that the emulator is promised for, at a size that fills neither vectors
nor equal parts, and at one with several chunks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

jobs = {}
for problem in ("001-allreduce", "002-allgather", "008-alltoall"):
    reference = os.path.join(emulated.SOURCE, "problems", problem, "reference.py")
    for w in (1, 2, 3, 5, 6, 8):
        jobs[f"{problem}.w{w}"] = {"function": f"{reference}:solution", "inputs": f"{reference}:inputs_tiny", "world-size": w}
    jobs[f"{problem}.large"] = {"function": f"{reference}:solution", "inputs": f"{reference}:inputs", "world-size": 2}
emulated.main(jobs)
