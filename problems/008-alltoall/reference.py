# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Part r of every rank's tensor goes to rank r, in rank order.

    pkb-export reference.py:solution --inputs reference.py:inputs --world-size 4 -o alltoall.pkb
"""
import torch
import torch.distributed as dist


@torch.no_grad()
def solution(parts):
    """parts: [world size, ...], the same shape and dtype on every rank. Returns a tensor of that shape."""
    received = torch.empty_like(parts)
    dist.all_to_all_single(received, parts)
    return received


def _inputs(base, rank, world_size, device, trial):
    random = torch.Generator().manual_seed(1_000_003 * trial + rank)
    return (torch.randn(world_size, base, base, generator=random).to(torch.bfloat16).to(device),)


def inputs(rank, world_size, device, trial=0):
    """One bf16 matrix of 1024 x 1024 per pair of ranks, different in every trial."""
    return _inputs(1024, rank, world_size, device, trial)


def inputs_256(rank, world_size, device, trial=0):
    """As `inputs`, 256 x 256 per pair: seconds on emulated ranks."""
    return _inputs(256, rank, world_size, device, trial)


def inputs_tiny(rank, world_size, device, trial=0):
    """As `inputs`, 9 x 9 per pair: the parts are not aligned to 16 bytes."""
    return _inputs(9, rank, world_size, device, trial)
