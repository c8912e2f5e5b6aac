# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Llama-like block parallelised with DTensor: `parallelize_module` with the library's column-, row- and sequence-parallel styles."""
import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                               parallelize_module)


class Attention(nn.Module):
    def __init__(self, width, head):
        super().__init__()
        self.head = head
        self.wq, self.wk, self.wv = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.wo = nn.Linear(width, width, bias=False)

    def forward(self, x):
        b, s, _ = x.shape
        q, k, v = (w(x).view(b, s, -1, self.head).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(b, s, -1))


class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False), nn.Linear(width, inner, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, width=32, head=4, inner=48):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention, self.ffn = Attention(width, head), FeedForward(width, inner)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.ffn(self.ffn_norm(x))


def solution(block, x):
    """x [b, s, width], the same on every rank. Returns this rank's slice of the sequence and, whole on all ranks, the mean of squares."""
    block = copy.deepcopy(block)  # the caller's keeps its plain parameters
    mesh = init_device_mesh(x.device.type, (dist.get_world_size(),))
    parallelize_module(block, mesh, {
        "attention_norm": SequenceParallel(),
        "attention": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        "attention.wq": ColwiseParallel(), "attention.wk": ColwiseParallel(), "attention.wv": ColwiseParallel(),
        "attention.wo": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        "ffn_norm": SequenceParallel(),
        "ffn": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        "ffn.w1": ColwiseParallel(), "ffn.w3": ColwiseParallel(),
        "ffn.w2": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    })
    with torch.no_grad():
        sharded = distribute_tensor(x, mesh, [Replicate()]).redistribute(mesh, [Shard(1)])
        y = block(sharded)
        power = (y * y).mean().full_tensor()
        return y.to_local(), power


def inputs(rank, world_size, device, trial=0):
    torch.manual_seed(3 + trial)
    block = Block().to(device)
    return block, torch.randn(2, 8, 32).to(device)
