# RUN: %python %s
# From the third call on as one graph: launches with pointers that are null on some ranks.
# RUN: env PKB_CALL_GRAPHS=1 %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose ranks differ, on emulated ranks: rank-dependent constants and shapes, code and results of some ranks only, groups
that run different code, a rank that communicates with nobody, stages, a ring and a halo,
copies with gaps, and results that nobody reads."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

model = os.path.join(emulated.SOURCE, "test", "Integration", "programs", "ranks_differ.py")
sizes = {"scaled": (1, 4), "logging": (3,), "uneven": (2, 5), "sides": (2, 6), "reshaped": (3,), "alone": (4,),
         "stages": (2, 4), "ring": (2, 3), "halo": (2, 4), "kept": (2, 3, 5), "unread": (2, 3),
         "unread_by_all": (1, 4)}
emulated.main({f"{name}.w{w}": {"function": f"{model}:{name}", "inputs": f"{model}:{'short_last' if name == 'uneven' else 'inputs'}",
                                "world-size": w} for name, several in sizes.items() for w in several})
