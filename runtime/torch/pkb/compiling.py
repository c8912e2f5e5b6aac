# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pkb.compile: export, pkb-opt and load in one call."""

import hashlib
import inspect
import os
import pathlib
import shutil
import subprocess
import sys

from . import native
from .program import load


def compile(fn, inputs, *, group=None, target=None, cache_dir=None, timeout=600.0):
    """A Program for `fn` on the ranks of `group` (default: all). Collective.

    fn, inputs: functions at the top level of a file, or "FILE.py:NAME" strings; inputs(rank, world_size, device, trial=0) returns
    the tuple of arguments. target: e.g. "h200x4"; by default h200 with as many ranks as the group has. Rank 0 exports and
    compiles into cache_dir ($PKB_CACHE_DIR, else ~/.cache/pkb). Arguments outside of what was compiled go to `fn`, counted.
    Raises PkbError with the message of the step that failed, on every rank.
    """
    import torch.distributed as dist

    distributed = dist.is_available() and dist.is_initialized()
    rank, size = (dist.get_rank(group), dist.get_world_size(group)) if distributed else (0, 1)
    answer = [None]
    if rank == 0:
        try:
            answer[0] = ("ok", str(_build(_name(fn), _name(inputs), size, target or f"h200x{size}", cache_dir, timeout)))
        except native.PkbError as error:
            answer[0] = ("error", str(error))
    if size > 1:
        dist.broadcast_object_list(answer, src=dist.get_global_rank(group, 0) if group is not None else 0, group=group)
    kind, value = answer[0]
    if kind == "error":
        raise native.PkbError(value)
    return load(value, group, fallback=fn if callable(fn) else None)


def _name(function):
    if isinstance(function, str):
        return function
    path = inspect.getsourcefile(inspect.unwrap(function))
    name = getattr(function, "__qualname__", "")
    if not path or not os.path.isfile(path) or "<" in name:
        raise native.PkbError(f"{function!r} must be a function at the top level of a file")
    return f"{os.path.abspath(path)}:{name}"


def _tool(name):
    """An executable of pkb: $PKB_OPT for pkb-opt, beside the libraries, or on the path."""
    asked = os.environ.get(name.upper().replace("-", "_"))
    beside = native.library_directory().parent / "bin" / name
    found = asked or (str(beside) if beside.is_file() else shutil.which(name))
    if not found:
        raise native.PkbError(f"{name} is neither in {beside.parent} nor on the path; build pkb")
    return found


def _run(command, what, timeout):
    # A process of its own: the exporter forks ranks, which a process that uses CUDA must not.
    package = str(pathlib.Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env={**os.environ, "PYTHONPATH": path}, check=False)
    except subprocess.TimeoutExpired as error:
        raise native.PkbError(f"{what} took longer than {timeout} s") from error
    if done.returncode:
        text = (done.stderr or done.stdout).strip()
        raise native.PkbError(f"{what} failed: {text[-2000:]}")


def _build(fn, inputs, size, target, cache_dir, timeout):
    key = hashlib.sha256()
    for part in (fn, inputs, str(size), target):
        key.update(part.encode() + b"\n")
        file = part.rsplit(":", 1)[0]
        if os.path.isfile(file):
            key.update(pathlib.Path(file).read_bytes())
    root = pathlib.Path(cache_dir or os.environ.get("PKB_CACHE_DIR") or pathlib.Path.home() / ".cache" / "pkb")
    folder = root / "compiled" / key.hexdigest()[:32]
    folder.mkdir(parents=True, exist_ok=True)
    bundle, program = folder / "program.pkb", folder / "program.cu"
    _run([sys.executable, "-m", "pkb.export", fn, "--inputs", inputs, "--world-size", str(size), "-o", str(bundle)], "pkb-export", timeout)
    _run([_tool("pkb-opt"), str(bundle), f"--pkb-pipeline=target={target}", "-o", str(program)], "pkb-opt", timeout)
    return program
