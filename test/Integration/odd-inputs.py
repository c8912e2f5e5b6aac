# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every collective with complex, 0-dim and non-contiguous tensors, and all_to_all with ranks that send or get nothing, on emulated ranks.
With the argument `all`, on all numbers of ranks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

model = os.path.join(emulated.SOURCE, "test", "Integration", "Inputs", "odd_inputs.py")
# Each with the function that makes its inputs, and numbers of ranks.
PROGRAMS = {"some_empty": ("flat", (2, 4)), "all_empty_some": ("flat", (3,)), "nothing": ("flat", (2,)), "as_real": ("complex_numbers", (1, 3)),
            "as_complex": ("complex_numbers", (2,)), "other_bits": ("flat", (2,)), "every_complex": ("complex_numbers", (3,)),
            "every_zero_dim": ("flat", (3,)), "every_strided": ("flat", (2,)),
            "extremes": ("flat", (2, 3))}  # fmt: skip
every = (1, 2, 3, 4, 5, 6, 8) if sys.argv[1:] == ["all"] else ()
emulated.main({f"{name}.w{w}": {"function": f"{model}:{name}", "inputs": f"{model}:{inputs}", "world-size": w}
               for name, (inputs, sizes) in PROGRAMS.items() for w in every or sizes})  # fmt: skip
