# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A transformer's feed-forward block with tensor and sequence parallelism, in the manner of Megatron-LM: forward and backward.

Between the blocks every rank holds a slice of the sequence. The slices are gathered before the column-parallel linear and
reduce-scattered after the row-parallel one; the backward pass does the reverse. Parameters that all ranks share (norm, output
bias) saw only a slice, so their gradients are summed over the ranks at the end.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F


class _GatherSequence(torch.autograd.Function):
    """All-gather along the sequence in forward, reduce-scatter in backward."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty(x.shape[0] * dist.get_world_size(), *x.shape[1:], dtype=x.dtype, device=x.device)
        dist.all_gather_into_tensor(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty(grad.shape[0] // dist.get_world_size(), *grad.shape[1:], dtype=grad.dtype, device=grad.device)
        dist.reduce_scatter_tensor(out, grad.contiguous())
        return out


class _ReduceScatterSequence(torch.autograd.Function):
    """Reduce-scatter along the sequence in forward, all-gather in backward."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty(x.shape[0] // dist.get_world_size(), *x.shape[1:], dtype=x.dtype, device=x.device)
        dist.reduce_scatter_tensor(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty(grad.shape[0] * dist.get_world_size(), *grad.shape[1:], dtype=grad.dtype, device=grad.device)
        dist.all_gather_into_tensor(out, grad.contiguous())
        return out


class ParallelMLP(torch.nn.Module):
    def __init__(self, norm_weight, norm_bias, w_up, b_up, w_down, b_down):
        super().__init__()
        self.norm_weight, self.norm_bias = torch.nn.Parameter(norm_weight), torch.nn.Parameter(norm_bias)
        self.w_up, self.b_up = torch.nn.Parameter(w_up), torch.nn.Parameter(b_up)
        self.w_down, self.b_down = torch.nn.Parameter(w_down), torch.nn.Parameter(b_down)

    def forward(self, x):
        h = F.layer_norm(x, x.shape[-1:], self.norm_weight, self.norm_bias)
        h = F.linear(_GatherSequence.apply(h), self.w_up, self.b_up)
        h = F.gelu(h, approximate="tanh")
        return x + _ReduceScatterSequence.apply(F.linear(h, self.w_down)) + self.b_down


def solution(x, grad_out, norm_weight, norm_bias, w_up, b_up, w_down, b_down):
    """x, grad_out [s / W, b, h], w_up [4h / W, h], w_down [h, 4h / W]. Returns the output, the gradient of x and those of the parameters."""
    block = ParallelMLP(norm_weight, norm_bias, w_up, b_up, w_down, b_down)
    x = x.detach().requires_grad_(True)
    y = block(x)
    y.backward(grad_out)
    shared = [block.norm_weight.grad, block.norm_bias.grad, block.b_down.grad]
    flat = torch.cat([g.reshape(-1) for g in shared])
    dist.all_reduce(flat)
    for grad, synced in zip(shared, flat.split([g.numel() for g in shared])):
        grad.copy_(synced.view_as(grad))
    return y.detach(), x.grad, [p.grad for p in block.parameters()]


def inputs(rank, world_size, device, trial=0):
    sequence, batch, hidden = 6, 3, 24
    own = torch.Generator().manual_seed(100 * trial + rank + 1)
    same = torch.Generator().manual_seed(100 * trial)

    def random(*sizes, generator=own, scale=1.0):
        return (torch.randn(*sizes, generator=generator) * scale).to(device)

    inner = 48 // world_size
    return (random(sequence, batch, hidden), random(sequence, batch, hidden), 1 + random(hidden, generator=same, scale=0.1),
            random(hidden, generator=same, scale=0.1), random(inner, hidden, scale=0.2), random(inner, scale=0.1),
            random(hidden, inner, scale=0.2), random(hidden, generator=same, scale=0.1))
