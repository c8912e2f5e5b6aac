# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives that only move data, in every form that PyTorch has for them, with equal parts: lists, one tensor, several types."""
import torch
import torch.distributed as dist


def solution(x, y):
    size = dist.get_world_size()
    swapped = torch.empty_like(y)
    dist.all_to_all_single(swapped, y)
    listed = [torch.empty_like(y) for _ in range(size)]
    dist.all_gather(listed, swapped)
    gathered = y.new_empty((size * y.shape[0], y.shape[1]))
    dist.all_gather_into_tensor(gathered, swapped)
    bytes_of_all = x.new_empty((size * x.shape[0], x.shape[1]))
    dist.all_gather_into_tensor(bytes_of_all, x)
    return swapped, listed[0], listed[-1], gathered, bytes_of_all


def inputs(rank, world_size, device, trial=0):
    g = torch.Generator().manual_seed(rank * 10 + trial)
    return (torch.randint(-100, 100, (16, 33), generator=g, dtype=torch.int8).to(device),
            torch.randn(4 * world_size, 129, generator=g).to(device))
