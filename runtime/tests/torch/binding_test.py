# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.ops.pkb and the callable of pkb.load, on two emulated ranks of this process.

Run with PYTHONPATH=runtime/torch and PKB_LIBRARY_DIR set to the folder of the built libraries.
"""

import ctypes
import json
import os
import pathlib
import tempfile
import unittest

import torch
from rank_threads import on_ranks  # beside this file

import pkb
from pkb import trees

KERNEL = """
#include "pkb_rt/device.h"

// sum over two ranks of LENGTH f32, pushed by one block
PKB_KERNEL(all_reduce_0, 128, 1, 2, 2) {
  const uint64_t epoch = pkb::epoch(pkb::epoch_begin<1>(args));
  const int64_t me = pkb::rank(args);
  const char *src = pkb::pointer(args, 0);
  char *dst = pkb::pointer(args, 1);
  const int64_t n = (LENGTH + 3) / 4;
  const int64_t base = pkb::staging(args, int64_t(epoch & 1));
  char *to = pkb::region(args, 1 - me, base);
  pkb::for_each<4>(n, [&](int64_t i) { return pkb::load<float, 4>(src, i, LENGTH); },
                   [&](int64_t i, const auto &v) { pkb::store_peer(to, i, v); });
  pkb::block_barrier<2>(args);
  pkb::signal<3>(args, 1 - me, 0, pkb::flag_value(epoch, 1));
  pkb::wait<4>(args, 1 - me, 0, pkb::flag_value(epoch, 1));
  pkb::block_barrier<5>(args);
  const char *stage = pkb::region(args, me, base);
  pkb::for_each<2>(n, [&](int64_t i) { return pkb::load<float, 4>(src, i, LENGTH) + pkb::load_staged<float, 4>(stage, i); },
                   [&](int64_t i, const auto &v) { pkb::store(dst, i, LENGTH, v); });
  pkb::epoch_end<6>(args, epoch);
}
"""


def program_text(in_place=False, **changes):
    """An all-reduce of f32 [3, 5]; in place, its results are the argument and a view of it."""
    shape = {"dtype": "float32", "sizes": [3, 5], "strides": [5, 1]}
    row = {"dtype": "float32", "sizes": [5], "strides": [1]}
    outputs = [{"slot": 0, "alias_of": 0, **shape}, {"slot": 1, "alias_of": 0, **row}] if in_place else [{"slot": 1, "alias_of": None, **shape}]
    second = {"id": 1, "kind": "view", "of": 0, "offset": 5, **row} if in_place else {"id": 1, "kind": "output", "index": 0, **shape}
    tree = {"kind": "tuple", "items": [{"kind": "tensor", "id": 0}]}
    manifest = {
        "schema": "pkb-manifest", "version": [1, 0], "name": "solution", "world_size": 2, "data": None,
        "groups": [{"id": 0, "partition": [[0, 1]]}],
        "arguments": [{**shape, "written": in_place}],
        "outputs": outputs,
        "input_tree": tree, "output_tree": {"kind": "list", "items": [{"kind": "tensor", "id": i} for i in range(len(outputs))]},
        "slots": [{"id": 0, "kind": "argument", "index": 0, **shape}, second],
        "steps": [{"kind": "launch", "kernel": "all_reduce_0", "group": 0, "grid": 1, "block": 128,
                   "pointers": [{"slot": 0}, {"slot": 0 if in_place else 1}]}],
        "kernels": [{"name": "all_reduce_0", "block": 128, "grid": [1, 1], "ranks": 2, "pointers": 2}],
        "region_bytes": 0, "workspace_bytes": 0, "sites": [], "guards": [], **changes,
    }
    return f"/* pkb-manifest\n{json.dumps(manifest)}\n*/\n{KERNEL.replace('LENGTH', 'int64_t(15)')}"


def doubling_text(in_place=False):
    """Twice its argument, f32 [3, 5], on one rank; in place, its results are the argument and a view of it."""
    text = program_text(
        in_place, world_size=1, groups=[{"id": 0, "partition": [[0]]}],
        kernels=[{"name": "copy", "block": 128, "grid": [1, 1], "ranks": 1, "pointers": 2}],
        steps=[{"kind": "launch", "kernel": "copy", "group": 0, "grid": 1, "block": 128, "pointers": [{"slot": 0}, {"slot": 0 if in_place else 1}]}],
    )
    return text[: text.index("#include")] + """#include "pkb_rt/device.h"
