# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Causal ring attention: every rank keeps its queries and passes its keys and values on to the next rank with isend and irecv.

While a block is on its way the block at hand is attended to, and the partial results are joined by their log-sum-exp. A block of
later positions is skipped, so the ranks do not compute alike. Even ranks send first, as ring code does to avoid waiting on itself.
"""
import torch
import torch.distributed as dist


def _exchange(tensors):
    """Starts to pass tensors to the next rank; returns the tensors that arrive and the pending works."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    following, previous = (rank + 1) % world_size, (rank - 1) % world_size
    arriving = [torch.empty_like(t) for t in tensors]
    works = []
    for tensor, incoming in zip(tensors, arriving):
        if rank % 2 == 0:
            works += [dist.isend(tensor, following), dist.irecv(incoming, previous)]
        else:
            works += [dist.irecv(incoming, previous), dist.isend(tensor, following)]
    return arriving, works


def _attend(q, k, v, causal):
    """Attention to one block: the result and its log-sum-exp, in float32."""
    scores = torch.einsum("bhqd,bhkd->bhqk", q.float(), k.float()) * q.shape[-1] ** -0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1), float("-inf"))
    lse = torch.logsumexp(scores, dim=-1, keepdim=True)
    return torch.exp(scores - lse) @ v.float(), lse


@torch.no_grad()
def solution(q, k, v):
    """q, k, v [b, h, s / W, d], the sequence cut in rank order. Returns attention's result [b, h, s / W, d] and log-sum-exp."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    out = lse = None
    for step in range(world_size):
        if step + 1 < world_size:
            (next_k, next_v), works = _exchange([k, v])
        if step <= rank:
            block, block_lse = _attend(q, k, v, causal=step == 0)
            if out is None:
                out, lse = block, block_lse
            else:
                joined = torch.logaddexp(lse, block_lse)
                out = out * torch.exp(lse - joined) + block * torch.exp(block_lse - joined)
                lse = joined
        if step + 1 < world_size:
            for work in works:
                work.wait()
            k, v = next_k, next_v
    return out.to(q.dtype), lse.squeeze(-1)


def inputs(rank, world_size, device, trial=0):
    own = torch.Generator().manual_seed(100 * trial + rank)
    return tuple(torch.randn(2, 3, 7, 8, generator=own).to(torch.bfloat16).to(device) for _ in range(3))
