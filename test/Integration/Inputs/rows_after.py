# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that reduce rows of what a collective gives; each is to become one kernel."""
import torch
import torch.distributed as dist
from elementwise import _tensor


def rms_norm(x, residual, weight):
    """What follows a row-parallel layer: the residual, which goes on, and its norm, computed in f32."""
    total = x.clone()
    dist.all_reduce(total)
    h = total + residual
    v = h.float()
    v = v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * v.to(h.dtype), h


def rms_norm_inputs(rank, world_size, device, trial=0, dtype="bf16", shape=(9, 77)):
    width = shape[-1]
    return (_tensor(rank, trial, device, *shape, dtype=dtype), _tensor(99, trial, device, *shape, dtype=dtype, seed=4),
            _tensor(98, trial, device, width, dtype=dtype, seed=5))  # fmt: skip


def rms_norm_f32_inputs(rank, world_size, device, trial=0):
    return rms_norm_inputs(rank, world_size, device, trial, "f32", (2, 3, 100))


def rms_norm_f16_inputs(rank, world_size, device, trial=0):
    return rms_norm_inputs(rank, world_size, device, trial, "f16", (1, 129))


def rms_norm_long_inputs(rank, world_size, device, trial=0):
    """Many rows, whole ones in each chunk."""
    return rms_norm_inputs(rank, world_size, device, trial, "bf16", (1030, 256))


def rms_norm_wide_inputs(rank, world_size, device, trial=0):
    """Few rows, each for the threads of a block; not whole vectors, so that every second row is aligned to 8 bytes only."""
    return rms_norm_inputs(rank, world_size, device, trial, "bf16", (3, 4100))


def rms_norm_team_inputs(rank, world_size, device, trial=0):
    """The same of whole vectors: more rows than blocks can be, for teams of a part of a block."""
    return rms_norm_inputs(rank, world_size, device, trial, "bf16", (300, 1024))


def softmax(x):
    """A softmax that is written down, of a sum that is a result, too."""
    total = x.clone()
    dist.all_reduce(total)
    e = torch.exp(total - total.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True), total


def softmax_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 31, 45),)


def softmax_wide_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 2, 2048),)


def scatter_norm(x, weight, bias):
    """A reduce_scatter of tokens and a layer norm of those of this rank, over the last two dimensions."""
    part = x.new_empty(x.shape[0] // dist.get_world_size(), *x.shape[1:])
    dist.reduce_scatter_tensor(part, x)
    centered = part - part.mean((-2, -1), keepdim=True)
    variance = (centered * centered).mean((-2, -1), keepdim=True)
    return centered * torch.rsqrt(variance + 1e-5) * weight + bias


def scatter_norm_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 5 * world_size, 4, 11), _tensor(99, trial, device, 4, 11), _tensor(98, trial, device, 4, 11, seed=3))


def gather_norm(x):
    """Rows that come from all ranks, as a view of what has been gathered: what a block stores, others reduce."""
    whole = x.new_empty(dist.get_world_size() * x.shape[0], x.shape[1])
    dist.all_gather_into_tensor(whole, x * 0.5)
    rows = whole.view(-1, 2 * x.shape[1])
    return rows / rows.abs().amax(-1, keepdim=True)


def gather_norm_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 6, 20, dtype="f64"),)


def norm_scatter(x, weight):
    """The norm lies between two collectives: three phases."""
    total = x.clone()
    dist.all_reduce(total)
    scaled = total * torch.rsqrt((total * total).mean(-1, keepdim=True) + 1e-6) * weight
    part = x.new_empty(x.shape[0] // dist.get_world_size(), x.shape[1])
    dist.reduce_scatter_tensor(part, scaled)
    return part


def norm_scatter_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 3 * world_size, 50), _tensor(97, trial, device, 50, seed=6)


def exchange_then_norm(x):
    """The collective with the norm is the second one."""
    got = torch.empty_like(x)
    dist.all_to_all_single(got, x)
    got = torch.tanh(got)
    dist.all_reduce(got)
    return got - got.mean(-1, keepdim=True)


def exchange_then_norm_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 2 * world_size, 36),)


def library_softmax(x):
    """The operators of the library, in f16: softmax of a sum, its logarithm of a view of it."""
    total = x.clone()
    dist.all_reduce(total)
    return torch.softmax(total, -1), torch.log_softmax(total.float(), dim=2)


def library_softmax_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 3, 5, 41, dtype="f16"),)


def layer_norm(x, residual, weight, bias):
    """The library's layer norm of what has been scattered, over two dimensions, with a residual."""
    part = x.new_empty(x.shape[0] // dist.get_world_size(), *x.shape[1:])
    dist.reduce_scatter_tensor(part, x)
    h = part + residual
    return torch.nn.functional.layer_norm(h, h.shape[1:], weight, bias), h


def layer_norm_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 7 * world_size, 5, 13, dtype="bf16"), _tensor(96, trial, device, 7, 5, 13, dtype="bf16", seed=7),
            _tensor(99, trial, device, 5, 13, dtype="bf16"), _tensor(98, trial, device, 5, 13, dtype="bf16", seed=3))  # fmt: skip


def plain_layer_norm(x):
    """Neither weight nor bias, in f64; what the norm gives is added to what it was of."""
    total = x.clone()
    dist.all_reduce(total, op=dist.ReduceOp.MAX)
    return total + torch.nn.functional.layer_norm(total, total.shape[-1:])


def plain_layer_norm_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 1, 300, dtype="f64"),)


def vocabulary_softmax(x):
    """A softmax over columns that are cut among the ranks: the maximum of each row over all of them, then the sum of the exponentials."""
    most = x.amax(-1, keepdim=True)
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    e = torch.exp(x - most)
    total = e.sum(-1, keepdim=True)
    dist.all_reduce(total)
    return e / total


def vocabulary_softmax_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 19, 130),)


def vocabulary_softmax_wide_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 3, 8192),)


def vocabulary_loss(logits, target_logits):
    """Cross entropy of the same: the largest logit and the logarithm of the sum."""
    most = logits.float().amax(-1)
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    shifted = logits.float() - most.unsqueeze(-1)
    total = shifted.exp().sum(-1)
    dist.all_reduce(total)
    return total.log() + most - target_logits


def vocabulary_loss_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 33, 88, dtype="bf16"), _tensor(95, trial, device, 33, seed=8)


PROGRAMS = {"rms_norm": "rms_norm", "rms_norm_f32": "rms_norm", "rms_norm_f16": "rms_norm", "rms_norm_long": "rms_norm", "rms_norm_wide": "rms_norm",
            "rms_norm_team": "rms_norm", "softmax": "softmax", "softmax_wide": "softmax", "vocabulary_softmax_wide": "vocabulary_softmax",
            "scatter_norm": "scatter_norm", "gather_norm": "gather_norm", "norm_scatter": "norm_scatter", "exchange_then_norm": "exchange_then_norm",
            "library_softmax": "library_softmax", "layer_norm": "layer_norm", "plain_layer_norm": "plain_layer_norm",
            "vocabulary_softmax": "vocabulary_softmax", "vocabulary_loss": "vocabulary_loss"}  # fmt: skip
