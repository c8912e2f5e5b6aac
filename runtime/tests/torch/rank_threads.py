# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of a test as threads of its process: with nothing, with a context on emulated devices, and with a process group."""

import contextlib
import threading

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.multi_threaded_pg import _install_threaded_pg, _uninstall_threaded_pg

import pkb


def on_threads(size, body):
    """body(rank) on `size` threads at once. Its results by rank; raises what the first thread that failed has raised, when all have ended."""
    results, errors = [None] * size, []

    def main(rank):
        try:
            results[rank] = body(rank)
        except BaseException as error:  # whatever ends a rank is the caller's
            errors.append(error)

    threads = [threading.Thread(target=main, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


@contextlib.contextmanager
def _threaded_groups():
    """Process groups whose ranks are threads."""
    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    _install_threaded_pg()
    try:
        yield
    finally:
        _uninstall_threaded_pg()
        torch._C._distributed_c10d._set_thread_isolation_mode(False)


def on_ranks(size, body, *, group=False, arena_bytes=32 << 20, timeout_s=30.0):
    """body(rank, context) on `size` emulated ranks; `group`: in a process group of theirs, too. A rank that raises releases the others. As on_threads."""
    with _threaded_groups() if group else contextlib.nullcontext(), pkb.Emulator(size) as machine:
        store = dist.HashStore()

        def main(rank):
            if group:
                dist.init_process_group("threaded", rank=rank, world_size=size, store=store)
            context = machine.context(rank, arena_bytes=arena_bytes, timeout_s=timeout_s)
            try:
                return body(rank, context)
            except BaseException as error:
                context.abort(str(error))
                raise
            finally:
                context.close()

        return on_threads(size, main)
