# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of what is seldom passed: empty parts, complex and 0-dim tensors, transposed ones and slices. See ../odd-inputs.py."""
import torch
import torch.distributed as dist


def flat(rank, world_size, device, trial=0):
    g = torch.Generator().manual_seed(1000 * trial + rank)
    return (torch.randn(max(12, 2 * world_size), 4, generator=g).to(device),)


def complex_numbers(rank, world_size, device, trial=0):
    g = torch.Generator().manual_seed(1000 * trial + rank)
    return (torch.complex(torch.randn(6, 4, generator=g), torch.randn(6, 4, generator=g)).to(device),)


def some_empty(x):
    """all_to_all_single where one rank sends nothing and gets nothing; another only receives."""
    w, r = dist.get_world_size(), dist.get_rank()
    rows = lambda s, d: 0 if s == 0 or d == w - 1 else (s + d) % 3  # noqa: E731
    send, got = [rows(r, k) for k in range(w)], [rows(k, r) for k in range(w)]
    out = x.new_empty(sum(got), 4)
    dist.all_to_all_single(out, x[:sum(send)].contiguous(), got, send)
    return out


def all_empty_some(x):
    """Every split of rank 0 is empty, both ways; as lists."""
    w, r = dist.get_world_size(), dist.get_rank()
    rows = lambda s, d: 0 if 0 in (s, d) else 1 + (s + d) % 2  # noqa: E731
    ins = list(x[:sum(rows(r, k) for k in range(w))].split([rows(r, k) for k in range(w)]))
    outs = [x.new_empty(rows(k, r), 4) for k in range(w)]
    dist.all_to_all(outs, ins)
    return torch.cat(outs) if r else x.sum()


def nothing(x):
    """All splits of all ranks are empty."""
    w = dist.get_world_size()
    out = x.new_empty(0, 4)
    dist.all_to_all_single(out, x[:0], [0] * w, [0] * w)
    outs = [x.new_empty(0, 4) for _ in range(w)]
    dist.all_to_all(outs, [x[:0] for _ in range(w)])
    return out, outs


def as_real(x):
    """Complex through view_as_real, both written in place and read."""
    y = x.clone()
    dist.all_reduce(torch.view_as_real(y))
    z = x * 2
    parts = torch.view_as_real(z)
    out = parts.new_empty(dist.get_world_size() * 6, 4, 2)
    dist.all_gather_into_tensor(out, parts)
    return y, torch.view_as_complex(out)


def as_complex(x):
    """Real storage, complex collectives."""
    r = torch.view_as_real(x).clone()
    c = torch.view_as_complex(r)
    dist.all_reduce(c)
    return r, c * 2


def every_complex(x):
    w, r = dist.get_world_size(), dist.get_rank()
    a = x.clone()
    dist.all_reduce(a)
    b = x.new_empty(w * 6, 4)
    dist.all_gather_into_tensor(b, x)
    c = x.new_empty(6, 4)
    dist.reduce_scatter_tensor(c, b)
    d = torch.empty_like(b)
    dist.all_to_all_single(d, b)
    e = x.clone()
    dist.broadcast(e, src=w - 1)
    f = x.clone()
    dist.reduce(f, dst=0)
    g = [torch.empty_like(x) for _ in range(w)] if r == 0 else None
    dist.gather(x, g, dst=0)
    h = torch.empty_like(x)
    dist.scatter(h, list(b.chunk(w)) if r == 0 else None, src=0)
    s = torch.empty_like(x)
    for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, (r + 1) % w), dist.P2POp(dist.irecv, s, (r - 1) % w)]):
        request.wait()
    return a, b, c, d, e, f, g, h, s


