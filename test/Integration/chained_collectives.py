# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives that follow each other are one launch, right on several numbers of ranks, by each mechanism, under proof mode, and without fusion."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import chains  # noqa: E402
import emulated  # noqa: E402

SOURCE = os.path.join(os.path.dirname(__file__), "Inputs", "chains.py")


def job(name, w):
    return {"function": f"{SOURCE}:{name}", "inputs": f"{SOURCE}:{name}_inputs", "world-size": w}


jobs = {f"{name}.w{w}": job(name, w) for name in chains.PROGRAMS for w in (2, 3)}
for w in (1, 4, 5, 6, 8):
    jobs[f"transposed_exchange_scatter.w{w}"] = job("transposed_exchange_scatter", w)
jobs |= {"scatter_gather.w4": job("scatter_gather", 4), "long_mean.w4": job("long_mean", 4)}
one_launch = {name: ["launch"] for name in jobs}
wrong = emulated.check(jobs, steps=one_launch)
some = {name: jobs[name] for name in jobs if name.endswith(".w3")}
wrong |= {f"{name}.ldst": why for name, why in emulated.check(some, trials=1, options="mechanism=ldst", steps=one_launch).items()}
wrong |= {f"{name}.proof": why for name, why in emulated.check(some, trials=1, mode="proof", options="mechanism=ldst", steps=one_launch).items()}
wrong |= {f"{name}.proof.ll": why for name, why in emulated.check(some, trials=1, mode="proof", options="mechanism=ll", steps=one_launch).items()}
between = {f"{name}.w{w}": job(name, w) for name in chains.ROWS_BETWEEN for w in (2, 3, 4)}
wrong |= emulated.check(between)
wrong |= {f"{name}.proof": why for name, why in emulated.check(between, trials=1, mode="proof", options="mechanism=ldst").items()}
apart = {name: jobs[name] for name in ("transposed_exchange_scatter.w2", "twice_reduced.w2")}
wrong |= {f"{name}.apart": why for name, why in emulated.check(apart, trials=1, options="fuse=false").items()}
for name, reason in wrong.items():
    print(f"{name}: {reason}")
sys.exit(1 if wrong else 0)
