# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results that are views of later results, that repeat their elements, that have none, or that operators make in odd ways, on emulated ranks. With the argument `all`, on all
numbers of ranks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

model = os.path.join(emulated.SOURCE, "test", "Integration", "Inputs", "odd_results.py")
PROGRAMS = {"view_before_base": (2,), "overlapping_view_first": (3,), "other_type_first": (2,), "view_of_argument_first": (3,), "expanded": (1, 2),
            "expanded_before_base": (3,), "lazy_bits": (2,), "own_argument_changed": (3,),
            "losses": (2,), "memory_formats": (3,), "optimizer_step": (2,), "routing": (3,),
            "empty": (1, 2, 3, 4), "empty_between_two": (1, 3)}  # fmt: skip
every = (1, 2, 3, 4, 5, 6, 8) if sys.argv[1:] == ["all"] else ()
emulated.main({f"{name}.w{w}": {"function": f"{model}:{name}", "inputs": f"{model}:inputs", "world-size": w}
               for name, sizes in PROGRAMS.items() for w in every or sizes})  # fmt: skip
