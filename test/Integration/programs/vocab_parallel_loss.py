# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vocabulary-parallel cross entropy with label smoothing, after Megatron-LM: forward and backward through a tied output layer.

Every rank holds the logits of a range of the vocabulary: the maximum, the logit of the target and the sum of exponentials are reduced.
Which targets are this rank's depends on the rank.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F


class _VocabParallelCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target, label_smoothing):
        maximum = torch.max(logits, dim=-1)[0]
        dist.all_reduce(maximum, op=dist.ReduceOp.MAX)
        logits = logits - maximum.unsqueeze(-1)

        size = logits.shape[-1]
        first, last = dist.get_rank() * size, (dist.get_rank() + 1) * size
        elsewhere = (target < first) | (target >= last)
        masked = (target - first).masked_fill(elsewhere, 0).reshape(-1)
        flat = logits.reshape(-1, size)
        predicted = flat[torch.arange(flat.shape[0], device=flat.device), masked].reshape(target.shape)
        predicted = predicted.masked_fill(elsewhere, 0.0)
        dist.all_reduce(predicted)

        exponentials = torch.exp(logits)
        total = exponentials.sum(dim=-1)
        dist.all_reduce(total)
        loss = torch.log(total) - predicted
        probabilities = exponentials / total.unsqueeze(-1)
        if label_smoothing > 0:
            vocabulary = size * dist.get_world_size()
            smoothing = label_smoothing * vocabulary / (vocabulary - 1)
            log_sum = torch.log(probabilities).sum(dim=-1)
            dist.all_reduce(log_sum)
            loss = (1.0 - smoothing) * loss - smoothing * log_sum / vocabulary
        ctx.label_smoothing = label_smoothing
        ctx.save_for_backward(probabilities, elsewhere, masked)
        return loss

    @staticmethod
    def backward(ctx, grad):
        probabilities, elsewhere, masked = ctx.saved_tensors
        size = probabilities.shape[-1]
        grad_logits = probabilities.clone()
        flat = grad_logits.view(-1, size)
        mine = 1.0 - elsewhere.reshape(-1).float()
        rows = torch.arange(flat.shape[0], device=flat.device)
        if ctx.label_smoothing > 0:
            vocabulary = size * dist.get_world_size()
            smoothing = ctx.label_smoothing * vocabulary / (vocabulary - 1)
            flat[rows, masked] -= (1.0 - smoothing) * mine
            flat -= smoothing / vocabulary
        else:
            flat[rows, masked] -= mine
        return grad_logits * grad.unsqueeze(-1), None, None


def solution(hidden, weight, target, loss_mask):
    """hidden [s, b, h] and target int64 [s, b], the same on every rank; weight [v / W, h]; loss_mask [s, b].

    Returns the masked mean loss, the gradient of hidden (summed over the ranks) and of weight.
    """
    hidden = hidden.detach().requires_grad_(True)
    weight = weight.detach().requires_grad_(True)
    losses = _VocabParallelCrossEntropy.apply(F.linear(hidden, weight).float(), target, 0.1)
    loss = (losses * loss_mask).sum() / loss_mask.sum()
    loss.backward()
    dist.all_reduce(hidden.grad)
    return loss.detach(), hidden.grad, weight.grad


def inputs(rank, world_size, device, trial=0):
    same = torch.Generator().manual_seed(100 * trial)
    own = torch.Generator().manual_seed(100 * trial + rank + 1)
    s, b, h, part = 5, 3, 16, 12
    return (torch.randn(s, b, h, generator=same).to(device), (torch.randn(part, h, generator=own) * 0.3).to(device),
            torch.randint(0, part * world_size, (s, b), generator=same).to(device),
            torch.randint(0, 2, (s, b), generator=same).float().index_fill(0, torch.tensor([0]), 1.0).to(device))
