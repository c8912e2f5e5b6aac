# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results that are views of each other, repeat elements or have none. See ../odd-results.py."""
import torch
import torch.distributed as dist


def inputs(rank, world_size, device, trial=0):
    g = torch.Generator().manual_seed(1000 * trial + rank)
    return (torch.randn(6, 4, generator=g).to(device), torch.zeros(0, 4, device=device), torch.zeros(3, 0, device=device))


def view_before_base(x, *_):
    y = x * 2
    dist.all_reduce(y)
    return y[:2], y.t(), y[1:4], y, y[0, 0]


def overlapping_view_first(x, *_):
    y = x * 2
    dist.all_reduce(y)
    return y.as_strided((3, 4), (2, 1)), y


def other_type_first(x, *_):
    y = x * 2
    dist.all_reduce(y)
    return y.view(torch.int32)[1:], y


def view_of_argument_first(x, *_):
    view = x[1:3]
    dist.all_reduce(x)
    return view, x, view.t()


def expanded(x, *_):
    y = x.clone()
    dist.all_reduce(y)
    rows, whole = y.sum(0), y.sum()
    return y[:1].expand(5, 4), y[:, 1:3][:, None].expand(6, 3, 2), rows.expand(5, 4), rows[1:].expand(2, 3), whole.expand(3, 4)


def expanded_before_base(x, *_):
    y = x.clone()
    dist.all_reduce(y)
    return y[:, :1].expand(6, 8), y, x[:1].expand(5, 4)


def lazy_bits(x, *_):
    """A lazily conjugated result, and parts of the storage that it was made of."""
    c = torch.complex(x, x + 1)
    dist.all_reduce(torch.view_as_real(c))
    return c.conj(), c.real, c.imag[1:], c.conj().imag, c


def own_argument_changed(x, *_):
    """An argument is changed, and a view of it returned that names other strides."""
    x.mul_(2)
    dist.all_reduce(x[2:])
    return x[2:].t(), x[1:, 1:3]


def empty(x, rows, columns):
    """Collectives without an element between others, of every kind."""
    w, r = dist.get_world_size(), dist.get_rank()
    y = x.clone()
    dist.all_reduce(y)
    results = [y, rows.clone(), columns * 2, torch.tensor([], device=x.device), torch.zeros(2, 0, 3, device=x.device), y[:, :0], y[6:]]
    for t in results[1:]:
        dist.all_reduce(t)
        dist.broadcast(t, 0)
        dist.reduce(t, w - 1)
    for t in (rows, columns):
        results.append(t.new_empty(w * t.shape[0], t.shape[1]))
        dist.all_gather_into_tensor(results[-1], t)
        results.append(torch.empty_like(t))
        dist.reduce_scatter_tensor(results[-1], results[-2])
        results.append([torch.empty_like(t) for _ in range(w)])
        dist.all_gather(results[-1], t)
        results.append([torch.empty_like(t) for _ in range(w)])
        dist.all_to_all(results[-1], results[-2])
        results.append([torch.empty_like(t) for _ in range(w)] if r == 0 else None)
        dist.gather(t, results[-1], dst=0)
        results.append(torch.empty_like(t))
        dist.scatter(results[-1], [t] * w if r == 0 else None, src=0)
        got, more = torch.empty_like(t), torch.empty_like(x)
        for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, t, (r + 1) % w), dist.P2POp(dist.irecv, got, (r - 1) % w),
                                               dist.P2POp(dist.isend, x, (r + 1) % w), dist.P2POp(dist.irecv, more, (r - 1) % w)]):
            request.wait()
        results += [got, more]
    dist.all_reduce(y, op=dist.ReduceOp.MAX)
    return results


def empty_between_two(x, rows, columns):
    """Ranks that run different code, and what is empty on all of them."""
    w, r = dist.get_world_size(), dist.get_rank()
    ends = dist.new_group(sorted({0, w - 1}))
    if r in (0, w - 1):
        dist.all_reduce(rows, group=ends)
        dist.all_reduce(x, group=ends)
    if w > 1 and r == 0:
        dist.send(columns, 1)
        dist.send(x, 1)
    if r == 1:
        dist.recv(columns, 0)
        dist.recv(x, 0)
    return x, rows, columns


def losses(x, *_):
    """Operators that reduce what they first shape like their inputs."""
    dist.all_reduce(x)
    y, f = x * 0.5, torch.nn.functional
    one = f.mse_loss(x, y), f.mse_loss(x, y, reduction="sum"), f.mse_loss(x, y, reduction="none"), f.smooth_l1_loss(x, y), f.huber_loss(x, y)
    return *one, f.soft_margin_loss(x, y.sign()), f.binary_cross_entropy(x.sigmoid(), y.sigmoid()), f.l1_loss(x, y)


def memory_formats(x, *_):
    dist.all_reduce(x)
    image = x.view(1, 2, 3, 4)
    turned = image.contiguous(memory_format=torch.channels_last)
    return turned, torch.zeros_like(image, memory_format=torch.channels_last), (image * 2).to(memory_format=torch.channels_last), turned + 1


def routing(x, *_):
    """What models ask of a GPU beside operators: streams, the state of its generator, classes that are not read on the host."""
    state = torch.cuda.get_rng_state()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        dist.all_reduce(x)
    x.record_stream(side)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.set_rng_state(state)
    chosen = torch.nn.functional.one_hot(x.argmax(-1), num_classes=4)
    return chosen, chosen.sum(0), torch.cuda.is_current_stream_capturing()


def optimizer_step(x, *_):
    weight = torch.nn.Parameter(x.clone())
    optimizer = torch.optim.AdamW([weight], lr=1e-2)
    (weight * weight).sum().backward()
    dist.all_reduce(weight.grad)
    optimizer.step()
    return weight.detach()
