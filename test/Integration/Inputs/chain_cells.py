# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives in a row in one kernel, as text of level L1, with inputs and what they give. Small whole numbers, so that every sum is exact."""
import torch

SCHEDULES = {
    "ldst": "#xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 16, depth = 1, slots = 4, unroll = 1>",
    "ll": "#xfer.schedule<mechanism = ll, blocks = 2, threads = 64, chunk = 48, depth = 0, slots = 1, unroll = 1>",
}
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
    """Of two kinds. "turning": an exchange, a reduce_scatter along another dimension, an all_gather along a third, so that all blocks must meet twice.
    "straight": a reduce_scatter and an all_gather of the same elements, for which each block needs its own only."""

    def __init__(self, kind, ways):
        self.kind, self.ways, self.name = kind, ways, f"chain_{kind}"

    def label(self):
        return self.name

    def text(self, schedule):
        w = self.ways
        group = f"<[{list(range(w))}]>"
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

    def _module(self, body, x, y, schedule):
        names = {"w": self.ways, "x": x, "y": y, "schedule": SCHEDULES[schedule]}
        return HEAD.format(**names) + body + TAIL.format(**names)

    def inputs(self, rank, call):
        shape = (self.ways, 40) if self.kind == "straight" else (self.ways, 4, 2 * self.ways)
        generator = torch.Generator().manual_seed(100 * call + rank)
        return [torch.randint(-9, 10, shape, generator=generator).float()]

    def expected(self, given, rank):
        xs = [tensors[0] for tensors in given]
        if self.kind == "straight":
            return [-sum(xs)]
        got = [torch.stack([x[to] for x in xs]) for to in range(self.ways)]
        total = sum(one.permute(2, 0, 1) for one in got)
        return [torch.cat([total[2 * k : 2 * k + 2].permute(2, 1, 0) for k in range(self.ways)])]

    def agrees(self, found, expected):
        return torch.equal(found.reshape(-1), expected.reshape(-1))
