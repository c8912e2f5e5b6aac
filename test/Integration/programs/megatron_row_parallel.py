# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row-parallel linear layer in the manner of Megatron-LM, with the block around it.

Every rank holds a slice of the input features and the matching columns of the weight; the partial products are added up
by an all_reduce before the bias, the activation and the residual, which all ranks compute alike.
"""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F


class RowParallelLinear(torch.nn.Module):
    """y = x W^T + b with W cut along its input features. The bias is added after the reduction, once."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight = torch.nn.Parameter(weight, requires_grad=False)
        self.bias = torch.nn.Parameter(bias, requires_grad=False)

    def forward(self, x):
        partial = F.linear(x, self.weight)
        dist.all_reduce(partial)
        return partial + self.bias


def solution(x, weight, bias, residual):
    """x [tokens, features / W], weight [hidden, features / W], bias [hidden], residual [tokens, hidden] -> [tokens, hidden]."""
    layer = RowParallelLinear(weight, bias)
    return residual + F.gelu(layer(x), approximate="tanh")


def inputs(rank, world_size, device, trial=0):
    """Sizes and dtype may be set with PKB_TOKENS, PKB_HIDDEN and PKB_DTYPE."""
    tokens = int(os.environ.get("PKB_TOKENS", "48"))
    hidden = int(os.environ.get("PKB_HIDDEN", "64"))
    dtype = getattr(torch, os.environ.get("PKB_DTYPE", "bfloat16"))
    shard = max(hidden * 4 // world_size, 1)
    own = torch.Generator().manual_seed(1000 + 17 * trial + rank)
    shared = torch.Generator().manual_seed(2000 + 17 * trial)

    def random(*sizes, generator, scale=1.0):
        return (torch.randn(*sizes, generator=generator) * scale).to(device=device, dtype=dtype)

    x = random(tokens, shard, generator=own)
    weight = random(hidden, shard, generator=own, scale=shard**-0.5)
    bias = random(hidden, generator=shared)
    residual = random(tokens, hidden, generator=shared)
    return x, weight, bias, residual
