# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with element-wise operators and changes of layout around one collective; each is to become one kernel."""
import torch
import torch.distributed as dist

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "i32": torch.int32}


def _tensor(rank, trial, device, *shape, dtype="f32", seed=0):
    generator = torch.Generator().manual_seed(7919 * trial + 31 * rank + seed)
    return torch.randn(*shape, generator=generator).to(DTYPES[dtype]).to(device)


def residual(x, bias, skip):
    """The end of a row-parallel layer: the sum over the ranks in f32, a bias per column, a skip connection, back to bf16."""
    total = x.float()
    dist.all_reduce(total)
    return (total + bias).to(torch.bfloat16) + skip


def residual_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 7, 33, dtype="bf16"), _tensor(rank, trial, device, 33, seed=1),
            _tensor(rank, trial, device, 7, 33, dtype="bf16", seed=2))


def scaled_maximum(x, scale):
    """A maximum over the ranks of scaled magnitudes, clamped."""
    top = (x * scale).abs()
    dist.all_reduce(top, op=dist.ReduceOp.MAX)
    return torch.clamp(top, 0.1, 2.0), torch.exp(-top)


def scaled_maximum_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 65), _tensor(rank, trial, device, 65, seed=4)


def gather_activation(x, gate):
    """All-gather of an activation; a gate for every gathered row."""
    part = torch.nn.functional.gelu(x, approximate="tanh")
    whole = part.new_empty(dist.get_world_size() * part.shape[0], part.shape[1])
    dist.all_gather_into_tensor(whole, part)
    return whole * gate


def gather_activation_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 5, 24, dtype="f16"), _tensor(rank, trial, device, 5 * world_size, 1, dtype="f16", seed=3)


def scatter_gradient(x):
    """Averaged gradients, scattered: scaled before, doubled in f32 after."""
    scaled = x / dist.get_world_size()
    part = scaled.new_empty(x.shape[0] // dist.get_world_size(), x.shape[1])
    dist.reduce_scatter_tensor(part, scaled)
    return part.float() * 2


def scatter_gradient_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 3 * world_size, 21, dtype="bf16"),)


def transposed_exchange(x, bias):
    """Heads and tokens change places: a transposition before the exchange, another one and a bias after it."""
    tokens, heads, width = x.shape
    sent = x.transpose(0, 1).contiguous()
    got = torch.empty_like(sent)
    dist.all_to_all_single(got, sent)
    return got.view(dist.get_world_size(), heads // dist.get_world_size(), tokens, width).permute(0, 2, 1, 3).contiguous() + bias


def transposed_exchange_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 6, 2 * world_size, 16, dtype="bf16"), _tensor(rank, trial, device, 16, dtype="bf16", seed=8)


def gather_columns(x):
    """All-gather along the last dimension: what arrives is put where it belongs."""
    whole = x.new_empty(dist.get_world_size(), *x.shape)
    dist.all_gather_into_tensor(whole, x * 0.5)
    return whole.relu().permute(1, 0, 2).reshape(x.shape[0], -1)


def gather_columns_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 9, 24),)


def integers(x, y):
    """Sums of integers wrap."""
    total = x * y + 3
    dist.all_reduce(total)
    return total - x


def integers_inputs(rank, world_size, device, trial=0):
    return (_tensor(rank, trial, device, 50) * 1000).to(torch.int32), (_tensor(rank, trial, device, 50, seed=6) * 1000).to(torch.int32)


def scalar_operands_bf16(x, scale):
    """A float32 scalar tensor beside bf16: of no weight in the dtype of the result, and on a GPU rounded to it before the operator."""
    top = x.clone()
    dist.all_reduce(top, op=dist.ReduceOp.MAX)
    return top * scale, top / scale, torch.add(top, scale, alpha=3), scale - top


def scalar_operands_bf16_inputs(rank, world_size, device, trial=0, dtype="bf16"):
    shared = torch.Generator().manual_seed(trial)
    return _tensor(rank, trial, device, 90, 80, dtype=dtype), torch.randn((), generator=shared).to(device)


def scalar_operands_f16(x, scale):
    """The same of f16; before the collective, too."""
    top = x * scale
    dist.all_reduce(top, op=dist.ReduceOp.MAX)
    return top * scale, torch.maximum(top, scale)


def scalar_operands_f16_inputs(rank, world_size, device, trial=0):
    return scalar_operands_bf16_inputs(rank, world_size, device, trial, "f16")


def clipped(first, second):
    """Gradients scaled in place by a coefficient of the norm over all ranks, as torch.nn.utils.clip_grad_norm_ has it."""
    total = first.float().square().sum() + second.float().square().sum()
    dist.all_reduce(total)
    coefficient = torch.clamp(1 / (total.sqrt() + 1e-6), max=1.0)
    first.mul_(coefficient)
    torch._foreach_mul_([second], coefficient)
    return total


def clipped_inputs(rank, world_size, device, trial=0):
    return _tensor(rank, trial, device, 33, 9, dtype="bf16"), _tensor(rank, trial, device, 70, dtype="f16", seed=2)


PROGRAMS = ("residual", "scaled_maximum", "gather_activation", "scatter_gradient", "transposed_exchange", "gather_columns", "integers",
            "scalar_operands_bf16", "scalar_operands_f16")
PARTLY = ("clipped",)  # where some of the operators stay calls of ATen
