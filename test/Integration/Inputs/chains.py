# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in which one collective goes on where another one ends; each is to become one kernel."""
import torch
import torch.distributed as dist
from elementwise import _tensor


def transposed_exchange_scatter(x):
    """A transposition, an exchange of tokens, a scale, and a reduce_scatter along dimension 2."""
    world = dist.get_world_size()
    sent = x.transpose(0, 1).contiguous()  # tokens, batch, width
    got = torch.empty_like(sent)
    dist.all_to_all_single(got, sent)
    scaled = got * 0.125
    columns = scaled.movedim(2, 0).contiguous()  # width, tokens, batch
    part = columns.new_empty(columns.shape[0] // world, *columns.shape[1:])
    dist.reduce_scatter_tensor(part, columns)
    return part.movedim(0, 2).contiguous()


def transposed_exchange_scatter_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 3, 4 * world_size, 5 * world_size),)


def scatter_gather(x, bias):
    """What sequence parallelism does around an element-wise layer: sum and scatter, bias and activation in f32, gather."""
    world = dist.get_world_size()
    part = x.new_empty(x.shape[0] // world, x.shape[1])
    dist.reduce_scatter_tensor(part, x)
    active = torch.relu(part.float() + bias).to(x.dtype)
    whole = torch.empty_like(x)
    dist.all_gather_into_tensor(whole, active)
    return whole * 0.5


def scatter_gather_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 3 * world_size, 40, dtype="bf16"), _tensor(rank, trial, device, 40, seed=2)


def gather_scatter(x, gate):
    """The other way round: gather, gate, sum and scatter."""
    world = dist.get_world_size()
    whole = x.new_empty(world * x.shape[0], x.shape[1])
    dist.all_gather_into_tensor(whole, x * 2)
    gated = whole * gate
    part = torch.empty_like(x)
    dist.reduce_scatter_tensor(part, gated)
    return part + x


def gather_scatter_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 7, 33, dtype="f16"), _tensor(rank, trial, device, 7 * world_size, 33, dtype="f16", seed=5)


def twice_reduced(x):
    """A sum over the ranks, a function of it, and a maximum of that; the sum is a result, too."""
    total = x.clone()
    dist.all_reduce(total)
    top = torch.tanh(total) * x
    dist.all_reduce(top, op=dist.ReduceOp.MAX)
    return total, top + 1


def twice_reduced_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 129),)


def there_and_back(x):
    """Tokens go to their experts and come back transposed."""
    there = torch.empty_like(x)
    dist.all_to_all_single(there, x)
    worked = torch.nn.functional.silu(there)
    back = torch.empty_like(worked)
    dist.all_to_all_single(back, worked)
    return back.transpose(0, 1).contiguous()


def there_and_back_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 4 * world_size, 24, dtype="bf16"),)


def three_in_a_row(x):
    """Sum and scatter, a gather, an exchange; of other types in between."""
    world = dist.get_world_size()
    part = x.new_empty(x.shape[0] // world, x.shape[1])
    dist.reduce_scatter_tensor(part, x)
    half = (part * 0.25).half()
    whole = half.new_empty(x.shape)
    dist.all_gather_into_tensor(whole, half)
    sent = whole.float() - x
    got = torch.empty_like(sent)
    dist.all_to_all_single(got, sent)
    return got * part[0, 0]


def three_in_a_row_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 2 * world_size, 17),)


def larger(x):
    """Several chunks per block, by a ring."""
    world = dist.get_world_size()
    part = x.new_empty(x.shape[0] // world)
    dist.reduce_scatter_tensor(part, x)
    whole = torch.empty_like(x)
    dist.all_gather_into_tensor(whole, torch.exp(-part))
    return whole


def larger_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 1500 * world_size),)


def long_mean(x, weight):
    """A mean over the ranks that is long enough for two shots among four ranks and more, and a weight."""
    mean = x.clone()
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean * weight


def long_mean_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 3072, 512, dtype="bf16"), _tensor(rank, trial, device, 512, dtype="bf16", seed=3)


def slice_summed_again(x):
    """A sum, and the sum of a few of its rows: a window with an offset that no 16 bytes divide, shorter than the last chunk."""
    total = x.clone()
    dist.all_reduce(total)
    rows = total[1:4].clone()
    dist.all_reduce(rows)
    return total, rows


def slice_summed_again_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 12, 6),)


def columns_of_mean(x):
    """A mean, and the maximum of some of its columns, in halves: a window with an offset whose elements do not follow each other."""
    mean = x.clone()
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    columns = mean[2:, 1:4].contiguous()
    dist.all_reduce(columns, op=dist.ReduceOp.MAX)
    return mean, columns


def columns_of_mean_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 11, 7, dtype="bf16"),)


def tail_gathered(x):
    """A sum of several chunks, of which the end, of another length and from the middle of a chunk on, is gathered."""
    total = x.clone()
    dist.all_reduce(total)
    end = total[4099:]
    whole = end.new_empty(dist.get_world_size() * end.shape[0])
    dist.all_gather_into_tensor(whole, end)
    return total, whole


def tail_gathered_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 6001, dtype="f16"),)


def equal_halves(x):
    """The second half of a scattered sum is gathered: as long as a half, but other elements than those that a block has written."""
    world = dist.get_world_size()
    part = x.new_empty(x.shape[0] // world)
    dist.reduce_scatter_tensor(part, x)
    half = part[part.shape[0] // 2:]
    whole = half.new_empty(world * half.shape[0])
    dist.all_gather_into_tensor(whole, half)
    return whole, part


def equal_halves_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 2 * 2050 * world_size),)


def normalized_exchanged(x):
    """Rows are divided by a norm that is spelled out for each element, and go to other ranks; the smallest of all come back."""
    world = dist.get_world_size()
    total = x.clone()
    dist.all_reduce(total)
    rows = torch.nn.functional.normalize(total, dim=-1)
    got = torch.empty_like(rows)
    dist.all_to_all_single(got, rows)
    low = got / got.square().sum(-1, keepdim=True).expand_as(got)
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    return low * world


def normalized_exchanged_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 2 * world_size, 1001),)


def counted(x):
    """Means of integers, of which there are two kinds of quotients, and what is left of them."""
    tokens = (x * 100).int()
    mean = tokens * 3
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    spread = (tokens - mean) * 2
    dist.all_reduce(spread, op=dist.ReduceOp.AVG)
    return mean, spread


def counted_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 77),)


PROGRAMS = ("transposed_exchange_scatter", "scatter_gather", "gather_scatter", "twice_reduced", "there_and_back", "larger",
            "slice_summed_again", "columns_of_mean", "tail_gathered", "equal_halves")
ROWS_BETWEEN = ("normalized_exchanged", "counted")  # in as many kernels as pay
