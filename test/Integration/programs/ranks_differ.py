# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose ranks do not all run the same; see ../ranks-differ.py."""
import torch
import torch.distributed as dist

_groups = {}


def halves():
    """One group per half of the ranks; every rank makes all."""
    if not _groups:
        w = dist.get_world_size()
        half = max(w // 2, 1)
        for start in range(0, w, half):
            ranks = list(range(start, min(start + half, w)))
            group = dist.new_group(ranks)
            for r in ranks:
                _groups[r] = group
    return _groups[dist.get_rank()]


def scaled(x):
    """A constant that varies with the rank."""
    y = x * (dist.get_rank() + 1)
    dist.all_reduce(y)
    return y + dist.get_rank()


def logging(x):
    """Rank 0 returns an extra value, the last rank none."""
    y = x.clone()
    dist.all_reduce(y)
    if dist.get_rank() == 0:
        return y, y.float().norm()
    if dist.get_rank() == dist.get_world_size() - 1:
        return None
    return (y,)


def uneven(x):
    """The last shard is shorter: padded before, cut after."""
    w, r = dist.get_world_size(), dist.get_rank()
    rows = 5
    full = torch.zeros(rows, x.shape[1], dtype=x.dtype, device=x.device)
    full[: x.shape[0]] = x
    out = [torch.empty_like(full) for _ in range(w)]
    dist.all_gather(out, full)
    return torch.cat([o if i < w - 1 else o[: rows - 2] for i, o in enumerate(out)]) * 2


def sides(x):
    """Each half of the ranks runs other code in its own group; then all meet."""
    group = halves()
    first = dist.get_rank() < max(dist.get_world_size() // 2, 1)
    if first:
        y = x.exp()
        dist.all_reduce(y, group=group)
        y = y / dist.get_world_size(group)
    else:
        y = x * x
        parts = [torch.empty_like(y) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, y, group=group)
        y = torch.stack(parts).sum(0)
    z = y.clone()
    dist.all_reduce(z)
    return y, z


def reshaped(x):
    """The same elements in other shapes."""
    y = x.reshape(-1) if dist.get_rank() % 2 else x.clone()
    dist.all_reduce(y)
    x.add_(y.view(x.shape))
    return y


def alone(x):
    """Only some ranks communicate; the last computes by itself."""
    w = dist.get_world_size()
    if "pair" not in _groups:
        _groups["pair"] = dist.new_group(list(range(w - 1)) or [0])
    if w > 1 and dist.get_rank() == w - 1:
        return x.cumsum(0)
    y = x + 1
    dist.all_reduce(y, group=_groups["pair"])
    return y


def inputs(rank, world_size, device, trial=0):
    torch.manual_seed(100 * trial + rank)
    return (torch.randn(4, 6, device=device),)


def short_last(rank, world_size, device, trial=0):
    torch.manual_seed(100 * trial + rank)
    return (torch.randn(3 if rank == world_size - 1 else 5, 6, device=device),)


def stages(x):
    """A pipeline: the first stage only sends, the last only receives and has code of its own."""
    w, r = dist.get_world_size(), dist.get_rank()
    here = x
    if r > 0:
        here = torch.empty_like(x)
        dist.recv(here, src=r - 1)
        here = here * 2 + r
    if r < w - 1:
        dist.send(here, dst=r + 1)
        return None
    return here.softmax(-1)


def ring(x):
    """Ring exchange, all ranks at once, twice."""
    w, r = dist.get_world_size(), dist.get_rank()
    total, here = x.clone(), x
    for _ in range(2):
        there = torch.empty_like(here)
        work = [dist.P2POp(dist.isend, here, (r + 1) % w), dist.P2POp(dist.irecv, there, (r - 1) % w)]
        for each in dist.batch_isend_irecv(work):
            each.wait()
        total, here = total + there, there
    return total


def halo(x):
    """Rows of the neighbours, none at the ends."""
    w, r = dist.get_world_size(), dist.get_rank()
    out = torch.zeros(x.shape[0] + 2, x.shape[1], dtype=x.dtype, device=x.device)
    out[1:-1] = x
    work = []
    if r > 0:
        work += [dist.P2POp(dist.isend, x[0].clone(), r - 1), dist.P2POp(dist.irecv, out[0], r - 1)]
    if r < w - 1:
        work += [dist.P2POp(dist.isend, x[-1].clone(), r + 1), dist.P2POp(dist.irecv, out[-1], r + 1)]
    for each in dist.batch_isend_irecv(work) if work else []:
        each.wait()
    return (out[:-2] + out[1:-1] + out[2:]) / 3


def kept(x):
    """Columns of what one rank writes in place: their copy keeps the gaps between them, and what lies behind it stays as it was."""
    w, r = dist.get_world_size(), dist.get_rank()
    ends = dist.new_group([0, w - 1] if w > 1 else [0])
    t = x.repeat(8, 1) * 0.5
    u, o = t.clone(), t * 3
    if r in (0, w - 1):
        dist.all_reduce(u, group=ends)
    else:
        u.mul_(1.5)
    some = t.clone()
    if r == 0:
        some.mul_(1.5)
    first, middle = t[:, :4].contiguous(), t[1:, 1:5].contiguous()
    total = middle.clone()
    dist.all_reduce(total)
    return u, o, some, first, middle, total


def unread(x):
    """Collectives whose results nobody reads, alone and with operators before and after them; on one rank somebody does."""
    y = x.clone()
    dist.all_reduce(y)
    z = x + 1
    dist.all_reduce(z)
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x * 2)
    after = x * 3
    dist.all_reduce(after)
    after.mul_(2)
    read = x * 4
    dist.all_reduce(read)
    return read * 2 if dist.get_rank() == 0 else x * 1


def unread_by_all(x):
    """A collective of a computed tensor that no rank reads."""
    z = x + 1
    dist.all_reduce(z)
    y = x - 1
    dist.all_reduce(y)
    y.mul_(2)
    return x * 1
