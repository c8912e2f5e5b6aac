# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views, mutation through views, aliasing of inputs and outputs, modules, backward, DDP: what the record says and gives."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

import torch
from harness import ExportTest, collectives, ops


def storage(record, tid):
    return record["tensors"][tid]["storage"]


class AliasingTest(ExportTest):
    def test_mutation_through_views(self):
        bundle, ranks = self.outputs(
            """
            def solution(x):
                y = x.clone()
                row = y[2]
                row.mul_(3)
                dist.all_reduce(y[:2])
                y.data.add_(1)
                y.view(-1)[5:7].zero_()
                return y, row
            """,
            2,
        )
        x = [r[0][0] for r in ranks]
        wanted_head = x[0][:2] + x[1][:2]
        for k, (_, (y, row), _) in enumerate(ranks):
            want = x[k].clone()
            want[2] *= 3
            want[:2] = wanted_head
            want += 1
            want.view(-1)[5:7] = 0
            self.assertBits(y, want)
            self.assertBits(row, want[2])
        record = bundle.ranks[0]
        event = collectives(record)[0]
        (source, target), = event["writes"]
        self.assertEqual(storage(record, target), storage(record, record["outputs"]["items"][0]["id"]))
        self.assertNotEqual(storage(record, source), storage(record, target))
        self.assertEqual(storage(record, record["outputs"]["items"][1]["id"]), storage(record, target))
        mutating = [e for e in record["events"] if e["kind"] == "op" and e["mutates"]]
        self.assertEqual([e["op"] for e in mutating], ["aten::mul_", "aten::add_", "aten::zero_"])

    def test_arguments_that_alias_and_are_written(self):
        bundle, ranks = self.outputs(
            """
            def inputs(rank, world_size, device, trial=0):
                x = numbers(rank, trial, 4, 6, device=device)
                return x, x[1:3], x.t(), numbers(rank, trial + 50, 3, device=device)

            def solution(whole, part, turned, other):
                dist.all_reduce(part * 2)
                part.add_(10)
                return whole, turned[0], other
            """,
            2,
            inputs="",
        )
        record = bundle.ranks[0]
        ids = [i["id"] for i in record["inputs"]["items"]]
        self.assertEqual(len({storage(record, i) for i in ids[:3]}), 1)
        self.assertNotEqual(storage(record, ids[3]), storage(record, ids[0]))
        self.assertEqual(record["tensors"][ids[1]]["offset"], 6)
        self.assertEqual(record["tensors"][ids[2]]["strides"], [1, 6])
        self.assertEqual(record["outputs"]["items"][0]["id"], ids[0])
        for (x, *_), (whole, first, other), args in ranks:
            want = x.clone()
            want[1:3] += 10
            self.assertBits(whole, want)
            self.assertBits(first, want[:, 0])
            self.assertBits(args[0], want)
            self.assertBits(args[2], want.t())
        index, _ = self.reference(bundle)
        rank = index["trials"][0]["ranks"][0]
        self.assertEqual([a["changed"] for a in rank["args"]], [True, True, True, False])
        self.assertEqual([o["alias_of_input"] for o in rank["outputs"]], [0, 0, 3])

    def test_trees(self):
        """Dicts, lists, scalars, None, dtypes and sizes come and go; a dict result keeps its order."""
        bundle, _ = self.outputs(
            """
            def inputs(rank, world_size, device, trial=0):
                x = numbers(rank, trial, 4, 4, device=device)
                return {"x": x, "more": [x + 1, (x + 2, None)]}, 2, 0.5, "mean", torch.float64, float("inf")

            def solution(d, n, s, mode, dtype, limit):
                y = d["more"][1][0] * n + d["x"] * s
                dist.all_reduce(y)
                return {"b": y.to(dtype).clamp(max=limit), "a": [y.shape, None, n, mode]}
            """,
            2,
            inputs="",
        )
        record = bundle.ranks[0]
        kinds = [i["kind"] for i in record["inputs"]["items"]]
        self.assertEqual(kinds, ["dict", "int", "float", "str", "dtype", "float"])
        self.assertEqual(record["inputs"]["items"][5]["value"], "inf")
        self.assertEqual(record["outputs"]["keys"], ["b", "a"])
        self.assertEqual(record["outputs"]["items"][1]["items"][0], {"kind": "size", "value": [4, 4]})
        self.assertIn("argument 1: always 2", bundle.head["not_exercised"])

    def test_literals(self):
        """Constants made by the program are literals with their bytes, also views of one."""
        bundle, ranks = self.outputs(
            """
            TABLE = torch.arange(12.0).view(3, 4)

            def solution(x):
                w = torch.tensor([1.0, 2.0, 3.0, 4.0], device=x.device)
                y = x * w + TABLE[dist.get_rank()]
                dist.all_reduce(y)
                return y
            """,
            3,
        )
        x = [r[0][0] for r in ranks]
        table = torch.arange(12.0).view(3, 4)
        want = [x[k] * torch.tensor([1.0, 2.0, 3.0, 4.0]) + table[k] for k in range(3)]
        self.assertBits(ranks[0][1][0], (want[0] + want[1]) + want[2])
        literals = bundle.ranks[1]["literals"]
        sizes = [bundle.ranks[1]["tensors"][i["tensor"]]["sizes"] for i in literals]
        self.assertEqual(sizes, [[4], [12]])
        for i in literals:
            self.assertIn(i["file"], bundle.head["files"])

    def test_host_copies_are_copies(self):
        """.cpu() is a copy on GPUs, so it is one here, and constants may be read on the host."""
        bundle, ranks = self.outputs(
            """
            def solution(x):
                assert x.is_cuda and x.device.type == "cuda" and torch.cuda.is_available()
                kept = x.cpu()
                assert not kept.is_cuda
                x.add_(1)
                n = int(torch.ones(3).sum()) + torch.arange(4).tolist()[1]
                y = torch.zeros(6, 4).to(x.device) + x * n
                dist.all_reduce(y)
                return kept, y
            """,
            2,
        )
        x = [r[0][0] for r in ranks]
        for k, (_, (kept, y), args) in enumerate(ranks):
            self.assertBits(kept, x[k])
            self.assertBits(args[0], x[k] + 1)
            self.assertBits(y, (x[0] + 1) * 4 + (x[1] + 1) * 4)
        record = bundle.ranks[0]
        self.assertEqual(record["storages"][storage(record, record["outputs"]["items"][0]["id"])]["device"], "cpu")
        self.assertNotIn("device", record["storages"][storage(record, record["outputs"]["items"][1]["id"])])


