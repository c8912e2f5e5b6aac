# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensors of all ranks, stacked in rank order.

    pkb-export reference.py:solution --inputs reference.py:inputs --world-size 4 -o allgather.pkb
"""
import torch
import torch.distributed as dist


@torch.no_grad()
def solution(local):
    """local: any shape and dtype, the same on every rank. Returns [world size, *local.shape]."""
    stacked = torch.empty((dist.get_world_size(), *local.shape), dtype=local.dtype, device=local.device)
    dist.all_gather_into_tensor(stacked, local)
    return stacked


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
    """As `inputs`, 9 x 9: the parts of the ranks are not aligned to 16 bytes in the result."""
    return _inputs(9, rank, device, trial)
