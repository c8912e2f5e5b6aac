# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensors of all ranks stacked on rank 0; the others return their own.

    pkb-export reference.py:solution --inputs reference.py:inputs --world-size 4 -o gather.pkb
"""
import torch
import torch.distributed as dist


@torch.no_grad()
def solution(local):
    """local: any shape and dtype, the same on every rank. Returns [world size, ...] on rank 0, `local` itself elsewhere."""
    if dist.get_rank() != 0:
        dist.gather(local, dst=0)
        return local
    pieces = [torch.empty_like(local) for _ in range(dist.get_world_size())]
    dist.gather(local, gather_list=pieces, dst=0)
    return torch.stack(pieces)


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
