# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoding with a vocabulary split over the ranks: the best k of every shard are gathered, the best k of all are chosen, and the
next token is drawn with noise that rank 0 hands out.

Indices are those of the whole vocabulary, so every rank adds its own offset. Nucleus filtering and temperature as in serving code.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F


@torch.no_grad()
def solution(hidden, weight, uniform, temperature):
    """hidden [b, h], the same on every rank, weight [v / W, h], uniform [b, k], used from rank 0, temperature [b].

    Returns next tokens int64 [b], their log-probabilities over the whole vocabulary [b], candidate tokens int64 [b, k].
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    k = uniform.shape[1]
    logits = F.linear(hidden, weight).float() / temperature[:, None]
    lse = torch.logsumexp(logits, dim=-1)
    every = [torch.empty_like(lse) for _ in range(world_size)]
    dist.all_gather(every, lse)
    normaliser = torch.logsumexp(torch.stack(every), dim=0)

    values, tokens = logits.topk(k, dim=-1)
    tokens = tokens + rank * weight.shape[0]
    all_values = torch.empty(world_size, *values.shape, device=values.device)
    all_tokens = torch.empty(world_size, *tokens.shape, dtype=tokens.dtype, device=tokens.device)
    dist.all_gather_into_tensor(all_values, values)
    dist.all_gather_into_tensor(all_tokens, tokens)
    best, where = all_values.transpose(0, 1).flatten(1).topk(k, dim=-1)
    candidates = all_tokens.transpose(0, 1).flatten(1).gather(1, where)

    probabilities = best.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities
    best = best.masked_fill(before > 0.9, float("-inf"))
    dist.broadcast(uniform, src=0)
    choice = (best - torch.log(-torch.log(uniform))).argmax(-1, keepdim=True)
    chosen = candidates.gather(1, choice).squeeze(1)
    return chosen, best.gather(1, choice).squeeze(1) - normaliser, candidates


def inputs(rank, world_size, device, trial=0):
    own = torch.Generator().manual_seed(100 * trial + rank + 1)
    same = torch.Generator().manual_seed(100 * trial)
    b, h, part, k = 5, 16, 27, 4
    return (torch.randn(b, h, generator=same).to(device), torch.randn(part, h, generator=own).to(device),
            torch.rand(b, k, generator=own).clamp(0.01, 0.99).to(device), (0.5 + torch.rand(b, generator=same)).to(device))
