# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives that change an argument of the program, as training loops write them."""
import torch
import torch.distributed as dist
from elementwise import _tensor


def plain(x):
    dist.all_reduce(x)


def returned(x):
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    return x


def averaged(x, other):
    """The bucket of a data-parallel step."""
    dist.all_reduce(x)
    x.div_(dist.get_world_size())
    return other * 2


def computed(x, other):
    """What is sent is computed of the argument, and what comes back is added to another."""
    y = torch.tanh(x * 0.5)
    dist.all_reduce(y)
    x.copy_(y + other)


def normalized(x, weight):
    """The rows of the sum are read by other blocks than have stored it."""
    dist.all_reduce(x)
    v = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return v * weight


def spread(x):
    dist.broadcast(x, src=dist.get_world_size() - 1)


def saved(x):
    """Somebody wants what was there before."""
    y = x.clone()
    dist.all_reduce(x)
    return y


def mixed(x):
    """What comes back is combined with what was there before: not in place, for the kernel reads that last."""
    y = x * 3
    dist.all_reduce(x)
    return x + y


def twice(x):
    dist.all_reduce(x)
    dist.all_reduce(x)


def some_rows(x):
    dist.all_reduce(x[1:3])


def one_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 6, 300),)


def two_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 6, 300), _tensor(99, trial, device, 6, 300, seed=5)


def large_inputs(rank, world_size, device, trial=0):
    """Several chunks for each block."""
    return (_tensor(rank, trial, device, 1021, 1999),)
