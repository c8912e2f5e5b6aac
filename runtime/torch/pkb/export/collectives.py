# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each collective computes, exactly, on CPU tensors of W forked ranks.

Every dtype, uneven and empty parts, every reduction. Sums and products of float16, bfloat16 and float8 are accumulated in
float32, all others in their own type, in the order of the ranks of the group; the result is rounded once. `avg` divides
the accumulated sum by the number of ranks before that rounding (of integers towards zero); `premul_sum` multiplies each contribution by its
rank's factor in the accumulation type. A sum of booleans is their "or", as NCCL has it.
"""

from dataclasses import dataclass, field

import torch

from .data import dtype_name, from_raw, raw, view_raw
from .errors import ExportError

REDUCTIONS = ("sum", "avg", "min", "max", "prod", "band", "bor", "bxor", "premul_sum")
_NARROW = {
    torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
    torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
}  # fmt: skip
_WITHOUT_AVG = {torch.bool, torch.uint16, torch.uint32, torch.uint64}  # PyTorch divides none of them


@dataclass
class Collective:
    """One call in functional form. Ranks in `root` and `peer` count within the group.

    name: see Bundle.md. group: tuple of global ranks. inputs: this rank's tensors. outputs: sizes of the fresh outputs.
    splits: {"in": rows, "out": rows} of dimension 0, or None for equal parts. out_counts: elements that arrive from each
    member in an all_to_all. site: text for messages.
    """

    name: str
    group: tuple
    inputs: list
    outputs: list
    dtype: torch.dtype
    site: str
    api: str = ""
    reduce: str = None
    factor: object = None
    root: int = None
    peer: int = None
    tag: int = 0
    splits: dict = None
    out_counts: list = field(default_factory=list)
    depends: int = 0  # recorder bits: before the call of the inputs here, after it of the inputs of all members

    twin: int = 0  # which of the groups that have these ranks
    made_at: str = ""  # where it was made

    @property
    def channel(self):
        """What NCCL has one stream for: the ranks, and which of their groups."""
        return self.group, self.twin

    def meta(self):
        """What the peers and the coordinator are told."""
        return {
            "name": self.name,
            "api": self.api,
            "reduce": self.reduce,
            "root": self.root,
            "dtype": dtype_name(self.dtype) if self.dtype is not None else None,
            "site": self.site,
            "inputs": [list(t.shape) for t in self.inputs],
            "outputs": [list(s) for s in self.outputs],
            "in_counts": [t.numel() for t in all_to_all_parts(self)] if self.name == "all_to_all" else [],
            "out_counts": self.out_counts,
            "depends": self.depends,
            "twin": self.twin,
            "made_at": self.made_at,
        }


def _rows(total, parts, what):
    if parts == 0 or total % parts:
        raise ExportError(f"{what}: {total} rows cannot be cut into {parts} equal parts")
    return [total // parts] * parts


def all_to_all_parts(call):
    """The parts of this rank's input, one per member, as flat tensors."""
    if len(call.inputs) != 1 or (len(call.group) == 1 and call.splits is None and call.inputs[0].dim() == 0):
        return [t.reshape(-1) for t in call.inputs]
    t = call.inputs[0]
    rows = call.splits["in"] if call.splits else _rows(t.shape[0], len(call.group), f"all_to_all at {call.site}")
    return [p.reshape(-1) for p in t.split(rows)]


def execute(exchange, call):
    """Carry out `call` with the peers; returns the fresh, contiguous outputs. `send` and `recv` are in p2p below."""
    me = call.group.index(exchange.rank)
    meta = call.meta()
    _allowed(call)
    if call.name == "barrier":
        exchange.meet(call.group, meta, [])
        return []
    if call.name == "all_to_all":
        pieces = [raw(p) for p in all_to_all_parts(call)]
    elif call.name == "reduce_scatter" and len(call.inputs) == 1:
        pieces = [raw(p) for p in _equal_parts(call.inputs[0].reshape(-1), len(call.group), call.site)]
    elif call.name == "broadcast" and me != call.root:
        pieces = []
    else:
        pieces = [raw(t) for t in call.inputs]
    if call.reduce == "premul_sum":
        meta["factor"] = call.factor if not isinstance(call.factor, torch.Tensor) else call.factor.tolist()
    peers = exchange.meet(call.group, meta, pieces)
    for their, _ in peers:
        call.depends |= their["depends"]
    return _OUTPUTS[call.name](call, me, peers)


