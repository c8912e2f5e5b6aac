# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives in a row in one kernel, as text of level L1, with inputs and what they give. Small whole numbers, so that every sum is exact."""
import torch

SCHEDULES = {
    "ldst": "#xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 16, depth = 1, slots = 4, unroll = 1>",
    "ll": "#xfer.schedule<mechanism = ll, blocks = 2, threads = 64, chunk = 48, depth = 0, slots = 1, unroll = 1>",
}
# Rows of 24 elements: two in a chunk, or a line for each of two rows.
ROW_SCHEDULES = {name: text.replace("chunk = 16", "chunk = 192").replace("chunk = 48", "chunk = 192") for name, text in SCHEDULES.items()}
LINE_SCHEDULES = {name: text.replace("chunk = 16", "chunk = 32").replace("chunk = 48", "chunk = 32") for name, text in SCHEDULES.items()}
REDUCE = 'aten.call "aten::{0}"({1}) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : ({2}) -> {3}'
SUM = REDUCE.replace("({1})", 'overload "dim_IntList"({1})').replace('"aten::{0}"overload', '"aten::{0}" overload')
SUB = 'aten.call "aten::sub" overload "Tensor"({0}, {1}) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : ({2}, {3}) -> {2}'
CLONE = 'aten.call "aten::clone"({0}) args [#aten.operand<0>] kwargs {{memory_format = #aten.memory_format<contiguous>}} returns [#aten.result<0>] : ({1}) -> {2}'
HEAD = """module attributes {{comm.mesh = #comm.mesh<size = {w}>}} {{
func.func @main(%x: {x}) -> {y} {{
  %r = comm.fused(%x) : ({x}) -> {y} attributes {{xfer.schedule = {schedule}}} {{
  ^bb0(%a: {x}):
"""
TAIL = """    comm.yield %last : {y}
  }}
  return %r : {y}
}}
}}
"""


def _phase(name, operand, result, body):
    """A phase: `body` computes %out from %in."""
    return (f"    {name} = comm.fused({operand[0]}) : ({operand[1]}) -> {result} {{\n    ^bb0(%in: {operand[1]}):\n"
            + "".join(f"      {line}\n" for line in body) + f"      comm.yield %out : {result}\n    }}\n")  # fmt: skip


