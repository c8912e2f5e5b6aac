# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One training step of a small transformer block under FSDP2: `fully_shard` of the library, forward, loss, backward, SGD on the shards."""
import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, s, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2)) * (c // self.heads) ** -0.5
        mask = torch.ones(s, s, dtype=torch.bool, device=x.device).tril()
        att = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        x = x + self.proj(att.transpose(1, 2).reshape(b, s, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def solution(model, tokens, targets):
    """tokens, targets [b, s] of this rank. Returns the mean loss over the ranks and this rank's shard of every updated parameter."""
    model = copy.deepcopy(model)  # the caller's stays whole
    mesh = init_device_mesh(tokens.device.type, (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    logits = model(tokens)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    with torch.no_grad():
        shards = []
        for p in model.parameters():
            local = p.to_local()
            local.add_(p.grad.to_local(), alpha=-0.1)
            shards.append(local.clone())
        mean = loss.detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean, shards


def inputs(rank, world_size, device, trial=0):
    torch.manual_seed(11 + trial)
    model = Model(vocabulary=23, width=16, heads=2, layers=2).to(device)
    own = torch.Generator().manual_seed(1000 * trial + rank)
    tokens = torch.randint(0, 23, (2, 7), generator=own)
    return model, tokens[:, :-1].contiguous().to(device), tokens[:, 1:].contiguous().to(device)
