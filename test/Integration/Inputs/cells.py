# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cells of the value matrix: one collective on one dtype, as text of level L1, with inputs and what the recorder's definition gives for them."""
import math
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.environ["PKB_SOURCE_DIR"], "runtime", "torch"))
from pkb.export import collectives  # noqa: E402
from pkb.export.collectives import Collective  # noqa: E402

F8 = (torch.float8_e4m3fn, torch.float8_e5m2)
NAMES = {
    torch.float64: ("f64", "f64"), torch.float32: ("f32", "f32"), torch.float16: ("f16", "f32"), torch.bfloat16: ("bf16", "f32"),
    F8[0]: ("f8E4M3FN", "f32"), F8[1]: ("f8E5M2", "f32"), torch.int8: ("i8", "i8"), torch.int16: ("i16", "i16"), torch.int32: ("i32", "i32"),
    torch.int64: ("i64", "i64"), torch.uint8: ("ui8", "ui8"), torch.bool: ("i1", "i1"), torch.complex64: ("complex<f32>", "complex<f32>"),
    torch.complex128: ("complex<f64>", "complex<f64>"),
}  # fmt: skip
DTYPES = list(NAMES)
REDUCING = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_v")
MOVING = ("all_gather", "all_gather_v", "all_to_all", "all_to_all_v", "broadcast", "gather", "scatter", "permute")
ROOTED = ("reduce", "broadcast", "gather", "scatter")
KINDS = ("sum", "avg", "min", "max", "prod", "premul_sum", "band", "bor", "bxor")
MECHANISMS = ("ldst", "ll", "copy_engine", "nccl")
# Elements of a message. Each mechanism has sizes of its own, for what it cannot carry out is another question: LL has no line for an empty message, and copy
# engines fill a slot by whole vectors, which 16 elements of any dtype are.
SIZES = {"ldst": (33, 1, 0), "nccl": (33, 1, 0), "ll": (33, 1), "copy_engine": (48, 16)}


def kinds(dtype):
    """Reductions that PyTorch has for `dtype`."""
    if dtype.is_complex:
        return ("sum", "avg", "premul_sum")
    if dtype.is_floating_point:
        return ("sum", "avg", "min", "max", "prod", "premul_sum")
    return ("sum", *(() if dtype == torch.bool else ("avg",)), "min", "max", "prod", "band", "bor", "bxor")


class _Payload:
    def __init__(self, pieces):
        self.pieces = pieces

    def piece(self, index):
        return self.pieces[index]


class _Meeting:
    """Stands for the exchange between ranks: first it listens to what each rank brings, then it hands all of it out."""

    def __init__(self, rank):
        self.rank, self.brought, self.peers = rank, None, None

    def meet(self, group, meta, pieces):
        if self.peers is None:
            self.brought = (meta, _Payload([bytes(p) for p in pieces]))
            raise StopIteration
        return self.peers