class AutogradTest(ExportTest):
    MODULE = """
    def inputs(rank, world_size, device, trial=0):
        torch.manual_seed(5)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to(device)
        return model, numbers(rank, trial, 6, 4, device=device)
    """

    def test_module_parameters_are_inputs(self):
        bundle, ranks = self.outputs(
            """
            def solution(model, x):
                y = model(x)
                dist.all_reduce(y)
                return y
            """,
            2,
            inputs=self.MODULE,
        )
        node = bundle.ranks[0]["inputs"]["items"][0]
        self.assertEqual(node["kind"], "module")
        self.assertEqual(node["keys"], ["0.weight", "0.bias", "2.weight", "2.bias"])
        self.assertEqual(bundle.ranks[0]["literals"], [])
        w1, b1, w2, b2, x = ranks[0][0]
        other = ranks[1][0][4]
        f = lambda x: torch.addmm(b2, torch.relu(torch.addmm(b1, x, w1.t())), w2.t())
        self.assertTrue(torch.allclose(ranks[0][1][0], f(x) + f(other)))

    def test_ddp_and_backward(self):
        """DDP's reducer works in C++: its all_reduce is seen, and gradients are the mean over the ranks."""
        bundle, ranks = self.outputs(
            """
            from torch.nn.parallel import DistributedDataParallel

            def solution(model, x):
                ddp = DistributedDataParallel(model)
                ddp(x).square().sum().backward()
                return [p.grad for p in model.parameters()]
            """,
            2,
            inputs=self.MODULE,
        )
        self.assertEqual(bundle.ranks[0]["inputs"]["items"][0]["keys"], ["0.weight", "0.bias", "2.weight", "2.bias"])
        events = collectives(bundle.ranks[0])
        self.assertIn("all_reduce", [e["name"] for e in events])
        self.assertIn("broadcast", [e["name"] for e in events])
        grads = []
        for (w1, b1, w2, b2, x), _, _ in ranks:
            leaves = [t.clone().requires_grad_() for t in (w1, b1, w2, b2)]
            (torch.relu(x @ leaves[0].t() + leaves[1]) @ leaves[2].t() + leaves[3]).square().sum().backward()
            grads.append([t.grad for t in leaves])
        for _, outs, _ in ranks:
            for got, a, b in zip(outs, *grads):
                self.assertTrue(torch.allclose(got, (a + b) / 2, rtol=1e-4, atol=1e-5))

    def test_autograd_function_and_attention(self):
        """A custom backward with a collective, and attention kept as one operator that GPUs have too."""
        bundle, ranks = self.outputs(
            """
            class Copy(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return x.clone()

                @staticmethod
                def backward(ctx, g):
                    g = g.clone()
                    dist.all_reduce(g)
                    return g

            def inputs(rank, world_size, device, trial=0):
                return (numbers(rank, trial, 1, 2, 4, 8, device=device),)

            def solution(q):
                x = q.detach().requires_grad_()
                (Copy.apply(x) * (dist.get_rank() + 1)).sum().backward()
                return x.grad, F.scaled_dot_product_attention(q, q, q, is_causal=True)
            """,
            2,
            inputs="",
        )
        for (q,), (grad, out), _ in ranks:
            self.assertBits(grad, torch.full_like(q, 3.0))
            self.assertTrue(torch.allclose(out, torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)))
        names = ops(bundle.ranks[0])
        self.assertIn("aten::scaled_dot_product_attention", names)
        self.assertFalse([n for n in names if "for_cpu" in n])


if __name__ == "__main__":
    unittest.main()
