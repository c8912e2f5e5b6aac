# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every collective of the recorder, every dtype, uneven and empty parts, against formulas written here."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

import torch
from pkb.export import coordinator
from pkb.export.collectives import Collective, execute
from pkb.export.data import DTYPES, dtype_name, from_raw, raw, same_bits
from pkb.export.errors import ExportError

W = 3
GROUP = (0, 1, 2)


def values(rank, dtype, *sizes):
    """Rank-unique values of any dtype."""
    g = torch.Generator().manual_seed(7 * rank + 1)
    if dtype == torch.bool:
        return torch.randint(0, 2, sizes, generator=g).bool()
    if dtype.is_complex:
        return torch.randn(*sizes, 2, generator=g).to({torch.complex32: torch.float16, torch.complex64: torch.float32}.get(dtype, torch.float64)).view(dtype).squeeze(-1)
    if dtype.is_floating_point:
        return (torch.randn(*sizes, generator=g).abs() + 0.5).to(dtype)
    return torch.randint(0, 100, sizes, generator=g).to(dtype)


def run(cases):
    """Run cases(rank) -> [Collective] on W ranks; returns outputs[rank][case]."""

    def body(exchange):
        torch.set_num_threads(1)
        return [[(dtype_name(t.dtype), list(t.shape), bytes(raw(t))) for t in execute(exchange, c)] for c in cases(exchange.rank)]

    results = coordinator.run_ranks(W, body, 60)
    return [[[from_raw(data, DTYPES[d], sizes) for d, sizes, data in case] for case in rank] for rank in results]


def call(name, inputs, outputs, dtype, **more):
    return Collective(name=name, group=GROUP, inputs=inputs, outputs=outputs, dtype=dtype, site="test.py:1", **more)


class MovementTest(unittest.TestCase):
    def test_all_dtypes(self):
        """all_gather, all_to_all, broadcast, gather and scatter move the bits of every dtype."""
        kinds = list(DTYPES.values())

        def cases(rank):
            out = []
            for d in kinds:
                x = values(rank, d, 3, 5)
                out.append(call("all_gather", [x], [[W, 3, 5]], d))
                out.append(call("all_to_all", [x], [[3, 5]], d, out_counts=[5] * W))
                out.append(call("broadcast", [x], [[3, 5]], d, root=1))
                out.append(call("gather", [x], [[3, 5]] * W if rank == 2 else [], d, root=2))
                out.append(call("scatter", [values(10 + i, d, 2) for i in range(W)] if rank == 0 else [], [[2]], d, root=0))
            return out

        got = run(cases)
        for k, d in enumerate(kinds):
            x = [values(r, d, 3, 5).view(torch.uint8).view(3, -1) for r in range(W)]
            for r in range(W):
                gathered, exchanged, sent, collected, dealt = (got[r][5 * k + i] for i in range(5))
                self.assertTrue(torch.equal(gathered[0].view(torch.uint8).view(3 * W, -1), torch.cat(x)), d)
                self.assertTrue(torch.equal(exchanged[0].view(torch.uint8).view(W, -1), torch.stack([x[s][r] for s in range(W)])), d)
                self.assertTrue(torch.equal(sent[0].view(torch.uint8).view(3, -1), x[1]), d)
                self.assertEqual(len(collected), W if r == 2 else 0)
                for s, t in enumerate(collected):
                    self.assertTrue(torch.equal(t.view(torch.uint8).view(3, -1), x[s]), d)
                self.assertTrue(same_bits(dealt[0], values(10 + r, d, 2)), d)

    def test_uneven_and_empty(self):
        """List all_gather of unequal sizes, all_to_all with splits that include 0, and empty tensors."""
        rows = [[0, 2, 1], [3, 0, 0], [1, 1, 4]]  # rows[source][destination]

        def cases(rank):
            x = values(rank, torch.float32, rank * 2, 3)
            sent = sum(rows[rank])
            y = values(rank, torch.int64, sent, 2)
            got = [rows[s][rank] for s in range(W)]
            splits = {"in": rows[rank], "out": got}
            empty = torch.empty(0, 4)
            return [
                call("all_gather", [x], [[s * 2, 3] for s in range(W)], torch.float32),
                call("all_to_all", [y], [[sum(got), 2]], torch.int64, splits=splits, out_counts=[2 * n for n in got]),
                call("all_to_all", list(y.split(rows[rank])), [[n, 2] for n in got], torch.int64, out_counts=[2 * n for n in got]),
                call("all_gather", [empty], [[W, 0, 4]], torch.float32),
                call("all_reduce", [empty], [[0, 4]], torch.float32, reduce="sum"),
                call("reduce_scatter", [empty], [[0, 4]], torch.float32, reduce="sum"),
            ]

        got = run(cases)
        for r in range(W):
            for s in range(W):
                self.assertTrue(same_bits(got[r][0][s], values(s, torch.float32, s * 2, 3)))
            wanted = [values(s, torch.int64, sum(rows[s]), 2).split(rows[s])[r] for s in range(W)]
            self.assertTrue(torch.equal(got[r][1][0], torch.cat(wanted)))
            for a, b in zip(got[r][2], wanted):
                self.assertTrue(torch.equal(a, b))
            self.assertEqual(list(got[r][3][0].shape), [W, 0, 4])
            self.assertEqual(list(got[r][4][0].shape), [0, 4])
            self.assertEqual(list(got[r][5][0].shape), [0, 4])