PKB_KERNEL(copy, 128, 1, 1, 2) {
  const uint64_t epoch = pkb::epoch(pkb::epoch_begin<1>(args));
  pkb::for_each<1>(4, [&](int64_t i) { return pkb::load<float, 4>(pkb::pointer(args, 0), i, 15) * pkb::splat<float, 4>(2.0f); },
               [&](int64_t i, const auto &v) { pkb::store(pkb::pointer(args, 1), i, 15, v); });
  pkb::epoch_end<2>(args, epoch);
}
"""


class _File(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_char_p), ("bytes", ctypes.c_size_t)]


class _Artefact(ctypes.Structure):
    _fields_ = [
        ("text", ctypes.c_char_p), ("text_bytes", ctypes.c_size_t), ("data", ctypes.c_char_p), ("data_bytes", ctypes.c_size_t),
        ("files", ctypes.POINTER(_File)), ("n_files", ctypes.c_int32), ("note", ctypes.c_void_p), ("user", ctypes.c_void_p),
    ]


def write_artefact(path, text, files=None):
    """Writes an artefact as pkb-opt does; files: name -> bytes."""
    from pkb import native

    text, files = text.encode(), [_File(name.encode(), data, len(data)) for name, data in (files or {}).items()]
    desc = _Artefact(text, len(text), None, 0, (_File * len(files))(*files), len(files), None, None)
    native.check(native.runtime().pkb_artefact_write(ctypes.byref(desc), os.fsencode(path)))


class Ranks(unittest.TestCase):
    def on_ranks(self, text, body):
        """body(rank, program, context) on two threads, each with the program loaded."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "p.cu"
            path.write_text(text)
            on_ranks(2, lambda rank, context: body(rank, pkb.load(path, context=context), context))

    @staticmethod
    def tensor(rank, call=0):
        return torch.arange(15, dtype=torch.float32).reshape(3, 5) * (rank + 1) + call

    def test_results_have_the_recorded_structure(self):
        def body(rank, program, context):
            for call in range(3):
                result = program(self.tensor(rank, call))
                context.synchronize()
                self.assertIsInstance(result, list)
                torch.testing.assert_close(result[0], self.tensor(0, call) + self.tensor(1, call), rtol=0, atol=0)
            self.assertEqual(program.launches, 1)

        self.on_ranks(program_text(), body)

    def test_nothing_of_a_call_is_kept(self):
        """When a call has returned, its tensors are the caller's alone: what is freed then is torch's to use again, in the order of the stream."""

        def body(rank, program, context):
            def owners(tensor):
                return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)

            x, out = self.tensor(rank), torch.empty(3, 5)
            before = owners(x), owners(out)
            for _ in range(2):
                result = program(x)[0]
                torch.ops.pkb.call_out(program.handle, [x], [out])
                self.assertEqual((owners(x), owners(out)), before)
                self.assertEqual(owners(result), owners(torch.empty(1)))

        self.on_ranks(program_text(), body)

    def test_call_out_writes_into_given_tensors(self):
        def body(rank, program, context):
            out = torch.full((3, 5), float("nan"))
            version = out._version
            torch.ops.pkb.call_out(program.handle, [self.tensor(rank)], [out])
            context.synchronize()
            torch.testing.assert_close(out, self.tensor(0) + self.tensor(1), rtol=0, atol=0)
            self.assertGreater(out._version, version)
            with self.assertRaisesRegex(RuntimeError, r"output 0 of 'solution' must have sizes \[3, 5\], got: \[5, 3\]"):
                torch.ops.pkb.call_out(program.handle, [self.tensor(rank)], [torch.empty(5, 3)])
            with self.assertRaisesRegex(RuntimeError, "has 1 outputs, 1 with memory of their own, got: 2"):
                torch.ops.pkb.call_out(program.handle, [self.tensor(rank)], [out, out])

        self.on_ranks(program_text(), body)

    def test_a_view_comes_before_its_base_which_repeats_elements(self):
        whole = {"dtype": "float32", "sizes": [2, 3, 5], "strides": [0, 5, 1]}
        row, sum_of = {"dtype": "float32", "sizes": [5], "strides": [1]}, {"dtype": "float32", "sizes": [3, 5], "strides": [5, 1]}
        text = program_text(
            outputs=[{"slot": 3, "alias_of": None, **row}, {"slot": 2, "alias_of": None, **whole}],
            output_tree={"kind": "list", "items": [{"kind": "tensor", "id": 0}, {"kind": "tensor", "id": 1}]},
            slots=[{"id": 0, "kind": "argument", "index": 0, **sum_of}, {"id": 1, "kind": "view", "of": 2, "offset": 0, **sum_of},
                   {"id": 2, "kind": "output", "index": 1, **whole}, {"id": 3, "kind": "view", "of": 2, "offset": 5, **row}],
        )  # fmt: skip

        def body(rank, program, context):
            view, base = program(self.tensor(rank))
            context.synchronize()
            torch.testing.assert_close(base, (self.tensor(0) + self.tensor(1)).expand(2, 3, 5), rtol=0, atol=0)
            self.assertEqual((base.stride(), base.untyped_storage().nbytes()), ((0, 5, 1), 60))
            self.assertEqual((view.data_ptr(), view.shape), (base[0, 1].data_ptr(), (5,)))
            given = torch.full((3, 5), float("nan")).expand(2, 3, 5)
            torch.ops.pkb.call_out(program.handle, [self.tensor(rank)], [given])
            context.synchronize()
            self.assertTrue(torch.equal(given, base))

        self.on_ranks(text, body)

    def test_a_program_that_writes_its_argument_returns_it(self):
        def body(rank, program, context):
            x = self.tensor(rank)
            version = x._version
            whole, row = program(x)
            context.synchronize()
            self.assertIs(whole, x)
            self.assertEqual(row.data_ptr(), x[1].data_ptr())
            self.assertGreater(x._version, version)
            torch.testing.assert_close(row, (self.tensor(0) + self.tensor(1))[1], rtol=0, atol=0)
            x.copy_(self.tensor(rank))
            both = torch.ops.pkb.call(program.handle, [x])
            context.synchronize()
            self.assertEqual([t.data_ptr() for t in both], [x.data_ptr(), x[1].data_ptr()])

        self.on_ranks(program_text(in_place=True), body)

    def test_arguments_outside_fall_back_and_are_counted(self):
        def body(rank, program, context):
            for bad, text in (
                ((torch.zeros(4, 5),), r"input 0 of 'solution' must have sizes \[3, 5\], got: \[4, 5\]"),
                ((self.tensor(rank).double(),), "must have dtype float32, got: float64"),
                ((self.tensor(rank).half().to(torch.uint16),), "must have dtype float32, got: unknown"),
                ((torch.zeros(5, 3).t(),), r"must have strides \[5, 1\], got: \[1, 3\]"),
                ((), "takes 1 arguments, got: 0"),
                ((3,), "argument 0 must be a tensor, got: int"),
            ):
                with self.assertRaisesRegex(pkb.GuardError, text):
                    program(*bad)
            with self.assertRaisesRegex(pkb.GuardError, r"argument 0 must be a tensor|must have sizes"):
                program(3 if rank else torch.zeros(4, 5))  # refused in different ways
            program._fallback = lambda x: "original"
            self.assertEqual(program(torch.zeros(4, 5)), "original")
            self.assertEqual(program.fallbacks, 1)
            self.assertRegex(program.last_reason, "must have sizes")

        self.on_ranks(program_text(), body)

    def test_what_is_written_and_nothing_else_counts_as_changed(self):
        def in_place(rank, program, context):
            x = self.tensor(rank)
            version = x._version
            for call in (program, lambda x: torch.ops.pkb.call(program.handle, [x])):
                call(x)
                self.assertEqual(x._version, version + 1)
                version += 1
            with torch.inference_mode():
                inside = self.tensor(rank)
                program(inside)
            torch.testing.assert_close(inside, self.tensor(0) + self.tensor(1), rtol=0, atol=0)
            for frozen in (inside, torch._neg_view(x)):
                before = frozen.clone()
                with self.assertRaisesRegex(pkb.GuardError, "is an inference tensor outside of InferenceMode|is lazily conjugated or negated"):
                    program(frozen)
                self.assertTrue(torch.equal(frozen, before))

        def reading(rank, program, context):
            x = self.tensor(rank)
            product = torch.ones(3, 5, requires_grad=True) * x
            program(x)
            product.sum().backward()  # an error if x counted as changed
            self.assertEqual(x._version, 0)
            with torch.inference_mode():
                given = torch.zeros(3, 5)
            with self.assertRaisesRegex(RuntimeError, "pkb guard: output 0 is an inference tensor outside of InferenceMode"):
                torch.ops.pkb.call_out(program.handle, [x], [given])
            self.assertEqual(given.count_nonzero(), 0)
            with torch.inference_mode():  # not through autograd: what is lazy is carried out there, too
                negated = program(torch._neg_view(x))
            torch.testing.assert_close(negated[0], -self.tensor(0) - self.tensor(1), rtol=0, atol=0)

        self.on_ranks(program_text(in_place=True), in_place)
        self.on_ranks(program_text(), reading)

    def test_what_no_program_takes_goes_to_the_original(self):
        """Subclasses, transforms and devices of which the run time learns nothing: all ranks agree on the original, or on an error."""

        class Stubborn(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                raise TypeError("not with me")

        def odd(rank):
            yield "on cpu, where the program was loaded, got: meta", lambda f: f(torch.empty(3, 5, device="meta"))
            yield "TypeError: not with me", lambda f: f(self.tensor(rank).as_subclass(Stubborn))
            yield "Batching rule not implemented", lambda f: torch.func.vmap(f)(torch.ones(2, 3, 5))
            yield "requires grad", lambda f: torch.func.grad(lambda x: f(x)[0].sum())(self.tensor(rank))
            yield "must be a dense tensor|pkb::call", lambda f: f(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))

        def body(rank, program, context):
            program._fallback = lambda x: ["original" if isinstance(x, Stubborn) or x.is_meta or x.is_nested else x * 3]
            for number, (reason, call) in enumerate(odd(rank), 1):
                call(program)
                self.assertEqual(program.fallbacks, number)
                self.assertRegex(program.last_reason, reason)
            torch.testing.assert_close(program(self.tensor(rank))[0], self.tensor(0) + self.tensor(1), rtol=0, atol=0)

        self.on_ranks(program_text(), body)
        for kind in range(5):

            def one(rank, program, context, kind=kind):
                call = list(odd(rank))[kind][1] if rank else lambda f: f(self.tensor(rank))
                with self.assertRaisesRegex(pkb.PkbError, "rank 1 refused call 1, which (rank 0 accepted|not all ranks did)"):
                    call(program)
                    context.synchronize()

            self.on_ranks(program_text(), one)

    def test_a_program_has_one_life_however_many_names(self):
        import copy
        import pickle

        def body(rank, program, context):
            self.assertIs(copy.copy(program), program)
            self.assertIs(copy.deepcopy({"p": program})["p"], program)
            with self.assertRaisesRegex(TypeError, "belongs to its process"):
                pickle.dumps(program)
            program.unload()
            program.unload()
            for argument in (self.tensor(rank), 3):
                with self.assertRaisesRegex(pkb.PkbError, "the program 'solution' was unloaded; load it again"):
                    program(argument)

        self.on_ranks(program_text(), body)

    def test_gradients_are_refused_and_lazy_bits_resolved(self):
        def body(rank, program, context):
            x = self.tensor(rank).requires_grad_()
            with self.assertRaisesRegex(pkb.PkbError, "input 0 of program .* requires grad, but the program has no backward"):
                program(x)
            negated = torch.ops.pkb.call(program.handle, [torch._neg_view(self.tensor(rank))])
            torch.testing.assert_close(negated[0], -self.tensor(0) - self.tensor(1), rtol=0, atol=0)
            with self.assertRaisesRegex(RuntimeError, "input 0 must be a dense tensor"):
                torch.ops.pkb.call(program.handle, [self.tensor(rank).to_sparse()])
            with torch.no_grad():
                result = program(x)
            context.synchronize()
            torch.testing.assert_close(result[0], self.tensor(0) + self.tensor(1), rtol=0, atol=0)

        self.on_ranks(program_text(), body)

    def test_shapes_are_known_without_running(self):
        def body(rank, program, context):
            result = torch.ops.pkb.call(program.handle, [torch.empty(3, 5, device="meta")])
            self.assertEqual((result[0].device.type, tuple(result[0].shape)), ("meta", (3, 5)))
            for bad, text in (
                ([torch.empty(5, 3, device="meta")], r"input 0 must have sizes \[3, 5\], got: \[5, 3\]"),
                ([torch.empty(3, 5, device="meta").half()], "input 0 must have dtype Float, got: Half"),
            ):
                with self.assertRaisesRegex(RuntimeError, text):
                    torch.ops.pkb.call(program.handle, bad)

        self.on_ranks(program_text(), body)

    def test_torch_compile_keeps_the_call(self):
        """In a graph of torch.compile the program is one node, its shapes are known, and its writes are seen."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        text = doubling_text()
        with tempfile.TemporaryDirectory() as folder, pkb.Emulator(1) as machine:
            path = pathlib.Path(folder) / "p.cu"
            path.write_text(text)
            context = machine.context(0, arena_bytes=32 << 20)
            handle = pkb.load(path, context=context).handle
            # Fake tensors in this thread only: torch drops a guard that a thread made when the thread ends.
            with FakeTensorMode() as mode:
                fake = torch.ops.pkb.call(handle, [mode.from_tensor(self.tensor(0))])
            self.assertEqual((fake[0].device.type, tuple(fake[0].shape), fake[0].dtype), ("cpu", (3, 5), torch.float32))
            graphs = []

            def backend(module, inputs):
                from functorch.compile import make_boxed_func
                from torch._dynamo.backends.common import aot_autograd

                def inner(graph, _):
                    graphs.append([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
                    return make_boxed_func(graph.forward)

                return aot_autograd(fw_compiler=inner)(module, inputs)

            @torch.compile(backend=backend, fullgraph=True)
            def step(x):
                return torch.ops.pkb.call(handle, [x + 1])[0] - x

            x = self.tensor(0)
            torch.testing.assert_close(step(x), (x + 1) * 2 - x, rtol=0, atol=0)
            self.assertIn("pkb.call.default", graphs[0])

            @torch.compile(backend=backend, fullgraph=True)
            def writes(x):
                y = x * 1
                torch.ops.pkb.call_out(handle, [x], [y])
                return y + 1

            torch.testing.assert_close(writes(x), x * 2 + 1, rtol=0, atol=0)
            context.close()

    def test_torch_compile_leaves_out_what_writes(self):
        """How arguments overlap decides what a write means, and tracers rename memory: such a call breaks the graph, and is as it would be without."""

        def original(x):
            x.mul_(2)
            return [x, x[1]]

        with tempfile.TemporaryDirectory() as folder, pkb.Emulator(1) as machine:
            path = pathlib.Path(folder) / "p.cu"
            path.write_text(doubling_text(in_place=True))
            context = machine.context(0, arena_bytes=32 << 20)
            program = pkb.load(path, context=context, fallback=original)

            def step(f):
                def run(x):
                    y = x + 1
                    row = y.view(-1)[5:10]
                    whole, part = f(y)
                    part.add_(7)
                    f(x)
                    return whole * 1, row * 1, part

                return run

            for backend in ("eager", "aot_eager"):
                torch._dynamo.reset()
                ours, expected = self.tensor(0), self.tensor(0)
                results = torch.compile(step(program), backend=backend)(ours)
                for a, b in zip((ours, *results), (expected, *step(original)(expected))):
                    torch.testing.assert_close(a, b, rtol=0, atol=0)
                self.assertEqual(program.fallbacks, 0)
                torch._dynamo.reset()
                outside = torch.zeros(4, 5)
                torch.compile(lambda x: program(x)[0] + 1, backend=backend)(outside)
                self.assertEqual(program.fallbacks, 1)
                program.fallbacks = 0
                torch._dynamo.reset()
                with self.assertRaisesRegex(Exception, "writes its arguments, which is no operator of a graph"):
                    torch.compile(lambda x: torch.ops.pkb.call(program.handle, [x])[0] + 1, backend=backend)(self.tensor(0))
            module = torch.nn.Module()
            module.forward = lambda x: program(x)[0]
            with self.assertRaisesRegex(pkb.PkbError, "cannot be part of an exported graph: it writes its arguments"):
                torch.export.export(module, (self.tensor(0),), strict=False)
            torch._dynamo.reset()
            context.close()

    def test_forward_derivatives_are_the_originals(self):
        from torch.autograd import forward_ad

        with tempfile.TemporaryDirectory() as folder, pkb.Emulator(1) as machine:
            path = pathlib.Path(folder) / "p.cu"
            path.write_text(doubling_text())
            context = machine.context(0, arena_bytes=32 << 20)
            program = pkb.load(path, context=context, fallback=lambda x: [x * 2])
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(self.tensor(0), torch.ones(3, 5))
                for count, mode in enumerate((torch.enable_grad, torch.no_grad), 1):
                    with mode():
                        self.assertEqual(forward_ad.unpack_dual(program(dual)[0]).tangent[0, 0], 2)
                    self.assertEqual(program.fallbacks, count)
            _, tangent = torch.func.jvp(lambda x: program(x)[0], (self.tensor(0),), (torch.ones(3, 5),))
            self.assertEqual((tangent[0, 0], program.fallbacks), (2, 3))
            context.close()

    def test_an_unloaded_program_is_refused(self):
        def body(rank, program, context):
            number = program.handle
            program.unload()
            with self.assertRaisesRegex(RuntimeError, f"there is no program {number}; it was never loaded, or is unloaded"):
                torch.ops.pkb.call(number, [self.tensor(rank)])

        self.on_ranks(program_text(), body)

    def test_a_bad_program_raises_one_message(self):
        with self.assertRaisesRegex(pkb.PkbError, "was compiled for 3 ranks, but there are 2"):
            self.on_ranks(program_text(world_size=3), lambda *_: None)


class Trees(unittest.TestCase):
    TREE = {"kind": "tuple", "items": [
        {"kind": "dict", "keys": ["a", "b"], "items": [{"kind": "tensor", "id": 1}, {"kind": "list", "items": [{"kind": "tensor", "id": 0}, {"kind": "tensor", "id": 1}]}]},
        {"kind": "int", "value": 3}, {"kind": "float", "value": "inf"}, {"kind": "none"}, {"kind": "dtype", "value": "bfloat16"}, {"kind": "device", "value": "cuda"}]}

    def test_nested_arguments_come_in_program_order(self):
        x, y = torch.zeros(1), torch.ones(1)
        flatten = trees.flattener(self.TREE, 2)
        tensors, reason = flatten(({"a": y, "b": [x, y]}, 3, float("inf"), None, torch.bfloat16, torch.device("cpu")), {})
        self.assertIsNone(reason)
        self.assertIs(tensors[0], x)
        self.assertIs(tensors[1], y)

    def test_what_differs_is_named(self):
        x, y = torch.zeros(1), torch.ones(1)
        flatten = trees.flattener(self.TREE, 2)
        rest = (float("inf"), None, torch.bfloat16, None)
        for args, text in (
            (({"a": y, "b": [x, y.clone()]}, 3, *rest), "arguments[0]['b'][1] must be the same tensor as another argument"),
            (({"a": y, "b": [x]}, 3, *rest), "arguments[0]['b'] must be a list of 2, got: list of 1"),
            (({"a": y, "b": [x, y]}, 4, *rest), "arguments[1] must be 3, got: 4"),
            (({"a": y, "b": [x, y]}, True, *rest), "arguments[1] must be 3, got: True"),
            (({"b": [x, y]}, 3, *rest), "arguments[0] must be a dict with keys ['a', 'b'], got: dict of 1"),
            (({"a": y, "b": [x, y]}, 3, 1.0, *rest[1:]), "arguments[2] must be inf, got: 1.0"),
        ):
            tensors, reason = flatten(args, {})
            self.assertIsNone(tensors)
            self.assertIn(text, reason)

    def test_many_names_and_long_texts_are_cut(self):
        module = torch.nn.Sequential(*(torch.nn.Linear(1, 1) for _ in range(500)))
        names = [f"{i}.{kind}" for i in range(400) for kind in ("weight", "bias")]
        tree = {"kind": "tuple", "items": [{"kind": "module", "keys": names, "items": [{"kind": "tensor", "id": i} for i in range(len(names))]}]}
        _, reason = trees.flattener(tree, len(names))((module,), {})
        self.assertIn("'9.bias', and 780 more], got: ['0.weight', ", reason)
        self.assertTrue(reason.endswith("'9.bias', and 980 more]"), reason)
        _, reason = trees.flattener({"kind": "tuple", "items": [{"kind": "tensor", "id": 0}, {"kind": "str", "value": "x"}]}, 1)((torch.zeros(1), "y" * 70000), {})
        self.assertEqual(reason, f"arguments[1] must be 'x', got: '{'y' * 200}'... (70000 characters)")

    def test_results_are_built(self):
        tree = {"kind": "tuple", "items": [{"kind": "tensor", "id": 1}, {"kind": "dict", "keys": ["k"], "items": [{"kind": "tensor", "id": 0}]}, {"kind": "int", "value": 7}]}
        self.assertEqual(trees.builder(tree, 2)(["first", "second"]), ("second", {"k": "first"}, 7))


if __name__ == "__main__":
    os.environ.setdefault("PKB_CACHE_DIR", "/tmp/pkb-test-cache")
    unittest.main()
