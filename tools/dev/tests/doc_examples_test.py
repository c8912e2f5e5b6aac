# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""doc_examples replaces outputs, finds stale ones, and names a command that fails."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import doc_examples  # noqa: E402

PAGE = "a\n\n<!-- output of: {} -->\n```text\nold\n```\n\n```text\nkept\n```\n"


class DocExamples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.mkdir(os.path.join(self.root, "docs"))
        self.page = os.path.join(self.root, "docs", "A.md")

    def run_main(self, command, action):
        if command:
            with open(self.page, "w", encoding="utf-8") as f:
                f.write(PAGE.format(command))
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = doc_examples.main(["--root", self.root, "--build", self.root, action])
        with open(self.page, encoding="utf-8") as f:
            return status, out.getvalue(), f.read()

    def test_stale_then_written_then_fresh(self):
        status, text, page = self.run_main("printf 'new  \\n\\n'", "--check")
        self.assertEqual((status, page.count("old")), (1, 1))
        self.assertIn("docs/A.md: an example is stale", text)
        status, _, page = self.run_main(None, "--write")
        self.assertEqual(status, 0)
        self.assertIn("```text\nnew\n```\n\n```text\nkept\n```\n", page)
        self.assertEqual(self.run_main(None, "--check")[0], 0)

    def test_command_that_fails(self):
        status, text, page = self.run_main("echo broken >&2; false | cat", "--write")
        self.assertEqual(status, 2)
        self.assertIn("broken", text)
        self.assertIn("old", page)


if __name__ == "__main__":
    unittest.main()
