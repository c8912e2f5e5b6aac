# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One program for each way to communicate that the importer knows; see ../exchanges.py."""
import torch
import torch.distributed as dist


def inputs(rank, world_size, device, trial=0):
    generator = torch.Generator().manual_seed(1000 * trial + rank)
    return (torch.randn(2 * world_size, 5, generator=generator).to(device),)


def ring(x):
    """Both directions in one batch."""
    w, r = dist.get_world_size(), dist.get_rank()
    left, right = torch.empty_like(x), torch.empty_like(x)
    batch = [dist.P2POp(dist.isend, x, (r + 1) % w), dist.P2POp(dist.isend, x * 2, (r - 1) % w),
             dist.P2POp(dist.irecv, left, (r - 1) % w), dist.P2POp(dist.irecv, right, (r + 1) % w)]
    for request in dist.batch_isend_irecv(batch):
        request.wait()
    return left - right


def blocking(x):
    """Even ranks send first, odd ranks receive first; what was sent is overwritten afterwards."""
    w, r = dist.get_world_size(), dist.get_rank()
    got = torch.zeros_like(x)
    if r % 2 == 0:
        dist.send(x, (r + 1) % w)
        x.zero_()
        dist.recv(got, (r - 1) % w)
    else:
        dist.recv(got, (r - 1) % w)
        dist.send(x, (r + 1) % w)
        x.neg_()
    return got


def pipeline(x):
    """Stages: each gets from the one before, all meet at the end."""
    w, r = dist.get_world_size(), dist.get_rank()
    y = x.clone()
    if r > 0:
        dist.recv(y, r - 1)
    y = y.tanh() + r
    if r < w - 1:
        dist.send(y, r + 1)
    last = y.sum().reshape(1)
    dist.broadcast(last, src=w - 1)
    return y, last


def rooted(x):
    """Lists that only the root has, and a sum that only it gets."""
    w, r = dist.get_world_size(), dist.get_rank()
    root = w - 1
    piece = x.new_empty(2, 5)
    dist.scatter(piece, [t.contiguous() for t in x.chunk(w)] if r == root else None, src=root)
    everyone = [torch.empty_like(piece) for _ in range(w)] if r == 0 else None
    dist.gather(piece * (r + 1), everyone, dst=0)
    total = x.clone()
    dist.reduce(total, dst=root)
    return piece, total, torch.stack(everyone) if r == 0 else None


def flat(rank, world_size, device, trial=0):
    generator = torch.Generator().manual_seed(1000 * trial + rank)
    return (torch.randn(64 + 16 * world_size, generator=generator).to(torch.bfloat16).to(device),)


def parts_of_all(x, n):
    """Pieces of `n` elements of one storage, none of them aligned to anything: every collective reads them where they are."""
    w = dist.get_world_size()
    piece = lambda k: x[3 + n * k : 3 + n * (k + 1)]  # noqa: E731
    gathered = x.new_empty(w, n)
    dist.all_gather_into_tensor(gathered, piece(1))
    came = [x.new_empty(n) for _ in range(w)]
    dist.all_to_all(came, [piece(w - 1 - k) for k in range(w)])
    exchanged = x.new_empty(n * w)
    dist.all_to_all_single(exchanged, x[5 : 5 + n * w])
    return gathered, came, exchanged


def even_parts(x):
    return parts_of_all(x, 8)


def parts(x):
    w, r = dist.get_world_size(), dist.get_rank()
    piece = lambda k: x[1 + 7 * k : 8 + 7 * k]  # noqa: E731
    total, mine, left = (x.new_empty(7) for _ in range(3))
    dist.reduce_scatter(total, [piece(k) for k in range(w)])
    dist.scatter(mine, [piece(2 * k) for k in range(w)] if r == w - 1 else None, src=w - 1)
    everyone = [x.new_empty(7) for _ in range(w)] if r == 0 else None
    dist.gather(piece(2), everyone, dst=0)
    for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, piece(4), (r + 1) % w), dist.P2POp(dist.irecv, left, (r - 1) % w)]):
        request.wait()
    return parts_of_all(x, 7), total, mine, torch.cat(everyone) if r == 0 else None, left


def uneven(x):
    """Rank k has k + 1 rows; every pair exchanges another number of them, some none."""
    w, r = dist.get_world_size(), dist.get_rank()
    mine = x[: r + 1].contiguous()
    shards = [x.new_empty(k + 1, 5) for k in range(w)]
    dist.all_gather(shards, mine)
    rows = lambda sender, receiver: (sender + 2 * receiver) % 3  # noqa: E731
    sends, gets = [rows(r, k) for k in range(w)], [rows(k, r) for k in range(w)]
    came = x.new_empty(sum(gets), 5)
    dist.all_to_all_single(came, x[: sum(sends)].contiguous(), gets, sends)
    part = x.new_empty(r + 1, 5)
    dist.reduce_scatter(part, [x[: k + 1].contiguous() for k in range(w)])
    return torch.cat(shards), came, part


def reductions(x):
    """Each kind, and a factor for each rank."""
    r = dist.get_rank()
    outs = []
    for op in (dist.ReduceOp.AVG, dist.ReduceOp.MIN, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT):
        y = x.clone()
        dist.all_reduce(y, op=op)
        outs.append(y)
    y = x.clone()
    dist.all_reduce(y, op=dist._make_nccl_premul_sum(0.5 * (r + 1)))
    bits = (x * 1000).to(torch.int32)
    dist.all_reduce(bits, op=dist.ReduceOp.BXOR)
    return outs, y, bits


def layouts(x):
    """A transposed input, a slice with an offset, one number, none, a tensor that is written through a view."""
    w = dist.get_world_size()
    t = x.t().clone().t()
    dist.all_reduce(t)
    tail = x[1:]
    gathered = x.new_empty(w * tail.shape[0], 5)
    dist.all_gather_into_tensor(gathered, tail)
    one = x[0, 0].clone()
    dist.all_reduce(one)
    nothing = x[:0].clone()
    dist.all_reduce(nothing)
    dist.all_reduce(x[:, 1:3])
    return t, gathered, one, nothing, x
