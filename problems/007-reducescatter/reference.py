# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sum of one tensor over all ranks, of which rank r keeps part r along the first dimension.

    pkb-export reference.py:solution --inputs reference.py:inputs --world-size 4 -o reducescatter.pkb
"""
import torch
import torch.distributed as dist


@torch.no_grad()
def solution(local):
    """local: [W * n, ...], the same shape and dtype on every rank. Returns [n, ...]: this rank's rows of the sum."""
    rows = local.shape[0] // dist.get_world_size()
    mine = torch.empty(rows, *local.shape[1:], dtype=local.dtype, device=local.device)
    dist.reduce_scatter_tensor(mine, local)
    return mine


def _inputs(rows, columns, rank, device, trial):
    random = torch.Generator().manual_seed(1_000_003 * trial + rank)
    return (torch.randn(rows, columns, generator=random).to(torch.bfloat16).to(device),)


def inputs(rank, world_size, device, trial=0):
    """One bf16 matrix of 1024 x 1024 (rounded up to equal parts), different on every rank and in every trial."""
    return _inputs(1024 + -1024 % world_size, 1024, rank, device, trial)


def inputs_256(rank, world_size, device, trial=0):
    """As `inputs`, 256 x 256: seconds on emulated ranks."""
    return _inputs(256 + -256 % world_size, 256, rank, device, trial)


def inputs_tiny(rank, world_size, device, trial=0):
    """As `inputs`, 3 rows of 9 a rank: the parts are not aligned to 16 bytes."""
    return _inputs(3 * world_size, 9, rank, device, trial)
