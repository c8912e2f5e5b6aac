# RUN: %src/tools/dev/build-plugin %src/docs/Examples/plugin/TwoShot.cpp -o %t.so --build %build
# RUN: mlir-pdll %src/docs/Examples/patterns/all-reduce.pdll -x=mlir -o %t.pdl.mlir
# RUN: %python %s %t.so %t.pdl.mlir
# REQUIRES: plugins, torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the examples of a plugin, a script and a pattern file make of a program runs right on emulated ranks, and is another program than without."""
import os
import sys

PLUGIN, PATTERNS = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Integration", "Inputs"))
import emulated  # noqa: E402

SUMS = os.path.join(HERE, "Inputs", "sums.py")
SCRIPT = os.path.join(emulated.SOURCE, "docs", "Examples", "scripts", "few-blocks.mlir")


def jobs(function, ranks):
    return {f"{function}.w{w}": {"function": f"{SUMS}:{function}", "inputs": f"{SUMS}:inputs", "world-size": w} for w in ranks}


wrong = {}


def check(what, some, steps, **more):
    wrong.update({f"{what}: {name}": why for name, why in emulated.check(some, trials=1, steps={name: steps for name in some}, **more).items()})


at_once, in_parts = jobs("at_once", (1, 2, 3, 8)), jobs("in_parts", (2, 3))
check("without", {name: at_once[name] for name in ("at_once.w2",)}, ["launch"])
check("alone", {"at_once.w1": at_once["at_once.w1"]}, ["library"], options="comm-passes=two-shot", flags=[f"--load-pass-plugin={PLUGIN}"])
plugged = jobs("at_once", (2, 3, 4, 5, 6, 8))
check("plugin", plugged, ["launch", "launch"], options="fuse=false comm-passes=two-shot", flags=[f"--load-pass-plugin={PLUGIN}"])
check("plugin, one kernel", {name: plugged[name] for name in ("at_once.w2", "at_once.w4")}, ["launch"], options="comm-passes=two-shot", flags=[f"--load-pass-plugin={PLUGIN}"])
check("script", {name: at_once[name] for name in ("at_once.w2", "at_once.w3", "at_once.w8")}, ["launch"], options=f"script={SCRIPT}")
check("without", in_parts, ["launch", "launch"], options="fuse=false")
check("patterns", in_parts, ["launch"], options=f"fuse=false comm-passes=pkb-apply-patterns{{file={PATTERNS}}}")
for name, reason in wrong.items():
    print(f"{name}: {reason}")
sys.exit(1 if wrong else 0)
