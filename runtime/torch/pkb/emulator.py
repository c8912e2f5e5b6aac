# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emulated ranks in Python, whose tensors are CPU tensors (pkb_rt/emu.h): threads of this process (Emulator), or the processes of a process
group where PKB_DEVICE=emulated (pkb.load)."""

import ctypes
import functools
import tempfile

from . import native
from .context import Context


class _Options(ctypes.Structure):
    # The head of pkb_emu_options; the rest keeps what pkb_emu_default_options puts there.
    _fields_ = [
        ("struct_bytes", ctypes.c_uint32),
        ("devices", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
        ("mode", ctypes.c_int32),
        ("rest", ctypes.c_uint8 * 4096),
    ]


@functools.cache
def _library():
    path = native.library_directory() / "libpkb_emu.so"
    if not path.is_file():
        raise native.PkbError(f"{path} is missing; build pkb")
    lib = ctypes.CDLL(str(path))
    lib.pkb_emu_default_options.argtypes = [ctypes.c_void_p]
    lib.pkb_emu_default_options.restype = None
    for name, result, arguments in (
        ("pkb_emu_create", ctypes.c_void_p, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)]),
        ("pkb_emu_destroy", None, [ctypes.c_void_p]),
        ("pkb_emu_driver", ctypes.c_void_p, [ctypes.c_void_p]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class Emulator:
    """`devices` emulated devices. Use as a context manager, around the contexts that are made on it."""

    def __init__(self, devices, seed=0):
        options = _Options()
        _library().pkb_emu_default_options(ctypes.byref(options))
        options.devices, options.seed, options.mode = devices, seed, 0
        why = ctypes.c_char_p()
        self.devices = devices
        self.pointer = _library().pkb_emu_create(ctypes.byref(options), ctypes.byref(why))
        if not self.pointer:
            raise native.PkbError(f"the emulator cannot start: {(why.value or b'').decode()}")
        self._directory = tempfile.TemporaryDirectory(prefix="pkb-", dir="/tmp")

    def context(self, rank, *, rendezvous=None, **settings):
        """The context of one rank; to be called by a thread per rank, since the ranks meet here.

        rendezvous: a directory in which ranks of other processes meet this one, each with an emulator of its own.
        """
        driver = _library().pkb_emu_driver(self.pointer)
        return Context(rank, self.devices, rank, rendezvous or self._directory.name, driver=driver, **settings)

    def close(self):
        if self.pointer:
            _library().pkb_emu_destroy(self.pointer)
            self.pointer = None
            self._directory.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
