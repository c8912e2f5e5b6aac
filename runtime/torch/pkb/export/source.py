# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The user's files: load a function by FILE.py:NAME, find the modules it pulled in, run them again from a bundle's copy."""

import hashlib
import importlib.machinery
import importlib.util
import os
import sys
from dataclasses import dataclass

from . import sites
from .errors import ExportError, InputError


@dataclass
class Ref:
    """A function in a file: absolute path and qualified name."""

    path: str
    qualname: str

    @staticmethod
    def parse(text, flag):
        """From "FILE.py:NAME" of the command line; `flag` names the argument in messages."""
        path, colon, name = text.rpartition(":")
        if not colon or not path or not name:
            raise InputError(f"{flag} must be FILE.py:FUNCTION, got: {text}")
        if not os.path.isfile(path):
            raise InputError(f"{flag}: no such file: {path}")
        return Ref(os.path.abspath(path), name)


def file_hash(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def module_root(path):
    """(folder that must be on sys.path, dotted module name) of a source file; packages are followed upwards."""
    folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    name = stem
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    return folder, name


importing = None  # the file whose top level is run now


def load(ref, flag):
    """Import the file (once per process) and return the function. Raises InputError, or what the file itself raises."""
    root, name = module_root(ref.path)
    module = next((m for m in list(sys.modules.values()) if _file_of(m) == ref.path), None)
    if module is None:
        if root not in sys.path:
            sys.path.insert(0, root)
        if name in sys.modules or name in sys.stdlib_module_names:
            name = f"pkb_user_{hashlib.sha256(ref.path.encode()).hexdigest()[:8]}_{name.rpartition('.')[2]}"
        package = name.rpartition(".")[0]
        if package:
            importlib.import_module(package)
        spec = importlib.util.spec_from_file_location(name, ref.path)
        if spec is None:
            raise InputError(f"{flag}: {ref.path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        global importing
        importing = ref.path
        try:
            spec.loader.exec_module(module)
        except SyntaxError as e:
            raise InputError(f"{flag}: {ref.path}:{e.lineno}: {e.msg}") from e
        except ImportError as e:
            raise InputError(f"{flag}: {ref.path} cannot be imported: {e}") from e
        finally:
            importing = None
    value = module
    for part in ref.qualname.split("."):
        value = getattr(value, part, None)
        if value is None:
            raise InputError(f"{flag}: {ref.path} has no function {ref.qualname}")
    if not callable(value):
        raise InputError(f"{flag}: {ref.qualname} of {ref.path} is not a function")
    return value


def _file_of(module):
    path = getattr(module, "__file__", None)
    return os.path.abspath(path) if path else None


def user_modules():
    """Modules of the user's code that are loaded now: name -> absolute file."""
    out = {}
    for name, module in list(sys.modules.items()):
        path = _file_of(module)
        if path and path.endswith(".py") and name != "__main__" and sites.is_user_file(path) and os.path.isfile(path):
            out[name] = path
    return out


def place_sources(refs, modules):
    """Where each source file goes in a bundle: absolute path -> "source/...".

    The folder of the function's own file is `source/`; every other import root is `source/_<n>/`.
    """
    roots, out = [], {}

    def place(path, root):
        if root not in roots:
            roots.append(root)
        n = roots.index(root)
        base = "source" if n == 0 else f"source/_{n}"
        out.setdefault(path, f"{base}/{os.path.relpath(path, root).replace(os.sep, '/')}")

    for ref in refs:
        place(ref.path, module_root(ref.path)[0])
    for name, path in sorted(modules.items()):
        if path in out:
            continue
        depth = name.count(".") + (1 if os.path.basename(path) == "__init__.py" else 0)
        root = os.path.dirname(path)
        for _ in range(depth):
            root = os.path.dirname(root)
        place(path, root if os.path.relpath(path, root).split(os.sep)[0] != ".." else os.path.dirname(path))
    return out


class BundleFinder:
    """Finds the modules of a bundle in its copy, before anything else on the path."""

    def __init__(self, modules):
        self.modules = modules  # name -> absolute path of the copy

    def find_spec(self, name, path=None, target=None):
        file = self.modules.get(name)
        if file is None:
            return None
        locations = [os.path.dirname(file)] if os.path.basename(file) == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, file, submodule_search_locations=locations)


class NamespaceFinder:
    """Finds, after everything else, the packages without __init__.py that hold modules of a bundle."""

    def __init__(self, modules):
        self.modules = modules

    def find_spec(self, name, path=None, target=None):
        inside = [(m, f) for m, f in self.modules.items() if m.startswith(name + ".")]
        if not inside:
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        depth = name.count(".") + 1
        for module, file in inside:
            folder = os.path.dirname(file)
            extra = module.count(".") - depth + (1 if os.path.basename(file) == "__init__.py" else 0)
            for _ in range(extra):
                folder = os.path.dirname(folder)
            if folder not in spec.submodule_search_locations:
                spec.submodule_search_locations.append(folder)
        return spec


def use_bundle_modules(modules):
    """Import the modules of a bundle (name -> file of the copy) from its copy from now on."""
    sys.meta_path.insert(0, BundleFinder(modules))
    sys.meta_path.append(NamespaceFinder(modules))


def check_call(value, what):
    """`inputs` must return the argument tuple."""
    if not isinstance(value, tuple):
        raise ExportError(f"{what} must return the tuple of arguments, got: {type(value).__name__}", code=2)
    return value
