# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pkb.compile: export, pkb-opt and load in one call, with a cache on disk (docs/Rationale/Artefact.md)."""

import atexit
import contextlib
import fcntl
import hashlib
import inspect
import json
import os
import pathlib
import reprlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings

from . import native, processes
from .artefact import members
from .context import publish, store_of
from .program import load


def compile(fn, inputs, *, group=None, context=None, target=None, cache_dir=None, timeout=600.0):
    """A Program for `fn` on the ranks of `group` (default: all). Collective.

    fn, inputs: functions at the top level of a file, or "FILE.py:NAME" strings; inputs(rank, world_size, device, trial=0) returns
    the tuple of arguments. context: instead of a group's (emulated ranks). target: e.g. "h200x4"; by default h200 with as many ranks as there are.
    Rank 0 exports and compiles, unless the cache (cache_dir, else $PKB_CACHE_DIR, else ~/.cache/pkb) has an artefact made from the same
    sources, arguments, target and compiler; the others wait, at most `timeout` seconds, which each step may take too. A cache that cannot
    be used costs a warning. Arguments outside of what was compiled go to `fn`, counted.
    The file is imported again, in other processes: what is compiled is what it says, not what this process has made of the function or its module.
    Raises PkbError with the message of the step that failed, on every rank.
    """
    import torch.distributed as dist

    exporter = sys.modules.get(f"{__package__}.export.source")
    if exporter is not None and exporter.importing:
        raise native.PkbError(
            f"pkb.compile is called at the top level of {exporter.importing}, which the export of a function of that file imports again; "
            "put what is not to run then under `if __name__ == '__main__':`, or the function into a file of its own"
        )
    job = {"fn": _name(fn), "inputs": _name(inputs)}
    if context is None and dist.is_available() and dist.is_initialized():
        key = group if group is not None else dist.group.WORLD
        rank, size = dist.get_rank(key), dist.get_world_size(key)
    else:
        key = None
        rank, size = (context.rank, context.size) if context else (int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))
    job.update(world_size=size, target=target or f"h200x{size}")

    def build():
        return str(_Cache(cache_dir, timeout).artefact(job, inputs if callable(inputs) else None))

    # Ranks that share no store share the cache: the first that gets its lock builds, the others find what it made.
    path = build() if key is None else publish(store_of(key), "pkb/compile", rank, build, timeout)
    return load(path, group, context=context, fallback=fn if callable(fn) else True)


def _name(function):
    if isinstance(function, str):
        file, colon, name = function.rpartition(":")
        if not colon or not os.path.isfile(file):
            raise native.PkbError(f"a function must be given itself or as FILE.py:NAME, got: '{function}'")
        return f"{os.path.abspath(file)}:{name}"
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        path = None
    name = getattr(function, "__qualname__", "")
    if not path or not os.path.isfile(path) or "<" in name:
        raise native.PkbError(f"{reprlib.repr(function)} must be a function at the top level of a file, or FILE.py:NAME")
    found = sys.modules.get(function.__module__)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not function and function.__module__ in sys.modules:
        raise native.PkbError(f"{reprlib.repr(function)} is not what '{name}' of {path} is; give that, or put the wrapper into a file under its own name")
    return f"{os.path.abspath(path)}:{name}"


def _tool(name):
    """An executable of pkb: $PKB_OPT for pkb-opt, beside the libraries, or on the path."""
    asked = os.environ.get(name.upper().replace("-", "_"))
    beside = native.library_directory().parent / "bin" / name
    found = shutil.which(asked) if asked else (str(beside) if beside.is_file() else shutil.which(name))
    if not found:
        raise native.PkbError(f"{asked or name} is neither in {beside.parent} nor on the path; build pkb")
    return found


