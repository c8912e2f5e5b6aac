# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Each check of the tree finds what it is there for, and leaves a clean tree alone."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True

import lint  # noqa: E402
from checks import budgets, commits, figures, includes, labels, names, style, tests, words  # noqa: E402
from tree import Tree, without_comments  # noqa: E402

LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def messages(self, check):
        return [f.message for f in check.run(Tree(self.root))]

    def assert_finds(self, check, *parts):
        found = self.messages(check)
        self.assertEqual(len(found), len(parts), found)
        for part, message in zip(parts, found):
            self.assertIn(part, message)

    def assert_clean(self, check):
        self.assertEqual(self.messages(check), [])


class Budgets(CheckTest):
    def test_long_source(self):
        self.write("lib/A.cpp", "int x;\n" * 801)
        self.assert_finds(budgets, "has 801 lines, the budget is 800")

    def test_source_at_the_limit(self):
        self.write("lib/A.cpp", "int x;\n" * 800)
        self.assert_clean(budgets)

    def test_long_td_header_python_and_script(self):
        self.write("dialects/A/IR/A.td", "\n" * 601)
        self.write("runtime/a.cuh", "\n" * 801)
        self.write("tools/a.py", "\n" * 801)
        self.write("tools/run", "#!/bin/sh\n" + "\n" * 400)
        self.assertEqual(len(self.messages(budgets)), 4)

    def test_top_cmake(self):
        self.write("CMakeLists.txt", "\n" * 101)
        self.assert_finds(budgets, "the budget is 100")

    def test_code_in_a_literal(self):
        self.write("lib/Target/E.cpp", 'auto s = R"(' + "\n" * 6 + ')";\n')
        self.write("lib/Target/F.cpp", 'auto s = R"(' + "\n" * 5 + ')";\n')
        self.assert_finds(budgets, "string literal of more than 5 lines")


class Includes(CheckTest):
    def test_upward(self):
        self.write("dialects/A/IR/A.cpp", '#include "passes/Lowering/Passes.h"\n')
        self.assert_finds(includes, "dialects must not include passes")

    def test_upward_in_tablegen(self):
        self.write("dialects/A/IR/AOps.td", 'include "passes/Lowering/Passes.td"\n')
        self.assert_finds(includes, "dialects must not include passes")

    def test_target_from_a_pass(self):
        self.write("passes/Lowering/A.cpp", '#include "pkb/Target/Cuda.h"\n')
        self.assert_finds(includes, "passes must not include Frontend, Reference, Target")

    def test_downward_and_comments(self):
        self.write("passes/Lowering/A.cpp", '#include "dialects/A/IR/A.h"\n#include "pkb/Support/S.h"\n'
                                            '// #include "tools/x.h"\n#include "mlir/IR/Builders.h"\n')
        self.assert_clean(includes)

    def test_mlir_in_the_run_time(self):
        self.write("runtime/lib/A.cpp", '#include "mlir/IR/Builders.h"\n#include <llvm/ADT/StringRef.h>\n')
        self.assert_finds(includes, "must not include MLIR", "must not include MLIR")

    def test_compiler_in_the_run_time(self):
        self.write("runtime/lib/A.h", '#include "pkb/Support/S.h"\n#include "pkb_rt/pkb.h"\n')
        self.assert_finds(includes, "must not include the compiler")

    def test_python_in_the_run_time(self):
        self.write("runtime/torch/a.cpp", "#include <Python.h>\n#include <torch/extension.h>\n#include <torch/library.h>\n")
        self.assert_finds(includes, "Python.h", "Python.h")

    def test_run_time_in_the_compiler(self):
        self.write("lib/Target/A.cpp", '#include "pkb_rt/layout.h"\n#include "pkb_rt/driver.h"\n')
        self.assert_finds(includes, "shares only")

    def test_init_all(self):
        self.write("tools/pkb-opt/main.cpp", '#include "mlir/InitAllDialects.h"\n#include "pkb/InitAll.h"\n')
        self.assert_finds(includes, "register what is used")

    def test_mlir_in_the_runner(self):
        self.write("tools/pkb-run/main.cpp", '#include "mlir/IR/Builders.h"\n')
        self.assert_finds(includes, "where MLIR is not installed")

    def test_spelling(self):
        self.write("passes/Lowering/A.cpp", '#include "Passes.h"\n')
        self.assert_finds(includes, "write the path in the repository")


