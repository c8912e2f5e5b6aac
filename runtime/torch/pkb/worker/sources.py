# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The user's function and inputs from a bundle's copy of the sources."""

import inspect
import os
import sys

import torch

from ..export import source
from ..export.bundle import Bundle
from ..export.capture import fill_random, trial_seed
from .protocol import Refusal


class Original:
    """The original program of a bundle: `function`, and `arguments(trial)` on this rank and device.

    path: the bundle. folder: where its sources are written. override: a folder whose files replace them, or None.
    seed: of the trials. `warnings`: originals that have changed since the export. Raises Refusal for a missing file.
    """

    def __init__(self, path, folder, override, rank, device, seed):
        self.bundle = Bundle(path)
        head = self.bundle.head
        self.rank, self.device, self.seed = rank, device, seed
        self.world_size = self.bundle.world_size
        self.randomize = bool(head["inputs"].get("random"))
        self.record = self.bundle.ranks[rank]
        self.groups = self.bundle.groups
        base = os.path.join(folder, "source")
        self.warnings = []
        for ref in (head["function"], head["inputs"]):
            if not override and os.path.isfile(ref["path"]) and source.file_hash(ref["path"]) != ref["sha256"]:
                self.warnings.append(f"{ref['path']} has changed since the export; the bundle's copy is run")
        if override:
            base = os.path.abspath(override)
        else:
            self.bundle.extract_sources(folder)
        self._forget_other_bundles(base)
        self._base = base
        modules = {n: self._place(p) for n, p in head.get("modules", {}).items()}
        source.use_bundle_modules({n: p for n, p in modules.items() if os.path.isfile(p)})
        self.function = self._load(head["function"], "function")
        self._inputs = self._load(head["inputs"], "inputs")

    def _place(self, member):
        return os.path.join(self._base, *member.split("/")[1:])

    def _load(self, ref, what):
        path = self._place(ref["file"])
        if not os.path.isfile(path):
            raise Refusal(f"the {what}'s file {os.path.basename(path)} is not in {self._base}; give --source the folder that holds it")
        return source.load(source.Ref(path, ref["qualname"]), what)

    @staticmethod
    def _forget_other_bundles(base):
        """A long-lived worker must not take a module of the bundle before this one."""
        sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, (source.BundleFinder, source.NamespaceFinder))]
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None) or ""
            if f"{os.sep}pkb-" in path and f"{os.sep}source{os.sep}" in path and not path.startswith(base + os.sep):
                del sys.modules[name]
        sys.path[:] = [p for p in sys.path if not (f"{os.sep}pkb-" in p and f"{os.sep}source" in p)]

    def arguments(self, trial):
        """The argument tuple of a trial on this rank, on the device; the random generators are seeded per rank and trial."""
        torch.manual_seed(trial_seed(self.seed, self.rank, trial))
        parameters = inspect.signature(self._inputs).parameters.values()
        takes_trial = any(p.name == "trial" or p.kind == p.VAR_KEYWORD for p in parameters)
        more = {"trial": trial} if takes_trial else {}
        value = self._inputs(self.rank, self.world_size, self.device, **more)
        if not isinstance(value, tuple):
            raise Refusal(f"inputs must return the tuple of arguments, got: {type(value).__name__}")
        if self.randomize or (trial > 0 and not takes_trial):
            fill_random(value, self.seed, self.rank, trial)
        return value
