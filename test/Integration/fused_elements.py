# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element-wise operators and changes of layout around a collective are one launch with it, right on several numbers of ranks, by each mechanism and
without fusion."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import elementwise  # noqa: E402
import emulated  # noqa: E402

SOURCE = os.path.join(os.path.dirname(__file__), "Inputs", "elementwise.py")
jobs = {f"{name}.w{w}": {"function": f"{SOURCE}:{name}", "inputs": f"{SOURCE}:{name}_inputs", "world-size": w}
        for name in elementwise.PROGRAMS for w in (2, 3)}
for w in (1, 4, 5, 6, 8):
    jobs[f"residual.w{w}"] = {"function": f"{SOURCE}:residual", "inputs": f"{SOURCE}:residual_inputs", "world-size": w}
    jobs[f"transposed_exchange.w{w}"] = {"function": f"{SOURCE}:transposed_exchange", "inputs": f"{SOURCE}:transposed_exchange_inputs",
                                         "world-size": w}
one_launch = {name: ["launch"] for name in jobs}
jobs |= {f"{name}.w{w}": {"function": f"{SOURCE}:{name}", "inputs": f"{SOURCE}:{name}_inputs", "world-size": w}
         for name in elementwise.PARTLY for w in (2, 3)}
wrong = emulated.check(jobs, steps=one_launch)
some = {name: jobs[name] for name in jobs if name.endswith(".w3")}
wrong |= {f"{name}.ldst": why for name, why in emulated.check(some, trials=1, options="mechanism=ldst", steps=one_launch).items()}
apart = {name: jobs[name] for name in jobs if name.endswith(".w2")}
wrong |= {f"{name}.apart": why for name, why in emulated.check(apart, trials=1, options="fuse=false").items()}
for name, reason in wrong.items():
    print(f"{name}: {reason}")
sys.exit(1 if wrong else 0)