class Labels(CheckTest):
    TD = "let description = [{\n  * (`fold_c1`) One.\n  * `fold_c2`: two.\n}];\n"

    def test_checked_nowhere_and_untested(self):
        self.write("dialects/A/IR/AOps.td", self.TD)
        self.write("dialects/A/IR/A.cpp", "// fold_c1, fold_c22\n")
        self.write("test/Dialect/A/fold-invalid.mlir", "func.func @fold_c2() {\n")
        self.assert_finds(labels, "fold_c1 has no test", "fold_c2 is checked nowhere")

    def test_trait_and_longer_names(self):
        self.write("dialects/A/IR/AOps.td", self.TD + "[AllTypesMatch<[]>]; // fold_c1\n")
        self.write("dialects/A/IR/A.cpp", "// fold_c2\n")
        self.write("test/Dialect/A/fold-invalid.mlir", "func.func @fold_c1_zero() {\nfunc.func @fold_c2() {\n")
        self.assert_clean(labels)

    def test_in_no_description(self):
        self.write("test/Dialect/A/fold-invalid.mlir", "\nfunc.func @fold_c3() {\n")
        self.assert_finds(labels, "fold_c3 is in no description")


class Tests(CheckTest):
    def test_numbered_value(self):
        self.write("test/a-invalid.mlir", "// RU" "N: not pkb-opt %s 2>&1 | FileCheck %s\n// CHECK: error %0\n// %1 = a sentence\n%2 = op\n")
        self.assert_finds(tests, "names a value by number")

    def test_invalid_that_expects_nothing(self):
        self.write("test/a-invalid.mlir", "// RU" "N: pkb-opt %s | FileCheck %s\n// CHECK: op\n")
        self.assert_finds(tests, "must expect an error", "0 of 1 lit tests look at diagnostics")

    def test_share_of_diagnostics(self):
        self.write("test/a-invalid.mlir", "// RU" "N: pkb-opt %s -verify-diagnostics\n// expected-error {{no}}\n")
        for number in range(4):
            self.write(f"test/{number}.mlir", "// RU" "N: pkb-opt %s | FileCheck %s\n")
        self.assert_clean(tests)
        self.write("test/4.mlir", "// RU" "N: pkb-opt %s | FileCheck %s\n")
        self.assert_finds(tests, "1 of 6 lit tests look at diagnostics")


