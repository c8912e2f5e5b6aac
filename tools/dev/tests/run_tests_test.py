# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""The one count of run_tests: nothing failed is hidden, nothing skipped is called passed."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import run_tests  # noqa: E402
from run_tests import Result  # noqa: E402


class Count(unittest.TestCase):
    def file(self, text):
        f = tempfile.NamedTemporaryFile("w", delete=False)
        self.addCleanup(os.remove, f.name)
        with f:
            f.write(text)
        return f.name

    def test_lit(self):
        tests = [("a", "PASS", ""), ("b", "FAIL", ""), ("c", "UNSUPPORTED", "Test requires the following unavailable features: nvlink-2"),
                 ("d", "UNRESOLVED", ""), ("e", "TIMEOUT", ""), ("f", "XFAIL", ""), ("g", "XPASS", ""), ("h", "FLAKYPASS", "")]
        report = self.file(json.dumps({"tests": [dict(zip(("name", "code", "output"), t)) for t in tests]}))
        found = {r.name: r for r in run_tests.parse_lit(report)}
        self.assertEqual({n: r.outcome for n, r in found.items()},
                         dict(a="passed", b="failed", c="skipped", d="failed", e="failed", f="skipped", g="failed", h="passed"))
        self.assertEqual(found["c"].reason, "needs nvlink-2")

    def test_junit(self):
        report = self.file('''<testsuite>
          <testcase name="a" status="run"/>
          <testcase name="b" status="fail"><failure message="x"/></testcase>
          <testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
            <system-out>Skipped: needs two GPUs</system-out></testcase>
          <testcase name="d" status="notrun"><skipped message="Unable to find executable: d"/></testcase>
        </testsuite>''')
        found = {r.name: r for r in run_tests.parse_junit(report)}
        self.assertEqual({n: r.outcome for n, r in found.items()},
                         {"ctest :: a": "passed", "ctest :: b": "failed", "ctest :: c": "skipped", "ctest :: d": "failed"})
        self.assertEqual(found["ctest :: c"].reason, "Skipped: needs two GPUs")

    def test_last_line(self):
        lines, good = run_tests.summary([Result("a", "passed", ""), Result("b", "skipped", "needs nvlink-2")])
        self.assertEqual(lines[-1], "1 passed, 0 failed, 1 skipped")
        self.assertIn("skipped, needs nvlink-2: 1", lines)
        self.assertTrue(good)

    def test_failure_and_nothing_run_are_not_good(self):
        lines, good = run_tests.summary([Result("a", "passed", ""), Result("b", "failed", "FAIL")])
        self.assertEqual((lines[-1], good), ("1 passed, 1 failed, 0 skipped", False))
        self.assertIn("    b (FAIL)", lines)
        self.assertFalse(run_tests.summary([])[1])
        self.assertFalse(run_tests.summary([Result("a", "skipped", "x")])[1])

    def test_no_build_tree(self):
        with self.assertRaises(SystemExit) as stop:
            run_tests.main(["--build", "/nowhere/build"])
        self.assertIn("no such build tree: /nowhere/build", str(stop.exception))


if __name__ == "__main__":
    unittest.main()
