# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pkb.compile and its cache, on emulated ranks; how ranks meet through a store.

Run with PYTHONPATH=runtime/torch, PKB_LIBRARY_DIR set to the folder of the built libraries, and PKB_OPT naming pkb-opt.
"""

import errno
import functools
import os
import pathlib
import tempfile
import unittest
import warnings

import torch
import torch.distributed as dist
from rank_threads import on_ranks, on_threads  # beside this file

import pkb
from pkb import compiling
from pkb import context as contexts

MODEL = """
import torch
import torch.distributed as dist
import pkb_test_factor

def solution(x):
    y = x * pkb_test_factor.FACTOR
    dist.all_reduce(y)
    return y

def inputs(rank, world_size, device, trial=0):
    return (torch.full((4, 8), rank + 1.0 + trial, device=device),)
"""


def inputs_of_a_file(rank, world_size, device, trial=0):
    return ()


@unittest.skipUnless(os.access(os.environ.get("PKB_OPT", ""), os.X_OK), "PKB_OPT names no pkb-opt")
class Compile(unittest.TestCase):
    def setUp(self):
        os.environ["PKB_NVCC"] = "none"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        (self.path / "model.py").write_text(MODEL)
        (self.path / "pkb_test_factor.py").write_text("FACTOR = 2\n")
        self.cache = self.path / "cache"
        self.runs = []
        run = compiling._run
        compiling._run = lambda command, what, timeout: (self.runs.append(what), run(command, what, timeout))
        self.addCleanup(setattr, compiling, "_run", run)

    def compile_on_ranks(self, factor=2, **options):
        """Compiles and calls on two emulated ranks; the warnings."""

        def body(rank, context):
            model = self.path / "model.py"
            program = pkb.compile(f"{model}:solution", f"{model}:inputs", **{"cache_dir": self.cache, "context": context, **options})
            torch.testing.assert_close(program(torch.full((4, 8), rank + 1.0)), torch.full((4, 8), 3.0 * factor), rtol=0, atol=0)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            on_ranks(2, body, timeout_s=60)
        return [str(w.message) for w in caught if str(w.message).startswith("pkb: ")]

    def test_one_rank_builds_and_what_is_built_is_kept(self):
        self.assertEqual(self.compile_on_ranks(), [])
        self.assertEqual(self.runs, ["pkb-export", "pkb-opt"])
        self.assertEqual(self.compile_on_ranks(), [])
        self.assertEqual(len(self.runs), 2)
        # A module that the function imports is part of the key; so is a damaged artefact or record noticed.
        (self.path / "pkb_test_factor.py").write_text("FACTOR = 5\n")
        self.assertEqual(self.compile_on_ranks(factor=5), [])
        self.assertEqual(len(self.runs), 4)
        for damaged in self.cache.glob("compiled/*.pkx"):
            damaged.write_bytes(damaged.read_bytes()[:-50])
        notes = self.compile_on_ranks(factor=5)
        self.assertRegex(notes[0], "pkb: the artefact in the cache is made again: '.*pkx' is cut off")
        self.assertEqual(len(self.runs), 6)
        for record in self.cache.glob("compiled/*.json"):
            record.write_text("{")
        self.assertRegex(self.compile_on_ranks(factor=5)[0], "json' in the cache is damaged; made again")
        self.assertEqual(len(self.runs), 8)
        self.assertEqual(self.compile_on_ranks(factor=5), [])
        self.assertEqual(len(self.runs), 8)
        names = {path.suffix for path in self.cache.glob("compiled/*")}
        self.assertEqual(names, {".pkx", ".json", ".lock"})  # nothing half-made is left

    def test_a_cache_that_cannot_be_used_is_a_warning(self):
        self.cache.write_text("a file")
        notes = self.compile_on_ranks()
        self.assertRegex(notes[0], "pkb: the cache '.*/cache/compiled' is not used: .*Not a directory.*; set PKB_CACHE_DIR to a writable folder")
        self.assertEqual(self.runs, ["pkb-export", "pkb-opt"])  # threads share what one of them made

    def test_a_full_cache_is_a_warning_and_nothing_is_compiled_twice(self):
        copy = compiling.shutil.copyfile

        def full(source, target):
            if pathlib.Path(target).is_relative_to(self.cache):
                pathlib.Path(target).write_bytes(b"the beginning")
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
            return copy(source, target)

        compiling.shutil.copyfile = full
        self.addCleanup(setattr, compiling.shutil, "copyfile", copy)
        notes = self.compile_on_ranks()
        self.assertRegex(notes[0], "pkb: the cache '.*/cache/compiled' is not used: .*No space left on device.*; set PKB_CACHE_DIR to a writable folder")
        self.assertEqual((len(notes), self.runs), (1, ["pkb-export", "pkb-opt"]))
        self.assertEqual(self.compile_on_ranks(), [])
        self.assertEqual(len(self.runs), 2)  # the next call takes it from the private folder
        self.assertEqual([p.suffix for p in self.cache.glob("compiled/*")], [".lock"])
        (self.path / "pkb_test_factor.py").write_text("FACTOR = 7\n")  # which notices changes, too
        self.assertEqual(len(self.compile_on_ranks(factor=7)), 1)
        self.assertEqual(len(self.runs), 4)
        compiling.shutil.copyfile = copy
        self.assertEqual(self.compile_on_ranks(factor=7), [])
        self.assertEqual(len(self.runs), 4)

    def test_a_lock_that_is_held_is_waited_for_and_then_done_without(self):
        import fcntl

        (self.cache / "compiled").mkdir(parents=True)
        cache = compiling._Cache(self.cache, 0.2)
        with open(self.cache / "compiled" / "x.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with self.assertRaisesRegex(OSError, "another process has held '.*x.lock' for 0.2 s"), cache._lock(self.cache / "compiled" / "x.lock"):
                pass

    def test_what_fails_is_told_by_the_step_that_failed(self):
        (self.path / "model.py").write_text(MODEL.replace("dist.all_reduce(y)", "dist.no_such_collective(y)"))
        with self.assertRaisesRegex(pkb.PkbError, "pkb-export failed: (.|\n)*no_such_collective"):
            self.compile_on_ranks()
        (self.path / "model.py").write_text(MODEL)
        with self.assertRaisesRegex(pkb.PkbError, "pkb-opt failed: (.|\n)*h200x3"):
            self.compile_on_ranks(target="h200x3")
        with self.assertRaisesRegex(pkb.PkbError, "must be given itself or as FILE.py:NAME, got: 'nothing'"):
            pkb.compile("nothing", "nothing")
        with self.assertRaisesRegex(pkb.PkbError, "must be a function at the top level of a file"):
            pkb.compile(lambda x: x, lambda *_: ())
        with self.assertRaisesRegex(pkb.PkbError, "is not what 'inputs_of_a_file' of .*compile_test.py is; give that"):
            pkb.compile(functools.wraps(inputs_of_a_file)(lambda *a: ()), inputs_of_a_file)
        (self.path / "model.py").write_text(MODEL + f"\npkb.compile(solution, inputs, cache_dir={str(self.cache)!r})\n".replace("pkb.", "__import__('pkb')."))
        with self.assertRaisesRegex(pkb.PkbError, "pkb.compile is called at the top level of .*model.py, which the export .* `if __name__ == '__main__':`"):
            self.compile_on_ranks()
        self.assertEqual([p for p in self.cache.glob("compiled/*") if p.suffix != ".lock"], [])


    def test_a_step_that_takes_too_long_is_asked_to_end(self):
        note = self.path / "ended"
        with self.assertRaisesRegex(pkb.PkbError, "pkb-export took longer than 1 s"):
            compiling._run(["sh", "-c", f"trap 'echo yes > {note}; exit' TERM; sleep 100 & wait"], "pkb-export", 1)
        self.assertEqual(note.read_text(), "yes\n")


class Store(unittest.TestCase):
    def on_ranks(self, size, body):
        """body(store, rank) on threads: what each returns or raises."""
        store = dist.HashStore()

        def one(rank):
            try:
                return body(store, rank)
            except Exception as error:
                return error

        return on_threads(size, one)

    def test_the_time_limit_of_the_environment_is_read_in_one_way(self):
        from unittest import mock

        for text in ("abc", "1e999"):
            with mock.patch.dict(os.environ, PKB_TIMEOUT_S=text):
                results = self.on_ranks(2, lambda store, rank: rank and contexts.publish(store, "x", rank, lambda: ""))
            self.assertIsInstance(results[1], pkb.PkbError)
            self.assertIn(f"PKB_TIMEOUT_S must be a number of at least 0.001 and at most 1e+09, got: '{text}'", str(results[1]))

    def test_ranks_meet_again_and_again_in_a_fresh_folder(self):
        def body(store, rank):
            return [contexts._meet_through_store(store, rank, 3) for _ in range(5)]

        results = self.on_ranks(3, body)
        self.assertEqual(results[1], results[0])
        self.assertEqual(results[2], results[0])
        self.assertEqual(len(set(results[0])), 5)

    def test_an_error_of_rank_0_is_everybodys(self):
        def fails():
            raise pkb.PkbError("no such thing")

        results = self.on_ranks(2, lambda store, rank: contexts.publish(store, "x", rank, fails))
        self.assertEqual([str(r) for r in results], ["no such thing", "rank 0: no such thing"])

    def test_a_rank_that_does_not_come_is_named(self):
        results = self.on_ranks(2, lambda store, rank: rank and contexts.publish(store, "x", rank, lambda: "", timeout_s=0.2))
        self.assertEqual(str(results[1]), "rank 0 has not come to 'x' within 0.2 s")

    @unittest.skipIf(torch.cuda.is_available(), "there are GPUs")
    def test_without_a_gpu_it_is_one_message(self):
        with self.assertRaisesRegex(pkb.PkbError, "a program runs on GPUs, and this process has none .*pkb.Emulator"):
            contexts.context_for()


if __name__ == "__main__":
    os.environ.setdefault("PKB_CACHE_DIR", "/tmp/pkb-test-cache")
    unittest.main()
