# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where tensors made from nothing lie: on the device of the rank if the program makes them there or a library does so for it, in host memory if the
program says so. The record and the host plan of the compiled program name the device of each."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from harness import ExportTest

OPT = os.path.join(os.environ.get("PKB_BUILD_DIR", "build"), "bin", "pkb-opt")

# Each makes a tensor of 6 x 4 numbers; {d} is a device.
NAMED = [
    "torch.empty(6, 4, device={d}).fill_(2)", "torch.zeros(6, 4, device={d})", "torch.ones(6, 4, device={d})", "torch.full((6, 4), 3.0, device={d})",
    "torch.arange(24, device={d}).reshape(6, 4)", "torch.linspace(0, 1, 24, device={d}).reshape(6, 4)", "torch.eye(6, 4, device={d})",
    "torch.hann_window(24, device={d}).reshape(6, 4)", "torch.tril_indices(6, 4, device={d}).sum().expand(6, 4)",
    "torch.empty_strided((6, 4), (4, 1), device={d}).zero_()", "torch.tensor([[float(i) for i in range(4)]] * 6, device={d})",
]  # fmt: skip
LIKE = [
    "torch.empty_like({x}).fill_(2)", "torch.zeros_like({x})", "torch.ones_like({x})", "torch.full_like({x}, 3.0)", "{x}.new_empty(6, 4).fill_(1)",
    "{x}.new_zeros(6, 4)", "{x}.new_ones(6, 4)", "{x}.new_full((6, 4), 5.0)", "{x}.new_tensor([[1.0] * 4] * 6)",
    "{x}.new_empty_strided((6, 4), (4, 1)).zero_()",
]  # fmt: skip


def factories(record):
    """(operator, the device that its arguments name, where the record has its result) of calls without tensors."""
    found = []
    for event in record["events"]:
        if event["kind"] != "op" or any(key in value for value in event["args"] for key in ("t", "ts")):
            continue
        for result in event["results"]:
            storage = record["storages"][record["tensors"][result["t"]]["storage"]]
            named = dict(event["kwargs"]).get("device", {}).get("device")
            found.append((event["op"], named, storage.get("device", "cuda")))
    return found


class FactoriesTest(ExportTest):
    def plan(self, bundle):
        """The `aten` steps of the compiled program."""
        path = os.path.join(self.folder, "x.cu")
        subprocess.run([OPT, bundle.path, f"--pkb-pipeline=target=h200x{bundle.world_size}", "-o", path], check=True, timeout=120)
        with open(path) as f:
            text = f.read()
        manifest = json.JSONDecoder().raw_decode(text[text.index("{") :])[0]
        steps = manifest.get("programs", [manifest])[0]["steps"]
        return [step for step in steps if step["kind"] == "aten"]

    def assertOnDevice(self, bundle, least):
        """Everything made from nothing is on the device, by name, in the record and in the plan."""
        for record in bundle.ranks:
            made = factories(record)
            self.assertGreaterEqual(len(made), least)
            for entry in made:
                self.assertEqual(entry[1:], ("cuda", "cuda"), entry)
        for step in self.plan(bundle):
            if not any(key in value for value in step["args"] for key in ("t", "ts")):
                self.assertEqual(dict(step["kwargs"]).get("device"), {"device": "cuda"}, step)

    def test_named(self):
        """By the device of a tensor, by name, by number, and by a default that the program sets."""
        for device in ("x.device", "'cuda'", "torch.cuda.current_device()", "f'cuda:{dist.get_rank()}'"):
            body = ", ".join(text.replace("{d}", device) for text in NAMED)
            with self.subTest(device):
                bundle = self.export(f"def solution(x):\n    dist.all_reduce(x)\n    return sum(t * x for t in ({body},))\n")
                self.assertOnDevice(bundle, len(NAMED) - 1)  # one is a constant

    def test_default_device(self):
        body = ", ".join(text.replace(", device={d}", "") for text in NAMED)
        bundle = self.export(f"def solution(x):\n    dist.all_reduce(x)\n    with torch.device('cuda'):\n        made = ({body},)\n    return sum(t * x for t in made)\n")
        self.assertOnDevice(bundle, len(NAMED) - 1)

    def test_like(self):
        """On the device since their tensor is: nothing is named, nothing need be."""
        body = ", ".join(text.replace("{x}", "x") for text in LIKE)
        bundle = self.export(f"def solution(x):\n    dist.all_reduce(x)\n    return sum(t * x for t in ({body},))\n")
        for record in bundle.ranks:
            self.assertFalse([s for s in record["storages"] if s.get("device") == "cpu"])
        self.plan(bundle)

    def test_host(self):
        """Made in host memory, moved: no factory becomes one on the device."""
        for text in NAMED[:-1]:
            for device in ("'cpu'", None):
                call = text.replace("{d}", device) if device else text.replace(", device={d}", "")
                with self.subTest(call):
                    bundle = self.export(f"def solution(x):\n    dist.all_reduce(x)\n    return x * ({call}).to(x.device)\n")
                    made = factories(bundle.ranks[0])
                    self.assertEqual(len(made), 1)
                    self.assertIn(made[0][1], ("cpu", None))
                    self.assertEqual(made[0][2], "cpu")
                    self.assertIn("aten::_to_copy", [step["op"] for step in self.plan(bundle)])

    def test_made_by_a_library(self):
        """The C++ code of DDP makes tensors by the device of its parameters, and some by no device, which it moves."""
        bundle = self.export(
            """
            from torch.nn.parallel import DistributedDataParallel

            def solution(x, layer):
                model = DistributedDataParallel(layer)
                model(x).square().sum().backward()
                grads = [p.grad.clone() for p in layer.parameters()]
                for p in layer.parameters():
                    p.grad = None
                return grads
            """,
            inputs="""
            def inputs(rank, world_size, device, trial=0):
                torch.manual_seed(trial)
                return numbers(rank, trial, 6, 4, device=device), torch.nn.Linear(4, 8).to(device)
            """,
        )
        self.assertOnDevice(bundle, 3)

    def test_made_in_a_hook(self):
        """Hooks of autograd run without the function mode that knows where things are."""
        bundle = self.export(
            """
            def solution(x):
                leaf = x.clone().requires_grad_()
                y = leaf * 2
                y.register_hook(lambda g: g + torch.ones(6, 4, device=g.device) + torch.zeros(6, 4).to(g.device))
                y.sum().backward()
                dist.all_reduce(leaf.grad)
                return leaf.grad
            """
        )
        self.assertOnDevice(bundle, 1)


if __name__ == "__main__":
    unittest.main()
