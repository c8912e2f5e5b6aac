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


def buckets(x):
    """Parts of one buffer of gradients, all under way at once."""
    pending = [dist.all_reduce(part, async_op=True) for part in (x[0:2], x[2:5])]
    for work in pending:
        work.wait()
    x.div_(dist.get_world_size())


def in_turn(x):
    """The second part is what lies beside the first, and is read only when that has been written."""
    dist.all_reduce(x[0:2])
    dist.broadcast(x[2:5], src=1)


def across(x):
    """What is sent later overlaps what has come in."""
    dist.all_reduce(x[0:3])
    dist.all_reduce(x[2:5])


def kept_part(x):
    """Somebody wants a part of what was there before."""
    old = x[2:4] * 1
    dist.all_reduce(x[1:4])
    return old


def gathered(full, shard):
    dist.all_gather_into_tensor(full, shard)


def gathered_part(full, shard):
    n = shard.shape[0]
    dist.all_gather_into_tensor(full[1 : 1 + n * dist.get_world_size()], shard * 2)


def sharded(full, shard):
    """The shard lies in the buffer that all of them are gathered in."""
    n, rank = shard.shape[0], dist.get_rank()
    own = full[n * rank : n * (rank + 1)]
    dist.all_gather_into_tensor(full[: n * dist.get_world_size()], own)


def scattered(full, shard):
    dist.reduce_scatter_tensor(shard, full[: shard.shape[0] * dist.get_world_size()])


def scattered_back(full, shard):
    n, rank = shard.shape[0], dist.get_rank()
    dist.reduce_scatter_tensor(full[n * rank : n * (rank + 1)], full[: n * dist.get_world_size()])


def exchanged(full, shard):
    """What goes out comes back into the same memory, in another order."""
    part = full[: shard.shape[0] * dist.get_world_size()]
    dist.all_to_all_single(part, part.clone())


def transposed(x):
    """An operator would read what it is writing, but for the copy."""
    y = x[:, :6].clone()
    dist.all_reduce(y)
    y.add_(y.t().clone())
    x[1:].sub_(x[:-1].clone())
    return y


def counted(x, state):
    """What a row has one of, kept from call to call; all lanes of the row read it."""
    squares = x.pow(2).sum(-1, keepdim=True)
    dist.all_reduce(squares)
    state.copy_(squares + state)
    return x * torch.rsqrt(state.abs() + 1)


def one_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 6, 300),)


def two_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 6, 300), _tensor(99, trial, device, 6, 300, seed=5)


def state_inputs(rank, world_size, device, trial=0):
    """Few rows, which the warps of a block share."""
    return _tensor(rank, trial, device, 3, 2200), _tensor(99, trial, device, 3, 1, seed=5)


def shard_inputs(rank, world_size, device, trial=0):
    """A buffer with room for more than the shards of all ranks, and a shard."""
    return _tensor(rank, trial, device, 3 * world_size + 2, 40), _tensor(rank, trial, device, 3, 40, seed=5)


def whole_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 3 * world_size, 40), _tensor(rank, trial, device, 3, 40, seed=5)


def long_inputs(rank, world_size, device, trial=0):
    """So much that each rank adds up a part of it for all."""
    return (_tensor(rank, trial, device, 1200, 512),)


def large_inputs(rank, world_size, device, trial=0):
    """Several chunks for each block."""
    return (_tensor(rank, trial, device, 1021, 1999),)