def _run(command, what, timeout):
    # A process of its own: the exporter forks ranks, which a process that uses CUDA must not.
    package = str(pathlib.Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    try:
        done = processes.run(command, timeout, env={**os.environ, "PYTHONPATH": path})
    except subprocess.TimeoutExpired as error:
        raise native.PkbError(f"{what} took longer than {timeout} s") from error
    if done.returncode:
        text = (done.stderr or done.stdout).strip()
        raise native.PkbError(f"{what} failed: {text[-2000:]}")


def _digest(*parts):
    key = hashlib.sha256()
    for part in parts:
        key.update(part if isinstance(part, bytes) else str(part).encode())
        key.update(b"\n")
    return key.hexdigest()


def _file_digest(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _compiler():
    """What stands for the compiler: its executable, the exporter and the device headers."""
    package = pathlib.Path(__file__).resolve().parent
    headers = os.environ.get("PKB_RT_INCLUDE") or package.parents[1] / "include"
    files = [*sorted((package / "export").glob("*.py")), *sorted(pathlib.Path(headers).glob("pkb_rt/**/*.*"))]
    return _digest(_file_digest(_tool("pkb-opt")), *map(_file_digest, files))


def _describe(value):
    """Shapes, dtypes and constants of arguments, nested."""
    import torch

    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{list(value.shape)}{list(value.stride())}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(_describe, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{k}: {_describe(v)}' for k, v in value.items())})"
    if isinstance(value, torch.nn.Module):
        return _describe(dict([*value.named_parameters(), *value.named_buffers()]))
    return repr(value) if isinstance(value, (int, float, bool, str, type(None), torch.dtype, torch.Size)) else type(value).__name__


_private = []  # a folder, made when it is needed
_making = threading.Lock()


def _private_folder():
    """A cache of this process, for want of one on disk: its threads may be ranks."""
    with _making:
        if not _private:
            _private.append(tempfile.mkdtemp(prefix="pkb-cache-"))
            atexit.register(shutil.rmtree, _private[0], ignore_errors=True)
        return _private[0]


class _Cache:
    """Artefacts in a folder, by the hash of what they were made from.

    A file `<key>.json` lists the sources that an export has read, with their hashes, and names the artefact; the key is what is known
    before an export. So a change in a module that the function imports is noticed, wherever it lies.
    """

    def __init__(self, folder, timeout):
        root = pathlib.Path(folder or os.environ.get("PKB_CACHE_DIR") or pathlib.Path.home() / ".cache" / "pkb")
        self.folder, self.timeout = root / "compiled", timeout

    def artefact(self, job, inputs):
        arguments = ""
        if inputs is not None:
            try:
                arguments = _describe(inputs(0, job["world_size"], "cpu"))
            except Exception as error:
                raise native.PkbError(f"inputs {job['inputs']} failed: {type(error).__name__}: {error}") from error
        key = _digest(json.dumps(job, sort_keys=True), arguments, _compiler(), *(_file_digest(job[f].rpartition(":")[0]) for f in ("fn", "inputs")))[:32]
        try:
            return self._get(key, job)
        except OSError as error:
            self._warn(error, stacklevel=5)
        return self._private()._get(key, job)

    def _private(self):
        return _Cache(_private_folder(), self.timeout)

    def _warn(self, error, stacklevel):
        warnings.warn(f"pkb: the cache '{self.folder}' is not used: {error}; set PKB_CACHE_DIR to a writable folder", stacklevel=stacklevel)

    def _get(self, key, job):
        """Raises OSError if the folder cannot be used, and then nothing was compiled."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock(self.folder / f"{key}.lock"):
            # What a full folder did not take, an earlier call has left in the private one.
            return self._find(key) or (self._private()._find(key) if _private else None) or self._make(key, job)

    def _make(self, key, job):
        """Compiles once; the private folder takes what this one has no room for."""
        try:
            work = tempfile.TemporaryDirectory(prefix="pkb-compile-")
        except OSError as error:
            raise native.PkbError(f"there is no folder to compile in: {error}; set TMPDIR to a writable one") from error
        with work:
            built = self._build(pathlib.Path(work.name), job)
            try:
                return self._keep(key, built)
            except OSError as error:
                self._warn(error, stacklevel=7)
            try:
                return self._private()._keep(key, built)
            except OSError as error:
                raise native.PkbError(f"there is no room for what was compiled: {error}; set PKB_CACHE_DIR or TMPDIR to a writable folder") from error

    @contextlib.contextmanager
    def _lock(self, path):
        with open(path, "w") as file:
            deadline = time.monotonic() + self.timeout
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise OSError(f"another process has held '{path}' for {self.timeout:g} s") from None
                    time.sleep(0.02)
            yield

    def _find(self, key):
        """The artefact under a key, if its sources are what they were and the file is whole."""
        record = self.folder / f"{key}.json"
        try:
            entry = json.loads(record.read_text())
            path, sources = self.folder / entry["artefact"], dict(entry["sources"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            warnings.warn(f"pkb: '{record}' in the cache is damaged; made again", stacklevel=5)
            return None
        if any(_file_digest(source) != digest for source, digest in sources.items()):
            return None
        try:
            members(path)
        except native.PkbError as error:
            warnings.warn(f"pkb: the artefact in the cache is made again: {error}", stacklevel=5)
            return None
        return path

    def _keep(self, key, built):
        """Puts an artefact under a key, whole or not at all. Raises OSError if the folder does not take it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{key}.", dir=self.folder) as here:
            files = members(built)
            origins = json.loads(files["bundle.json"])["origins"]
            path = self.folder / f"{_digest(built.read_bytes())[:32]}.pkx"
            record = {"artefact": path.name, "sources": [[origins[f], hashlib.sha256(files[f]).hexdigest()] for f in sorted(origins)]}
            parts = pathlib.Path(here) / "artefact", pathlib.Path(here) / "record"
            shutil.copyfile(built, parts[0])
            parts[1].write_text(json.dumps(record, indent=1))
            os.replace(parts[0], path)
            os.replace(parts[1], self.folder / f"{key}.json")
        return path

    def _build(self, folder, job):
        bundle, program = folder / "program.pkb", folder / "program.pkx"
        _run(
            [sys.executable, "-m", "pkb.export", job["fn"], "--inputs", job["inputs"], "--world-size", str(job["world_size"]), "-o", str(bundle)],
            "pkb-export", self.timeout,
        )
        _run([_tool("pkb-opt"), str(bundle), f"--pkb-pipeline=target={job['target']}", "-o", str(program)], "pkb-opt", self.timeout)
        return program
