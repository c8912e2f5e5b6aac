# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package of pkb. Submodules are imported on demand; importing `pkb` alone does not import torch."""

__version__ = "0.1.0"


def __getattr__(name):
    if name in ("export",):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
