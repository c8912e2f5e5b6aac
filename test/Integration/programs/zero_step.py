# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A ZeRO stage-1/2 step with AdamW: gradients are flattened and reduce-scattered, each rank updates its slice of the fp32 master
copy, the slices are gathered into the bf16 parameters.

The number of parameters is not a multiple of the number of ranks, so the flat buffer is padded; a second group of parameters is split
by tensors, each owned by one rank that gets the reduced gradient and broadcasts the new value.
"""
import torch
import torch.distributed as dist


class _Adam:
    """AdamW on one flat tensor, in place, with the bias corrections of step 3."""

    def __init__(self, rate=1e-2, betas=(0.9, 0.95), eps=1e-8, decay=0.1, step=3):
        self.rate, self.betas, self.eps, self.decay, self.step = rate, betas, eps, decay, step

    def update(self, master, grad, first, second):
        b1, b2 = self.betas
        first.lerp_(grad, 1 - b1)
        second.mul_(b2).addcmul_(grad, grad, value=1 - b2)
        master.mul_(1 - self.rate * self.decay)
        denominator = (second.sqrt() / (1 - b2**self.step) ** 0.5).add_(self.eps)
        master.addcdiv_(first, denominator, value=-self.rate / (1 - b1**self.step))


@torch.no_grad()
def solution(parameters, grads, master, first, second, owned_parameters, owned_grads, owned_state):
    """parameters, grads: lists of bf16 tensors, parameters replaced in place; master, first, second: float32 slices of this rank.

    owned_*: tensors of which number i belongs to rank i % W. Returns the norm of the averaged gradient.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    adam = _Adam()
    flat = torch.cat([g.reshape(-1) for g in grads]).float()
    padding = -flat.numel() % world_size
    flat = torch.nn.functional.pad(flat, (0, padding))
    grad = torch.empty_like(master)
    dist.reduce_scatter_tensor(grad, flat, op=dist.ReduceOp.AVG)
    adam.update(master, grad, first, second)
    gathered = torch.empty(flat.numel(), dtype=torch.bfloat16, device=flat.device)
    dist.all_gather_into_tensor(gathered, master.to(torch.bfloat16))
    offset = 0
    for parameter in parameters:
        parameter.copy_(gathered[offset:offset + parameter.numel()].view_as(parameter))
        offset += parameter.numel()

    square = grad.square().sum()
    for index, (parameter, owned_grad) in enumerate(zip(owned_parameters, owned_grads)):
        owner = index % world_size
        dist.reduce(owned_grad, dst=owner)
        if rank == owner:
            owned_grad.div_(world_size)
            square.add_(owned_grad.square().sum())
            adam.update(parameter, owned_grad, *owned_state[index])
        dist.broadcast(parameter, src=owner)
    dist.all_reduce(square)
    return square.sqrt()


def inputs(rank, world_size, device, trial=0):
    own = torch.Generator().manual_seed(100 * trial + rank + 1)
    same = torch.Generator().manual_seed(100 * trial)
    shapes = [(9, 7), (31,), (4, 5), (3,)]
    parameters = [torch.randn(s, generator=same).to(torch.bfloat16) for s in shapes]
    grads = [torch.randn(s, generator=own).to(torch.bfloat16) for s in shapes]
    count = sum(p.numel() for p in parameters)
    part = -(-count // world_size)
    padded = torch.cat([p.reshape(-1).float() for p in parameters] + [torch.zeros(part * world_size - count)])
    master = padded[rank * part:(rank + 1) * part].clone()
    first, second = 0.1 * torch.randn(part, generator=own), 0.1 * torch.rand(part, generator=own)
    owned = [torch.randn(s, generator=same) for s in ((6, 3), (11,), (2, 2))]
    owned_grads = [torch.randn(p.shape, generator=own) for p in owned]
    state = [(torch.randn(p.shape, generator=same) * 0.1, torch.rand(p.shape, generator=same) * 0.1) for p in owned]
    return ([p.to(device) for p in parameters], [g.to(device) for g in grads], master.to(device), first.to(device), second.to(device),
            [p.to(device) for p in owned], [g.to(device) for g in owned_grads], [(a.to(device), b.to(device)) for a, b in state])
