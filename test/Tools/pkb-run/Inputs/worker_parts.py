# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GPU worker's parts on a CPU: meetings and failures, rules and bounds, rotation, timing, counts, oracle."""

import tempfile
import time
import threading
import unittest

import torch
import torch.distributed as dist

from pkb.worker import clones, counts, timing, variants
from pkb.worker.judge import Comparison, Rule, bits_hash, judge, poison
from pkb.worker.oracle import FileExchange, run as run_oracle
from pkb.worker.protocol import Exchange, PeerFailed, attempt


def on_ranks(size, body):
    """body(rank, store) on threads; their results."""
    store, results = dist.HashStore(), [None] * size
    errors = []

    def one(rank):
        try:
            results[rank] = body(rank, store)
        except BaseException as e:  # noqa: BLE001 - shown by the caller
            errors.append(e)

    threads = [threading.Thread(target=one, args=(r,)) for r in range(size)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    if errors:
        raise errors[0]
    return results


class Meetings(unittest.TestCase):
    def test_values_come_in_rank_order(self):
        got = on_ranks(3, lambda r, s: Exchange(s, r, 3, 20).allgather({"rank": r}))
        self.assertEqual(got, [[{"rank": 0}, {"rank": 1}, {"rank": 2}]] * 3)

    def test_one_rank_that_raises_stops_all_and_the_next_meeting_works(self):
        def body(rank, store):
            x = Exchange(store, rank, 3, 20)

            def work():
                if rank == 1:
                    raise ValueError("no memory for the graph\nmore")
                return x.largest(rank)

            failed = attempt(x, work)
            return failed, x.allgather(rank)

        for failed, after in on_ranks(3, body):
            self.assertEqual(failed, (None, "rank 1: ValueError: no memory for the graph"))
            self.assertEqual(after, [0, 1, 2])

    def test_ranks_that_raise_at_different_places_stay_in_step(self):
        def body(rank, store):
            x = Exchange(store, rank, 2, 20)

            def work():
                x.barrier()
                if rank == 0:
                    raise KeyError("a")
                x.barrier()
                raise KeyError("b")

            return attempt(x, work)[1], x.allgather(rank)

        for error, after in on_ranks(2, body):
            self.assertIn("rank 0: KeyError", error)
            self.assertEqual(after, [0, 1])

    def test_give_up_raises_on_the_rank_itself(self):
        with self.assertRaises(PeerFailed):
            Exchange(dist.HashStore(), 0, 1, 5).give_up("tired")


def sample(ours, reference, oracle=None, **more):
    wide = oracle if oracle is not None else reference.double()
    return {
        "ours": ours, "reference": reference, "oracle": oracle, "magnitude": float(wide.abs().max()), "same_reference": False,
        "same_ours": False, **more,
    }  # fmt: skip


class Judging(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.parts = torch.randn(4, 8, 16, dtype=torch.bfloat16)
        self.oracle = self.parts.double().sum(0)
        self.right = self.parts.float().sum(0).bfloat16()
        self.rule = Rule(Comparison.BOUND, terms=4)

    def test_a_sum_rounded_once_is_within_its_bound(self):
        v = judge("output 0", self.rule, [sample(self.right, self.right, self.oracle)], 0)
        self.assertEqual(v.reason, "")
        self.assertGreater(v.ratio, 0.1)
        self.assertLessEqual(v.ratio, 1.0)

    def test_one_element_off_by_one_place_is_found(self):
        wrong = self.right.clone()
        wrong.view(torch.int16)[3, 5] += 2
        v = judge("output 0", self.rule, [sample(wrong, self.right, self.oracle)], 2)
        self.assertIn("1 of 128 elements are past the bound", v.reason)
        self.assertEqual(v.worst, {"rank": 2, "trial": 0, "index": [3, 5]})

    def test_a_sum_no_worse_than_the_original_is_accepted(self):
        coarse = self.parts[0]
        for p in self.parts[1:]:
            coarse = coarse + p
        self.assertEqual(judge("output 0", self.rule, [sample(coarse, coarse, self.oracle)], 0).reason, "")
        v = judge("output 0", self.rule, [sample(coarse, self.right, self.oracle)], 0)
        self.assertNotEqual(v.reason, "", "rounding every partial sum must not pass beside an exact original")

    def test_unwritten_elements_are_told_apart(self):
        out = poison(torch.empty(8, 16, dtype=torch.bfloat16))
        out[:7] = self.right[:7]
        v = judge("output 0", self.rule, [sample(out, self.right, self.oracle)], 0)
        self.assertIn("16 of 128 elements were never written", v.reason)
        ints = torch.arange(12, dtype=torch.int32)
        out = poison(torch.empty(12, dtype=torch.int32))
        out[1:] = ints[1:]
        self.assertIn("1 of 12 elements were never written", judge("output 0", Rule(), [sample(out, ints)], 0).reason)

    def test_movement_is_compared_by_bits(self):
        x = torch.tensor([0.0, 1.0])
        v = judge("output 0", Rule(Comparison.BITS), [sample(-x, x)], 0)
        self.assertIn("2 of 2 elements differ in bits", v.reason)
        self.assertEqual(judge("output 0", Rule(Comparison.BITS), [sample(x.clone(), x)], 0).reason, "")

    def test_a_maximum_is_compared_by_values(self):
        x = torch.tensor([0.0, -0.0, float("nan"), 2.0])
        y = torch.tensor([-0.0, 0.0, -float("nan"), 2.0])
        self.assertEqual(judge("o", Rule(Comparison.VALUES), [sample(y, x, same_reference=True)], 0).reason, "")
        self.assertIn("differ in bits", judge("o", Rule(Comparison.BITS), [sample(y, x)], 0).reason)
        for at, other in ((3, -2.0), (3, float("nan")), (2, 0.0), (0, 1e-45)):
            z = y.clone()
            z[at] = other
            v = judge("o", Rule(Comparison.VALUES), [sample(z, x)], 1)
            self.assertIn("1 of 4 elements differ in value", v.reason)
            self.assertEqual((v.worst["index"], v.json()["rule"]), ([at], "values"))
        self.assertIn("4 of 4 elements were never written", judge("o", Rule(Comparison.VALUES), [sample(poison(x.clone()), x)], 0).reason)
        ints = torch.arange(3)
        self.assertIn("differ in bits", judge("o", Rule(Comparison.VALUES), [sample(-ints, ints)], 0).reason)

    def test_infinities_must_match(self):
        x = torch.tensor([1.0, float("inf"), float("nan")])
        self.assertEqual(judge("o", Rule(Comparison.BOUND), [sample(x.clone(), x)], 0).reason, "")
        y = torch.tensor([1.0, -float("inf"), float("nan")])
        self.assertIn("-inf where the original gives inf", judge("o", Rule(Comparison.BOUND), [sample(y, x)], 0).reason)

    def test_ranks_that_differ_where_the_original_does_not(self):
        v = judge("o", self.rule, [sample(self.right, self.right, self.oracle, same_reference=True)], 0)
        self.assertIn("ranks differ in bits", v.reason)

    def test_shape_and_dtype_count(self):
        self.assertIn("the original gives bfloat16", judge("o", self.rule, [sample(self.right.float(), self.right)], 0).reason)

    def test_given_tolerances_replace_the_bound(self):
        near = self.right + 0.25
        self.assertEqual(judge("o", Rule(Comparison.BOUND, atol=1.0, rtol=0.0), [sample(near, self.right, self.oracle)], 0).reason, "")

    def test_hash_sees_order_and_one_bit(self):
        x = torch.arange(100, dtype=torch.int32)
        self.assertNotEqual(bits_hash(x), bits_hash(x.flip(0)))
        self.assertEqual(bits_hash(x), bits_hash(x.clone()))
        self.assertEqual(bits_hash(torch.empty(0)), 0)


class Rotation(unittest.TestCase):
    def test_number_of_groups_as_the_benchmark_has_it(self):
        mib = 1 << 20
        self.assertEqual(clones.rotation_groups(180 * mib, 60 * mib), 1)
        self.assertEqual(clones.rotation_groups(179 * mib, 60 * mib), 2)
        self.assertEqual(clones.rotation_groups(2 * mib, 60 * mib), 91)
        self.assertEqual(clones.rotation_groups(1024, 60 * mib), 128)

    def test_copies_keep_aliasing(self):
        base = torch.arange(6.0)
        a, views = clones.clone((base, [base[2:], 3]))
        views[0][0] = 9
        self.assertEqual(a[2].item(), 9)
        self.assertEqual(base[2].item(), 2)

    def test_only_the_first_tensor_is_copied(self):
        x, y = torch.ones(3), torch.ones(3)
        groups = clones.rotating([(5, [x, y], y)], 3)
        self.assertEqual(len({g[1][0].data_ptr() for g in groups}), 3)
        self.assertTrue(all(g[1][1] is y and g[2] is y and g[0] == 5 for g in groups))
        self.assertIsInstance(groups[0][1], list)


class FakeMarker:
    def __init__(self, clock):
        self.clock = clock

    def record(self):
        self.at = self.clock.now


class FakeClock:
    """Time is what the variants say."""

    def __init__(self):
        self.now = 0.0

    def mark(self):
        return self.now

    def markers(self, count):
        return [FakeMarker(self) for _ in range(count)]

    def between(self, a, b):
        return getattr(b, "at", b) - getattr(a, "at", a)

    def synchronize(self):
        pass


class FakeVariant:
    def __init__(self, name, clock, seconds, calls_per_item=1, fails_at=None):
        self.name, self.way, self.clock, self.seconds = name, "loop", clock, seconds
        self.calls_per_item, self.calls, self.fails_at = calls_per_item, 0, fails_at

    def call(self, i):
        self.calls += 1
        if self.fails_at is not None and self.calls >= self.fails_at:
            raise RuntimeError("out of memory")
        self.clock.now += self.seconds * self.calls_per_item


class Timing(unittest.TestCase):
    def measure(self, *variants, rank=0, store=None, size=1):
        x = Exchange(store or dist.HashStore(), rank, size, 20)
        return timing.measure(list(variants), variants[0].clock, x, lambda: None)

    def test_length_of_a_run(self):
        self.assertEqual(timing.calls_for(20e-6), 100)
        self.assertEqual(timing.calls_for(0.01), 20)
        self.assertEqual(timing.calls_for(1.0), 5)
        self.assertEqual(timing.calls_for(1e-3, calls_per_item=20), 10)

    def test_medians_and_spread(self):
        clock = FakeClock()
        got = self.measure(FakeVariant("ours", clock, 10e-6), FakeVariant("graph", clock, 30e-6, calls_per_item=20))
        self.assertAlmostEqual(got[("ours", "loop")]["us"], 10, places=3)
        self.assertAlmostEqual(got[("graph", "loop")]["us"], 30, places=3)
        self.assertEqual(len(got[("ours", "loop")]["runs"]), timing.SHORT_ROUNDS)
        self.assertEqual(len(got[("graph", "loop")]["runs"]), timing.ROUNDS)
        self.assertEqual(got[("graph", "loop")]["calls"], 100 * 20)

    def test_a_failing_baseline_costs_only_itself(self):
        clock = FakeClock()
        for when in (1, 700):
            bad = FakeVariant("compile", clock, 1e-6, fails_at=when)
            got = self.measure(FakeVariant("ours", clock, 10e-6), bad)
            self.assertIn("RuntimeError: out of memory", got[("compile", "loop")]["error"])
            self.assertAlmostEqual(got[("ours", "loop")]["us"], 10, places=3)

    def test_the_slowest_rank_counts(self):
        def body(rank, store):
            clock = FakeClock()
            return self.measure(FakeVariant("ours", clock, (10 + 5 * rank) * 1e-6), rank=rank, store=store, size=2)

        for got in on_ranks(2, body):
            self.assertAlmostEqual(got[("ours", "loop")]["us"], 15, places=3)

    def test_rounds_alternate(self):
        clock, order = FakeClock(), []
        named = [FakeVariant(n, clock, 1e-5) for n in "ab"]
        x = Exchange(dist.HashStore(), 0, 1, 5)
        timing.measure(named, clock, x, lambda: None, rounds=3, step=lambda s: order.append(s.split()[1]) if s.startswith("timing") else None)
        self.assertEqual("".join(order), "abbaab")


class Kept(unittest.TestCase):
    def test_a_stale_result_of_a_timed_call_is_found(self):
        sets = [(torch.full((4,), float(i)),) for i in range(2)]
        loop = variants.Loop("ours", lambda args: [args[0] + 1], sets, [[s[0] + 1] for s in sets])
        for i in range(6):
            loop.keep(i, loop.call(i))
        loop.check_kept()
        self.assertEqual(loop.checked_calls, 6)
        loop.keep(0, loop.call(0))
        loop.keep(1, loop.call(0))
        with self.assertRaisesRegex(variants.WrongResult, "timed call 1 of ours"):
            loop.check_kept()


    def test_no_more_results_are_held_than_memory_allows(self):
        loop = variants.Loop("ours", lambda args: [args[0] + 1], [(torch.zeros(1 << 10),)], [[torch.ones(1 << 10)]])
        limit, variants.KEEP_BYTES = variants.KEEP_BYTES, 3 * 4096
        try:
            loop.reserve(20)
            clock = FakeClock()
            timing.timed_run(loop, 10, clock, lambda: None)
        finally:
            variants.KEEP_BYTES = limit
        self.assertEqual([i for i, _ in loop._kept], [10, 11, 12])
        loop.check_kept()
        self.assertEqual(loop.checked_calls, 3)


class GraphDriver:
    """The driver's functions that read a graph. graphs: (CUgraphNodeType, name of the kernel or child graph) of each node, by graph."""

    def __init__(self, graphs):
        self.graphs = graphs
        self.nodes = {100 * graph + i: node for graph, nodes in graphs.items() for i, node in enumerate(nodes, 1)}

    def cuGraphGetNodes(self, graph, nodes, size):
        if graph.value not in self.graphs:
            return 1
        size._obj.value = len(self.graphs[graph.value])
        for i in range(size._obj.value if nodes else 0):
            nodes[i] = 100 * graph.value + i + 1
        return 0

    def cuGraphNodeGetType(self, node, kind):
        kind._obj.value = self.nodes[node.value][0]
        return 0

    def cuGraphKernelNodeGetParams_v2(self, node, params):
        # Some kernels have no function of a context, only a handle of the library.
        setattr(params._obj, "function" if node.value % 2 else "kernel", node.value)
        return 0

    def cuFuncGetName(self, name, function):
        name._obj.value = self.nodes[function.value][1]
        return 0

    cuKernelGetName = cuFuncGetName

    def cuGraphChildGraphNodeGetGraph(self, node, child):
        child._obj.value = self.nodes[node.value][1]
        return 0


class Counts(unittest.TestCase):
    def record(self, name, n, m, rank=0, **more):
        tensors = [{"dtype": "bfloat16", "sizes": [n]}, {"dtype": "bfloat16", "sizes": [m]}]
        event = {"kind": "collective", "name": name, "group": 0, "inputs": [0], "outputs": [1], "splits": None, **more}
        return {"rank": rank, "tensors": tensors, "events": [event]}

    def test_bytes_received(self):
        groups = [(0, 1, 2, 3)]
        self.assertEqual(counts.link_bytes(self.record("all_reduce", 1000, 1000), groups), 3000)
        self.assertEqual(counts.link_bytes(self.record("all_gather", 1000, 4000), groups), 6000)
        self.assertEqual(counts.link_bytes(self.record("all_to_all", 1000, 1000), groups), 1500)
        self.assertEqual(counts.link_bytes(self.record("reduce_scatter", 1000, 250), groups), 1500)
        self.assertEqual(counts.link_bytes(self.record("broadcast", 1000, 1000, root=0), groups), 0)
        self.assertEqual(counts.link_bytes(self.record("broadcast", 1000, 1000, rank=2, root=0), groups), 2000)
        uneven = self.record("all_to_all", 1000, 1000, splits={"in": [1, 2, 3, 4], "out": [1, 2, 3, 4]})
        self.assertEqual(counts.link_bytes(uneven, groups), 1800)

    def test_launches(self):
        events = [("ncclDevKernel_AllReduce", True), ("add", True), ("Memcpy DtoD", True), ("aten::add", False), ("nccl:all_reduce", True)]
        self.assertEqual(counts.count_events(events), {"kernels": 2, "nccl": 1, "copies": 1})

    def test_nodes_of_a_graph(self):
        child = [(0, b"ncclDevKernel_AllReduce"), (2, None)]
        driver = GraphDriver({1: [(0, b"add"), (1, None), (5, None), (4, 2), (12, None), (3, None)], 2: child, 3: []})
        self.assertEqual(counts.count_nodes(1, driver), {"kernels": 2, "nccl": 1, "copies": 2})
        self.assertEqual(counts.count_nodes(3, driver), {"kernels": 0, "nccl": 0, "copies": 0})
        with self.assertRaisesRegex(RuntimeError, r"cuGraphGetNodes failed \(1\)"):
            counts.count_nodes(4, driver)


class Oracle(unittest.TestCase):
    def test_an_all_reduce_in_float64(self):
        tensors = [
            {"id": i, "storage": i, "dtype": "bfloat16", "sizes": [3], "strides": [1], "offset": 0} for i in range(2)
        ]  # fmt: skip
        groups, values = [(0, 1)], [torch.tensor([1.0, 3.0, -2.0]).bfloat16(), torch.tensor([0.00390625, 1.0, 2.0]).bfloat16()]

        def body(rank, store):
            record = {
                "rank": rank, "tensors": tensors, "literals": [], "sites": [{"file": "m.py", "line": 1}],
                "storages": [{"id": 0, "bytes": 6, "origin": "input"}, {"id": 1, "bytes": 6, "origin": "op"}],
                "inputs": {"kind": "tuple", "items": [{"kind": "tensor", "id": 0}]}, "outputs": {"kind": "tensor", "id": 1},
                "events": [{
                    "kind": "collective", "name": "all_reduce", "group": 0, "inputs": [0], "outputs": [1], "writes": [[1, 0]],
                    "reduce": "sum", "site": 0, "api": "c10d::allreduce_", "splits": None, "async": False,
                }],
            }  # fmt: skip
            exchange = FileExchange(store, rank, 2, folder, "t", 20)
            return run_oracle(record, groups, None, exchange, [values[rank]], "cpu")

        with tempfile.TemporaryDirectory() as folder:
            for results, after in on_ranks(2, body):
                self.assertEqual(results[0].tolist(), [1.00390625, 4.0, 0.0])
                self.assertEqual(results[0].dtype, torch.float64)
                self.assertEqual(after[0].tolist(), [1.00390625, 4.0, 0.0])
            self.assertEqual(values[0].tolist(), [1.0, 3.0, -2.0])

    def test_a_rank_that_fails_does_not_leave_the_other_waiting(self):
        tensors = [{"id": i, "storage": i, "dtype": "float32", "sizes": [3], "strides": [1], "offset": 0} for i in range(2)]
        reduce = {
            "kind": "collective", "name": "all_reduce", "group": 0, "inputs": [0], "outputs": [1], "writes": [], "reduce": "sum",
            "site": 0, "api": "c10d::allreduce_", "splits": None, "async": False,
        }  # fmt: skip
        unknown = {"kind": "aten", "op": "aten::no_such_operator", "overload": "", "args": [], "kwargs": [], "results": [], "site": 0}

        def body(rank, store):
            record = {
                "rank": rank, "tensors": tensors, "literals": [], "sites": [{"file": "m.py", "line": 1}],
                "storages": [{"id": 0, "bytes": 12, "origin": "input"}, {"id": 1, "bytes": 12, "origin": "op"}],
                "inputs": {"kind": "tuple", "items": [{"kind": "tensor", "id": 0}]}, "outputs": {"kind": "tensor", "id": 1},
                "events": [unknown, reduce] if rank == 0 else [reduce],
            }  # fmt: skip
            start = time.monotonic()
            try:
                run_oracle(record, [(0, 1)], None, FileExchange(store, rank, 2, folder, "t", 60), [torch.ones(3)], "cpu")
            except Exception as error:
                return str(error), time.monotonic() - start
            return "no error", 0.0

        with tempfile.TemporaryDirectory() as folder:
            (own, _), (other, waited) = on_ranks(2, body)
            self.assertIn("no_such_operator", own)
            self.assertIn("rank 0 gave up: ", other)
            self.assertIn("no_such_operator", other)
            self.assertLess(waited, 30)


if __name__ == "__main__":
    unittest.main(verbosity=1)
