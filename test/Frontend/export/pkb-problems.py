# RUN: %python %s
# REQUIRES: torch, pkb-checkout
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unmodified reference files of a ParallelKernelBench checkout (PKB_CHECKOUT), one batch: which export, which are refused."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from harness import LAUNCHER, ExportTest, collectives
from pkb.export.bundle import Bundle

CHECKOUT = os.environ.get("PKB_CHECKOUT", "")


class ProblemsTest(ExportTest):
    def batch(self, problems, world_size):
        jobs = os.path.join(self.folder, "jobs.json")
        out = {p: os.path.join(self.folder, f"{p}.w{world_size}.pkb") for p in problems}
        with open(jobs, "w") as f:
            json.dump([
                {"pkb": CHECKOUT, "problem": p, "m": 64, "n": 64, "random": p <= 8, "world-size": world_size, "output": out[p]}
                for p in problems
            ], f)  # fmt: skip
        env = {**os.environ, "PKB_PYTHON": sys.executable}
        done = subprocess.run([LAUNCHER, "--batch", jobs], capture_output=True, text=True, timeout=500, env=env)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(problems), done.stderr)
        return {p: a for p, a in zip(problems, answers)}, out

    def test_the_three_of_the_slice(self):
        wanted = {1: ["aten::clone", "all_reduce"], 2: ["aten::new_empty", "all_gather"], 8: ["aten::empty_like", "all_to_all"]}
        for world_size in (2, 3):
            answers, out = self.batch([1, 2, 8], world_size)
            for p, events in wanted.items():
                self.assertTrue(answers[p]["ok"], answers[p])
                bundle = Bundle(out[p])
                self.assertEqual(len(bundle.ranks), world_size)
                for record in bundle.ranks:
                    self.assertEqual([e.get("op") or e["name"] for e in record["events"]], events)
                self.assertEqual(bundle.head["pkb_problem"]["id"], p)
                self.assertNotIn("a tensor with the same values", " ".join(bundle.head["not_exercised"]))

    def test_others_without_host_reads(self):
        """One of each kind: rooted, rank-dependent, groups, messages, uneven, backward-free, 16-bit floats, FFT."""
        problems = [3, 4, 5, 6, 7, 9, 13, 22, 30, 37, 48, 53, 58, 65, 71, 72, 73, 84, 87]
        answers, out = self.batch(problems, 4)
        refused = {p: a["error"] for p, a in answers.items() if not a["ok"]}
        self.assertEqual(list(refused), [22], refused)
        self.assertIn("reads a device value on the host at", refused[22])
        self.assertEqual(len(Bundle(out[48]).groups) > 1, True)
        self.assertIn("recv", [e["name"] for e in collectives(Bundle(out[58]).ranks[0])])


if __name__ == "__main__":
    unittest.main()
