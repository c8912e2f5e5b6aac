# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""result_tables takes the newest program, the run in the middle and the reason of what was not timed, and names bad rows."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import result_tables  # noqa: E402

EMPTY = "# 1\n\n<!-- results: made by hand -->\nold\n<!-- end of results -->\ntail\n"


def row(kind="time", **more):
    made = {"schema": "pkb-result", "kind": kind, "name": "pkb01.64x32.bfloat16.w2", "world_size": 2, "dtype": "bfloat16", "text": "a", "runtime_headers": "h",
            "date": "2026-01-01T00:00:00Z", "verdict": "right", "message": "", "library_calls": 0, "kernel_bytes": 4096, "predicted_us": 9.0}
    if kind == "time":
        made.update(way="graph step", ours_us=10.0, best_us=30.0, best="graph", speedup=3.0, variants={}, counted={"ours": {"kernels": 1}, "eager": {"kernels": 2, "nccl": 1}})
    made.update(more)
    return made


class ResultTables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "docs", "results", "h100x2"))
        os.makedirs(os.path.join(self.root, "problems", "001-first"))
        self.notes = os.path.join(self.root, "problems", "001-first", "NOTES.md")
        self.write(self.notes, EMPTY)

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def run_main(self, action, rows=None):
        if rows is not None:
            text = rows if isinstance(rows, str) else "".join(json.dumps(one) + "\n" for one in rows)
            self.write(os.path.join(self.root, "docs", "results", "h100x2", "bench.jsonl"), text)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = result_tables.main(["--root", self.root, action])
        with open(self.notes, encoding="utf-8") as f:
            return status, out.getvalue(), f.read()

    def test_stale_then_written_then_fresh(self):
        status, text, page = self.run_main("--check", [row("check"), row()])
        self.assertEqual((status, page), (1, EMPTY))
        self.assertIn("problems/001-first/NOTES.md: the results are stale", text)
        status, _, page = self.run_main("--write")
        self.assertEqual(status, 0)
        self.assertIn("| h100x2 | 2 | bfloat16 | 64 × 32 | graph step | 10.0 | 30.0 (graph) | 3.00 | 9.0 | 1 / 3 | 4.1 kB | right | 2026-01-01 |\n", page)
        self.assertTrue(page.endswith("<!-- end of results -->\ntail\n"))
        self.assertEqual(self.run_main("--check")[0], 0)

    def test_newest_program_and_middle_run(self):
        old = row(date="2025-01-01T00:00:00Z", text="b", ours_us=77.0)
        runs = [row(ours_us=us, speedup=30.0 / us) for us in (12.0, 11.0, 99.0)]
        page = self.run_main("--write", [old] + runs)[2]
        self.assertIn("| 12.0 | 30.0 (graph) | 2.50 (3 runs) |", page)
        self.assertIn("| not checked |", page)
        self.assertNotIn("77.0", page)

    def test_not_timed(self):
        failed = row(ours_us=None, speedup=None, variants={"ours": {"error": "rank 1: WrongResult: another output\nmore"}})
        page = self.run_main("--write", [failed])[2]
        self.assertIn("| WrongResult: another output | 30.0 (graph) | – |", page)

    def test_predicted_is_of_kernels_only(self):
        self.assertIn("| 3.00 | – | 1 / 3 |", self.run_main("--write", [row(way="loop")])[2])
        self.assertIn("| 3.00 | – | 1 / 3 |", self.run_main("--write", [row(library_calls=1)])[2])

    def test_nothing_measured(self):
        self.assertIn("Not measured yet.", self.run_main("--write", [])[2])

    def test_bad_rows(self):
        for text, why in (("{", "bench.jsonl:1: not a row of results"), ('{"schema": "other"}', "schema must be pkb-result, got: other"), ("[1]", "not a row of results")):
            status, said, page = self.run_main("--write", text)
            self.assertEqual((status, page), (2, EMPTY))
            self.assertIn(why, said)

    def test_page_without_markers(self):
        self.write(self.notes, "# 1\n")
        status, said, _ = self.run_main("--write", [row()])
        self.assertEqual(status, 2)
        self.assertIn("problems/001-first/NOTES.md: has no place for results", said)


if __name__ == "__main__":
    unittest.main()
