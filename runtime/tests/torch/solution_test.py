# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pkb.solution: a program as one file that stands by itself.

Run with PYTHONPATH=runtime/torch and PKB_LIBRARY_DIR set to the folder of the built libraries.
"""

import importlib.util
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

import torch
from binding_test import program_text, write_artefact  # beside this file
from rank_threads import on_ranks

import pkb
from pkb import solution


class SolutionTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "p.cu").write_text(program_text())

    def write(self, program="p.cu"):
        out = self.path / "1_sum_cuda.py"
        solution.write(self.path / program, out)
        return out

    def test_the_file_runs_the_program(self):
        self.runs(self.write())

    def test_an_artefact_is_carried_whole(self):
        write_artefact(self.path / "p.pkx", program_text())
        out = self.write("p.pkx")
        self.assertIn("Its kernels are compiled.", out.read_text())
        self.runs(out)

    def runs(self, file):
        spec = importlib.util.spec_from_file_location("candidate", file)
        candidate = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(candidate)
        results = on_ranks(2, lambda rank, context: candidate.load(context=context)(torch.full((3, 5), rank + 1.0))[0])
        for rank in range(2):
            torch.testing.assert_close(results[rank], torch.full((3, 5), 3.0), rtol=0, atol=0)

    def test_it_needs_nothing_of_the_tree(self):
        code = (
            "import runpy, sys; g = runpy.run_path(sys.argv[1]); folder = g['_unpack'](); sys.path.insert(0, folder + '/python');"
            "import pkb.native as n; n.runtime(); n.operators(); print(n.__file__.startswith(folder), n.library_directory().is_relative_to(folder))"
        )
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PKB_") and k != "PYTHONPATH"}
        environment["TMPDIR"] = str(self.path)
        done = subprocess.run([sys.executable, "-c", code, str(self.write())], env=environment, cwd="/", capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.split(), ["True", "True"], done.stderr)

    def test_two_files_of_one_program_are_the_same(self):
        first = self.write().read_bytes()
        self.assertEqual(first, self.write().read_bytes())

    def test_bad_input(self):
        (self.path / "x.cu").write_bytes(b"\xb4\x00 nothing")
        for name, message in (("absent.cu", "cannot read .*absent.cu': No such file"), ("x.cu", "has no manifest; it must be a .cu that pkb-opt emitted")):
            with self.assertRaisesRegex(pkb.PkbError, message):
                solution.write(self.path / name, self.path / "out.py")
        with self.assertRaisesRegex(pkb.PkbError, "cannot write .*/none/out.py': No such file"):
            solution.write(self.path / "p.cu", self.path / "none" / "out.py")
        self.assertFalse((self.path / "out.py").exists())
        (self.path / "out.py").write_text("old")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with self.assertRaisesRegex(pkb.PkbError, "cannot write .*/out.py': File too large"):
                solution.write(self.path / "p.cu", self.path / "out.py")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        self.assertEqual((self.path / "out.py").read_text(), "old")
        self.assertEqual([p.name for p in self.path.glob(".*")], [])
        (self.path / "p.cu").write_text(program_text(data="0" * 64))
        with self.assertRaisesRegex(pkb.PkbError, "has constants in .*p.cu.data', which is missing"):
            solution.write(self.path / "p.cu", self.path / "out.py")


if __name__ == "__main__":
    unittest.main()
