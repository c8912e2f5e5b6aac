# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artefacts `X.pkx` (docs/Rationale/Artefact.md), and the function that one was made from."""

import ctypes
import itertools
import json
import os
import shutil
import sys
import tempfile
import threading
import weakref

from . import native


def is_artefact(path):
    """Whether a file is one, by its name or first bytes. False if it cannot be read, or is no file (a pipe would have to be waited for)."""
    if str(path).endswith(".pkx"):
        return True
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return False


def members(path):
    """All members of an artefact but its index: name -> bytes. Raises PkbError if it is not what was written."""
    runtime = native.runtime()
    artefact = ctypes.c_void_p()
    native.check(runtime.pkb_artefact_open(os.fsencode(path), ctypes.byref(artefact)))
    try:
        result = {}
        for i in itertools.count():
            name = runtime.pkb_artefact_name(artefact, i)
            if name is None:
                return result
            data, size = ctypes.c_void_p(), ctypes.c_size_t()
            native.check(runtime.pkb_artefact_member(artefact, name, ctypes.byref(data), ctypes.byref(size)))
            result[name.decode()] = ctypes.string_at(data, size.value) if size.value else b""
    finally:
        runtime.pkb_artefact_close(artefact)


_importing = threading.Lock()  # sys.modules is the process's


class Original:
    """The function of an artefact, from the copy of its source, imported at the first call.

    What its file imports when it is loaded comes from that copy too, and stays out of sys.modules: the process may have other versions.
    """

    def __init__(self, path):
        self._path, self._function, self._folder = path, None, None
        files = members(path)
        self._head = json.loads(files["bundle.json"]) if "bundle.json" in files else None
        self._files = {name: data for name, data in files.items() if name.startswith("source/")}

    def __bool__(self):
        """Whether the artefact carries a function."""
        return self._head is not None

    def __call__(self, *args, **kwargs):
        if self._function is None:
            with _importing:
                self._function = self._load()
        return self._function(*args, **kwargs)

    def _load(self):
        from .export import source

        self._folder = tempfile.mkdtemp(prefix="pkb-original-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        for name, data in self._files.items():
            place = os.path.join(self._folder, *name.split("/"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(data)
        place = os.path.join(self._folder, *self._head["function"]["file"].split("/"))
        modules = {name: os.path.join(self._folder, *file.split("/")) for name, file in self._head.get("modules", {}).items()}
        packages = {name.rpartition(".")[0] for name in modules} - {""}
        meta_path, path = list(sys.meta_path), list(sys.path)
        before = {name: sys.modules.pop(name) for name in [*modules, *packages] if name in sys.modules}
        known = set(sys.modules)
        source.use_bundle_modules(modules)
        try:
            return source.load(source.Ref(place, self._head["function"]["qualname"]), f"the original function of '{self._path}'")
        except Exception as error:
            raise native.PkbError(f"the original function of '{self._path}' cannot be loaded: {type(error).__name__}: {error}") from error
        finally:
            sys.meta_path[:], sys.path[:] = meta_path, path
            for name in set(sys.modules) - known:
                file = getattr(sys.modules[name], "__file__", None) or ""
                if name in packages or file.startswith(self._folder):
                    del sys.modules[name]
            sys.modules.update(before)
