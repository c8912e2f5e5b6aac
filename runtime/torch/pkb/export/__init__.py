# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Capture of unmodified PyTorch + torch.distributed functions into bundles (docs/Tools/pkb-export.md)."""

import reprlib

from .errors import ExportError, HangError, InputError

__all__ = ["ExportError", "HangError", "InputError", "export"]


def export(fn, inputs, world_size, out, *, random=False, seed=0, trials=2, timeout=300.0):
    """Export `fn` as it runs on `world_size` ranks into the bundle `out`.

    fn, inputs: functions defined in files (not in a prompt or a lambda), or "FILE.py:NAME" strings.
    inputs(rank, world_size, device, trial=0) returns the tuple of arguments on that rank.
    random: replace floating-point inputs by normal random numbers. trials: fresh trials that the record must explain.
    timeout: seconds. Returns a dict: out, world_size, events, collectives, not_exercised, warnings.
    Raises ExportError (InputError, HangError) with one message; no file is left behind then.
    """
    from . import jobs

    job = jobs.Job(
        _ref(fn, "fn"), _ref(inputs, "inputs"), world_size, str(out), randomize=random, seed=seed, trials=trials, timeout=timeout
    )
    return jobs.run(job)


def _ref(value, what):
    import inspect
    import os

    from .source import Ref

    if isinstance(value, str):
        return Ref.parse(value, what)
    try:
        path = inspect.getsourcefile(inspect.unwrap(value))
    except TypeError as e:
        raise InputError(f"{what} must be a function defined in a file, got: {value!r}") from e
    name = getattr(value, "__qualname__", "")
    if not path or not os.path.isfile(path) or "<" in name:
        raise InputError(f"{what} must be a function at the top level of a file, got: {reprlib.repr(value)}")
    return Ref(os.path.abspath(path), name)
