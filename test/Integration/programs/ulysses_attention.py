# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DeepSpeed-Ulysses attention: the sequence is split between the ranks outside of attention, the heads inside it.

One all-to-all for each of q, k and v turns [s / W, h] into [s, h / W]; one turns the result back. Rotary embedding uses each
rank's own positions, so a constant of the program depends on the rank.
"""
import torch
import torch.distributed as dist


def _seq_to_heads(x):
    """[s / W, b, h, d] -> [s, b, h / W, d]."""
    world_size = dist.get_world_size()
    s, b, h, d = x.shape
    send = x.reshape(s, b, world_size, h // world_size, d).permute(2, 0, 1, 3, 4).contiguous()
    received = torch.empty_like(send)
    dist.all_to_all_single(received, send)
    return received.reshape(world_size * s, b, h // world_size, d)


def _heads_to_seq(x):
    """[s, b, h / W, d] -> [s / W, b, h, d]."""
    world_size = dist.get_world_size()
    s, b, h, d = x.shape
    send = x.contiguous()
    received = torch.empty_like(send)
    dist.all_to_all_single(received, send)
    return received.reshape(world_size, s // world_size, b, h, d).permute(1, 2, 0, 3, 4).reshape(s // world_size, b, world_size * h, d)


def _rotary(x, first):
    """Rotates pairs of features by an angle that grows with the position in the whole sequence."""
    s, d = x.shape[0], x.shape[-1]
    frequency = 10000.0 ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float32) / d)
    angle = torch.outer(torch.arange(first, first + s, device=x.device, dtype=torch.float32), frequency)
    cos, sin = angle.cos()[:, None, None], angle.sin()[:, None, None]
    even, odd = x[..., 0::2].float(), x[..., 1::2].float()
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2).to(x.dtype)


@torch.no_grad()
def solution(x, w_qkv, w_out):
    """x [s / W, b, c], w_qkv [3c, c], w_out [c, c], 8 heads. Returns [s / W, b, c]."""
    s, b, c = x.shape
    heads = 8
    first = dist.get_rank() * s
    q, k, v = (x @ w_qkv.t()).view(s, b, 3, heads, c // heads).unbind(2)
    q, k = _rotary(q, first), _rotary(k, first)
    q, k, v = (_seq_to_heads(t).permute(1, 2, 0, 3) for t in (q, k, v))
    scores = torch.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    weights = scores.masked_fill(hidden, float("-inf")).float().softmax(-1).to(x.dtype)
    context = torch.matmul(weights, v).permute(2, 0, 1, 3)
    return x + _heads_to_seq(context).reshape(s, b, c) @ w_out.t()


def inputs(rank, world_size, device, trial=0):
    own = torch.Generator().manual_seed(100 * trial + rank)
    same = torch.Generator().manual_seed(7 + 100 * trial)
    c = 32
    return (torch.randn(5, 2, c, generator=own).to(torch.bfloat16).to(device),
            (torch.randn(3 * c, c, generator=same) * c**-0.5).to(torch.bfloat16).to(device),
            (torch.randn(c, c, generator=same) * c**-0.5).to(torch.bfloat16).to(device))
