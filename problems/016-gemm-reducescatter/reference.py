# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matrix product cut along its inner dimension, of whose sum over the ranks each rank keeps its rows.

    pkb-export reference.py:solution --inputs reference.py:inputs --world-size 4 -o gemm_reducescatter.pkb
"""
import torch
import torch.distributed as dist


@torch.no_grad()
def solution(a, b):
    """a [W * m, k], b [k, n]: this rank's slices of the inner dimension. Returns [m, n]: this rank's rows of the whole product."""
    partial = a.contiguous() @ b.contiguous()
    mine = torch.empty(partial.shape[0] // dist.get_world_size(), partial.shape[1], dtype=partial.dtype, device=partial.device)
    dist.reduce_scatter_tensor(mine, partial)
    return mine


def _inputs(base, inner, rank, device, trial):
    random = torch.Generator().manual_seed(1_000_003 * trial + rank)
    a, b = torch.randn(base, inner, generator=random), torch.randn(inner, base, generator=random)
    return a.to(torch.bfloat16).to(device), b.to(torch.bfloat16).to(device)


def inputs(rank, world_size, device, trial=0):
    """bf16, 1024 x 512/W and 512/W x 1024 on every rank."""
    return _inputs(1024, 512 // world_size, rank, device, trial)


def inputs_256(rank, world_size, device, trial=0):
    """As `inputs`, 256 x 64/W and 64/W x 256: seconds on emulated ranks."""
    return _inputs(256, 64 // world_size, rank, device, trial)


def inputs_tiny(rank, world_size, device, trial=0):
    """As `inputs`, 24 x 5 and 5 x 24: three rows a rank at most."""
    return _inputs(24, 5, rank, device, trial)
