# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""new-pass makes files that the checks of the tree accept (but for the page, which comes from TableGen), and refuses bad names."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest

DEV = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, DEV)
sys.dont_write_bytecode = True
from checks import budgets, includes, names, style  # noqa: E402
from tree import Tree  # noqa: E402

loader = importlib.machinery.SourceFileLoader("new_pass", os.path.join(DEV, "new-pass"))
new_pass = importlib.util.module_from_spec(importlib.util.spec_from_loader("new_pass", loader))
loader.exec_module(new_pass)


class NewPass(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def run_main(self, *argv):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = new_pass.main([*argv, "--root", self.root])
        return status, out.getvalue()

    def text(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8") as f:
            return f.read()

    def test_two_passes_of_a_new_family(self):
        status, text = self.run_main("Fusion", "FuseScale")
        self.assertEqual(status, 0)
        self.assertIn("registerPkbFusionPasses", text)
        status, text = self.run_main("Fusion", "FuseCast")
        self.assertEqual(status, 0)
        self.assertNotIn("registerPkb", text)
        self.assertIn("SOURCES FuseCast.cpp FuseScale.cpp", self.text("passes/Fusion/CMakeLists.txt"))
        self.assertIn('def FuseScalePass : Pass<"pkb-fuse-scale">', self.text("passes/Fusion/Passes.td"))
        self.assertIn("GEN_PASS_DEF_FUSECASTPASS", self.text("passes/Fusion/FuseCast.cpp"))
        tree = Tree(self.root)
        found = [f.message for check in (budgets, includes, names, style) for f in check.run(tree)]
        self.assertEqual(len(found), 2, found)
        for message in found:
            self.assertIn("has no entry in docs/generated", message)

    def test_refusals(self):
        self.run_main("Fusion", "FuseScale")
        for family, name, part in (("Fusion", "FuseScale", "exists already"), ("fusion", "Fuse", "must be UpperCamel"),
                                   ("Fusion", "FusePass", "without Pass"), ("../x", "Fuse", "must be UpperCamel")):
            status, text = self.run_main(family, name)
            self.assertEqual(status, 2)
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
