# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequence-parallel attention projection and expert exchange written with functional collectives, which return new tensors.

all_gather_tensor and reduce_scatter_tensor along a dimension that is not the first, all_to_all_single with uneven splits that depend
on the rank, all_reduce with several reductions, broadcast of a scale.
"""
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn.functional as F


def _splits(rank, world_size):
    """Rows that `rank` sends to each rank, and receives from each: a table that everybody knows."""
    table = [[1 + (source + 2 * target) % 3 for target in range(world_size)] for source in range(world_size)]
    return table[rank], [row[rank] for row in table]


@torch.no_grad()
def solution(x, weight, expert, scale):
    """x [b, s / W, c], weight [c, c / W], expert [c / W, c], scale [1]. Returns y [b, s / W, c], the expert's rows and statistics."""
    group, rank, world_size = dist.group.WORLD, dist.get_rank(), dist.get_world_size()
    scale = funcol.broadcast(scale, 0, group)
    whole = funcol.all_gather_tensor(F.rms_norm(x, x.shape[-1:]) * scale, 1, group)
    hidden = F.gelu(whole @ weight)
    partial = hidden @ expert
    y = x + funcol.reduce_scatter_tensor(partial, "sum", 1, group)

    sends, receives = _splits(rank, world_size)
    rows = y.reshape(-1, y.shape[-1]).softmax(-1)[: sum(sends)]
    arrived = funcol.all_to_all_single(rows, receives, sends, group)
    arrived = torch.tanh(arrived - arrived.mean(dim=0))

    mean = funcol.all_reduce(y.mean(), "avg", group)
    low = funcol.all_reduce(y.amin(), "min", group)
    high = funcol.all_reduce(y.amax(), "max", group)
    return (y - mean) / (high - low), arrived, torch.stack([mean, low, high])


def inputs(rank, world_size, device, trial=0):
    own = torch.Generator().manual_seed(100 * trial + rank)
    c = 24

    def random(*sizes, scale=1.0):
        return (torch.randn(*sizes, generator=own) * scale).to(device)

    return random(2, 6, c), random(c, c // world_size, scale=0.3), random(c // world_size, c, scale=0.3), random(1)
