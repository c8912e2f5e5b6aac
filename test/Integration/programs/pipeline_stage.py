# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipeline parallelism: every rank is one stage of a network, micro-batches flow forward, their gradients flow back (GPipe).

The first stage embeds tokens, the last one computes the loss; activations and gradients travel by send and recv. All ranks learn the
loss by a broadcast from the last.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

WIDTH = 12
VOCABULARY = 17


class Stage(nn.Module):
    """Layers of one stage; the first has an embedding, the last a head."""

    def __init__(self, stage, stages):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH) if stage == 0 else None
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(3 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY) if stage == stages - 1 else None

    def forward(self, x):
        if self.embed is not None:
            x = self.embed(x)
        x = x + self.down(F.silu(self.up(self.norm(x))))
        return x if self.head is None else self.head(x)


def solution(module, tokens, targets):
    """tokens, targets: int64 [micro-batches, b, s], used by the first and the last stage. Returns the loss and this stage's gradients."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    first, last = rank == 0, rank == world_size - 1
    micro_batches, b, s = tokens.shape
    received, produced, losses = [], [], []
    for m in range(micro_batches):
        if first:
            x = tokens[m]
        else:
            x = torch.empty(b, s, WIDTH, device=tokens.device)
            dist.recv(x, rank - 1)
            x.requires_grad_(True)
        y = module(x)
        if last:
            loss = F.cross_entropy(y.flatten(0, 1), targets[m].flatten()) / micro_batches
            losses.append(loss)
        else:
            dist.send(y.detach().contiguous(), rank + 1)
        received.append(x)
        produced.append(y)
    for m in range(micro_batches):
        if last:
            losses[m].backward()
        else:
            grad = torch.empty_like(produced[m])
            dist.recv(grad, rank + 1)
            produced[m].backward(grad)
        if not first:
            dist.send(received[m].grad, rank - 1)
    total = torch.stack([loss.detach() for loss in losses]).sum() if last else torch.zeros((), device=tokens.device)
    dist.broadcast(total, src=world_size - 1)
    grads = [p.grad for p in module.parameters()]
    for p in module.parameters():
        p.grad = None
    return total, grads


def inputs(rank, world_size, device, trial=0):
    torch.manual_seed(50 * trial + rank)
    module = Stage(rank, world_size).to(device)
    same = torch.Generator().manual_seed(9 + trial)
    tokens = torch.randint(0, VOCABULARY, (3, 2, 6), generator=same)
    return module, tokens[..., :-1].contiguous().to(device), tokens[..., 1:].contiguous().to(device)
