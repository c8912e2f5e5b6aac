# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives that combine, and one root's: sums, means and extrema of several types, reduce_scatter of a tensor and of a list, broadcast."""
import torch
import torch.distributed as dist


def solution(x, y, n):
    size = dist.get_world_size()
    total = x.clone()
    dist.all_reduce(total)
    largest = y.clone()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    counts = n.clone()
    dist.all_reduce(counts)
    part = y.new_empty((y.shape[0] // size, y.shape[1]))
    dist.reduce_scatter_tensor(part, y)
    listed = torch.empty_like(part)
    dist.reduce_scatter(listed, [piece.contiguous() for piece in y.chunk(size)], op=dist.ReduceOp.MIN)
    first = y.clone()
    dist.broadcast(first, src=size - 1)
    return total, largest, counts, part, listed, first


def inputs(rank, world_size, device, trial=0):
    g = torch.Generator().manual_seed(rank * 10 + trial)
    return (torch.randn(7, 33, generator=g).to(torch.bfloat16).to(device), torch.randn(4 * world_size, 5, generator=g).to(device),
            torch.randint(0, 1000, (9,), generator=g).to(device))