class ReductionTest(unittest.TestCase):
    def reduced(self, dtype, kind, make=values):
        x = [make(r, dtype, 6) for r in range(W)]

        def cases(rank):
            return [
                call("all_reduce", [x[rank]], [[6]], dtype, reduce=kind),
                call("reduce", [x[rank]], [[6]], dtype, reduce=kind, root=1),
                call("reduce_scatter", [x[rank]], [[2]], dtype, reduce=kind),
                call("reduce_scatter", list(x[rank].split(2)), [[2]], dtype, reduce=kind),
            ]

        got = run(cases)
        for r in range(W):
            self.assertTrue(same_bits(got[r][0][0], got[0][0][0]))
            self.assertTrue(same_bits(got[r][1][0], got[0][0][0] if r == 1 else x[r]))
            self.assertTrue(same_bits(got[r][2][0], got[0][0][0][2 * r : 2 * r + 2]))
            self.assertTrue(same_bits(got[r][2][0], got[r][3][0]))
        return x, got[0][0][0]

    def test_sum_is_rounded_once(self):
        """Narrow types accumulate in float32 in rank order; other orders and early rounding give other bits here."""

        def make(rank, dtype, n):
            return torch.tensor([[256.0, 1.0, 1.0, 3.0, 5.0, 7.0], [1.0] * 6, [1.0] * 6][rank]).to(dtype)

        x, got = self.reduced(torch.bfloat16, "sum", make)
        self.assertEqual(got[0].item(), 258.0)
        self.assertEqual((x[0] + x[1] + x[2])[0].item(), 256.0)  # rounding after each addition would lose both
        for dtype in (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
            x, got = self.reduced(dtype, "sum")
            self.assertTrue(same_bits(got, ((x[0].float() + x[1].float()) + x[2].float()).to(dtype)), dtype)
        x, got = self.reduced(torch.float32, "sum")
        self.assertTrue(same_bits(got, (x[0] + x[1]) + x[2]))

    def test_integers_and_bool(self):
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64):
            for kind, function in (("sum", lambda a: sum(a)), ("prod", lambda a: a[0] * a[1] * a[2]), ("min", min), ("max", max)):
                x, got = self.reduced(dtype, kind)
                bits = dtype.itemsize * 8
                for i in range(6):
                    wanted = function([int(t[i]) for t in x]) % (1 << bits)
                    self.assertEqual(int(got[i]) % (1 << bits), wanted, (dtype, kind))
            for kind, function in (("band", lambda a, b: a & b), ("bor", lambda a, b: a | b), ("bxor", lambda a, b: a ^ b)):
                if dtype in (torch.uint16, torch.uint32, torch.uint64):
                    continue
                x, got = self.reduced(dtype, kind)
                self.assertTrue(torch.equal(got, function(function(x[0], x[1]), x[2])), (dtype, kind))
        for kind, function in (("sum", torch.logical_or), ("prod", torch.logical_and), ("max", torch.logical_or), ("min", torch.logical_and)):
            x, got = self.reduced(torch.bool, kind)
            self.assertTrue(torch.equal(got, function(function(x[0], x[1]), x[2])), kind)

    def test_avg_premul_minmax_complex(self):
        x, got = self.reduced(torch.bfloat16, "avg")
        self.assertTrue(same_bits(got, (((x[0].float() + x[1].float()) + x[2].float()) / 3).to(torch.bfloat16)))
        for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64):  # sums wrap, quotients go towards zero
            x, got = self.reduced(dtype, "avg")
            total = x[0] + x[1] + x[2]
            self.assertTrue(torch.equal(got, torch.tensor([abs(int(t)) // 3 * (1 if t > 0 else -1) for t in total.reshape(-1)],
                                                          dtype=dtype).view_as(got)), dtype)  # fmt: skip
        x, got = self.reduced(torch.complex64, "sum")
        self.assertTrue(same_bits(got, (x[0] + x[1]) + x[2]))
        x, got = self.reduced(torch.float8_e4m3fn, "max")
        self.assertTrue(same_bits(got, torch.stack([t.float() for t in x]).amax(0).to(torch.float8_e4m3fn)))
        got = run(lambda r: [call("all_reduce", [values(r, torch.float32, 4)], [[4]], torch.float32, reduce="premul_sum", factor=r + 1.0)])
        x = [values(r, torch.float32, 4) for r in range(W)]
        self.assertTrue(same_bits(got[0][0][0], (x[0] * 1.0 + x[1] * 2.0) + x[2] * 3.0))

    def test_undefined_reductions_are_refused(self):
        for dtype, kind in ((torch.float32, "band"), (torch.complex64, "max"), (torch.bool, "avg"), (torch.uint16, "avg"), (torch.float32, "median")):
            with self.assertRaisesRegex(ExportError, f"all_reduce at test.py:1: reduction {kind} is not"):
                run(lambda r, d=dtype, k=kind: [call("all_reduce", [values(r, d, 4)], [[4]], d, reduce=k)])


class GroupTest(unittest.TestCase):
    def test_subgroups_run_side_by_side(self):
        """Groups {0, 2} and {1} meet independently of each other and of the whole."""

        def body(exchange):
            group = (0, 2) if exchange.rank != 1 else (1,)
            x = torch.full((2,), float(exchange.rank + 1))
            one = Collective("all_reduce", group, [x], [[2]], torch.float32, "t:1", reduce="sum")
            first = execute(exchange, one)[0]
            everybody = Collective("all_reduce", GROUP, [first], [[2]], torch.float32, "t:2", reduce="sum")
            return first.tolist(), execute(exchange, everybody)[0].tolist()

        got = coordinator.run_ranks(W, body, 60)
        self.assertEqual([g[0][0] for g in got], [4.0, 2.0, 4.0])
        self.assertEqual([g[1][0] for g in got], [10.0] * 3)


if __name__ == "__main__":
    unittest.main()
