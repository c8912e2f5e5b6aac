# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages of many lengths: parts of a packed group, one group, many groups to a block, a last vector that is cut."""
import torch
import torch.distributed as dist

ELEMENTS = (1, 7, 23, 24, 25, 767, 768, 769, 1536, 40_001, 190_000)


def sums(bf16, f32, i64, mask):
    """Sums of tensors whose message has another width than what is computed with it, and a mask of bytes beside them."""
    results = []
    for x in bf16:
        y = x.clone()
        dist.all_reduce(y)
        results.append(y.float() * 0.5)
    for x in f32:
        y = x.bfloat16()
        dist.all_reduce(y)
        results.append(y)
    y = torch.where(mask, i64, 0)
    dist.all_reduce(y)
    results.append(y)
    return tuple(results)


def sums_inputs(rank, world_size, device, trial=0):
    generator = torch.Generator().manual_seed(1000 * trial + rank)

    def draw(n, dtype):
        return torch.randint(-8, 9, (n,), generator=generator).to(device, dtype)

    return ([draw(n, torch.bfloat16) for n in ELEMENTS], [draw(n, torch.float32) for n in (5, 24, 1537, 9000)], draw(3001, torch.int64), draw(3001, torch.int64) > 0)


def moves(x, y, z):
    """Bytes, halves and doubles, from where nothing is aligned."""
    world = dist.get_world_size()
    gathered = torch.empty(world * (x.numel() - 1), dtype=x.dtype, device=x.device)
    dist.all_gather_into_tensor(gathered, x[1:].contiguous())
    exchanged = torch.empty_like(y)
    dist.all_to_all_single(exchanged, y)
    tail = torch.empty(z.numel() // world, dtype=z.dtype, device=z.device)
    dist.reduce_scatter_tensor(tail, z)
    return gathered, exchanged, tail


def moves_inputs(rank, world_size, device, trial=0):
    generator = torch.Generator().manual_seed(77 + 1000 * trial + rank)
    return (torch.randint(0, 255, (5002,), generator=generator).to(device, torch.uint8), torch.randn(world_size * 1201, generator=generator).to(device, torch.float16),
            torch.randint(-99, 99, (world_size * 805,), generator=generator).to(device, torch.float64))
