# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled program on this rank, through torch.ops.pkb."""

import functools

import torch

from .. import trees
from ..export import tree
from .judge import poison
from .protocol import Refusal


class Ours:
    """path: the emitted `.cu`. Loading is collective. manifest: its JSON, as far as this rank is concerned."""

    def __init__(self, path):
        import pkb

        self.loaded = pkb.load(path)
        self.handle = self.loaded.handle
        self.manifest = manifest = self.loaded.manifest
        # What is timed: the public operator, as a user of torch.ops calls it.
        self.operator = functools.partial(torch.ops.pkb.call.default, self.handle)
        self.aliases = trees.aliases(manifest)
        outputs = manifest.get("output_tree")
        self.output_leaves = list(range(len(manifest["outputs"]))) if outputs is None else tree.tensor_ids(outputs)

    def tensors(self, args):
        """The program's arguments from the user's argument tuple, without autograd's view of them. Raises Refusal (fell back) if they have another structure."""
        tensors, reason = self.loaded._flatten(args, {})
        if tensors is None:
            raise Refusal(f"guard: {reason}", 3)
        # The program holds the backward that the function runs; it is not differentiated itself.
        return [t.detach() if t.requires_grad else t for t in tensors]

    def call(self, tensors):
        """Results in program order; allocates them."""
        return self.operator(tensors)

    def call_poisoned(self, tensors):
        """Results in program order, written into poisoned memory; those that share memory with an argument are that memory."""
        device = tensors[0].device if tensors else torch.device("cuda", torch.cuda.current_device())
        outputs = []
        for spec, alias in zip(self.manifest["outputs"], self.aliases):
            if alias is not None:
                outputs.append(torch.empty(0, device=device))
                continue
            dtype = getattr(torch, spec["dtype"])
            outputs.append(poison(torch.empty_strided(spec["sizes"], spec["strides"], dtype=dtype, device=device)))
        torch.ops.pkb.call_out(self.handle, tensors, outputs)
        for i, alias in enumerate(self.aliases):
            if alias is not None:
                base, offset = alias
                source = tensors[base] if base < len(tensors) else outputs[base - len(tensors)]
                outputs[i] = trees.view_of(source, self.manifest["outputs"][i], offset)
        return outputs

    def results(self, outputs):
        """Tensor leaves of the user's result from the program's outputs."""
        return [outputs[i] for i in self.output_leaves]

    def synchronize(self):
        """Waits for the current stream; raises PkbError with what the run time's watchdog saw."""
        self.loaded._context.synchronize()

    def unload(self):
        """Collective."""
        self.loaded.unload()
