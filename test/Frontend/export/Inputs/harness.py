# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the exporter share: programs written to files, exported, and run again by the reference runner."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import torch

from pkb import export
from pkb.export import refrun
from pkb.export.bundle import Bundle
from pkb.export.data import DTYPES, from_raw

SOURCE_DIR = os.environ.get("PKB_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
LAUNCHER = os.path.join(SOURCE_DIR, "tools", "pkb-export", "pkb-export")

HEAD = """
import torch
import torch.distributed as dist
import torch.nn.functional as F


def numbers(rank, trial, *sizes, dtype=torch.float32, device="cpu"):
    g = torch.Generator().manual_seed(100 * trial + rank)
    return torch.randn(*sizes, generator=g).to(device=device, dtype=dtype)
"""

INPUTS = """
def inputs(rank, world_size, device, trial=0):
    return (numbers(rank, trial, 6, 4, device=device),)
"""


class ExportTest(unittest.TestCase):
    """A temporary folder, and ways to export a program given as text."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pkb-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, text, name="program.py", inputs=INPUTS):
        """Write a program below the common head; `inputs` is its text or "" when the program has its own."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(HEAD + textwrap.dedent(inputs) + textwrap.dedent(text))
        return path

    def export(self, text, world_size=2, inputs=INPUTS, **options):
        """Export function `solution` of the program; returns the opened Bundle."""
        path = self.write(text, inputs=inputs)
        out = os.path.join(self.folder, "x.pkb")
        export.export(f"{path}:solution", f"{path}:inputs", world_size, out, **options)
        return Bundle(out)

    def refused(self, text, world_size=2, inputs=INPUTS, **options):
        """The message with which the export of a program is refused; nothing may be left behind."""
        before = {"program.py"}
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, "x.pkb"))
        with self.assertRaises(export.ExportError) as caught:
            self.export(text, world_size, inputs, **options)
        self.assertEqual(set(os.listdir(self.folder)) - before, set())
        message = str(caught.exception)
        self.assertNotIn("\n", message)
        return message

    def line_of(self, text):
        """"FILE:LINE" of the only line of the written program that contains `text`."""
        path = os.path.join(self.folder, "program.py")
        with open(path) as f:
            found = [i + 1 for i, line in enumerate(f) if text in line]
        self.assertEqual(len(found), 1, text)
        return f"{path}:{found[0]}"

    def reference(self, bundle, trials=1, **options):
        """Run the reference; returns (index, read) where read(entry, "file") is a tensor."""
        out = os.path.join(self.folder, "ref")
        index = refrun.run(refrun.RefJob(bundle.path, out, trials=trials, **options))

        def read(entry, key="file"):
            dtype = DTYPES[entry["oracle_dtype" if key == "oracle" else "dtype"]]
            with open(os.path.join(out, entry[key]), "rb") as f:
                return from_raw(f.read(), dtype, entry["sizes"])

        return index, read

    def outputs(self, text, world_size, inputs=INPUTS):
        """Export, run the reference: per rank the (input tensors, output tensors, argument tensors afterwards)."""
        bundle = self.export(text, world_size, inputs)
        index, read = self.reference(bundle)
        ranks = index["trials"][0]["ranks"]
        return bundle, [tuple([read(e) for e in r[key]] for key in ("inputs", "outputs", "args")) for r in ranks]

    def assertBits(self, a, b):
        self.assertEqual(a.dtype, b.dtype)
        self.assertEqual(list(a.shape), list(b.shape))
        self.assertTrue(torch.equal(a, b), f"{a}\n{b}")


def collectives(record):
    """The collectives of a rank's record."""
    return [e for e in record["events"] if e["kind"] == "collective"]


def ops(record):
    return [e["op"] for e in record["events"] if e["kind"] == "op"]


def command(*argv, **more):
    """Run the launcher as a user does; returns the finished process."""
    env = {**os.environ, "PKB_PYTHON": sys.executable, **more.pop("env", {})}
    return subprocess.run([LAUNCHER, *argv], capture_output=True, text=True, timeout=120, env=env, **more)


def run_cli(*argv):
    """Run the command line in this process: (status, standard output, standard error)."""
    from pkb.export import cli

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(list(argv))
    return status, out.getvalue(), err.getvalue()


def read_json(path):
    with open(path) as f:
        return json.load(f)
