# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heat in a plate that is cut into horizontal strips, one a rank: two rows are exchanged with the neighbours before every step.

The plate does not wrap around, so the first and the last rank have one neighbour and fill the other halo from the boundary condition.
The field is stepped by a two-stage Runge-Kutta scheme with a fourth-order stencil; the total heat and the largest change are reduced.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F

HALO = 2


def _with_halo(field):
    """[rows, columns] -> [rows + 4, columns + 4]: the neighbours' rows above and below, zero flux at the plate's edge."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    above, below = field[:1].repeat(HALO, 1), field[-1:].repeat(HALO, 1)
    operations = []
    if rank > 0:
        operations += [dist.P2POp(dist.isend, field[:HALO].contiguous(), rank - 1), dist.P2POp(dist.irecv, above, rank - 1)]
    if rank < world_size - 1:
        operations += [dist.P2POp(dist.isend, field[-HALO:].contiguous(), rank + 1), dist.P2POp(dist.irecv, below, rank + 1)]
    if operations:
        for work in dist.batch_isend_irecv(operations):
            work.wait()
    tall = torch.cat([above, field, below])
    return F.pad(tall[None, None], (HALO, HALO, 0, 0), mode="replicate")[0, 0]


def _laplacian(padded, spacing):
    def second_difference(at):
        return (-at(-2) + 16 * at(-1) - 30 * at(0) + 16 * at(1) - at(2)) / (12 * spacing * spacing)

    rows, columns = padded.shape[0] - 2 * HALO, padded.shape[1] - 2 * HALO
    vertical = second_difference(lambda d: padded[HALO + d:HALO + d + rows, HALO:HALO + columns])
    horizontal = second_difference(lambda d: padded[HALO:HALO + rows, HALO + d:HALO + d + columns])
    return vertical + horizontal


@torch.no_grad()
def solution(field, conductivity, source):
    """field, conductivity, source: float32 [rows / W, columns]. Returns the field after three steps, the total heat, the largest change."""
    dt, spacing = 0.02, 1.0
    start = field
    for _ in range(3):
        first = conductivity * _laplacian(_with_halo(field), spacing) + source
        half = field + 0.5 * dt * first
        field = field + dt * (conductivity * _laplacian(_with_halo(half), spacing) + source)
    heat = field.sum(dtype=torch.float64)
    change = (field - start).abs().amax()
    dist.all_reduce(heat)
    dist.all_reduce(change, op=dist.ReduceOp.MAX)
    return field, heat, change


def inputs(rank, world_size, device, trial=0):
    own = torch.Generator().manual_seed(100 * trial + rank)
    return (torch.randn(6, 13, generator=own).to(device), (0.5 + torch.rand(6, 13, generator=own)).to(device),
            torch.randn(6, 13, generator=own).to(device))
