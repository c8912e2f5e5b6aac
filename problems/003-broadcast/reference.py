# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rank 0's tensor on all ranks; the argument is left as it was.

    pkb-export reference.py:solution --inputs reference.py:inputs --world-size 4 -o broadcast.pkb
"""
import torch
import torch.distributed as dist


@torch.no_grad()
def solution(local):
    """local: any shape and dtype, the same on every rank. Returns a new tensor: rank 0's."""
    copy = local.clone()
    dist.broadcast(copy, src=0)
    return copy


def _inputs(base, rank, device, trial):
    random = torch.Generator().manual_seed(1_000_003 * trial + rank)
    return (torch.randn(base, base, generator=random).to(torch.bfloat16).to(device),)


def inputs(rank, world_size, device, trial=0):
    """One bf16 matrix of 1024 x 1024, different on every rank and in every trial."""
    return _inputs(1024, rank, device, trial)


def inputs_256(rank, world_size, device, trial=0):
    """As `inputs`, 256 x 256: seconds on emulated ranks."""
    return _inputs(256, rank, device, trial)


def inputs_tiny(rank, world_size, device, trial=0):
    """As `inputs`, 9 x 9: neither a multiple of 16 bytes nor of the number of ranks."""
    return _inputs(9, rank, device, trial)
