# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classes of the library that take tensors apart or work behind autograd: DTensor, fully_shard, foreach operators that return nothing."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from harness import ExportTest, collectives, ops

LINEAR = """
def inputs(rank, world_size, device, trial=0):
    torch.manual_seed(trial)
    return numbers(0, trial, 6, 4, device=device), torch.nn.Linear(4, 8).to(device)
"""


class LibraryClassesTest(ExportTest):
    def test_dtensor(self):
        """Shapes are worked out on fake tensors, which leave no event; the result is that of plain torch."""
        bundle, ranks = self.outputs(
            """
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.tensor import Replicate, Shard, distribute_tensor

            def solution(x, layer):
                mesh = init_device_mesh(x.device.type, (dist.get_world_size(),))
                with torch.no_grad():
                    weight = distribute_tensor(layer.weight, mesh, [Shard(0)], src_data_rank=None)
                    y = distribute_tensor(x, mesh, [Replicate()], src_data_rank=None) @ weight.t()
                    return y.full_tensor(), x @ layer.weight.t()
            """,
            2,
            inputs=LINEAR,
        )
        for _, (ours, plain), _ in ranks:
            self.assertBits(ours, plain)
        self.assertEqual([e["name"] for e in collectives(bundle.ranks[0])], ["all_gather"])

    def test_fully_shard(self):
        """Its hooks run inside backward and make tensors on the device by name."""
        bundle, ranks = self.outputs(
            """
            import copy
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.fsdp import fully_shard

            def solution(x, layer):
                plain, layer = copy.deepcopy(layer), copy.deepcopy(layer)
                fully_shard(layer, mesh=init_device_mesh(x.device.type, (dist.get_world_size(),)))
                for m in (plain, layer):
                    m(x).square().sum().backward()
                whole = [torch.empty_like(plain.weight) for _ in range(1)]
                dist.all_gather_into_tensor(whole[0], layer.weight.grad.to_local())
                return whole[0], plain.weight.grad
            """,
            2,
            inputs=LINEAR,
        )
        for _, (ours, plain), _ in ranks:
            self.assertBits(ours, plain)
        self.assertIn("reduce_scatter", [e["name"] for e in collectives(bundle.ranks[0])])
        self.assertEqual({name.partition("::")[0] for name in ops(bundle.ranks[0])}, {"aten"})

    def test_operators_of_the_user(self):
        """An operator that Python registers is not there at run time: what it calls is recorded."""
        bundle, ranks = self.outputs(
            """
            @torch.library.custom_op("pkb_test::scaled", mutates_args=())
            def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
                return (x + 1) * by

            def solution(x):
                y = scaled(x, 3.0)
                dist.all_reduce(y)
                return scaled(x, 2.0), y
            """,
            2,
        )
        self.assertEqual(ops(bundle.ranks[0]), ["aten::add", "aten::mul", "aten::add", "aten::mul"])
        self.assertBits(ranks[0][1][0], (ranks[0][0][0] + 1) * 2)

    def test_foreach_in_place(self):
        bundle, ranks = self.outputs(
            """
            def solution(x):
                a, b = x.clone(), x + 1
                torch._foreach_mul_([a, b], x.sum())
                dist.all_reduce(a)
                return a, b
            """,
            2,
        )
        self.assertIn("aten::_foreach_mul_", ops(bundle.ranks[0]))
        for (x,), (_, b), _ in ranks:
            self.assertBits(b, (x + 1) * x.sum())

    def test_lists_of_results(self):
        """A list of tensors is one return value, of a foreach operator and of a view alike."""
        bundle, ranks = self.outputs(
            """
            def solution(x):
                norms = torch._foreach_norm([x, x[0], x[1]], 2.0)
                parts = x.split([1, 2, 3])
                total = torch.stack(norms)
                dist.all_reduce(total)
                return total, parts[2] * 2
            """,
            2,
        )
        results = {e["op"]: e["results"] for e in bundle.ranks[0]["events"] if e["kind"] == "op"}
        for name in ("aten::_foreach_norm", "aten::split_with_sizes"):
            self.assertEqual([list(r) for r in results[name]], [["ts"]])
            self.assertEqual(len(results[name][0]["ts"]), 3)
        self.assertBits(ranks[0][1][1], ranks[0][0][0][3:] * 2)


if __name__ == "__main__":
    unittest.main()
