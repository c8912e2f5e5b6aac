# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference runner: what the original function got and gave, its float64 oracle, and how exact each result is."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

import torch
from harness import ExportTest
from pkb import export
from pkb.export import refrun
from pkb.export.bundle import Bundle

BLOCK = """
def solution(x, w):
    y = x @ w
    dist.all_reduce(y)
    x.add_(1)
    return y, x.t().contiguous(), y.argmax()
"""
BLOCK_INPUTS = """
def inputs(rank, world_size, device, trial=0):
    x = numbers(rank, trial, 6, 8, device=device, dtype=torch.bfloat16)
    return x, numbers(rank, trial + 9, 8, 4, device=device, dtype=torch.bfloat16)
"""


class ReferenceTest(ExportTest):
    def test_files_and_oracle(self):
        bundle = self.export(BLOCK, 3, BLOCK_INPUTS)
        index, read = self.reference(bundle, trials=3, oracle=True)
        self.assertEqual((index["world_size"], index["oracle"], index["oracle_reason"], index["warnings"]), (3, True, None, []))
        firsts = []
        for trial in index["trials"]:
            ranks = trial["ranks"]
            x = [read(r["inputs"][0]) for r in ranks]
            w = [read(r["inputs"][1]) for r in ranks]
            firsts.append(x[0])
            exact = sum(a.double() @ b.double() for a, b in zip(x, w))
            for k, r in enumerate(ranks):
                y, turned, _ = r["outputs"]
                self.assertTrue(torch.allclose(read(y, "oracle"), exact, rtol=1e-12, atol=1e-12))
                self.assertFalse(torch.equal(read(y).double(), exact))
                self.assertTrue(torch.allclose(read(y).double(), exact, rtol=0.05, atol=0.1))
                self.assertBits(read(r["args"][0]), x[k] + 1)
                self.assertBits(read(turned), (x[k] + 1).t().contiguous())
                self.assertTrue(torch.equal(read(r["args"][0], "oracle"), x[k].double() + 1))
                self.assertEqual([a["changed"] for a in r["args"]], [True, False])
                self.assertEqual(y["terms"], 7 + 2)  # additions of 8 products and of 3 ranks
                self.assertEqual([o["rounding"] for o in r["outputs"]], [True, True, True])
                self.assertIsNone(r["outputs"][2]["oracle"])  # an integer
                self.assertEqual(r["inputs"][0]["strides"], [8, 1])
        self.assertFalse(torch.equal(firsts[0], firsts[1]))

    def test_data_movement_is_exact(self):
        bundle = self.export("""
            def solution(x):
                y = x.new_empty(2, 6, 4)
                dist.all_gather_into_tensor(y, x)
                return y.transpose(0, 1).contiguous(), torch.cat([x, x]).to(torch.bfloat16), x * 2
            """)
        index, _ = self.reference(bundle)
        outputs = index["trials"][0]["ranks"][1]["outputs"]
        self.assertEqual([o["rounding"] for o in outputs], [False, False, True])

    def test_a_maximum_is_exact_by_value(self):
        bundle = self.export("""
            def solution(x):
                y, z, n = x.clone(), x * 2, x.long()
                dist.all_reduce(y, op=dist.ReduceOp.MAX)
                dist.all_reduce(n, op=dist.ReduceOp.MIN)
                return y.t().contiguous(), x.clone(), torch.relu(z), n, y + 1
            """)
        index, _ = self.reference(bundle)
        outputs = index["trials"][0]["ranks"][1]["outputs"]
        self.assertEqual([(o["rounding"], o["selected"]) for o in outputs], [(False, True), (False, False), (True, True), (False, False), (True, True)])

    def test_scalar_operands_of_a_wider_dtype(self):
        """A scalar tensor that is rounded to the dtype of its neighbour counts; what is not converted, or is a number of Python, does not."""
        bundle = self.export("""
            def solution(x, y, z):
                s = x * z
                a = y.clone()
                a.mul_(x)
                return (s, torch.add(x, z, alpha=3), x.clone().mul_(z), z - x, x.sum(dtype=torch.bfloat16), torch.where(x > 0, x, z) * x,
                        torch._foreach_mul([x], z)[0], s.double().to(torch.bfloat16) + 1,
                        x * 1.1, x * y, y * z, z * z.double(), a, x.float() * z, F.layer_norm(x, (4,), y[0], y[1]))
            """, inputs="""
            def inputs(rank, world_size, device, trial=0):
                x = numbers(rank, trial, 6, 4, device=device, dtype=torch.bfloat16)
                return x, numbers(rank, trial, 6, 4, device=device), numbers(rank, trial, 1, device=device)[0]
            """)
        index, _ = self.reference(bundle)
        outputs = index["trials"][0]["ranks"][0]["outputs"]
        self.assertEqual([o["roundings"] for o in outputs], [1, 1, 1, 1, 0, 1, 1, 3] + [0] * 5 + [0, 0])
        self.assertEqual([o["roundoff"] for o in outputs[:4]], [2.0**-8] * 4)

    def test_seed_and_random(self):
        """--random replaces the numbers, the seed changes them, and both are in the bundle."""
        bundle = self.export("def solution(x):\n    return x.clone()\n", random=True, seed=3, inputs="""
            def inputs(rank, world_size, device, trial=0):
                return (torch.ones(4, 4, device=device),)
            """)
        self.assertEqual((bundle.head["inputs"]["seed"], bundle.head["inputs"]["random"]), (3, True))

        def first(seed):
            index, read = self.reference(bundle, trials=2, seed=seed)
            return [read(t["ranks"][k]["inputs"][0]) for t in index["trials"] for k in range(2)]

        a, b, c = first(3), first(None), first(4)
        for i in range(4):
            self.assertBits(a[i], b[i])
            self.assertFalse(torch.equal(a[i], c[i]))
            for j in range(i):
                self.assertFalse(torch.equal(a[i], a[j]))

    def test_bit_casts_have_no_oracle(self):
        bundle = self.export("""
            def solution(x):
                y = x.view(torch.int32) + 0
                dist.all_reduce(y, op=dist.ReduceOp.MAX)
                return y, x + 1
            """)
        index, _ = self.reference(bundle, oracle=True)
        self.assertFalse(index["oracle"])
        self.assertIn("is read as torch.float32 and as torch.int32", index["oracle_reason"])
        self.assertEqual([o["oracle"] for o in index["trials"][0]["ranks"][0]["outputs"]], [None, None])

    def test_oracle_that_fails_keeps_the_results(self):
        """An operator without a float64 kernel costs the oracle, not the reference."""
        bundle = self.export("""
            def solution(x):
                y = torch._int_mm(x.to(torch.int8), torch.ones(4, 8, dtype=torch.int8, device=x.device))
                z = torch._scaled_mm(
                    torch.ones(16, 16, device=x.device).to(torch.float8_e4m3fn), torch.ones(16, 16, device=x.device).to(torch.float8_e4m3fn).t(),
                    torch.ones((), device=x.device), torch.ones((), device=x.device), out_dtype=torch.bfloat16,
                )
                return y, z
            """, inputs="""
            def inputs(rank, world_size, device, trial=0):
                return (numbers(rank, trial, 32, 4, device=device),)
            """)
        index, read = self.reference(bundle, oracle=True)
        self.assertFalse(index["oracle"])
        self.assertIn("_scaled_mm", index["oracle_reason"])
        self.assertEqual(read(index["trials"][0]["ranks"][1]["outputs"][1]).float().max().item(), 16.0)

    def test_other_shapes_in_a_trial(self):
        """A trial with other shapes is run and recorded anew for its oracle."""
        text = "def solution(x):\n    y = x * 2\n    dist.all_reduce(y)\n    return y\n"
        inputs = """
            def inputs(rank, world_size, device, trial=0):
                return (numbers(rank, trial, 3 + trial // 3, device=device),)
            """
        index, read = self.reference(self.export(text, inputs=inputs), trials=4, oracle=True)
        self.assertTrue(index["oracle"])
        for t, n in ((0, 3), (3, 4)):
            ranks = index["trials"][t]["ranks"]
            y = ranks[1]["outputs"][0]
            self.assertEqual(y["sizes"], [n])
            want = sum(read(r["inputs"][0]).double() * 2 for r in ranks)
            self.assertTrue(torch.allclose(read(y, "oracle"), want))

    def test_sources(self):
        """The bundle's copy is run, with a warning when the original changed; --source runs other files."""
        path = self.write("from helpers.scale import FACTOR\n\ndef solution(x):\n    return x * FACTOR\n")
        os.makedirs(os.path.join(self.folder, "helpers"))
        helper = os.path.join(self.folder, "helpers", "scale.py")
        with open(helper, "w") as f:
            f.write("FACTOR = 2.0\n")
        out = os.path.join(self.folder, "x.pkb")
        export.export(f"{path}:solution", f"{path}:inputs", 2, out)
        bundle = Bundle(out)
        self.assertEqual(bundle.head["modules"]["helpers.scale"], "source/helpers/scale.py")
        other = os.path.join(self.folder, "other")
        os.makedirs(other)
        with open(path) as f:
            changed = f.read().replace("x * FACTOR", "x * 5")
        for target in (path, os.path.join(other, "program.py")):
            with open(target, "w") as f:
                f.write(changed)
        with open(helper, "w") as f:
            f.write("FACTOR = 3.0\n")

        def factor(**options):
            index, read = self.reference(bundle, **options)
            rank = index["trials"][0]["ranks"][0]
            return (read(rank["outputs"][0]) / read(rank["inputs"][0])).mean().item(), index["warnings"]

        value, warnings = factor()
        self.assertAlmostEqual(value, 2.0, 5)
        self.assertEqual(warnings, [f"{path} has changed since the export; the bundle's copy is run"])
        self.assertAlmostEqual(factor(source=other)[0], 5.0, 5)
        with self.assertRaisesRegex(export.InputError, "--source .* has no file program.py"):
            factor(source="/nowhere")

    def test_errors(self):
        bundle = self.export(BLOCK, 2, BLOCK_INPUTS)
        with self.assertRaisesRegex(export.InputError, "no such bundle"):
            self.reference(type("B", (), {"path": "/no.pkb"}))
        with open(bundle.path, "rb") as f:
            data = bytearray(f.read())
        broken = os.path.join(self.folder, "broken.pkb")

        def damaged(edited):
            with open(broken, "wb") as f:
                f.write(edited)
            with self.assertRaises(export.InputError) as caught:
                self.reference(type("B", (), {"path": broken}))
            return str(caught.exception)

        self.assertIn("is not a bundle or is damaged", damaged(data[: len(data) // 2]))
        flipped = bytearray(data)
        flipped[data.index(b"rank1.json") + 60] ^= 0x40
        self.assertRegex(damaged(flipped), "damaged member rank1.json")
        with self.assertRaisesRegex(export.InputError, "--trials must be 1 to 1000, got: "):
            self.reference(bundle, trials=0)
        blocked = os.path.join(self.folder, "file")
        with open(blocked, "w"):
            pass
        with self.assertRaisesRegex(export.InputError, "cannot write to"):
            refrun.run(refrun.RefJob(bundle.path, os.path.join(blocked, "ref")))

    def test_serve(self):
        """Jobs as JSON lines, answers in order; a bad job does not end the server."""
        bundle = self.export("def solution(x):\n    print('noise')\n    dist.all_reduce(x)\n    return x\n")
        out = os.path.join(self.folder, "served")
        jobs = [{"bundle": bundle.path, "out": out, "trials": 1, "oracle": True}, {"bundle": "/no.pkb", "out": out}, {"out": 3}]
        text = "".join(json.dumps(j) + "\n" for j in jobs) + "nonsense\n"
        done = subprocess.run(
            [sys.executable, "-m", "pkb.export.refrun", "--serve"], input=text, capture_output=True, text=True, timeout=120
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([a["ok"] for a in answers], [True, False, False, False])
        self.assertTrue(os.path.exists(answers[0]["index"]))
        self.assertIn("no such bundle: /no.pkb", answers[1]["error"])
        self.assertIn("a job needs bundle and out", answers[2]["error"])
        self.assertIn("one line of JSON", answers[3]["error"])


if __name__ == "__main__":
    unittest.main()
