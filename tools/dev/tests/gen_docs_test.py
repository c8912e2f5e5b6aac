# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""gen_docs writes a page per dialect and family, and its check names what is stale, missing or left over."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import gen_docs  # noqa: E402

DIALECT = '''
#ifndef TOY
#define TOY
include "mlir/IR/OpBase.td"
def Toy_Dialect : Dialect { let name = "toy"; let cppNamespace = "::toy"; let summary = "a toy"; }
#endif
'''
OPS = '''
include "dialects/Toy/IR/ToyDialect.td"
def Toy_SpinOp : Op<Toy_Dialect, "spin"> { let summary = "%s"; }
'''
PASSES = '''
include "mlir/Pass/PassBase.td"
def FooPass : Pass<"pkb-foo"> { let summary = "fool around"; }
'''


class GenDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.write("dialects/Toy/IR/ToyDialect.td", DIALECT)
        self.write("dialects/Toy/IR/ToyOps.td", OPS % "turn round")
        self.write("passes/Fusion/Passes.td", PASSES)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def run_main(self, *argv):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = gen_docs.main([*argv, "--root", self.root])
        return status, out.getvalue()

    def page(self, name):
        with open(os.path.join(self.root, "docs", "generated", name), encoding="utf-8") as f:
            return f.read()

    def test_pages(self):
        self.assertEqual(self.run_main("--write")[0], 0)
        self.assertIn("### `toy.spin`", self.page("dialects/Toy.md"))
        self.assertIn("Turn round", self.page("dialects/Toy.md"))
        self.assertIn("### `-pkb-foo`", self.page("passes/Fusion.md"))
        self.assertIn("[Fusion](passes/Fusion.md): `pkb-foo`", self.page("README.md"))
        self.assertEqual(self.run_main("--check"), (0, ""))
        self.assertEqual(self.run_main("--write"), (0, ""), "a second run changes nothing")

    def test_stale(self):
        self.run_main("--write")
        self.write("dialects/Toy/IR/ToyOps.td", OPS % "turn back")
        status, text = self.run_main("--check")
        self.assertEqual(status, 1)
        self.assertIn("docs/generated/dialects/Toy.md: stale", text)
        self.assertIn("+_Turn back_", text)
        self.assertNotIn("Fusion", text)

    def test_missing_and_left_over(self):
        self.run_main("--write")
        os.remove(os.path.join(self.root, "docs/generated/passes/Fusion.md"))
        self.write("docs/generated/passes/Gone.md", "x")
        status, text = self.run_main("--check")
        self.assertEqual(status, 1)
        self.assertIn("passes/Fusion.md: missing", text)
        self.assertIn("passes/Gone.md: nothing makes this page", text)
        self.run_main("--write")
        self.assertFalse(os.path.exists(os.path.join(self.root, "docs/generated/passes/Gone.md")))

    def test_bad_source(self):
        self.write("passes/Fusion/Passes.td", "def : nonsense\n")
        status, text = self.run_main("--check")
        self.assertEqual(status, 2)
        self.assertIn("failed on passes/Fusion/Passes.td", text)


if __name__ == "__main__":
    unittest.main()
