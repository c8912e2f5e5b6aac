# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradient clipping where some parameters are split over the ranks and some are replicated, as in Megatron's and torchtitan's trainers.

The 2-norm counts split parameters of all ranks and replicated ones once; the infinity norm needs a maximum; gradients that are not
finite anywhere make every rank skip the step, decided on the device.
"""
import torch
import torch.distributed as dist


def _total_norm(split, replicated, norm_type):
    if norm_type == float("inf"):
        largest = torch.stack([g.detach().abs().amax() for g in split + replicated]).amax()
        dist.all_reduce(largest, op=dist.ReduceOp.MAX)
        return largest
    powers = [torch.stack(torch._foreach_norm(grads, norm_type)).pow(norm_type).sum() for grads in (split, replicated)]
    share = powers[0] + powers[1] / dist.get_world_size()
    dist.all_reduce(share)
    return share ** (1.0 / norm_type)


@torch.no_grad()
def solution(split, replicated, parameters, max_norm):
    """split, replicated: lists of gradients, clipped in place; parameters: list in the order split + replicated, stepped in place.

    Returns the 2-norm, the infinity norm, and whether the step was taken (1 or 0).
    """
    for grad in replicated:  # data-parallel average first
        dist.all_reduce(grad, op=dist.ReduceOp.AVG)
    norm = _total_norm(split, replicated, 2.0)
    largest = _total_norm(split, replicated, float("inf"))
    finite = torch.isfinite(norm).to(torch.int32)
    dist.all_reduce(finite, op=dist.ReduceOp.MIN)
    coefficient = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    torch._foreach_mul_(split + replicated, coefficient)
    rate = 0.1 * finite
    for parameter, grad in zip(parameters, split + replicated):
        parameter.sub_(rate * (torch.sign(grad) * 0.01 + grad))
    return norm, largest, finite


def inputs(rank, world_size, device, trial=0):
    own = torch.Generator().manual_seed(100 * trial + rank)
    shapes = [(7, 12), (33,), (5, 4, 3)]
    split = [torch.randn(shape, generator=own).to(device) for shape in shapes]
    replicated = [torch.randn(shape, generator=own).to(device) for shape in ((16,), (9, 2))]
    same = torch.Generator().manual_seed(7 + trial)
    parameters = [torch.randn(g.shape, generator=own).to(device) for g in split]
    parameters += [torch.randn(g.shape, generator=same).to(device) for g in replicated]
    return split, replicated, parameters, 1.0
