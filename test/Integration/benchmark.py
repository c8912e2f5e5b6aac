# RUN: %python %s
# REQUIRES: torch, pkb-checkout
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The unmodified reference files 1, 2 and 8 of a ParallelKernelBench checkout (PKB_CHECKOUT), with random inputs, on 2, 3, 4 and 8
emulated ranks; 240 x 240 is no multiple of a chunk."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

emulated.main({f"{problem}.w{w}": {"pkb": os.environ["PKB_CHECKOUT"], "problem": problem, "m": 240, "n": 240, "random": True,
                                   "world-size": w}
               for problem in (1, 2, 8) for w in (2, 3, 4, 8)})
