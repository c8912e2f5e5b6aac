# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages, rooted and uneven collectives, all reductions and odd layouts on emulated ranks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

model = os.path.join(emulated.SOURCE, "test", "Integration", "Inputs", "exchanges.py")
sizes = {"ring": (1, 2, 5), "blocking": (2, 4), "pipeline": (3,), "rooted": (1, 3, 4), "uneven": (2, 5), "parts": (2, 3), "reductions": (3,), "layouts": (2,)}
if sys.argv[1:] == ["all"]:
    sizes = {name: [w for w in (1, 2, 3, 4, 5, 6, 8) if name != "blocking" or w % 2 == 0] for name in sizes}
emulated.main({f"{name}.w{w}": {"function": f"{model}:{name}", "inputs": f"{model}:{'flat' if name == 'parts' else 'inputs'}", "world-size": w}
               for name, several in sizes.items() for w in several},
              steps={f"parts.w{w}": ["launch"] * 8 for w in (2, 3)})  # neither a copy of a piece nor a cat of what came
