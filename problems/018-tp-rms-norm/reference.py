# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Root mean square normalization of a hidden dimension that is spread over the ranks."""
import torch
import torch.distributed as dist


def solution(hidden, weight, epsilon):
    """hidden (rows, columns of this rank), weight (columns of this rank) -> hidden normalized over all ranks' columns, times weight."""
    dtype = hidden.dtype
    hidden = hidden.to(torch.float32)
    squares = hidden.pow(2).sum(dim=-1, keepdim=True)
    dist.all_reduce(squares, op=dist.ReduceOp.SUM)
    variance = squares / (hidden.shape[-1] * dist.get_world_size())
    hidden = hidden * torch.rsqrt(variance + epsilon)
    return weight * hidden.to(dtype)


def _inputs(rank, device, trial, rows, columns):
    generator = torch.Generator().manual_seed(1000003 * trial + rank)
    hidden = torch.randn(rows, columns, generator=generator).to(torch.bfloat16).to(device)
    weight = (torch.randn(columns, generator=generator) * 0.1 + 1).to(torch.bfloat16).to(device)
    return hidden, weight, 1e-5


def inputs(rank, world_size, device, trial=0):
    return _inputs(rank, device, trial, 1024, 1024)


def inputs_256(rank, world_size, device, trial=0):
    return _inputs(rank, device, trial, 256, 256)


def inputs_tiny(rank, world_size, device, trial=0):
    """Rows that fill no vector, more of them than a block takes."""
    return _inputs(rank, device, trial, 9, 37)


def inputs_many(rank, world_size, device, trial=0):
    """More rows than teams: several chunks for a block, the last of them short."""
    return _inputs(rank, device, trial, 5003, 40)


def inputs_long(rank, world_size, device, trial=0):
    """Rows that four warps share, of which no vector is whole in memory."""
    return _inputs(rank, device, trial, 1030, 2051)
