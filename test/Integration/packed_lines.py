# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed LL lines carry messages of any length and element, by themselves and under the memory model."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

SOURCE = os.path.join(os.path.dirname(__file__), "Inputs", "packed_lines.py")


def jobs(sizes):
    return {f"{name}.w{w}": {"function": f"{SOURCE}:{name}", "inputs": f"{SOURCE}:{name}_inputs", "world-size": w} for name in ("sums", "moves")
            for w in sizes}


wrong = emulated.check(jobs((2, 3, 5)), options="mechanism=ll")
wrong |= {f"{name} under the memory model": why for name, why in emulated.check({"moves.w2": jobs((2,))["moves.w2"]}, trials=2, mode="proof",
                                                                                  options="mechanism=ll").items()}
for name, reason in wrong.items():
    print(f"{name}: {reason}")
sys.exit(1 if wrong else 0)
