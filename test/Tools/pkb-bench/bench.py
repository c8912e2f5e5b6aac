# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pkb-bench on emulated ranks: rows for what is right, refused and hanging; kills, stale results, damaged files, packed folders."""

import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import textwrap
import time
import unittest

from pkb.bench import table
from pkb.bench.cells import BenchError, parse_numbers, parse_shapes
from pkb.bench.results import Results

SOURCE, BUILD = os.environ["PKB_SOURCE_DIR"], os.environ["PKB_BUILD_DIR"]
TOOL = os.path.join(SOURCE, "tools", "pkb-bench", "pkb-bench")

HEAD = """
import time
import torch
import torch.distributed as dist


def inputs(rank, world_size, device, trial=0):
    return (torch.randn(5, 3, generator=torch.Generator().manual_seed(10 * trial + rank)).to(device),)


def solution(x):
    y = x.clone()
"""


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pkb-bench-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, "results.jsonl")

    def program(self, name, body="dist.all_reduce(y)\nreturn y"):
        path = os.path.join(self.folder, name + ".py")
        with open(path, "w") as f:
            f.write(HEAD + textwrap.indent(textwrap.dedent(body), "    ") + "\n")
        return path

    def command(self, *programs, more=()):
        named = [a for p in programs for a in ("--program", p)]
        return [TOOL, *named, "--device=emulated", "--trials", "1", "--work", os.path.join(self.folder, "work"), "--results", self.file, *more]

    def bench(self, *programs, more=()):
        return subprocess.run(self.command(*programs, more=more), capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL)

    def rows(self):
        with open(self.file) as f:
            return [json.loads(line) for line in f]

    def test_rows_and_a_second_run(self):
        """One right, one that pkb-export refuses, one that hangs; the second run makes and runs nothing."""
        programs = [self.program("good"), self.program("reads", "return y * float(x.sum())"),
                    self.program("slow", "time.sleep(100)\nreturn y")]  # fmt: skip
        for attempt in ("first", "second"):
            done = self.bench(*programs, more=("--timeout", "5"))
            self.assertEqual(done.returncode, 1, done.stderr)
            lines = done.stdout.splitlines()
            self.assertRegex(lines[0], r"^device: 2 emulated ranks")
            self.assertRegex(lines[3], r"^good .* 2 .* right$")
            self.assertRegex(lines[4], r"^reads .*export: reads a device value on the host at .*reads\.py:13")
            self.assertRegex(lines[5], r"^slow .*export: .*5 s")
            self.assertEqual(lines[-1], "1 of 3 right")
            self.assertEqual([r["kind"] for r in self.rows()], ["failure", "failure", "check"], attempt)
        self.assertIn("1 of 1 have a result already", done.stderr)
        self.assertEqual(self.rows()[2]["bench"], {"problem": "good", "shape": "as written", "dtype": "as written"})

    def test_changed_program_is_stale_and_run_again(self):
        self.bench(self.program("p"))
        self.program("p", "dist.all_reduce(y)\nreturn y + 1")
        shown = self.bench(os.path.join(self.folder, "p.py"), more=("--show",))
        self.assertIn("1 of 1 right", shown.stdout)  # of the program that is made
        done = self.bench(os.path.join(self.folder, "p.py"))
        self.assertIn("1 of 1 right", done.stdout)
        first, second = self.rows()
        self.assertNotEqual(first["text"], second["text"])
        with open(self.file, "w") as f:
            f.write(json.dumps(first) + "\n")
        shown = self.bench(os.path.join(self.folder, "p.py"), more=("--show",))
        self.assertIn(f"right, but stale since {first['date'][:10]}", shown.stdout)
        self.assertEqual(shown.returncode, 1)

    def test_killed_benchmark_goes_on(self):
        programs = [self.program(f"p{i}", f"dist.all_reduce(y)\nreturn y + {i}") for i in range(3)]
        child = subprocess.Popen(self.command(*programs), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in child.stderr:
            if line.startswith("p0.w2: right"):
                break
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stderr.close()
        kept = self.rows()
        self.assertGreaterEqual(len(kept), 1)
        with open(self.file, "a") as f:
            f.write('{"schema": "pkb-res')  # a line torn by the kill
        done = self.bench(*programs)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" of 3 have a result already", done.stderr)
        self.assertEqual(self.rows()[:len(kept)], kept)
        self.assertEqual(sorted(r["name"] for r in self.rows()), ["p0.w2", "p1.w2", "p2.w2"])

    def test_interrupt(self):
        child = subprocess.Popen(self.command(self.program("slow", "time.sleep(100)\nreturn y")), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)  # fmt: skip
        time.sleep(4)
        child.terminate()
        _, err = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 130)
        self.assertIn("interrupted; the same command goes on where it stopped", err)

    def test_packed_folder(self):
        """The plan, programs and tools in one folder, as pack-gpu lays them out; run where nothing can be exported."""
        program = self.program("p")
        self.assertEqual(self.bench(program).returncode, 0)
        packed = os.path.join(self.folder, "packed")
        os.makedirs(os.path.join(packed, "bundles"))
        for suffix in (".cu", ".pkb"):
            shutil.copy(os.path.join(self.folder, "work", "p.w2" + suffix), os.path.join(packed, "bundles"))
        os.symlink(os.path.join(BUILD, "bin"), os.path.join(packed, "bin"))
        os.symlink(os.path.join(SOURCE, "runtime", "include"), os.path.join(packed, "include"))
        with open(os.path.join(packed, "bench.json"), "w") as f:
            json.dump([{"problem": "p", "shape": "as written", "dtype": "as written", "ranks": 2, "export": {}}], f)
        done = subprocess.run([TOOL, "--run", packed, "--device=emulated", "--trials", "1"], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 1 right", done.stdout)
        self.assertTrue(os.path.exists(os.path.join(packed, "bundles", "emulated.jsonl")))

    def test_bad_input(self):
        good = self.program("good")
        with open(os.path.join(self.folder, "other.jsonl"), "w") as f:
            f.write('{"kind": "else"}\n')
        for more, message in (
            (("--colour",), "unrecognized arguments: --colour; see pkb-bench --help"),
            ((), "nothing to run: name --pkb CHECKOUT, --folder NAME or --program FILE.py"),
            (("--program", "/missing.py"), "no such file: /missing.py"),
            (("--folder", "999-x"), "no problem folder 999-x below"),
            (("--pkb", self.folder), "is not a checkout of ParallelKernelBench"),
            (("--program", good, "--ranks", "two"), "--ranks must be numbers and ranges as 1-8,13, got: two"),
            (("--program", good, "--trials", "0"), "--trials must be 1 to 1000, got: 0"),
            (("--program", good, "--timeout", "nan"), "--timeout must be 0.001 to 1000000, got: nan"),
            (("--program", good, "--seed", "-1"), "--seed must be 0 to 4294967295, got: -1"),
            (("--program", good, "--ranks", "1-9999999999"), "--ranks must be numbers and ranges as 1-8,13, got: 1-9999999999"),
            (("--program", good, "--ranks", "0"), "--ranks must be 1 to 64, got: 0"),
            (("--program", good, "--ranks", "2,60-999999"), "--ranks must be 1 to 64, got: 60-999999"),
            (("--program", good, "--work", "/dev/null"), "the work folder is none: /dev/null; name a folder with --work"),
            (("--program", good, "--work", os.path.join(good, "in")), "Not a directory"),
            (("--program", good, "--tools", self.folder), f"pkb-opt is not in {self.folder}"),
            (("--program", good, "--results", self.folder), "the results file is a folder"),
            (("--program", good, "--results", os.path.join(self.folder, "other.jsonl")), "other.jsonl:1 is not a result"),
            (("--program", good, "--results", "/proc/none/r.jsonl"), "cannot write /proc/none/r.jsonl: No such file or directory"),
            (("--program", good, "--results", "/dev/null"), "which /dev/null cannot be: name a regular file"),
            (("--run", self.folder), "was not made by pkb-bench --pack: it has no bench.json"),
            (("--run", self.folder, "--pack", "x"), "give one of them"),
        ):
            with self.subTest(more):
                done = self.bench(more=more)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertFalse(os.path.exists(self.file))

    def test_a_file_that_holds_no_results(self):
        """It is refused and stays as it is."""
        row = {"schema": "pkb-result", "kind": "check", "name": "a.w2", "date": "2026-01-01", "device": "2 x NVIDIA H200", "exit": 0, "verdict": "right"}
        for text, message in (
            (b"\0\1" * 50000, "results.jsonl holds no result (schema pkb-result); name another file with --results, or remove it"),
            (b'{"schema": "pkb-result"', "results.jsonl holds no result"),
            (b'{"schema": "pkb-result"}\n', "results.jsonl:1 is not a whole result: kind is None, and must be one of check, time, failure; mend or move the file"),
            (json.dumps(row).encode() + b"\n", "results.jsonl:1 is not a whole result: no message; mend"),
            (json.dumps({**row, "kind": "time", "way": "loop", "speedup": 2.0}).encode() + b"\n", "results.jsonl:1 is not a whole result: no ours_us, best_us, best; mend"),
            (json.dumps({**row, "message": ""}).encode() + b"\nhello\nwor", "results.jsonl:2 is not JSON"),
            (b"[" * 100000 + b"\n", "results.jsonl:1 is not JSON"),
        ):
            with self.subTest(text[:60]):
                with open(self.file, "wb") as f:
                    f.write(text)
                done = self.bench(self.program("good"))
                self.assertEqual(done.returncode, 2)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(message, done.stderr)
                with open(self.file, "rb") as f:
                    self.assertEqual(f.read(), text)


class PartsTest(unittest.TestCase):
    def test_results_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            results = Results(os.path.join(folder, "r.jsonl"))
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            for room, message in ((0, "r.jsonl: File too large"), (10, "r.jsonl: 10 of .* bytes written; is the disk full?")):
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
                try:
                    with self.assertRaisesRegex(BenchError, message):
                        results.append([{"schema": "pkb-result"}])
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, before)
            self.assertEqual(results.rows, [])
            self.assertEqual(os.path.getsize(results.path), 0)  # nothing of a line that did not fit
            with self.assertRaisesRegex(BenchError, "which /dev/null cannot be: name a regular file"):
                Results("/dev/null")

    def test_lists(self):
        self.assertEqual(parse_numbers("1-3,8,2", "x"), [1, 2, 3, 8])
        self.assertEqual(parse_shapes("16,8x4"), [(16, 16), (8, 4)])
        for bad in ("3-1", "a", "1-", ",", "1-10000000"):
            with self.assertRaises(BenchError):
                parse_numbers(bad, "x")
        for bad in ("0", "4x", "x4", "", "1000000000"):
            with self.assertRaises(BenchError):
                parse_shapes(bad)

    def test_medians_and_means(self):
        rows = [{"speedup": s} for s in (0.9, 0.7, 1.1)]
        self.assertEqual(table.median_row(rows)["speedup"], 0.9)
        self.assertEqual(table.median_row(rows[:2])["speedup"], 0.7)
        self.assertIsNone(table.median_row([{"speedup": None}]))
        self.assertEqual(table.means([{"loop": 5.0}, {"loop": 500.0}, {}]), ["loop: geometric mean 10.00x over 2 cells, smallest 5.00x"])


if __name__ == "__main__":
    unittest.main()
