# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package of pkb.

    program = pkb.load("ar.cu")        # collective: all ranks of the process group load the same program
    result = program(x)                # same arguments and results as the function it was made from
    program = pkb.compile(fn, inputs)  # export, compile and load in one go
    pkb.shutdown()                     # leaves the other ranks in good order; done at exit otherwise

Submodules are imported on demand; importing `pkb` alone does not import torch.
"""

__version__ = "0.1.0"

_LAZY = {
    "load": "program",
    "Program": "program",
    "Context": "context",
    "context_for": "context",
    "shutdown": "context",
    "Emulator": "emulator",
    "compile": "compiling",
    "PkbError": "native",
    "GuardError": "native",
}


def __getattr__(name):
    import importlib

    if name in ("export", "worker"):
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_LAZY, "export"])
