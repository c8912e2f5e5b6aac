# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixture-of-experts dispatch with equal splits, in the manner of expert-parallel training code.

Each rank owns experts_per_rank experts. A router with fixed capacity has already chosen, so the order of the tokens is
an argument and no value is read on the host: gather tokens by expert, all_to_all to their owners, one batched
feed-forward per local expert, all_to_all back, scatter to the tokens and add with the router's weights.
"""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F


def _exchange(x):
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x)
    return out


def solution(tokens, order, gate, w1, w2):
    """One step of expert-parallel feed-forward.

    tokens [T, H]; order int64 [E * C], the token of each slot, slots sorted by expert; gate [E * C], weight of each slot;
    w1 [e, H, F], w2 [e, F, H], the weights of the e local experts (E = W * e). Returns [T, H].
    """
    world_size = dist.get_world_size()
    local_experts, hidden = w1.shape[0], w1.shape[1]
    capacity = order.shape[0] // (world_size * local_experts)

    sent = tokens.index_select(0, order)  # [W * e * C, H]
    received = _exchange(sent).view(world_size, local_experts, capacity, hidden)
    batch = received.transpose(0, 1).reshape(local_experts, world_size * capacity, hidden)

    act = F.silu(torch.bmm(batch, w1))
    done = torch.bmm(act, w2)

    back = done.view(local_experts, world_size, capacity, hidden).transpose(0, 1).contiguous()
    combined = _exchange(back.view(-1, hidden))  # slot order of `sent` again

    out = torch.zeros_like(tokens)
    out.index_add_(0, order, combined * gate.unsqueeze(1))
    return out


def inputs(rank, world_size, device, trial=0):
    """Sizes and dtype may be set with PKB_CAPACITY, PKB_HIDDEN, PKB_EXPERTS (per rank) and PKB_DTYPE; two experts a token."""
    capacity = int(os.environ.get("PKB_CAPACITY", "6"))
    hidden = int(os.environ.get("PKB_HIDDEN", "32"))
    local_experts = int(os.environ.get("PKB_EXPERTS", "2"))
    dtype = getattr(torch, os.environ.get("PKB_DTYPE", "bfloat16"))
    slots = world_size * local_experts * capacity
    count = max(slots // 2, 1)
    g = torch.Generator().manual_seed(7000 + 31 * trial + rank)
    # Every token fills two slots (one, for the last of an odd number): a random order of tokens, twice.
    order = torch.cat([torch.randperm(count, generator=g), torch.randperm(count, generator=g), torch.zeros(1, dtype=torch.int64)])

    def random(*sizes, scale=1.0):
        return (torch.randn(*sizes, generator=g) * scale).to(device=device, dtype=dtype)

    gate = torch.rand(slots, generator=g).to(device=device, dtype=dtype)
    return (
        random(count, hidden),
        order[:slots].to(device),
        gate,
        random(local_experts, hidden, 2 * hidden, scale=hidden**-0.5),
        random(local_experts, 2 * hidden, hidden, scale=(2 * hidden) ** -0.5),
    )