class Cell:
    """One call. `rows`: the ranks of the group, row by row; `size`: elements of a message (the longest, if they differ); uneven messages are multiples of `unit`
    elements, at least `least` units; `short`: factors have few digits."""

    def __init__(self, name, dtype, size, rows, kind=None, listed=False, salt=0, unit=1, least=0, short=False):
        self.name, self.dtype, self.size, self.rows, self.kind, self.listed, self.salt = name, dtype, size, rows, kind, listed, salt
        self.unit, self.least, self.short = unit, least, short
        self.ways = len(rows[0])
        self.roots = [row[(number + salt) % self.ways] for number, row in enumerate(rows)]
        self.uneven = name.endswith("_v")

    def label(self):
        what = f" {NAMES[self.dtype][0]} x {self.size}" if self.dtype else ""
        return f"{self.name} {self.kind or ''}{what} {'list ' if self.listed else ''}{self.rows}"

    def row_of(self, rank):
        return next((row for row in self.rows if rank in row), None)

    def counts(self, row):
        """all_to_all_v: a table, sums of rows and columns are equal; else a number per rank. Zeros among them."""
        units = self.size // self.unit
        part = [self.unit * max(self.least, units - (k + self.salt) % (units + 2)) for k in range(self.ways)]
        if self.unit > 1 and not any(part): # of copies there must be one
            part[0] = self.unit
        if self.name != "all_to_all_v":
            return part
        return [[part[(d - s) % self.ways] for d in range(self.ways)] for s in range(self.ways)]

    def factors(self):
        if self.kind != "premul_sum":
            return None
        ranks = range(len(self.rows) * self.ways)
        return [3 / 2 ** (1 + (rank + self.salt) % 4) for rank in ranks] if self.short else [1 / (rank + 2 + self.salt % 3) for rank in ranks]

    def pairs(self, row):
        """A ring, with a gap where there is room for one; a rank alone sends to itself."""
        last = self.ways - (self.salt % 2 if self.ways > 1 else 0)
        return [(row[k], row[(k + 1) % self.ways]) for k in range(last)]

    def totals(self, rank=None):
        """Elements of each input and of each result on `rank`; without one equal on all ranks: an uneven collective leaves the end of the longest tensor alone."""
        if self.name == "barrier":
            return [], []
        n, w, name = self.size, self.ways, self.name.removesuffix("_v")
        whole = sum(self.counts(self.rows[0])[0]) if self.name == "all_to_all_v" else sum(self.counts(self.rows[0])) if self.uneven else n * w
        parts = [n] * w
        if self.uneven and self.name != "all_to_all_v":
            parts = self.counts(self.rows[0])
        longest = max(self.counts(self.rows[0])) if self.uneven and self.name != "all_to_all_v" else n
        if rank is not None and self.uneven and self.name != "all_to_all_v":
            longest = self.counts(self.rows[0])[self.row_of(rank).index(rank)]
        personal, collected = name in ("all_to_all", "reduce_scatter", "scatter"), name in ("all_to_all", "all_gather", "gather")
        inputs = (parts if self.listed else [whole]) if personal else [longest]
        results = (parts if self.listed else [whole]) if collected else [longest]
        return inputs, results

    def group(self):
        return "<[" + ", ".join(str(list(row)) for row in self.rows) + "]>"

    def text(self, number, rank=None):
        """(arguments, operation, results): lines of level L1, in a function for `rank` if one is given."""
        if self.name == "barrier":
            return [], f"comm.barrier in {self.group()}" + ("" if rank is None else f" {{comm.exchange = {number} : i64}}"), []
        element, accumulation = NAMES[self.dtype]
        inputs, results = self.totals(rank)
        type_of = lambda n: f"tensor<{n}x{element}>"  # noqa: E731
        arguments = [f"%c{number}_{k}" for k in range(len(inputs))]
        words = [f"%r{number}{':' + str(len(results)) if len(results) > 1 else ''} = comm.{self.name}"]
        words += [self.kind] if self.kind else []
        words += [", ".join(arguments), "in", self.group()]
        if self.name in ROOTED:
            words += ["from" if self.name in ("broadcast", "scatter") else "to", str(self.roots)]
        if self.name == "all_to_all_v":
            words += ["counts", str([line for row in self.rows for line in self.counts(row)])]
        elif self.uneven:
            words += ["counts", str([n for row in self.rows for n in self.counts(row)])]
        if self.name == "permute":
            words += ["pairs", str([list(p) for row in self.rows for p in self.pairs(row)])]
        if self.kind:
            words += [f"factors {self.factors()}"] if self.kind == "premul_sum" else []
            words += ["accumulate", accumulation, "deterministic"]
        words += [] if rank is None else [f"{{comm.exchange = {number} : i64}}"]
        types = [type_of(n) for n in inputs]
        if self.name in ("all_reduce", "reduce", "broadcast"):
            words += [":", types[0]]
        else:
            outs = [type_of(n) for n in results]
            words += [": (" + ", ".join(types) + ") ->", outs[0] if len(outs) == 1 else "(" + ", ".join(outs) + ")"]
        names = [f"%r{number}"] if len(results) == 1 else [f"%r{number}#{k}" for k in range(len(results))]
        return ([f"{a}: {t}" for a, t in zip(arguments, types)], " ".join(words), list(zip(names, [type_of(n) for n in results])))

    def inputs(self, rank, call):
        generator = torch.Generator().manual_seed(1000003 * call + 1009 * rank + self.salt)
        return [_values(self.dtype, n, generator) for n in self.totals()[0]]

    def expected(self, given, rank):
        """What the results are on `rank`, None where they are not defined. given[r]: inputs of rank r."""
        row = self.row_of(rank)
        count = len(self.totals()[1])
        if row is None:
            return [None] * count
        if self.name == "permute":
            source = next((s for s, d in self.pairs(row) if d == rank), None)
            return [None if source is None else given[source][0]]
        root = self.roots[self.rows.index(row)]
        if self.name == "reduce" and rank != root:
            return [given[rank][0]]
        if self.name == "gather" and rank != root:
            return [None] * count
        meetings = {r: _Meeting(r) for r in row}
        for r in row:
            try:
                collectives.execute(meetings[r], self._call(row, r, given[r]))
            except StopIteration:
                pass
        meetings[rank].peers = [meetings[r].brought for r in row]
        outputs = collectives.execute(meetings[rank], self._call(row, rank, given[rank]))
        outputs = [o.reshape(-1) for o in outputs]
        return [torch.cat(outputs)] if self.name == "gather" and not self.listed else outputs

    def _call(self, row, rank, tensors):
        me, w, name = row.index(rank), len(row), self.name.removesuffix("_v")
        counts = self.counts(row) if self.uneven else None
        splits, outputs = None, [[n] for n in self.totals()[1]]
        if self.name == "all_to_all_v":
            splits = {"in": counts[me], "out": [counts[s][me] for s in range(w)]}
        elif self.name == "all_gather_v":
            tensors = [tensors[0][: counts[me]]]
            outputs = [[n] for n in counts] if self.listed else [[sum(counts)]]
        elif self.name == "reduce_scatter_v":
            tensors = list(tensors[0].split(counts)) if not self.listed else tensors
            outputs = [[counts[me]]]
        elif name == "gather" and not self.listed:
            outputs = [[self.size] for _ in row]
        elif name == "scatter" and not self.listed:
            tensors = list(tensors[0].split(self.size)) if self.size else [tensors[0]] * w
        return Collective(name, tuple(row), tensors, outputs, self.dtype, "matrix", reduce=self.kind,
                          factor=self.factors()[self.rows.index(row) * w + me] if self.kind == "premul_sum" else None,
                          root=row.index(self.roots[self.rows.index(row)]) if self.name in ROOTED else None, splits=splits)  # fmt: skip

    def agrees(self, found, expected):
        """Bit for bit; but a NaN is a NaN, of two zeros either is their minimum, and complex numbers are scaled as pairs of reals."""
        found = found.reshape(-1)[: expected.numel()]
        if self.dtype.is_complex:
            found, expected = torch.view_as_real(found), torch.view_as_real(expected.contiguous())
        if not found.is_floating_point():
            return torch.equal(found, expected)
        a, b = found.double(), expected.double()
        same = (a == b) | (a.isnan() & b.isnan())
        if self.kind not in ("min", "max"):
            same &= (a.signbit() == b.signbit()) | a.isnan()
        if self.dtype.is_complex and self.kind in ("avg", "premul_sum"):
            same |= (a - b).abs() <= 4 * torch.finfo(found.dtype).eps * b.abs()
        return bool(same.all())


