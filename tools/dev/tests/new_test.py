# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""What `new` makes is accepted by every check of the tree, page included; bad names and what is there already are refused, and nothing is written."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shutil
import sys
import tempfile
import unittest

DEV = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.dirname(os.path.dirname(DEV))
sys.path.insert(0, DEV)
sys.dont_write_bytecode = True
from checks import budgets, includes, labels, names, placeholders, style, tests  # noqa: E402
from tree import Tree  # noqa: E402
import result_tables  # noqa: E402

loader = importlib.machinery.SourceFileLoader("new", os.path.join(DEV, "new"))
new = importlib.util.module_from_spec(importlib.util.spec_from_loader("new", loader))
loader.exec_module(new)

COPIED = ("dialects", "passes", "docs/generated", "docs/results", "problems", "lib/InitAll.cpp", "lib/Target/Machines", "include/pkb/Analysis", "test/Dialect", "test/Passes")


class New(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for name in COPIED:
            source, target = os.path.join(SOURCE, name), os.path.join(self.root, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)
        self.before = self.findings()

    def findings(self):
        tree = Tree(self.root)
        return {(f.path, f.message) for check in (budgets, includes, labels, names, style, tests) for f in check.run(tree)}

    def run_main(self, *argv):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = new.main([*argv, "--root", self.root])
        return status, out.getvalue()

    def make(self, *argv):
        status, text = self.run_main(*argv)
        self.assertEqual(status, 0, text)
        self.assertEqual(self.findings() - self.before, set())
        return text

    def text(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8") as f:
            return f.read()

    def test_two_passes_of_a_new_family(self):
        self.make("pass", "Tuning", "TuneScale")
        self.make("pass", "Tuning", "TuneCast")
        self.assertEqual(self.text("passes/Tuning/CMakeLists.txt"), "pkb_add_passes(Tuning SOURCES TuneCast.cpp TuneScale.cpp)\n")
        self.assertEqual(self.text("lib/InitAll.cpp").count("registerPkbTuningPasses();"), 1)
        self.assertIn('def TuneScalePass : Pass<"pkb-tune-scale">', self.text("passes/Tuning/Passes.td"))
        self.assertIn("pkb-tune-cast", self.text("docs/generated/passes/Tuning.md"))

    def test_pass_of_a_family(self):
        before = self.text("lib/InitAll.cpp")
        self.make("pass", "Fusion", "FuseScale")
        self.assertEqual(self.text("lib/InitAll.cpp"), before)
        self.assertIn("FuseScale.cpp", self.text("passes/Fusion/CMakeLists.txt"))

    def test_operation_of_each_dialect(self):
        for dialect in ("Aten", "Comm", "Cuda", "Xfer"):
            self.make("op", dialect, "TuneScale")
            self.assertIn(f"{dialect.lower()}.tune_scale", self.text(f"docs/generated/dialects/{dialect}.md"))
            self.assertIn("TuneScaleOp.cpp", self.text(f"dialects/{dialect}/IR/CMakeLists.txt"))

    def test_problem(self):
        self.make("problem", "999", "my-sum", "--like", "002-allgather")
        self.assertIn("number = 999\nslug = \"my-sum\"\n", self.text("problems/999-my-sum/problem.toml"))
        self.assertEqual(self.text("problems/999-my-sum/reference.py"), self.text("problems/002-allgather/reference.py"))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            result_tables.main(["--root", self.root, "--check"])
        self.assertNotIn("999", out.getvalue())

    def test_target(self):
        self.make("target", "tuned", "--device", 'A "tuned" one')
        machine = json.loads(self.text("lib/Target/Machines/tuned.json"))
        self.assertEqual((machine["machine"], machine["device"], machine["source"]), ("tuned", 'A "tuned" one', "figures of h200, not measured"))
        self.assertIn("target=tunedx2", self.text("test/Target/machine-tuned.mlir"))

    def test_placeholders(self):
        """Each kind has some, lint names each by its line, and none is left when all are replaced."""
        for kind, argv in (("pass", ("Tuning", "TuneScale")), ("op", ("Comm", "TuneScale")), ("problem", ("999", "my-sum")), ("target", ("tuned", "--device", "x"))):
            self.assertEqual(list(placeholders.run(Tree(self.root))), [])
            self.make(kind, *argv)
            found = list(placeholders.run(Tree(self.root)))
            said = {re.sub(r"^placeholder '(.*)': .*", r"\1", f.message) for f in found}
            for text, advice in new.KINDS[kind].PLACEHOLDERS.items():
                self.assertIn(text.strip(), said)
                self.assertTrue(advice)
            for finding in found:
                lines = self.text(finding.path).split("\n")
                if finding.path.endswith("reference.py"):
                    self.assertIn("a copy of problems/001-allreduce/reference.py: write the function of this problem", finding.message)
                    lines.insert(0, "# My own.")
                else:
                    text = re.sub(r"^placeholder '(.*)': .*", r"\1", finding.message)
                    self.assertIn(text, lines[finding.line - 1])
                    lines[finding.line - 1] = lines[finding.line - 1].replace(text, "Something else.")
                with open(os.path.join(self.root, finding.path), "w", encoding="utf-8") as f:
                    f.write("\n".join(lines))

    def test_refusals(self):
        self.make("pass", "Fusion", "FuseScale")
        files = set(Tree(self.root).files)
        for argv, part in ((("pass", "Fusion", "FuseScale"), "exists already: passes/Fusion/FuseScale.cpp"),
                           (("pass", "Fusion", "FuseCollectivesPass"), "without Pass"),
                           (("pass", "fusion", "Fuse"), "family must be UpperCamel, got: fusion"),
                           (("pass", "../x", "Fuse"), "family must be UpperCamel"),
                           (("pass", "Fusion", "ElideClones"), "passes/Normalize has the flag pkb-elide-clones already"),
                           (("op", "Comm", "AllReduce"), "has a all_reduce already"),
                           (("op", "Comm", "FoldOp"), "without Op"),
                           (("op", "Nothing", "Fold"), "there is no dialect Nothing"),
                           (("problem", "1", "sum"), "number 1 is taken: problems/001-allreduce"),
                           (("problem", "1000", "sum"), "number must be 1 to 999, got: 1000"),
                           (("problem", "998", "My_Sum"), "slug must be"),
                           (("problem", "998", "sum", "--like", "998-none"), "there is no problem 998-none"),
                           (("target", "h200", "--device", "x"), "exists already: lib/Target/Machines/h200.json"),
                           (("target", "tunedx4", "--device", "x"), "must not end like a number of ranks"),
                           (("target", "tuned", "--device", "x", "--like", "a100"), "there is no machine a100 to begin with; there are: ")):
            status, text = self.run_main(*argv)
            self.assertEqual(status, 2, text)
            self.assertIn(part, text)
        self.assertEqual(set(Tree(self.root).files), files)


if __name__ == "__main__":
    unittest.main()
