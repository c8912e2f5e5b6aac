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
        # What a call does to memory that others see depends on how it overlaps. Tracers rename memory, so such a call is left out of their graphs.
        self._opaque = any(a.get("written") or "alias_of" in a for a in arguments) or any(o["alias_of"] is not None for o in outputs)
        # The common case costs as little Python as possible: tensors in, tensors out.
        self._count = len(arguments)
        self._quick = trees.plain(self.manifest.get("input_tree"), len(arguments))
        self._single = trees.single(self.manifest.get("output_tree"), len(outputs))
        self._op = torch.ops.pkb.call.default
        self._device = torch.device("cpu") if context.emulated else torch.device("cuda", context.device)
        self._expected = [(getattr(torch, a["dtype"]), tuple(a["sizes"]), tuple(a["strides"]), self._device) for a in arguments]

    def __call__(self, *args, **kwargs):
        if torch.compiler.is_compiling():
            return self._traced(args, kwargs)
        return self._call(args, kwargs)

    def _call(self, args, kwargs):
        if self._quick and len(args) == self._count and not kwargs:
            tensors = args
        else:
            tensors, reason = self._flatten(args, kwargs)
            if tensors is None:
                return self._refuse(reason, args, kwargs)
        try:
            for tensor in tensors:
                if tensor.is_meta:
                    raise TypeError(f"an input must be on {self._device}, where the program was loaded, got: meta")
            results = self._op(self.handle, tensors)
        except Exception as error:
            return self._failed(error, args, kwargs)
        return results[0] if self._single else self._build(results)

    def _traced(self, args, kwargs):
        """The call as torch.compile sees it: one operator, if what is known while tracing fits; else a break of the graph and a call outside."""
        if self._opaque:
            return self._untraced(args, kwargs)
        tensors, reason = self._flatten(args, kwargs)
        if reason is not None or not all(map(_fits, tensors, self._expected)) or _differentiates(tensors):
            return self._untraced(args, kwargs)
        return self._build(self._op(self.handle, tensors))

    def _untraced(self, args, kwargs):
        # By hand: the decorator would import the whole of torch._dynamo, two seconds, with every load.
        return torch._dynamo.disable(self._beside_graph)(args, kwargs)

    _untraced._torchdynamo_disable = True

    def _beside_graph(self, args, kwargs):
        if torch.compiler.is_exporting():
            reason = "it writes its arguments, or returns memory that it shares" if self._opaque else "the arguments are outside of what it was compiled for"
            raise native.PkbError(f"the program {self.manifest.get('name')!r} cannot be part of an exported graph: {reason}")
        return self._call(args, kwargs)

    def _failed(self, error, args, kwargs):
        """What becomes of a call that raised `error`."""
        if self._pointer is None:
            raise self._unloaded() from error
        text = str(error).split("\n", 1)[0]
        if text.startswith("pkb guard: "):
            return self._outside(text[len("pkb guard: ") :], args, kwargs)
        if text.startswith("pkb: "):
            raise native.PkbError(text[len("pkb: ") :]) from error
        # Somebody between here and the run time wants no such tensors: a subclass, say, or a transform of functions.
        _, reason = self._flatten(args, kwargs)
        traced = text.startswith("pkb traced: ")
        return self._refuse(reason or (text[len("pkb traced: ") :] if traced else f"{type(error).__name__}: {text}"), args, kwargs)

    def _refuse(self, reason, args, kwargs):
        """For a call that the run time has not seen: the other ranks must refuse it too."""
        if self._pointer is None:
            raise self._unloaded()
        try:
            native.check(native.runtime().pkb_program_refuse(self._pointer, reason.encode()))
        except native.GuardError:
            return self._outside(reason, args, kwargs)

    def _unloaded(self):
        return native.PkbError(f"the program {self.manifest.get('name')!r} was unloaded; load it again")

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

    # It is one thing of this process, however many names it has.
    def __copy__(self):
        return self

    def __deepcopy__(self, _):
        return self

    def __reduce__(self):
        raise TypeError("a loaded program belongs to its process; send the path of its artefact, and load that there")

    def __repr__(self):
        return f"<pkb program {self.manifest.get('name')!r}, {self.manifest['world_size']} ranks, {self.launches} launches>"


def _fits(tensor, expected):
    dtype, sizes, strides, device = expected
    same = tensor.dtype == dtype and tuple(tensor.shape) == sizes and tensor.device == device
    return same and (0 in sizes or all(size == 1 or a == b for size, a, b in zip(sizes, tensor.stride(), strides)))


def _differentiates(tensors):
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
