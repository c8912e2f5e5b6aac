# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank's place among its peers: one context per process group, made when the first program is loaded."""

import atexit
import contextlib
import ctypes
import datetime
import os
import shutil
import socket
import sys
import tempfile

from . import native


class Context:
    """Meets the other ranks and maps the arena. Collective over `size` ranks.

    device: CUDA ordinal, or of the emulator if `driver` (an address of a pkb_driver) is given.
    rendezvous: directory of Unix sockets, the same on all ranks, with a path of less than 90 bytes.
    arena_bytes, timeout_s: 0 for the defaults (PKB_ARENA_MIB, PKB_TIMEOUT_S). Raises PkbError.
    """

    def __init__(self, rank, size, device, rendezvous, *, driver=None, arena_bytes=0, timeout_s=0.0, debug=False):
        self.rank, self.size, self.device, self.emulated = rank, size, device, driver is not None
        self.programs = []
        self.machine = None  # an emulator of its own
        self.pointer = ctypes.c_void_p()
        directory = os.fsencode(rendezvous) if rendezvous else None
        desc = native.ContextDesc(1, rank, size, device, driver, directory, arena_bytes, timeout_s, int(debug))
        native.check(native.runtime().pkb_context_create(ctypes.byref(desc), ctypes.byref(self.pointer)))

    def synchronize(self):
        """Waits for the current stream. Raises PkbError if a peer was lost, or an operator failed."""
        stream = None
        if not self.emulated:
            import torch

            stream = torch.cuda.current_stream(self.device).cuda_stream
        native.check(native.runtime().pkb_context_synchronize(self.pointer, stream))

    def abort(self, reason):
        """Leaves without meeting anyone; the peers learn of it."""
        if self.pointer:
            native.runtime().pkb_context_abort(self.pointer, reason.encode())

    def close(self):
        """Unloads the programs, waits for calls in flight and meets the other ranks. Collective, unless aborted."""
        if self.pointer:
            for program in list(self.programs):
                program.unload()
            native.runtime().pkb_context_destroy(self.pointer)
            self.pointer = ctypes.c_void_p()
            if self.machine:
                self.machine.close()


_contexts = {}  # process group (None: no torch.distributed) -> Context
# A forked child has none: CUDA does not survive a fork, and the sockets are the parent's.
os.register_at_fork(after_in_child=_contexts.clear)


def context_for(group=None):
    """The context of a process group (default: the default one), made on first use. Collective.

    On GPUs, or on the fake driver if PKB_DEVICE=emulated. Without torch.distributed: RANK, WORLD_SIZE and PKB_RENDEZVOUS of the environment, or a single rank. Contexts of groups that have been destroyed are
    closed here.
    """
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        key = group if group is not None else dist.group.WORLD
        _close_destroyed()
        if key not in _contexts:
            rank, size = dist.get_rank(key), dist.get_world_size(key)
            if rank < 0:
                raise native.PkbError("this rank is not in the process group that is to load the program")
            _contexts[key] = _make_of_group(key, rank, size)
        return _contexts[key]
    if None not in _contexts:
        rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        rendezvous = os.environ.get("PKB_RENDEZVOUS")
        if size > 1 and not rendezvous:
            raise native.PkbError(f"{size} ranks must meet: call torch.distributed.init_process_group first, or set PKB_RENDEZVOUS to a directory")
        _contexts[None] = _make(rank, size, lambda: rendezvous)
    return _contexts[None]


def store_of(group):
    """The store through which the ranks of a process group meet."""
    import torch.distributed.distributed_c10d as c10d

    return c10d._get_process_group_store(group)


def _close_destroyed():
    import torch.distributed.distributed_c10d as c10d

    for key in [key for key in _contexts if key is not None and key not in c10d._world.pg_map]:
        _contexts.pop(key).close()


def _make_of_group(group, rank, size):
    """A context whose ranks meet in a folder of their own, which is removed when they have."""
    folder = None

    def meet():
        nonlocal folder
        folder = _meet_through_store(store_of(group), rank, size)
        return folder

    try:
        context = _make(rank, size, meet)
    except BaseException:
        if folder and rank == 0 and folder != os.environ.get("PKB_RENDEZVOUS"):
            atexit.register(shutil.rmtree, folder, ignore_errors=True)  # not now: who is late is to learn who was missing
        raise
    if folder and folder != os.environ.get("PKB_RENDEZVOUS"):
        with contextlib.suppress(OSError):  # the last one to leave finds it empty
            os.rmdir(folder)
    return context


def _make(rank, size, rendezvous):
    import torch

    if not _contexts:
        atexit.register(_at_exit)
    if os.environ.get("PKB_DEVICE") == "emulated":
        from .emulator import Emulator

        machine = Emulator(size)
        context = machine.context(rank, rendezvous=rendezvous())
        context.machine = machine  # lives as long
        return context
    try:
        torch.cuda.init()
        device = torch.cuda.current_device()
    except (AssertionError, RuntimeError) as error:
        text = str(error).strip().split("\n", 1)[0]
        raise native.PkbError(f"a program runs on GPUs, and this process has none ({text}); for emulated ranks set PKB_DEVICE=emulated, or use pkb.Emulator") from error
    return Context(rank, size, device, rendezvous())


def publish(store, name, rank, make, timeout_s=None):
    """What `make()` returns on rank 0, on all ranks of a store: a text. Its error is raised on all ranks. Collective.

    timeout_s: how long to wait for rank 0 (default: PKB_TIMEOUT_S).
    """
    # Every rank counts its own calls in the store, so that a later one, after a new start too, meets no entry of an earlier one.
    entry = f"{name}/{store.add(f'{name}/calls/{rank}', 1)}"
    if rank == 0:
        try:
            text = make()
        except native.PkbError as error:
            store.set(entry, f"error\n{error}")
            raise
        store.set(entry, f"ok\n{text}")
        return text
    timeout = timeout_s or native.default_timeout()
    try:
        store.wait([entry], datetime.timedelta(seconds=timeout))
    except RuntimeError as error:
        raise native.PkbError(f"rank 0 has not come to '{name}' within {timeout:g} s") from error
    kind, text = store.get(entry).decode().split("\n", 1)
    if kind == "error":
        raise native.PkbError(f"rank 0: {text}")
    return text


def _meet_through_store(store, rank, size):
    """A fresh directory, made by rank 0 and told to the others through the group's store."""
    if size == 1:
        return None
    if os.environ.get("PKB_RENDEZVOUS"):
        return os.environ["PKB_RENDEZVOUS"]
    host = socket.gethostname()

    def make():
        return f"{host}\n{tempfile.mkdtemp(prefix='pkb-', dir='/tmp')}"

    first, directory = publish(store, "pkb/rendezvous", rank, make).split("\n", 1)
    if first != host:
        raise native.PkbError(f"rank 0 runs on host {first}, rank {rank} on {host}; the ranks of a program must share one host")
    return directory


def shutdown():
    """Unloads all programs and leaves all contexts in good order. Collective; later loads start anew."""
    for context in list(_contexts.values()):
        context.close()
    _contexts.clear()


def _at_exit():
    failed = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if failed is not None:
        for context in _contexts.values():
            context.abort(f"{type(failed).__name__}: {failed}")
    shutdown()
