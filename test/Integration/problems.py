# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The problems of problems/ at a size that fills neither vectors nor equal parts, on numbers of ranks from 1 to 8 that are dealt out to them
(with the argument `all` each on every number), and those that one kernel solves at a size with several chunks: of rows, too."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

SIZES = (1, 2, 3, 5, 6, 8)
LARGE = ("001-allreduce", "002-allgather", "007-reducescatter", "008-alltoall")
folder = os.path.join(emulated.SOURCE, "problems")
jobs = {}
for number, problem in enumerate(sorted(n for n in os.listdir(folder) if os.path.exists(os.path.join(folder, n, "problem.toml")))):
    reference = os.path.join(folder, problem, "reference.py")
    fitting = [w for w in SIZES if problem != "016-gemm-reducescatter" or w != 5]  # 24 rows are shared
    dealt = [fitting[(number + step) % len(fitting)] for step in (0, 2, 4)]
    for w in fitting if sys.argv[1:] == ["all"] else dealt:
        jobs[f"{problem}.w{w}"] = {"function": f"{reference}:solution", "inputs": f"{reference}:inputs_tiny", "world-size": w}
    if problem in LARGE:
        jobs[f"{problem}.large"] = {"function": f"{reference}:solution", "inputs": f"{reference}:inputs", "world-size": 2}
norm = os.path.join(folder, "018-tp-rms-norm", "reference.py")
for inputs, w in (("many", 2), ("many", 3), ("long", 2)):
    jobs[f"018-tp-rms-norm.{inputs}.w{w}"] = {"function": f"{norm}:solution", "inputs": f"{norm}:inputs_{inputs}", "world-size": w}
emulated.main(jobs)
