# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matrix product cut along its inner dimension: the partial products of all ranks are added up.

    pkb-export reference.py:solution --inputs reference.py:inputs --world-size 4 -o gemm_allreduce.pkb
"""
import torch
import torch.distributed as dist


@torch.no_grad()
def solution(a, b):
    """a [m, k], b [k, n]: this rank's slices of the inner dimension. Returns [m, n]: the whole product, on every rank."""
    product = a.contiguous() @ b.contiguous()
    dist.all_reduce(product)
    return product


def _inputs(base, inner, rank, device, trial):
    random = torch.Generator().manual_seed(1_000_003 * trial + rank)
    a, b = torch.randn(base, inner, generator=random), torch.randn(inner, base, generator=random)
    return a.to(torch.bfloat16).to(device), b.to(torch.bfloat16).to(device)


def inputs(rank, world_size, device, trial=0):
    """bf16, 1024 x 512 and 512 x 1024 on every rank."""
    return _inputs(1024, 512, rank, device, trial)


def inputs_256(rank, world_size, device, trial=0):
    """As `inputs`, 256 x 64 and 64 x 256: seconds on emulated ranks."""
    return _inputs(256, 64, rank, device, trial)


def inputs_tiny(rank, world_size, device, trial=0):
    """As `inputs`, 9 x 5 and 5 x 9."""
    return _inputs(9, 5, rank, device, trial)
