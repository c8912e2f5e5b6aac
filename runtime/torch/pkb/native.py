# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C interface of the run time (pkb_rt/pkb.h) through ctypes: what is not on the hot path."""

import ctypes
import functools
import os
import pathlib


class PkbError(RuntimeError):
    """The run time refused or failed. `status` is the pkb_status."""

    def __init__(self, text, status=0):
        super().__init__(text)
        self.status = status


class GuardError(PkbError):
    """The arguments are outside of what the program was compiled for; nothing was launched."""


class ContextDesc(ctypes.Structure):
    _fields_ = [
        ("abi_version", ctypes.c_uint32),
        ("rank", ctypes.c_int32),
        ("world_size", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("driver", ctypes.c_void_p),
        ("rendezvous", ctypes.c_char_p),
        ("arena_bytes", ctypes.c_int64),
        ("timeout_s", ctypes.c_double),
        ("debug", ctypes.c_int32),
    ]


def library_directory():
    """Where libpkb_rt.so lies: $PKB_LIBRARY_DIR, else beside an installed or built tree that holds this package."""
    asked = os.environ.get("PKB_LIBRARY_DIR")
    package = pathlib.Path(__file__).resolve().parent
    candidates = [pathlib.Path(asked)] if asked else [package / "lib", package.parents[1] / "lib", package.parents[2] / "build" / "lib"]
    for candidate in candidates:
        if (candidate / "libpkb_rt.so").is_file():
            return candidate
    raise PkbError(f"libpkb_rt.so is not in {candidates[-1]}; build pkb, or set PKB_LIBRARY_DIR to the folder that holds it")


@functools.cache
def runtime():
    """libpkb_rt, with its functions declared."""
    # torch first: libpkb_torch and libpkb_aten use the libtorch of this process.
    import torch  # noqa: F401

    lib = ctypes.CDLL(str(library_directory() / "libpkb_rt.so"))
    pointer, text, status = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    declare = {
        "pkb_default_timeout": (status, [ctypes.POINTER(ctypes.c_double)]),
        "pkb_context_create": (status, [ctypes.POINTER(ContextDesc), ctypes.POINTER(pointer)]),
        "pkb_context_destroy": (None, [pointer]),
        "pkb_context_abort": (None, [pointer, text]),
        "pkb_context_synchronize": (status, [pointer, pointer]),
        "pkb_program_load": (status, [pointer, text, text, ctypes.POINTER(pointer)]),
        "pkb_program_unload": (None, [pointer]),
        "pkb_program_refuse": (status, [pointer, text]),
        "pkb_program_launch_count": (ctypes.c_int32, [pointer]),
        "pkb_program_manifest": (text, [pointer]),
        "pkb_program_notes": (text, [pointer]),
        "pkb_artefact_open": (status, [text, ctypes.POINTER(pointer)]),
        "pkb_artefact_close": (None, [pointer]),
        "pkb_artefact_name": (text, [pointer, ctypes.c_int32]),
        "pkb_artefact_member": (status, [pointer, text, ctypes.POINTER(pointer), ctypes.POINTER(ctypes.c_size_t)]),
        "pkb_last_error": (text, []),
    }
    for name, (result, arguments) in declare.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


@functools.cache
def operators():
    """libpkb_torch: registers torch.ops.pkb."""
    import torch

    path = library_directory() / "libpkb_torch.so"
    if not path.is_file():
        raise PkbError(f"{path} is missing; build pkb with torch 2.11.0 found (PKB_TORCH_ROOT)")
    runtime()
    torch.ops.load_library(str(path))
    lib = ctypes.CDLL(str(path))
    lib.pkb_torch_register.restype, lib.pkb_torch_register.argtypes = ctypes.c_int64, [ctypes.c_void_p, ctypes.c_int32]
    lib.pkb_torch_unregister.restype, lib.pkb_torch_unregister.argtypes = None, [ctypes.c_int64]
    return lib


def default_timeout():
    """What PKB_TIMEOUT_S says, in seconds. Raises PkbError if that is no time."""
    seconds = ctypes.c_double()
    check(runtime().pkb_default_timeout(ctypes.byref(seconds)))
    return seconds.value


def check(status):
    """Raises PkbError with the run time's message unless `status` is 0."""
    if status:
        text = runtime().pkb_last_error().decode(errors="replace")
        raise (GuardError if status == 3 else PkbError)(text, status)
