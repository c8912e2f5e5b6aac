# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over a sequence split over the ranks, with tables that are worked out in host memory in every call and moved: rotary angles, the causal
mask, a schedule of temperatures of which a number is taken as it is (a CPU scalar in an expression of the device)."""
import torch
import torch.distributed as dist


def tables(length, width):
    """Made without a device: in host memory. cos and sin [length, width / 2], temperatures [8], mask [length, length]."""
    steps = torch.arange(0, width, 2, dtype=torch.float32)
    frequencies = torch.pow(10000.0, -steps / width)
    angles = torch.outer(torch.arange(length, dtype=torch.float32), frequencies)
    temperatures = torch.linspace(0.5, 2.0, 8)
    before = temperatures.clone()
    temperatures[3:].mul_(0.5)
    temperatures.add_(before)
    mask = torch.full((length, length), float("-inf")).triu_(1)
    return angles.cos(), angles.sin(), temperatures, mask


def rotate(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


@torch.no_grad()
def solution(query, key, value):
    """query, key, value [s / W, h, d] of this rank. Returns its rows of the attention [s / W, h, d]."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    rows, _, width = query.shape
    cos, sin, temperatures, mask = tables(rows * world_size, width)
    cos, sin = cos.to(query.device)[:, None], sin.to(query.device)[:, None]
    own = slice(rank * rows, (rank + 1) * rows)
    query, key = rotate(query, cos[own], sin[own]), rotate(key, cos[own], sin[own])
    keys = torch.empty(world_size * rows, *key.shape[1:], device=key.device)
    values = torch.empty_like(keys)
    dist.all_gather_into_tensor(keys, key)
    dist.all_gather_into_tensor(values, value)
    scores = torch.einsum("qhd,khd->hqk", query, keys) / (width**0.5 * temperatures[4])
    scores = scores + mask[own].to(query.device)
    out = torch.einsum("hqk,khd->qhd", scores.softmax(-1), values)
    most = out.abs().amax()
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    return out / most.clamp_min(torch.tensor(1e-6, device=out.device)) * temperatures[7]


def inputs(rank, world_size, device, trial=0):
    own = torch.Generator().manual_seed(1000 * trial + rank)
    return tuple(torch.randn(6, 2, 8, generator=own).to(device) for _ in range(3))
