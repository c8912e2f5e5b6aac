# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loaded programs as Python callables."""

import ctypes
import json
import os
import warnings

import torch

from . import artefact, native, trees
from .context import context_for


def load(path, group=None, *, context=None, fallback=True):
    """Load the program `path` (an artefact `X.pkx` or an emitted `X.cu`) on this rank. Collective over the group.

    group: process group whose size is the program's world size; the default one if None. context: instead of a group's.
    fallback: what is called when the arguments are outside of what was compiled, on all ranks; calls of it are counted. True: the function
    that an artefact carries. None, or an artefact or text without one: a GuardError is raised. Returns a Program.
    Raises PkbError naming the thing and what to do; warns of what load did without, such as a cache that cannot be written.
    """
    operators = native.operators()
    if context is None:
        context = context_for(group)
    pointer = ctypes.c_void_p()
    native.check(native.runtime().pkb_program_load(context.pointer, os.fsencode(path), None, ctypes.byref(pointer)))
    notes = native.runtime().pkb_program_notes(pointer).decode()
    if notes:
        warnings.warn(f"pkb: {notes}", stacklevel=2)
    if fallback is True:
        fallback = (artefact.is_artefact(path) and artefact.Original(path)) or None
    return Program(operators, context, pointer, fallback)


class Program:
    """Called like the function it was made from.

    handle: its number for torch.ops.pkb.call. manifest: the parsed JSON. launches: what one call enqueues on this rank.
    fallbacks: how often the original was called in its place; last_reason: why the last time.
    """

    def __init__(self, operators, context, pointer, fallback):
        runtime = native.runtime()
        self._operators, self._context, self._pointer, self._fallback = operators, context, pointer, fallback
        self.manifest = json.loads(runtime.pkb_program_manifest(pointer).decode())
        self.launches = runtime.pkb_program_launch_count(pointer)
        self.handle = operators.pkb_torch_register(pointer, -1 if context.emulated else context.device)
        context.programs.append(self)
        self.fallbacks, self.last_reason = 0, None
        arguments, outputs = self.manifest["arguments"], self.manifest["outputs"]
        self._flatten = trees.flattener(self.manifest.get("input_tree"), len(arguments))
        self._build = trees.builder(self.manifest.get("output_tree"), len(outputs))
        self._shared = {i: s for i, s in enumerate(trees.aliases(self.manifest)) if s is not None}
        # torch.compile must know about writes into arguments, and must not see outputs that share memory.
        self._mutates = bool(self._shared) or trees.writes_arguments(self.manifest)
        # The common case costs as little Python as possible: tensors in, tensors of their own out.
        self._count = len(arguments)
        self._quick = trees.plain(self.manifest.get("input_tree"), len(arguments)) and not self._shared
        self._single = trees.single(self.manifest.get("output_tree"), len(outputs))
        self._op = (torch.ops.pkb.call_mutating if self._mutates else torch.ops.pkb.call).default
        self._expected = [(getattr(torch, a["dtype"]), tuple(a["sizes"]), tuple(a["strides"])) for a in arguments]

    def __call__(self, *args, **kwargs):
        if torch.compiler.is_compiling():
            return self._traced(args, kwargs)
        if self._quick and len(args) == self._count and not kwargs:
            try:
                results = self._op(self.handle, args)
            except RuntimeError as error:
                if str(error).startswith(("pkb: ", "pkb guard: ")):
                    return self._outside(_guard_text(error), args, kwargs)
                # Not tensors: what is wrong is found out below.
            else:
                return results[0] if self._single else self._build(results)
        tensors, reason = self._flatten(args, kwargs)
        if tensors is None:
            # The run time has not seen this call: the other ranks must refuse it too.
            try:
                native.check(native.runtime().pkb_program_refuse(self._pointer, reason.encode()))
            except native.GuardError:
                return self._outside(reason, args, kwargs)
        try:
            results = self._op(self.handle, tensors)
        except RuntimeError as error:
            return self._outside(_guard_text(error), args, kwargs)
        return self._build(self._with_shared(tensors, results) if self._shared else results)

    def _traced(self, args, kwargs):
        """The call as torch.compile sees it: one operator, if what is known while tracing fits; else a break of the graph and a call outside."""
        tensors, reason = self._flatten(args, kwargs)
        if reason is not None or not all(map(_fits, tensors, self._expected)) or _differentiates(tensors):
            return self._untraced(args, kwargs)
        results = self._op(self.handle, tensors)
        return self._build(self._with_shared(tensors, results) if self._shared else results)

    def _untraced(self, args, kwargs):
        # By hand: the decorator would import the whole of torch._dynamo, two seconds, with every load.
        return torch._dynamo.disable(self.__call__)(*args, **kwargs)

    _untraced._torchdynamo_disable = True

    def _with_shared(self, tensors, own):
        """All outputs, from those with memory of their own and the arguments."""
        own = iter(own)
        count = len(self.manifest["outputs"])
        results = [None if i in self._shared else next(own) for i in range(count)]
        for i, (base, offset) in self._shared.items():
            spec = self.manifest["outputs"][i]
            source = tensors[base] if base < len(tensors) else results[base - len(tensors)]
            results[i] = trees.view_of(source, spec, offset)
        return results

    def _outside(self, reason, args, kwargs):
        if self._fallback is None:
            raise native.GuardError(reason, 3)
        self.fallbacks += 1
        self.last_reason = reason
        return self._fallback(*args, **kwargs)

    def unload(self):
        """Forget the program; calls in flight are waited for."""
        if self._pointer:
            self._operators.pkb_torch_unregister(self.handle)
            native.runtime().pkb_program_unload(self._pointer)
            self._pointer = None
            self._context.programs.remove(self)

    def __repr__(self):
        return f"<pkb program {self.manifest.get('name')!r}, {self.manifest['world_size']} ranks, {self.launches} launches>"


def _fits(tensor, expected):
    dtype, sizes, strides = expected
    same = tensor.dtype == dtype and tuple(tensor.shape) == sizes
    return same and (0 in sizes or all(size == 1 or a == b for size, a, b in zip(sizes, tensor.stride(), strides)))


def _differentiates(tensors):
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def _guard_text(error):
    """The reason in an operator's error if a guard failed; raises the error as PkbError otherwise."""
    text = str(error).split("\n", 1)[0]
    if text.startswith("pkb guard: "):
        return text[len("pkb guard: ") :]
    if text.startswith("pkb: "):
        raise native.PkbError(text[len("pkb: ") :]) from error
    raise error
