# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs written after real code: a Megatron row-parallel linear and an MoE dispatch with equal splits, `aten.call` and
collectives mixed, on 2, 3 and 4 emulated ranks; an average inside pairs of ranks on 4 and 6."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

folder = os.path.join(emulated.SOURCE, "test", "Integration", "programs")
emulated.main({f"{name}.w{w}": {"function": f"{folder}/{name}.py:solution", "inputs": f"{folder}/{name}.py:inputs", "world-size": w}
               for name, sizes in (("megatron_row_parallel", (2, 3, 4)), ("moe_dispatch_equal", (2, 3, 4)), ("subgroup_pairs", (4, 6)))
               for w in sizes})
