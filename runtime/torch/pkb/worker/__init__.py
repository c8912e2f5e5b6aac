# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPU ranks of pkb-run: one process per GPU, started by pkb-run, fed with one JSON job per line (docs/Tools/pkb-run.md).

protocol.py   lines between pkb-run and a rank, and small values between ranks
judge.py      is a result right (the same rules as tools/pkb-run/Judge.cpp)
clones.py     argument sets: copies that keep aliasing, groups that rotate
timing.py     loop and graph step, alternating rounds, statistics
variants.py   what is timed: ours, eager, CUDA graph, torch.compile
counts.py     launches from a CUDA graph, bytes over the link
oracle.py     the function in float64
job.py        one job: load, check, time
"""
