# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor parallelism inside rows of a 2-D mesh, data parallelism between them: one step of a SwiGLU feed-forward, backward by hand.

The mesh is the library's DeviceMesh with the dimensions dp and tp; partial sums are reduced over tp, gradients averaged over dp.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh


@torch.no_grad()
def solution(x, target, w_gate, w_up, w_down, momentum):
    """x, target [tokens, h] of this dp row; w_gate, w_up [f / tp, h], w_down [h, f / tp]; momentum: one buffer per weight.

    Changes weights and momentum in place; returns the mean loss over the whole mesh and the norm of the gradient.
    """
    world_size = dist.get_world_size()
    tp = 2 if world_size % 2 == 0 else 1
    mesh = init_device_mesh(x.device.type, (world_size // tp, tp), mesh_dim_names=("dp", "tp"))
    tp_group, dp_group = mesh.get_group("tp"), mesh.get_group("dp")

    gate, up = F.linear(x, w_gate), F.linear(x, w_up)
    sigmoid = torch.sigmoid(gate)
    act = gate * sigmoid * up
    y = F.linear(act, w_down)
    dist.all_reduce(y, group=tp_group)
    difference = y - target
    loss = difference.pow(2).mean()

    grad_y = difference * (2.0 / difference.numel())
    grad_act = grad_y @ w_down
    grad_up = grad_act * gate * sigmoid
    grad_gate = grad_act * up * sigmoid * (1 + gate * (1 - sigmoid))
    grads = [grad_gate.t() @ x, grad_up.t() @ x, grad_y.t() @ act]
    for grad in grads:
        dist.all_reduce(grad, op=dist.ReduceOp.AVG, group=dp_group)
    square = torch.stack([g.square().sum() for g in grads]).sum()
    dist.all_reduce(square, group=tp_group)
    dist.all_reduce(loss, op=dist.ReduceOp.AVG, group=dp_group)
    for weight, grad, buffer in zip((w_gate, w_up, w_down), grads, momentum):
        buffer.mul_(0.9).add_(grad)
        weight.add_(buffer, alpha=-0.05)
    return loss, square.sqrt()


def inputs(rank, world_size, device, trial=0):
    tp = 2 if world_size % 2 == 0 else 1
    row, column = divmod(rank, tp)
    data = torch.Generator().manual_seed(100 * trial + row)
    shard = torch.Generator().manual_seed(5000 + 100 * trial + column)
    hidden, inner, tokens = 16, 20, 11
    weights = [torch.randn(inner, hidden, generator=shard) * 0.25, torch.randn(inner, hidden, generator=shard) * 0.25,
               torch.randn(hidden, inner, generator=shard) * 0.25]
    momentum = [torch.randn(w.shape, generator=shard) * 0.01 for w in weights]
    return (torch.randn(tokens, hidden, generator=data).to(device), torch.randn(tokens, hidden, generator=data).to(device),
            *(w.to(device) for w in weights), [m.to(device) for m in momentum])
