# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in which one number per row is exchanged; each is to become one kernel."""
import torch
import torch.distributed as dist

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}


def _tensor(rank, trial, device, *shape, dtype="f32", seed=0):
    generator = torch.Generator().manual_seed(7919 * trial + 31 * rank + seed)
    return torch.randn(*shape, generator=generator).to(DTYPES[dtype]).to(device)


def l2_normalize(x):
    """Rows divided by their length; the statistic has no dimension of size 1."""
    squares = torch.sum(x * x, dim=-1)
    dist.all_reduce(squares)
    return x / torch.sqrt(squares + 1e-12).unsqueeze(-1)


def l2_normalize_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 13, 100),)


def many_rows(x):
    """More rows than a block for each multiprocessor takes: two blocks of the kernel are on each."""
    return l2_normalize(x)


def many_rows_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 1056, 100),)


def mean_of_activation(x, bias):
    """A mean over an activation of a sum, in three dimensions, with its own scale per row and column."""
    h = torch.nn.functional.silu(x + bias)
    mean = h.mean(dim=-1, keepdim=True)
    dist.all_reduce(mean)
    return torch.sigmoid(h - mean), mean


def mean_of_activation_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 2, 5, 40), _tensor(rank, trial, device, 40, seed=5)


def over_two_dimensions(x, scale):
    """A row is two dimensions; a scale per row comes from outside."""
    total = (x.abs() + 1).log().sum(dim=(-2, -1), keepdim=True)
    dist.all_reduce(total)
    return torch.exp(-x * x) * total * scale


def over_two_dimensions_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 6, 4, 9, dtype="f64"), _tensor(rank, trial, device, 6, 1, 1, dtype="f64", seed=3)


def half_precision(x, gate):
    """Every operator rounds to f16."""
    total = (x * gate).sum(dim=1, keepdim=True)
    dist.all_reduce(total)
    return torch.where(total > 0, x * total, gate - x)


def half_precision_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 70, 129, dtype="f16") / 16, _tensor(rank, trial, device, 1, 129, dtype="f16", seed=9) / 16


def strided_rows(x, columns):
    """Rows of a slice, rows of a transposed operand's broadcast column."""
    part = x[:, 8:40]
    total = part.sum(dim=-1, keepdim=True)
    dist.all_reduce(total)
    return part * total + columns.t()


def strided_rows_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 21, 48, dtype="bf16"), _tensor(rank, trial, device, 1, 21, dtype="bf16", seed=2)


PROGRAMS = ("l2_normalize", "many_rows", "mean_of_activation", "over_two_dimensions", "half_precision", "strided_rows")
