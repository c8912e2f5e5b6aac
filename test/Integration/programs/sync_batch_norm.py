# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Synchronised batch norm in Python, after detectron2 and the library's own: statistics are gathered with their counts, joined, and
the backward pass reduces the two sums that it needs. Forward, backward and the running statistics of a two-layer convolution."""
import torch
import torch.distributed as dist
import torch.nn.functional as F


class _SyncBatchNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, running_mean, running_var, eps, momentum):
        channels = x.shape[1]
        var, mean = torch.var_mean(x, dim=(0, 2, 3), unbiased=False)
        count = torch.full((1,), x.numel() // channels, dtype=mean.dtype, device=x.device)
        combined = torch.cat([mean, var, count])
        gathered = [torch.empty_like(combined) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, combined)
        means, variances, counts = torch.stack(gathered).split(channels, dim=1)
        total = counts.sum()
        mean = (means * counts).sum(0) / total
        var = ((variances + means.square()) * counts).sum(0) / total - mean.square()
        running_mean.mul_(1 - momentum).add_(mean * momentum)
        running_var.mul_(1 - momentum).add_(var * total / (total - 1) * momentum)
        invstd = torch.rsqrt(var + eps)
        normal = (x - mean[None, :, None, None]) * invstd[None, :, None, None]
        ctx.save_for_backward(normal, weight, invstd, total)
        return normal * weight[None, :, None, None] + bias[None, :, None, None]

    @staticmethod
    def backward(ctx, grad):
        normal, weight, invstd, total = ctx.saved_tensors
        grad_weight, grad_bias = (grad * normal).sum(dim=(0, 2, 3)), grad.sum(dim=(0, 2, 3))
        sums = torch.cat([grad_bias * weight, grad_weight * weight])
        dist.all_reduce(sums)
        mean_grad, mean_grad_normal = (sums / total).chunk(2)
        inner = grad * weight[None, :, None, None] - mean_grad[None, :, None, None] - normal * mean_grad_normal[None, :, None, None]
        return inner * invstd[None, :, None, None], grad_weight, grad_bias, None, None, None, None


def solution(x, grad_out, w1, w2, weight, bias, running_mean, running_var):
    """x, grad_out [b, 6, 8, 8], convolutions w1, w2 [6, 6, 3, 3]; running statistics are changed in place.

    Returns the output, and the gradients of x and of the four parameters, the latter averaged over the ranks.
    """
    x, w1, w2, weight, bias = (t.detach().requires_grad_(True) for t in (x, w1, w2, weight, bias))
    h = F.conv2d(x, w1, padding=1)
    h = F.relu(_SyncBatchNorm.apply(h, weight, bias, running_mean, running_var, 1e-5, 0.1))
    y = x + F.conv2d(h, w2, padding=1)
    y.backward(grad_out)
    parameters = [w1, w2, weight, bias]
    for p in parameters:
        dist.all_reduce(p.grad)
        p.grad.div_(dist.get_world_size())
    return y.detach(), x.grad, [p.grad for p in parameters]


def inputs(rank, world_size, device, trial=0):
    own = torch.Generator().manual_seed(100 * trial + rank + 1)
    same = torch.Generator().manual_seed(100 * trial)
    shape = (2, 6, 8, 8)
    return (torch.randn(shape, generator=own).to(device), torch.randn(shape, generator=own).to(device),
            *((torch.randn(6, 6, 3, 3, generator=same) * 0.2).to(device) for _ in range(2)),
            (1 + 0.1 * torch.randn(6, generator=same)).to(device), (0.1 * torch.randn(6, generator=same)).to(device),
            torch.zeros(6, device=device), torch.ones(6, device=device))
