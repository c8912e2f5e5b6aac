# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pkb.load of artefacts on emulated ranks: what does not fit goes to the original function on all ranks, or is an error on all.

The ranks are threads of this process, and so are those of the process group in which the original communicates.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import torch
from binding_test import doubling_text, program_text, write_artefact  # beside this file
from rank_threads import on_ranks

import pkb

MODEL = b"""
import torch.distributed as dist
import factors

def solution(x):
    y = x * factors.ONE
    dist.all_reduce(y)
    return [y]
"""
HEAD = {"function": {"file": "source/model.py", "qualname": "solution"}, "modules": {"model": "source/model.py", "factors": "source/factors.py"}}


def files(**changes):
    return {"bundle.json": json.dumps({**HEAD, **changes}).encode(), "source/model.py": MODEL, "source/factors.py": b"ONE = 1\n"}


class Artefacts(unittest.TestCase):
    def setUp(self):
        os.environ["PKB_NVCC"] = "none"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "p.pkx"
        write_artefact(self.path, program_text(), files())

    def on_ranks(self, body, *, group=False, timeout_s=30.0, **options):
        """body(rank, program, context) on two threads, each with the artefact loaded; `group`: in a process group of threads."""
        on_ranks(2, lambda rank, context: body(rank, pkb.load(self.path, context=context, **options), context), group=group, timeout_s=timeout_s)

    @staticmethod
    def tensor(rank, *sizes):
        return torch.arange(float(torch.Size(sizes).numel())).reshape(sizes) * (rank + 1)

    def test_what_does_not_fit_goes_to_the_original(self):
        def body(rank, program, context):
            torch.testing.assert_close(program(self.tensor(rank, 3, 5))[0], self.tensor(2, 3, 5), rtol=0, atol=0)
            self.assertEqual((program.fallbacks, program.last_reason), (0, None))
            for i, (x, expected, reason) in enumerate((
                (self.tensor(rank, 4, 5), self.tensor(2, 4, 5), r"input 0 of 'solution' must have sizes \[3, 5\], got: \[4, 5\]"),
                (self.tensor(rank, 3, 5).double(), self.tensor(2, 3, 5).double(), "input 0 of 'solution' must have dtype float32, got: float64"),
                (self.tensor(rank, 5, 3).t(), self.tensor(2, 5, 3).t(), r"input 0 of 'solution' must have strides \[5, 1\], got: \[1, 3\]"),
            ), 1):
                torch.testing.assert_close(program(x)[0], expected, rtol=0, atol=0)
                self.assertEqual(program.fallbacks, i)
                self.assertRegex(program.last_reason, reason)
            torch.testing.assert_close(program(self.tensor(rank, 3, 5))[0], self.tensor(2, 3, 5), rtol=0, atol=0)  # still in step
            self.assertEqual(program.fallbacks, 3)

        before = dict(sys.modules), list(sys.path), list(sys.meta_path)
        self.on_ranks(body, group=True)
        self.assertNotIn("factors", sys.modules)
        self.assertEqual((sys.path, sys.meta_path), before[1:])

    def test_an_input_that_requires_grad_gets_the_originals_backward(self):
        model = b"def solution(x):\n    return [x * x]\n"
        write_artefact(self.path, program_text(), {**files(), "source/model.py": model})

        def body(rank, program, context):
            x = self.tensor(rank, 3, 5).requires_grad_()
            program(x)[0].sum().backward()
            torch.testing.assert_close(x.grad, 2 * x.detach(), rtol=0, atol=0)
            self.assertEqual(program.fallbacks, 1)
            self.assertRegex(program.last_reason, "input 0 of program .* requires grad, but the program has no backward")

        self.on_ranks(body)

    def test_what_fits_on_some_ranks_alone_is_an_error_on_all(self):
        seconds = {}

        def body(rank, program, context):
            begin = time.monotonic()
            with self.assertRaisesRegex(pkb.PkbError, "rank 1 refused call 1, which (not all ranks did|rank 0 accepted): input 0 of 'solution' must have sizes"):
                program(self.tensor(rank, 3 + rank, 5))
                program(self.tensor(rank, 3, 5))
            seconds[rank] = time.monotonic() - begin
            with self.assertRaises(pkb.PkbError):  # at once, from now on
                program(self.tensor(rank, 3, 5))
            self.assertEqual(program.fallbacks, 0)

        self.on_ranks(body)
        self.assertLess(max(seconds.values()), 5)

    def test_a_tensor_that_is_not_dense_goes_to_the_original(self):
        def body(rank, program, context):
            x = self.tensor(rank, 3, 5)
            with self.assertRaisesRegex(pkb.GuardError, "input 0 must be a dense tensor" if rank else "must have sizes"):
                program(x.to_sparse() if rank else x[:2])
            torch.testing.assert_close(program(x)[0], self.tensor(2, 3, 5), rtol=0, atol=0)

        self.on_ranks(body, fallback=None)

    def test_without_a_function_a_guard_raises(self):
        write_artefact(self.path, program_text())

        def body(rank, program, context):
            with self.assertRaisesRegex(pkb.GuardError, "must have sizes"):
                program(self.tensor(rank, 4, 5))

        self.on_ranks(body)

    def test_a_function_that_cannot_be_loaded_is_told(self):
        write_artefact(self.path, program_text(), {**files(), "source/model.py": b"import no_such_module_here\n"})

        def body(rank, program, context):
            with self.assertRaisesRegex(pkb.PkbError, "the original function of '.*p.pkx' cannot be loaded: .*no_such_module_here"):
                program(self.tensor(rank, 4, 5))

        self.on_ranks(body)

    def test_the_process_keeps_its_own_modules(self):
        import types

        own = types.ModuleType("factors")
        own.ONE = 7
        sys.modules["factors"] = own
        self.addCleanup(sys.modules.pop, "factors", None)
        self.on_ranks(lambda rank, program, _: self.assertEqual(program(torch.ones(2))[0].tolist(), [2.0, 2.0]), group=True)
        self.assertIs(sys.modules["factors"], own)

    def test_a_cache_that_cannot_be_written_is_a_warning(self):
        before = os.environ.get("PKB_CACHE_DIR")
        os.environ["PKB_CACHE_DIR"] = "/proc/pkb"
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.on_ranks(lambda rank, program, _: program(self.tensor(rank, 3, 5)))
        finally:
            os.environ["PKB_CACHE_DIR"] = before or "/tmp/pkb-test-cache"
        self.assertIn("the cache '/proc/pkb' is not used: cannot", str(caught[0].message))

    def test_a_damaged_artefact_is_one_message(self):
        whole = self.path.read_bytes()
        self.path.write_bytes(whole[:-100])
        with self.assertRaisesRegex(pkb.PkbError, "p.pkx' is cut off"):
            self.on_ranks(lambda *_: None)

    def test_loading_does_not_import_the_compiler_of_torch(self):
        code = "import sys, pkb.program, pkb.artefact, pkb.context; sys.exit('torch._dynamo' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False).returncode, 0)

    def test_torch_compile_takes_the_callable(self):
        """A call is one node of the graph; one that does not fit, or that would be differentiated, is left to the eager callable."""
        write_artefact(self.path, doubling_text(), {**files(), "source/model.py": b"def solution(x):\n    return [x + x]\n"})
        targets = []

        def backend(module, inputs):
            targets.extend(str(node.target) for node in module.graph.nodes if node.op == "call_function")
            return module.forward

        with pkb.Emulator(1) as machine:
            context = machine.context(0, arena_bytes=32 << 20)
            program = pkb.load(self.path, context=context)
            whole = torch.compile(lambda x: program(x + 1)[0] - x, backend=backend, fullgraph=True)
            x = self.tensor(0, 3, 5)
            torch.testing.assert_close(whole(x), (x + 1) * 2 - x, rtol=0, atol=0)
            self.assertIn("pkb.call.default", targets)
            self.assertEqual(program.fallbacks, 0)
            parts = torch.compile(lambda x: program(x * 3)[0] - x, backend=backend)
            other = self.tensor(0, 4, 4)
            torch.testing.assert_close(parts(other), other * 5, rtol=0, atol=0)
            self.assertRegex(program.last_reason, r"must have sizes \[3, 5\], got: \[4, 4\]")
            x.requires_grad_()
            parts(x).sum().backward()
            torch.testing.assert_close(x.grad, torch.full((3, 5), 5.0), rtol=0, atol=0)
            self.assertRegex(program.last_reason, "requires grad")
            self.assertEqual(program.fallbacks, 2)
            context.close()


if __name__ == "__main__":
    os.environ.setdefault("PKB_CACHE_DIR", "/tmp/pkb-test-cache")
    unittest.main()