class Chain:
    """Of five kinds. "turning": an exchange, a reduce_scatter along another dimension, an all_gather along a third, so that all blocks must meet twice.
    "straight": a reduce_scatter and an all_gather of the same elements, for which each block needs its own only.
    "own_rows": an all_reduce whose chunks hold whole rows, and what remains of them without their maximum. "dealt_rows": the same behind an all_gather, so that blocks
    reduce rows that others have stored. "statistics": the maximum of each row over all ranks, then the sum of what remains, which is subtracted, too."""

    def __init__(self, kind, ways):
        self.kind, self.ways, self.name = kind, ways, f"chain_{kind}"

    def label(self):
        return self.name

    def text(self, schedule):
        w = self.ways
        group = f"<[{list(range(w))}]>"
        if self.kind in ("own_rows", "dealt_rows"):
            return self._rows(group, schedule)
        if self.kind == "statistics":
            return self._statistics(group, schedule)
        if self.kind == "straight":
            x, part = f"tensor<{w}x40xf32>", "tensor<40xf32>"
            scatter = [f"%s = comm.reduce_scatter sum %in in {group} accumulate f32 : ({x}) -> {part}",
                       f'%out = aten.call "aten::neg"(%s) args [#aten.operand<0>] returns [#aten.result<0>] : ({part}) -> {part}']  # fmt: skip
            gather = [f"%out = comm.all_gather %in in {group} : ({part}) -> {x}"]
            body = _phase("%one", ("%a", x), part, scatter) + _phase("%last", ("%one", part), x, gather)
            return self._module(body, x, x, schedule)
        x, turned, part, last = f"tensor<{w}x4x{2 * w}xf32>", f"tensor<{2 * w}x{w}x4xf32>", f"tensor<2x{w}x4xf32>", f"tensor<{4 * w}x{w}x2xf32>"
        view = f"tensor<{2 * w}x{w}x4xf32, #aten.strided<[1, {8 * w}, {2 * w}], 0>>"
        flat, swapped = f"tensor<4x{w}x2xf32, #aten.strided<[1, 4, {4 * w}], 0>>", f"tensor<4x{w}x2xf32>"
        exchange = [f"%e = comm.all_to_all %in in {group} : ({x}) -> {x}", f"%v = aten.as_strided %e : {x} -> {view}",
                    "%out = " + CLONE.format("%v", view, turned)]  # fmt: skip
        scatter = [f"%s = comm.reduce_scatter sum %in in {group} accumulate f32 : ({turned}) -> {part}", f"%v = aten.as_strided %s : {part} -> {flat}",
                   "%out = " + CLONE.format("%v", flat, swapped)]  # fmt: skip
        gather = [f"%out = comm.all_gather %in in {group} : ({swapped}) -> {last}"]
        body = _phase("%one", ("%a", x), turned, exchange) + _phase("%two", ("%one", turned), swapped, scatter) + _phase("%last", ("%two", swapped), last, gather)
        return self._module(body, x, last, schedule)

    def _rows(self, group, schedule):
        own = self.kind == "own_rows"
        x, one = "tensor<7x24xf32>", "tensor<{}x1xf32>".format(7 if own else 7 * self.ways)
        y = x if own else f"tensor<{7 * self.ways}x24xf32>"
        exchange = f"comm.all_reduce sum %in in {group} accumulate f32 : {x}" if own else f"comm.all_gather %in in {group} : ({x}) -> {y}"
        rest = ["%m = " + REDUCE.format("amax", "%in", y, one), "%out = " + SUB.format("%in", "%m", y, one)]
        return self._module(_phase("%one", ("%a", x), y, ["%out = " + exchange]) + _phase("%last", ("%one", y), y, rest), x, y, schedule, ROW_SCHEDULES)

    def _statistics(self, group, schedule):
        x, one = "tensor<7x24xf32>", "tensor<7x1xf32>"
        first = ["%m = " + REDUCE.format("amax", "%in", x, one), f"%t = comm.all_reduce max %m in {group} accumulate f32 : {one}",
                 "%out = " + SUB.format("%in", "%t", x, one)]  # fmt: skip
        second = ["%s = " + SUM.format("sum", "%in", x, one), f"%t = comm.all_reduce sum %s in {group} accumulate f32 : {one}",
                  "%out = " + SUB.format("%in", "%t", x, one)]  # fmt: skip
        return self._module(_phase("%one", ("%a", x), x, first) + _phase("%last", ("%one", x), x, second), x, x, schedule, LINE_SCHEDULES)

    def _module(self, body, x, y, schedule, schedules=None):
        names = {"w": self.ways, "x": x, "y": y, "schedule": (schedules or SCHEDULES)[schedule]}
        return HEAD.format(**names) + body + TAIL.format(**names)

    def inputs(self, rank, call):
        rows = self.kind in ("own_rows", "dealt_rows", "statistics")
        shape = (7, 24) if rows else (self.ways, 40) if self.kind == "straight" else (self.ways, 4, 2 * self.ways)
        generator = torch.Generator().manual_seed(100 * call + rank)
        return [torch.randint(-9, 10, shape, generator=generator).float()]

    def expected(self, given, rank):
        xs = [tensors[0] for tensors in given]
        if self.kind in ("own_rows", "dealt_rows"):
            got = sum(xs) if self.kind == "own_rows" else torch.cat(xs)
            return [got - got.amax(-1, keepdim=True)]
        if self.kind == "statistics":
            most = torch.stack([x.amax(-1, keepdim=True) for x in xs]).amax(0)
            return [xs[rank] - most - sum((x - most).sum(-1, keepdim=True) for x in xs)]
        if self.kind == "straight":
            return [-sum(xs)]
        got = [torch.stack([x[to] for x in xs]) for to in range(self.ways)]
        total = sum(one.permute(2, 0, 1) for one in got)
        return [torch.cat([total[2 * k : 2 * k + 2].permute(2, 1, 0) for k in range(self.ways)])]

    def agrees(self, found, expected):
        return torch.equal(found.reshape(-1), expected.reshape(-1))
