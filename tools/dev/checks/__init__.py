# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One module per check; each has `run(tree)`, which yields findings, and a docstring that states its rule."""
