# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Argument sets: copies that keep aliasing, and groups whose first tensor rotates as the benchmark's harness does."""

import copy

import torch
import torch.distributed as dist

from ..export import tree

L2_FALLBACK_BYTES = 50 << 20
MAX_GROUPS = 128


def rotation_groups(tensor_bytes, l2_bytes):
    """How many copies of the first tensor argument rotate: 1 if it is at least three times the L2 cache, else
    floor(3 * L2 / bytes) + 1 within 2..128 (ParallelKernelBench, utils/performance.py). Sizes in bytes."""
    if tensor_bytes <= 0 or tensor_bytes >= 3 * l2_bytes:
        return 1
    return min(max(2, 3 * l2_bytes // tensor_bytes + 1), MAX_GROUPS)


def l2_bytes(device):
    """Bytes of the device's L2 cache."""
    if device.type != "cuda":
        return L2_FALLBACK_BYTES
    return int(torch.cuda.get_device_properties(device).L2_cache_size) or L2_FALLBACK_BYTES


def _shared(value, memo):
    """Things that a copy must share with the original: process groups and whatever holds one."""
    if isinstance(value, dist.ProcessGroup) or type(value).__name__ == "DeviceMesh":
        memo[id(value)] = value
    elif isinstance(value, (tuple, list)):
        for item in value:
            _shared(item, memo)
    elif isinstance(value, dict):
        for item in value.values():
            _shared(item, memo)


def clone(args):
    """A copy of an argument tuple with fresh memory; tensors that share a storage still share one in the copy."""
    memo = {}
    _shared(args, memo)
    with torch.no_grad():
        return copy.deepcopy(args, memo)


def first_tensor_path(args):
    """Where the tensor that rotates stands: (i,) for argument i, (i, j) for entry j of a list argument; None if there is none."""
    for i, value in enumerate(args):
        if isinstance(value, torch.Tensor):
            return (i,)
        if isinstance(value, (list, tuple)):
            for j, item in enumerate(value):
                if isinstance(item, torch.Tensor):
                    return (i, j)
    return None


def at_path(args, path):
    value = args
    for i in path:
        value = value[i]
    return value


def with_tensor(args, path, tensor):
    """`args` with the tensor at `path` replaced; everything else is the same objects."""
    i, *rest = path
    value = tensor if not rest else with_tensor(args[i], rest, tensor)
    items = list(args)
    items[i] = value
    return tuple(items) if isinstance(args, tuple) else items


def rotating(sets, count):
    """`count` argument tuples: number g is set g mod len(sets) with a copy of its own of the first tensor."""
    path = first_tensor_path(sets[0])
    out = []
    for g in range(count):
        args = sets[g % len(sets)]
        out.append(args if path is None else with_tensor(args, path, fresh(at_path(args, path))))
    return out


def fresh(tensor):
    """A copy with memory of its own and the same strides, a leaf that requires grad where the original does."""
    return tensor.detach().clone(memory_format=torch.preserve_format).requires_grad_(tensor.requires_grad)


def same_geometry(a, b):
    """True if two argument tuples hold tensors of the same dtypes, sizes and strides."""
    x, y = tree.tensors(a), tree.tensors(b)
    return len(x) == len(y) and all(p.dtype == q.dtype and p.shape == q.shape and p.stride() == q.stride() for p, q in zip(x, y))


def first_tensor_bytes(args):
    path = first_tensor_path(args)
    if path is None:
        return 0
    tensor = at_path(args, path)
    return tensor.numel() * tensor.element_size()
