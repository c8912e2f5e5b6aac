# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Part r of rank 0's tensor on rank r.

    pkb-export reference.py:solution --inputs reference.py:inputs --world-size 4 -o scatter.pkb
"""
import torch
import torch.distributed as dist


@torch.no_grad()
def solution(parts):
    """parts: [world size, ...], the same shape and dtype on every rank; only rank 0's values count. Returns one part, [...]."""
    mine = torch.empty_like(parts[0])
    pieces = [piece.contiguous() for piece in parts.unbind(0)] if dist.get_rank() == 0 else None
    dist.scatter(mine, scatter_list=pieces, src=0)
    return mine


def _inputs(base, rank, world_size, device, trial):
    random = torch.Generator().manual_seed(1_000_003 * trial + rank)
    return (torch.randn(world_size, base, base, generator=random).to(torch.bfloat16).to(device),)


def inputs(rank, world_size, device, trial=0):
    """One bf16 matrix of 1024 x 1024 per rank that gets one, different on every rank and in every trial."""
    return _inputs(1024, rank, world_size, device, trial)


def inputs_256(rank, world_size, device, trial=0):
    """As `inputs`, 256 x 256 each: seconds on emulated ranks."""
    return _inputs(256, rank, world_size, device, trial)


def inputs_tiny(rank, world_size, device, trial=0):
    """As `inputs`, 9 x 9 each: the parts are not aligned to 16 bytes."""
    return _inputs(9, rank, world_size, device, trial)
