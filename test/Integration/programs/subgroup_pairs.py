# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A gradient average inside pairs of ranks: the only collective of the program is one of a sub-group, and the layer comes as a module."""
import torch
import torch.distributed as dist

_pairs = []


def solution(x, layer):
    if not _pairs:
        _pairs.extend(dist.new_group([first, first + 1]) for first in range(0, dist.get_world_size(), 2))
    with torch.no_grad():
        partial = layer(x)
        dist.all_reduce(partial, group=_pairs[dist.get_rank() // 2])
        return torch.relu(partial / 2)


def inputs(rank, world_size, device, trial=0):
    generator = torch.Generator().manual_seed(100 * trial + rank)
    torch.manual_seed(7)
    return torch.randn(9, 33, generator=generator).to(device), torch.nn.Linear(33, 17).to(device)