def _equal_parts(flat, count, site):
    if flat.numel() % count:
        raise ExportError(f"reduce_scatter at {site}: {flat.numel()} elements cannot be cut into {count} equal parts")
    return flat.split(flat.numel() // count) if flat.numel() else [flat] * count


def _allowed(call):
    if call.reduce is None:
        return
    if call.reduce not in REDUCTIONS:
        raise ExportError(f"{call.name} at {call.site}: reduction {call.reduce} is not supported")
    floating = call.dtype.is_floating_point or call.dtype.is_complex
    bad = (call.reduce in ("band", "bor", "bxor") and floating) or (call.reduce in ("min", "max") and call.dtype.is_complex)
    bad = bad or (call.reduce == "premul_sum" and not floating) or (call.reduce == "avg" and call.dtype in _WITHOUT_AVG)
    if bad:
        raise ExportError(f"{call.name} at {call.site}: reduction {call.reduce} is not defined for {dtype_name(call.dtype)}")


def _reduced(call, peers, piece, sizes):
    """The reduction over the members' piece number `piece`."""
    wide = torch.float32 if call.dtype in _NARROW else torch.complex64 if call.dtype == torch.complex32 else call.dtype
    total = None
    for meta, payload in peers:
        x = view_raw(payload.piece(piece), call.dtype, sizes)
        if call.reduce not in ("min", "max"):
            x = x.to(wide)
        if call.reduce == "premul_sum":
            x = x * torch.tensor(meta["factor"], dtype=wide)
        total = x if total is None else _combine(call.reduce, total, x)
    if call.reduce == "avg":  # of integers rounded towards zero, as NCCL
        total = total / len(peers) if call.dtype.is_floating_point or call.dtype.is_complex else torch.div(total, len(peers), rounding_mode="trunc")
    return total.to(call.dtype) if total.dtype != call.dtype else total.clone() if len(peers) == 1 else total


def _combine(reduce, a, b):
    if reduce in ("sum", "avg", "premul_sum"):
        return a | b if a.dtype == torch.bool else _by_integers(torch.add, a, b)
    if reduce == "prod":
        return a & b if a.dtype == torch.bool else _by_integers(torch.mul, a, b)
    if reduce in ("min", "max"):
        if a.dtype == torch.bool:
            return a & b if reduce == "min" else a | b
        if a.is_floating_point():  # as NCCL: a NaN counts only where there is nothing else
            function = torch.fmin if reduce == "min" else torch.fmax
        else:
            function = torch.minimum if reduce == "min" else torch.maximum
        if a.dtype in _NARROW and a.dtype not in (torch.float16, torch.bfloat16):
            return function(a.float(), b.float()).to(a.dtype)
        return _by_integers(function, a, b)
    return {"band": torch.bitwise_and, "bor": torch.bitwise_or, "bxor": torch.bitwise_xor}[reduce](a, b)


def _by_integers(function, a, b):
    """torch lacks arithmetic on the wider unsigned types: do it on their two's complement, min and max on int64."""
    signed = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}.get(a.dtype)
    if signed is None:
        return function(a, b)
    if function in (torch.add, torch.mul):
        return function(a.view(signed), b.view(signed)).view(a.dtype)
    flip = torch.iinfo(signed).min  # x ^ min maps the unsigned order onto the signed one
    return (function(a.view(signed) ^ flip, b.view(signed) ^ flip) ^ flip).view(a.dtype)


def _all_reduce(call, me, peers):
    return [_reduced(call, peers, 0, call.outputs[0])]


def _reduce(call, me, peers):
    if me == call.root:
        return [_reduced(call, peers, 0, call.outputs[0])]
    return [from_raw(raw(call.inputs[0]), call.dtype, call.outputs[0])]


def _reduce_scatter(call, me, peers):
    return [_reduced(call, peers, me, call.outputs[0])]


def _all_gather(call, me, peers):
    if len(call.outputs) == 1:
        data = b"".join(payload.piece(0) for _, payload in peers)
        return [from_raw(data, call.dtype, call.outputs[0])]
    return [from_raw(payload.piece(0), call.dtype, s) for (_, payload), s in zip(peers, call.outputs)]


def _all_to_all(call, me, peers):
    parts = [payload.piece(me) for _, payload in peers]
    if len(call.outputs) == 1:
        return [from_raw(b"".join(parts), call.dtype, call.outputs[0])]
    return [from_raw(p, call.dtype, s) for p, s in zip(parts, call.outputs)]


def _broadcast(call, me, peers):
    return [from_raw(peers[call.root][1].piece(0), call.dtype, call.outputs[0])]


def _gather(call, me, peers):
    return [from_raw(p.piece(0), call.dtype, s) for (_, p), s in zip(peers, call.outputs)] if me == call.root else []


def _scatter(call, me, peers):
    return [from_raw(peers[call.root][1].piece(me), call.dtype, call.outputs[0])]


_OUTPUTS = {
    "all_reduce": _all_reduce,
    "reduce": _reduce,
    "reduce_scatter": _reduce_scatter,
    "all_gather": _all_gather,
    "all_to_all": _all_to_all,
    "broadcast": _broadcast,
    "gather": _gather,
    "scatter": _scatter,
}


def _message(call, numel):
    return {
        "dtype": dtype_name(call.dtype), "numel": numel, "site": call.site, "name": call.name, "depends": call.depends,
    }  # fmt: skip


def send(exchange, call):
    """Give the input to the peer; does not wait for it (a message is buffered until it is received)."""
    t = call.inputs[0]
    exchange.send(call.group, call.group[call.peer], call.tag, _message(call, t.numel()), [raw(t)])


def receive(exchange, call):
    """Wait for the peer's message (peer None: anybody's); returns the fresh output."""
    sizes = call.outputs[0]
    numel = torch.Size(sizes).numel()
    peer = None if call.peer is None else call.group[call.peer]
    _, _, payload = exchange.recv(call.group, peer, call.tag, _message(call, numel))
    return from_raw(payload.piece(0), call.dtype, sizes)
