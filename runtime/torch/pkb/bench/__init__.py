# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pkb-bench: many programs x ranks x shapes x dtypes, made, run, timed and kept as results (docs/Tools/pkb-bench.md)."""
