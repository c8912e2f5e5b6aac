# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small functions for the tests of pkb-run, with their inputs."""

import os
import time

import torch
import torch.distributed as dist


def reduce(x):
    out = x.clone()
    dist.all_reduce(out)
    return out


def reduce_in_place(x):
    dist.all_reduce(x)
    return x


def gather(x):
    out = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(out, x)
    return torch.stack(out)


def exchange(x):
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x)
    return out


def stages(x):
    """The ranks return different numbers of tensors, of different shapes; what is received has the default dtype."""
    if dist.get_rank() == 0:
        dist.send(x.float()[:3], 1)
        return x + 1
    received = torch.empty(3, 24, device=x.device)
    dist.recv(received, 0)
    return torch.softmax(received, 0), x.float().sum(1), x * 2


def inputs(rank, world_size, device, trial=0):
    g = torch.Generator().manual_seed(100 * rank + trial)
    return (torch.randn(8 * world_size, 24, generator=g).bfloat16().to(device),)


def large_inputs(rank, world_size, device, trial=0):
    """Sums of these overflow to infinities of both signs; one element is NaN on one rank."""
    x = inputs(rank, world_size, device, trial)[0] * 2e38
    if rank == 1:
        x[3, 4] = float("nan")
    return (x,)


def growing_inputs(rank, world_size, device, trial=0):
    """Trial 1 and later have twice the rows."""
    x = inputs(rank, world_size, device, trial)[0]
    return (torch.cat([x, x]) if trial else x,)


def slow_inputs(rank, world_size, device, trial=0):
    """Hangs on the last rank where the environment asks for it, after the export."""
    if os.environ.get("PKB_TEST_HANG") and rank == world_size - 1:
        time.sleep(1000)
    return inputs(rank, world_size, device, trial)
