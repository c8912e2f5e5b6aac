# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled program on this rank, through torch.ops.pkb."""

import torch

from ..export import tree
from .judge import poison
from .protocol import Refusal


class Ours:
    """path: the emitted `.cu`. manifest: its JSON. `leaves` maps tensor leaves of the argument tree to program arguments."""

    def __init__(self, path, manifest):
        import pkb

        self.manifest = manifest
        self.loaded = pkb.load(path)
        self.handle = self.loaded.handle
        self.input_leaves = leaves(manifest.get("input_tree"), len(manifest["arguments"]))
        self.output_leaves = leaves(manifest.get("output_tree"), len(manifest["outputs"]))
        self._order = first_positions(self.input_leaves)

    def tensors(self, args):
        """The program's arguments from the user's argument tuple."""
        flat = tree.tensors(args)
        if len(flat) != len(self.input_leaves):
            raise Refusal(f"the program takes {len(self.input_leaves)} tensors, inputs gives {len(flat)}; it was made from other inputs")
        return [flat[i] for i in self._order]

    def call(self, tensors):
        """Results in program order; allocates them."""
        return torch.ops.pkb.call(self.handle, tensors)

    def call_poisoned(self, tensors):
        """Results written into poisoned memory; a result that is an argument is that argument."""
        outputs = []
        for spec in self.manifest["outputs"]:
            if spec["alias_of"] is not None:
                outputs.append(torch.empty(0, device=tensors[0].device))
                continue
            out = torch.empty_strided(
                spec["sizes"], spec["strides"], dtype=getattr(torch, spec["dtype"]), device=tensors[0].device if tensors else "cuda"
            )
            outputs.append(poison(out))
        if any(spec["alias_of"] is not None for spec in self.manifest["outputs"]):
            return self.call(tensors)
        torch.ops.pkb.call_out(self.handle, tensors, outputs)
        return outputs

    def results(self, outputs):
        """Tensor leaves of the user's result from the program's outputs."""
        return [outputs[i] for i in self.output_leaves]


def leaves(node, count):
    """Argument (output) index of each tensor leaf of a manifest's tree, in tree order; 0..count-1 without a tree."""
    if node is None:
        return list(range(count))
    return tree.tensor_ids(node)


def first_positions(indices):
    """For program argument i, the first leaf that carries it."""
    where = {}
    for leaf, i in enumerate(indices):
        where.setdefault(i, leaf)
    return [where[i] for i in range(len(where))]