class Figures(CheckTest):
    def test_long_sources_without_comments(self):
        self.write("lib/A.cpp", "int x;\n" * 300)
        self.write("include/pkb/A.h", "// a\nint x;\n")
        self.write("test/a.mlir", "op\n" * 300)
        self.assert_finds(figures, "median lines of a .cpp is 300, beyond the limit", "comment share of .cpp is 0.00")

    def test_untested_code(self):
        self.write("lib/A.cpp", "// a\nint x;\n/* b\n c */\n")
        self.write("test/a.mlir", "op\n")
        self.assert_finds(figures, "lines of lit tests by lines of compiler code is 0.25")

    def test_comments(self):
        self.write("lib/A.cpp", "// a\nint x;\n/* b\n c */\n\n\n")
        self.assertEqual(figures.comment_share(Tree(self.root), ["lib/A.cpp"]), 0.75)

    def test_commits(self):
        git = ["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "init", "-q", self.root], check=True)
        for number, names in enumerate((("lib/A.cpp", "test/a.mlir"), ("lib/B.cpp",), ("docs/x.md",), ("lib/C.cpp",))):
            for name in names:
                self.write(name, "// a\n")
            subprocess.run([*git, "add", "-A"], check=True)
            subprocess.run([*git, "commit", "-qm", f"[A]{'[NFC]' * (number == 3)} Do it"], check=True)
        self.assertEqual(figures.commits_with_tests(self.root), 0.5)

    def test_empty_tree(self):
        self.assert_clean(figures)


class Style(CheckTest):
    def rule(self, name, body, *parts):
        self.write(name, LICENCE + body)
        self.assert_finds(style, *parts)

    def test_raw_attribute(self):
        self.rule("passes/A/A.cpp", 'op->getAttr("x");\nop->getAttrOfType<IntegerAttr>("y");\nop->setAttr(\n    "z", a);\n',
                  *["attribute by raw string"] * 3)

    def test_accessor_and_comment(self):
        self.rule("passes/A/A.cpp", 'op.getChunk();\n// op->getAttr("x")\nop->getAttr(kName);\n')

    def test_option(self):
        self.rule("lib/A.cpp", "static llvm::cl::opt<bool> x;\n", "cl::opt belongs in tools/")

    def test_option_in_a_tool(self):
        self.rule("tools/pkb-opt/main.cpp", "static llvm::cl::opt<bool> x;\n")

    def test_pass_wrapper(self):
        self.rule("passes/A/A.cpp", "struct P : PassWrapper<P> {};\n", "declare the pass in Passes.td")

    def test_pass_wrapper_in_a_plugin(self):
        self.rule("test/Plugins/A.cpp", "struct P : PassWrapper<P> {};\n")

    def test_dropped_result(self):
        self.rule("passes/A/A.cpp", "(void)applyPatternsGreedily(op, p);\n", "driver's result is dropped")

    def test_environment(self):
        self.rule("passes/A/A.cpp", 'std::getenv("X");\n', "environment read")

    def test_unowned(self):
        self.rule("lib/A.cpp", "// TOD" "O: later\n// FIXM" "E\n// TOD" "O(#12): owned\n",
                  *["write TOD" "O(#issue)"] * 2)

    def test_blanks_and_tabs(self):
        self.rule("lib/A.cpp", "int x; \n\tint y;\n", "trailing blanks", "tab")

    def test_licence(self):
        self.write("lib/A.cpp", "int x;\n")
        self.write("tools/run", "#!/bin/sh\ntrue\n")
        self.write("lib/CMakeLists.txt", "pkb_add_library(A SOURCES A.cpp)\n")
        self.assert_finds(style, "no licence line", "no licence line")


class Words(CheckTest):
    def test_folders(self):
        self.write("docs/a.md", "see /wor" "k/x\nin /roo" "t/y\nat /tm" "p/pk" "b/reference\n")
        self.assert_finds(words, *["a folder of one machine"] * 3)

    def test_host(self):
        self.write("tools/a.sh", "pip install -i https://pyp" "i.org/simple x\n")
        self.assert_finds(words, "registry's host")

    def test_roles(self):
        self.write("docs/a.md", "a suba" "gent wrote this\nthe other help" "er has it\n")
        self.assert_finds(words, "a role or product", "how the work was organised")

    def test_ordinary_text(self):
        self.write("docs/a.md", "A network at work. Help" "ers of the barrier ses" "sion. ${HOME}/wo" "rk/x is yours.\n")
        self.assert_clean(words)


class Names(CheckTest):
    TD = 'def FooBarPass : Pass<"pkb-foo-bar", "ModuleOp"> {}\n'

    def complete(self):
        self.write("passes/Fusion/Passes.td", self.TD)
        self.write("passes/Fusion/FooBar.cpp", "")
        self.write("test/Passes/Fusion/foo-bar.mlir", "// RU" "N: pkb-opt %s --pkb-foo-bar | FileCheck %s\n")
        self.write("docs/generated/passes/Fusion.md", "### `-pkb-foo-bar`\n")

    def test_complete(self):
        self.complete()
        self.assert_clean(names)

    def test_missing_parts(self):
        self.write("passes/Fusion/Passes.td", self.TD)
        self.assert_finds(names, "has no source passes/Fusion/FooBar.cpp", "has no test test/Passes/Fusion/foo-bar.mlir",
                          "has no entry in docs/generated")

    def test_longer_flag_is_no_entry(self):
        self.complete()
        self.write("docs/generated/passes/Fusion.md", "### `-pkb-foo-bar-more`\n")
        self.assert_finds(names, "has no entry in docs/generated")

    def test_flag_differs(self):
        self.complete()
        self.write("passes/Fusion/Passes.td", self.TD.replace("pkb-foo-bar", "pkb-foobar"))
        self.assertIn("flag pkb-foobar of FooBarPass must be pkb-foo-bar", self.messages(names))

    def test_name_without_pass(self):
        self.write("passes/Fusion/Passes.td", 'def Foo : Pass<"pkb-foo"> {}\n')
        self.assert_finds(names, "ends in Pass")

    def test_test_of_something_else(self):
        self.complete()
        self.write("test/Passes/Fusion/foo-bar.mlir", "// RU" "N: pkb-opt %s --pkb-other | FileCheck %s\n")
        self.assert_finds(names, "never runs it")

    def test_conversion(self):
        self.write("passes/Lowering/Passes.td", 'def ConvertCommToXferPass : Pass<"pkb-convert-comm-to-xfer"> {}\n')
        self.write("passes/Lowering/CommToXfer.cpp", "")
        self.write("test/Passes/Lowering/convert-comm-to-xfer-invalid.mlir",
                   "// RU" "N: pkb-opt %s -pkb-convert-comm-to-xfer -verify-diagnostics\n")
        self.write("docs/generated/passes/Lowering.md", "### `-pkb-convert-comm-to-xfer`\n")
        self.assert_clean(names)

    def test_runs_and_checks_nothing(self):
        self.write("test/Passes/Fusion/x.mlir", "// RU" "N: pkb-opt %s\n")
        self.write("test/Passes/Fusion/y.mlir", "module {}\n")
        self.assert_finds(names, "checks nothing", "has no RUN line")

    def test_incomplete_problem(self):
        self.write("problems/001-x/problem.toml", "")
        self.assertEqual(len(self.messages(names)), 5)


class Commits(CheckTest):
    def test_titles(self):
        for title in ("[Comm] Verify group sizes", "[Build][NFC] Split the macros", "[Xfer] `wait` Returns a token"):
            self.assertIsNone(commits.judge(title), title)
        for title, part in (("Add things", "[Area]"), ("[Comm] Added things", "imperative"), ("[comm] Add", "[Area]"),
                            ("[Comm] add things", "[Area]"), ("[Comm] Add things.", "full stop"),
                            ("[Comm] Add " + "x" * 100, "at most 100")):
            self.assertIn(part, commits.judge(title), title)

    def test_repository(self):
        git = ["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(git[:3] + ["init", "-q"], check=True)
        for title in ("[Build] Add x", "oops"):
            subprocess.run(git + ["commit", "-q", "--allow-empty", "-m", title], check=True)
        ci = os.environ.pop("CI", None)
        try:
            self.assert_finds(commits, "'oops'")
            os.environ["CI"] = "true"
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assert_clean(commits)
            self.assertIn("oops", out.getvalue())
        finally:
            os.environ.pop("CI", None)
            if ci is not None:
                os.environ["CI"] = ci


class Lint(CheckTest):
    def run_lint(self, *argv):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = lint.main([*argv, "--root", self.root])
        return status, out.getvalue()

    def test_status_and_text(self):
        self.write("lib/A.cpp", "int x;\n")
        status, text = self.run_lint("style")
        self.assertEqual(status, 1)
        self.assertIn("lib/A.cpp:1: [style] no licence line", text)
        self.assertEqual(self.run_lint("budgets")[0], 0)

    def test_unknown_check(self):
        self.write("a", "")
        with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit) as stop:
            self.run_lint("bugets")
        self.assertEqual(stop.exception.code, 2)
        self.assertIn("no check named bugets", err.getvalue())


class Comments(unittest.TestCase):
    def test_strings_survive(self):
        text = 'a("// no comment"); // comment\n/* two\nlines */ b;\n'
        self.assertEqual(without_comments(text).split("\n")[0].rstrip(), 'a("// no comment");')
        self.assertEqual(without_comments(text).count("\n"), text.count("\n"))
        self.assertNotIn("two", without_comments(text))


if __name__ == "__main__":
    unittest.main()