def _values(dtype, count, generator):
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if dtype.is_complex:
        return torch.randn(count, generator=generator, dtype=dtype)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        low, high = max(info.min, -(2**62)), min(info.max, 2**62)
        return torch.randint(low, high, (count,), generator=generator, dtype=torch.int64).to(dtype)
    values = torch.randn(count, generator=generator, dtype=torch.float64)
    # Rarely what is special: infinities, not a number, both zeros.
    special = torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0], dtype=torch.float64)
    place = torch.randint(0, 60, (count,), generator=generator)
    return torch.where(place < len(special), special[place.clamp(max=len(special) - 1)], values).to(dtype)


def cells(ranks, mechanism):
    """All cells of one program: each collective, by each reduction that it may have, on each dtype. Over the numbers of ranks each of them meets each size."""
    found, everybody, sizes = [], [list(range(ranks))], SIZES[mechanism]
    # NCCL takes a factor in the type of the tensor.
    shape = {"unit": 16 if mechanism == "copy_engine" else 1, "least": 1 if mechanism == "ll" else 0, "short": mechanism == "nccl"}

    def add(name, dtype, size, rows, kind=None, listed=False):
        found.append(Cell(name, dtype, size, rows, kind, listed, len(found), **shape))

    for d, dtype in enumerate(DTYPES):
        for c, name in enumerate(REDUCING):
            for k, kind in enumerate(kinds(dtype)):
                listed = ranks > 1 and name.startswith("reduce_scatter") and (c + d + k) % 2 == 1
                add(name, dtype, sizes[(c + d + k + ranks) % len(sizes)], everybody, kind, listed)
        for c, name in enumerate(MOVING):
            listed = ranks > 1 and name in ("all_gather", "all_gather_v", "all_to_all", "gather", "scatter") and (c + d + ranks) % 2 == 1
            add(name, dtype, sizes[(c + d + ranks) % len(sizes)], everybody, listed=listed)
    add("barrier", None, 0, everybody)
    if ranks >= 4 and ranks % 2 == 0: # rows that interleave, with roots and gaps of their own
        halves = [list(range(0, ranks, 2)), list(range(1, ranks, 2))]
        for c, name in enumerate(REDUCING + MOVING):
            add(name, DTYPES[(c + ranks) % 4], sizes[0], halves, "sum" if name in REDUCING else None)
    return found


def undefined():
    """Cells of what PyTorch does not have, for the reason: one per reduction and dtype."""
    return [Cell("all_reduce", dtype, 1, [[0, 1]], kind) for dtype in DTYPES for kind in KINDS if kind not in kinds(dtype)]


def _function(chosen, rank=None):
    lines, arguments, results = [], [], []
    for number, cell in enumerate(chosen):
        ins, operation, outs = cell.text(number, rank)
        arguments += ins
        lines.append("  " + operation)
        results += outs
    name, own = ("main", "") if rank is None else (f"rank{rank}", f" attributes {{comm.ranks = array<i64: {rank}>}}")
    head = f"func.func @{name}({', '.join(arguments)}) -> ({', '.join(t for _, t in results)}){own} {{"
    returned = f" {', '.join(n for n, _ in results)} : {', '.join(t for _, t in results)}" if results else ""
    return [head] + lines + [f"  return{returned}", "}"]


def module(chosen, ranks, exact=False):
    """The text of a program of level L1 with these cells: one function, or with `exact` shapes one per rank."""
    functions = [line for rank in (range(ranks) if exact else [None]) for line in _function(chosen, rank)]
    return "\n".join([f"module attributes {{comm.mesh = #comm.mesh<size = {ranks}>}} {{"] + functions + ["}"]) + "\n"
