# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose collectives are all carried out by one mechanism, on 1 to 8 emulated ranks; by copy engines under the memory model, too."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

exchanges = os.path.join(emulated.SOURCE, "test", "Integration", "Inputs", "exchanges.py")
folder = os.path.join(emulated.SOURCE, "test", "Integration", "programs")


def jobs(name, sizes):
    return {f"{name}.w{w}": {"function": f"{folder}/{name}.py:solution", "inputs": f"{folder}/{name}.py:inputs", "world-size": w} for w in sizes}


wrong = {}
for mechanism, name, sizes, mode in (("nccl", "moving_data", (1, 2, 3, 4, 5, 6, 8), "value"), ("nccl", "adding_up", (1, 2, 3, 4, 5, 6, 8), "value"),
                                     ("nccl", "moving_data", (3,), "proof"), ("copy_engine", "moving_data", (1, 2, 3, 4, 5, 6, 8), "value"),
                                     ("copy_engine", "moving_data", (2, 3), "proof")):
    found = emulated.check(jobs(name, sizes), mode=mode, options=f"mechanism={mechanism}")
    wrong.update({f"{job} by {mechanism}, {mode}": reason for job, reason in found.items()})
for mechanism, name in (("nccl", "parts"), ("copy_engine", "even_parts")):
    parts = {f"{name}.w{w}": {"function": f"{exchanges}:{name}", "inputs": f"{exchanges}:flat", "world-size": w} for w in (1, 2, 5)}
    wrong.update({f"{job} by {mechanism}": reason for job, reason in emulated.check(parts, options=f"mechanism={mechanism}").items()})
for name, reason in wrong.items():
    print(f"{name}: {reason}")
sys.exit(1 if wrong else 0)
