# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that touches what an asynchronous collective works on before it has waited for it: a warning with both lines, and no other."""

import contextlib
import io
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from harness import ExportTest
from pkb.export import cli

RACES = {
    "h = dist.all_reduce(y, async_op=True)  # call\nz = y + 1  # touch\nh.wait()\nreturn z": "add at {touch} reads what the all_reduce at {call} writes",
    "h = dist.all_reduce(y[:2], async_op=True)  # call\nz = y.sum()  # touch\nh.wait()\nreturn z": "sum at {touch} reads what the all_reduce at {call} writes",
    "h = dist.all_gather_into_tensor(o, y, async_op=True)  # call\ny.add_(1)  # touch\nh.wait()\nreturn y, o":
        "add_ at {touch} writes to what the all_gather at {call} works on",
    "h = dist.isend(y, 1 - r)\ng = dist.irecv(z, 1 - r)  # call\nu = z * 2  # touch\nh.wait(); g.wait()\nreturn u":
        "mul at {touch} reads what the recv at {call} writes",
    "a = dist.new_group([0, 1])\nh = dist.all_reduce(y, async_op=True)  # call\ndist.all_reduce(y, group=a)  # touch\nh.wait()\nreturn y":
        "all_reduce at {touch} reads what the all_reduce at {call} writes",
    "h = dist.all_reduce(y, async_op=True)  # call\nreturn y": "the function returns what the all_reduce at {call} writes",
    "h = dist.all_reduce(x, async_op=True)  # call\nreturn y": "the function returns what the all_reduce at {call} writes",
    "h = dist.all_reduce(w[:, :2], async_op=True)  # call\nz = w[:, 1:] * 2  # touch\nh.wait()\nreturn z":
        "mul at {touch} reads what the all_reduce at {call} writes",
}
QUIET = (
    "h = dist.all_reduce(y, async_op=True)\nz = x + 1\nv = y[1:].t()\nn = torch.empty_like(y)\nh.wait()\nreturn v * 2, z",
    "h = dist.all_reduce(y[:2], async_op=True)\nz = y[2:] + 1\nh.wait()\nreturn y, z",
    "h = dist.all_reduce(w[:, :2], async_op=True)\nz = w[:, 2:] * 2\nh.wait()\nreturn w, z",
    "h = dist.all_gather_into_tensor(o, y, async_op=True)\nz = y + 1\nh.wait()\nreturn o, z",
    "h = dist.all_reduce(y, async_op=True)\ng = dist.all_reduce(y, async_op=True)\nh.wait(); g.wait()\nreturn y",
    "h = dist.all_reduce(y, async_op=True)\ntorch.cuda.synchronize()\nreturn y * 2",
    "h = dist.all_reduce(y, async_op=True)\ndist.barrier()\nreturn y * 2",
    "h = dist.all_reduce(y, async_op=True)\nf = h.get_future()\nf.wait()\nreturn y * 2",
    "dist.all_reduce(y)\ny.add_(1)\ndist.broadcast(y, 0)\nreturn y",
    "import torch.distributed._functional_collectives as fc\nz = fc.all_reduce(y, 'sum', dist.group.WORLD)\nreturn z + 1",
    "m = Scaled(x[:2].clone())\n"
    "m = torch.nn.parallel.DistributedDataParallel(m)\nm(y).sum().backward()\nreturn [p.grad for p in m.parameters()]",
)  # fmt: skip
HEAD = """
class Scaled(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x):
        return x @ self.weight.t()


def solution(x):
    w, r = dist.get_world_size(), dist.get_rank()
    y, z, o, w = x * 2, torch.zeros_like(x), x.new_empty(w * 6, 4), x * 3
"""


class RacesTest(ExportTest):
    def warnings(self, body):
        path = self.write(HEAD + "".join(f"    {line}\n" for line in body.split("\n")))
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            status = cli.main([f"{path}:solution", "--inputs", f"{path}:inputs", "--world-size", "2", "--trials", "1", "-q", "-o", os.path.join(self.folder, "x.pkb")])
        self.assertEqual(status, 0, err.getvalue())
        return err.getvalue()

    def test_races(self):
        for body, message in RACES.items():
            with self.subTest(body):
                found = self.warnings(body)
                lines = {tag: self.line_of(f"# {tag}") for tag in ("call", "touch") if f"# {tag}" in body}
                self.assertEqual(
                    found, f"pkb-export: warning: {message.format(**lines)}, before wait(): on GPUs the two are not in order; call wait() on its work first\n"
                )

    def test_no_races(self):
        for body in QUIET:
            with self.subTest(body):
                self.assertEqual(self.warnings(body), "")


if __name__ == "__main__":
    unittest.main()