def every_zero_dim(x):
    w, r = dist.get_world_size(), dist.get_rank()
    n = x.sum()
    a = n.clone()
    dist.all_reduce(a)
    b = n.new_empty(w)
    dist.all_gather_into_tensor(b, n)
    bl = [torch.empty_like(n) for _ in range(w)]
    dist.all_gather(bl, n)
    c = n.new_empty(())
    dist.reduce_scatter(c, [n * k for k in range(w)])
    cs = n.new_empty(())
    dist.reduce_scatter_tensor(cs, b.clone())
    d = [torch.empty_like(n) for _ in range(w)]
    dist.all_to_all(d, [n + k for k in range(w)])
    e = n.clone()
    dist.broadcast(e, src=w - 1)
    f = n.clone()
    dist.reduce(f, dst=0)
    g = [torch.empty_like(n) for _ in range(w)] if r == 0 else None
    dist.gather(n, g, dst=0)
    h = torch.empty_like(n)
    dist.scatter(h, list(b.unbind()) if r == 0 else None, src=0)
    s = torch.empty_like(n)
    for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, n, (r + 1) % w), dist.P2POp(dist.irecv, s, (r - 1) % w)]):
        request.wait()
    return a, b, bl, c, cs, d, e, f, g, h, s


def every_strided(x):
    w, r = dist.get_world_size(), dist.get_rank()
    t = x[: 2 * 3].t()   # 4 x 6
    a = t.clone(memory_format=torch.preserve_format)
    dist.all_reduce(a)
    bl = [torch.empty(4, 6, device=x.device) for _ in range(w)]
    dist.all_gather(bl, t)
    bo = [torch.empty(6, 4, device=x.device).t() for _ in range(w)]
    dist.all_gather(bo, t)
    c = torch.empty(6, 4, device=x.device).t()
    dist.reduce_scatter(c, [t * k for k in range(w)])
    d = [torch.empty(6, 4, device=x.device).t() for _ in range(w)]
    dist.all_to_all(d, [t + k for k in range(w)])
    e = x.clone()[:, ::2]
    dist.broadcast(e, src=w - 1)
    f = x.clone()[::2]
    dist.reduce(f, dst=0)
    g = [torch.empty(6, 4, device=x.device).t() for _ in range(w)] if r == 0 else None
    dist.gather(t, g, dst=0)
    h = torch.empty(6, 4, device=x.device).t()
    dist.scatter(h, [t * (k + 1) for k in range(w)] if r == 0 else None, src=0)
    s = torch.empty(6, 4, device=x.device).t()
    for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, t, (r + 1) % w), dist.P2POp(dist.irecv, s, (r - 1) % w)]):
        request.wait()
    return a, bl, bo, c, d, e, f, g, h, s


def extremes(x):
    """Maxima and minima of zeros of both signs, NaNs and infinities, which differ between ranks."""
    w, r = dist.get_world_size(), dist.get_rank()
    zeros, nans = x.sign() * 0.0, torch.log(x)
    nans = torch.where(torch.isnan(nans) & (torch.arange(4, device=x.device) % w == r), -nans, nans)
    results = []
    for op in (dist.ReduceOp.MAX, dist.ReduceOp.MIN):
        for t in (zeros, nans, x / 0.0, zeros.bfloat16(), nans.half(), nans.double()):
            results.append(t.clone())
            dist.all_reduce(results[-1], op=op)
            results.append(t.new_empty(t.numel() // w))
            dist.reduce_scatter_tensor(results[-1], t.reshape(-1)[: t.numel() // w * w].contiguous(), op=op)
    return results


def other_bits(x):
    """The same memory as integers: written through one type, read through the other, returned as both."""
    y = x * 3
    dist.all_reduce(y)
    bits = y.view(torch.int32)
    sign = (bits >> 31) & 1
    bits.bitwise_and_(0x7FFFFFFF)
    dist.all_reduce(sign)
    made = torch.full((5, 2), 0x3F80, dtype=torch.int16, device=x.device)
    dist.broadcast(made, src=0)
    return y, sign, made.view(torch.bfloat16), (x + 1).view(torch.uint8).view(-1, 8)[3:]
