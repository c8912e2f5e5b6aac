# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C table of operators (pkb_rt/aten.h), operator by operator against the same call in torch.

Run with PYTHONPATH=runtime/torch and PKB_LIBRARY_DIR set to the folder of the built libraries.
"""

import ctypes
import json
import unittest

import torch

from pkb import native

NAMES = ["float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool",
         "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"]  # fmt: skip
BOUND, OWN, VIEW = 0, 1, 2
DONE, FAILED, PENDING = 0, 1, 2


class Slot(ctypes.Structure):
    _fields_ = [
        ("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("memory", ctypes.c_int32), ("root", ctypes.c_int32), ("offset", ctypes.c_int64), ("host", ctypes.c_int32),
    ]  # fmt: skip


_pointer, _text, _int = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_error = [ctypes.c_char_p, ctypes.c_size_t]


class Table(ctypes.Structure):
    _fields_ = [
        ("abi_version", ctypes.c_uint32),
        ("torch_version", ctypes.CFUNCTYPE(_text)),
        ("plan_create", ctypes.CFUNCTYPE(_int, ctypes.POINTER(Slot), _int, _int, _int, ctypes.POINTER(_pointer), *_error)),
        ("plan_add", ctypes.CFUNCTYPE(_int, _pointer, _text, *_error)),
        ("plan_destroy", ctypes.CFUNCTYPE(None, _pointer)),
        ("frame_create", ctypes.CFUNCTYPE(_int, _pointer, ctypes.POINTER(_pointer), *_error)),
        ("frame_bind", ctypes.CFUNCTYPE(None, _pointer, _int, _pointer)),
        ("frame_data", ctypes.CFUNCTYPE(_pointer, _pointer, _int)),
        ("run", ctypes.CFUNCTYPE(_int, _pointer, _int, _pointer, *_error)),
        ("execute", ctypes.CFUNCTYPE(_int, _pointer, _int, *_error)),
        ("frame_reset", ctypes.CFUNCTYPE(None, _pointer)),
        ("frame_destroy", ctypes.CFUNCTYPE(None, _pointer)),
    ]


def load_table():
    lib = ctypes.CDLL(str(native.library_directory() / "libpkb_aten.so"))
    lib.pkb_aten_table.restype = ctypes.POINTER(Table)
    return lib.pkb_aten_table().contents


class Frame:
    """One plan with one frame. Slots are given as tensors: BOUND ones are that memory, the others have its shape."""

    def __init__(self, table, slots, steps):
        self.table, self.tensors = table, [t for t, _ in slots]
        array = (Slot * max(len(slots), 1))()
        self._keep = []
        for i, (tensor, memory) in enumerate(slots):
            sizes = (ctypes.c_int64 * max(tensor.dim(), 1))(*tensor.shape)
            strides = (ctypes.c_int64 * max(tensor.dim(), 1))(*tensor.stride())
            self._keep += [sizes, strides]
            array[i] = Slot(NAMES.index(str(tensor.dtype)[6:]), tensor.dim(), sizes, strides, memory, i, 0, 0)
        self.plan, self.frame, self.error = _pointer(), _pointer(), ctypes.create_string_buffer(1000)
        self.check(table.plan_create(array, len(slots), 0, 0, ctypes.byref(self.plan), self.error, 1000))
        for step in steps:
            self.check(table.plan_add(self.plan, json.dumps(step).encode(), self.error, 1000))
        self.check(table.frame_create(self.plan, ctypes.byref(self.frame), self.error, 1000))
        for i, (tensor, memory) in enumerate(slots):
            if memory == BOUND:
                table.frame_bind(self.frame, i, tensor.data_ptr())

    def check(self, status):
        if status == FAILED:
            raise native.PkbError(self.error.value.decode())
        return status

    def run(self, step=0):
        """The status of `run`; what it leaves pending is executed."""
        status = self.check(self.table.run(self.frame, step, None, self.error, 1000))
        if status == PENDING:
            self.check(self.table.execute(self.frame, step, self.error, 1000))
        return status

    def value(self, slot):
        """A copy of the slot's tensor."""
        like = self.tensors[slot]
        out = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype)
        if out.numel():
            last = sum((n - 1) * s for n, s in zip(like.shape, like.stride()))
            ctypes.memmove(out.data_ptr(), self.table.frame_data(self.frame, slot), (last + 1) * like.element_size())
        return out

    def close(self):
        self.table.frame_destroy(self.frame)
        self.table.plan_destroy(self.plan)


def bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def t(i):
    return {"t": i}


class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table = load_table()
        torch.manual_seed(0)

    def compare(self, op, tensors, args, kwargs=(), expected=None, results=None):
        """Runs `op` through the table, once with results that it makes itself and once into bound memory, and compares bitwise."""
        name, _, overload = op.partition(".")
        packet = getattr(torch.ops.aten, name)
        function = getattr(packet, overload or "default")
        if expected is None:
            expected = function(*[self.plain(a, tensors) for a in args], **{k: self.plain(v, tensors) for k, v in kwargs})
        flat = expected if isinstance(expected, (tuple, list)) else (expected,)
        count = len(tensors)
        slots = list(range(count, count + len(flat)))
        if results is None:
            listed = isinstance(expected, list)
            results = [{"ts": slots}] if listed else [t(i) for i in slots]
        step = {"kind": "aten", "op": f"aten::{name}", "overload": overload, "args": args, "kwargs": [list(k) for k in kwargs], "results": results,
                "mutates": []}  # fmt: skip
        for memory in (OWN, BOUND):
            made = [torch.full_like(e, 1) if memory == BOUND else e for e in flat]
            frame = Frame(self.table, [(x.clone(), BOUND) for x in tensors] + [(m, memory) for m in made], [step])
            frame.run()
            for i, want in zip(slots, flat):
                got = frame.value(i)
                self.assertEqual(got.shape, want.shape)
                self.assertTrue(torch.equal(bits(got), bits(want)), f"{op} slot {i}: {got} {want}")
            frame.close()

    def plain(self, encoded, tensors):
        """The Python value of an encoded argument."""
        (key, value), = encoded.items()  # fmt: skip
        if key == "t":
            return tensors[value]
        if key == "ts":
            return [None if i is None else tensors[i] for i in value]
        if key == "list":
            return [self.plain(item, tensors) for item in value]
        if key == "n":
            return None
        if key == "dtype":
            return getattr(torch, value)
        if key == "device":
            return torch.device("cpu")
        if key == "layout":
            return torch.strided
        if key == "mf":
            return getattr(torch, value + "_format")
        if key == "f":
            return float(value)
        return value

    def test_scalars_and_defaults(self):
        x, y = torch.randn(3, 4), torch.randn(4)
        self.compare("add.Tensor", [x, y], [t(0), t(1)])
        self.compare("add.Tensor", [x, y], [t(0), t(1)], [("alpha", {"f": 0.5})])
        # A number in the place of a tensor does not change the type of the result.
        self.compare("mul.Tensor", [x.bfloat16()], [t(0), {"f": 2.5}])
        self.compare("div.Tensor", [x.half()], [t(0), {"i": 3}])
        self.compare("add.Scalar", [x], [t(0), {"i": 3}, {"i": 2}])
        self.compare("clamp", [x], [t(0), {"n": None}, {"f": 0.25}])
        self.compare("clamp_max", [x], [t(0), {"f": "-inf"}])
        self.compare("nan_to_num", [x / 0], [t(0), {"f": 1.0}, {"n": None}, {"f": "inf"}])
        self.compare("gelu", [x], [t(0)], [("approximate", {"s": "tanh"})])
        self.compare("eq.Scalar", [x.to(torch.int64)], [t(0), {"b": True}])
        self.compare("pow.Scalar", [x.abs()], [{"f": 2.5}, t(0)])

    def test_matrix_products_go_into_given_memory(self):
        a, b, c = torch.randn(3, 4), torch.randn(4, 5), torch.randn(3, 5)
        self.compare("mm", [a, b], [t(0), t(1)])
        self.compare("addmm", [c, a, b], [t(0), t(1), t(2)], [("beta", {"i": 2}), ("alpha", {"f": 0.5})])
        self.compare("bmm", [a.expand(2, 3, 4).contiguous(), b.expand(2, 4, 5).contiguous()], [t(0), t(1)])
        self.compare("mm", [a.bfloat16(), b.bfloat16()], [t(0), t(1)])

    def test_lists(self):
        x, y = torch.randn(3, 4), torch.randn(2, 4)
        self.compare("cat", [x, y], [{"ts": [0, 1]}, {"i": 0}])
        self.compare("cat", [x, y], [{"list": [t(0), t(1)]}])
        self.compare("index.Tensor", [x, torch.tensor([2, 0])], [t(0), {"ts": [None, 1]}])
        self.compare("sum.dim_IntList", [x], [t(0), {"is": [1]}, {"b": True}])
        self.compare("sum.dim_IntList", [x.half()], [t(0), {"is": [0]}], [("dtype", {"dtype": "float32"})])
        self.compare("amax", [x], [t(0), {"is": [0, 1]}])
        self.compare("constant_pad_nd", [x], [t(0), {"is": [1, 2]}, {"f": -1.5}])
        self.compare("upsample_nearest2d", [torch.randn(1, 1, 2, 2)], [t(0), {"is": [4, 4]}, {"f": 2.0}, {"f": 2.0}])
        self.compare("avg_pool2d", [torch.randn(1, 1, 4, 4)], [t(0), {"i": 2}])  # int[2] given as one int
        self.compare("split_with_sizes_copy", [x], [t(0), {"is": [1, 3]}, {"i": 1}])

    def test_several_results(self):
        x, w, b = torch.randn(3, 4), torch.randn(4), torch.randn(4)
        self.compare("native_layer_norm", [x, w, b], [t(0), {"is": [4]}, t(1), t(2), {"f": 1e-5}])
        self.compare("max.dim", [x], [t(0), {"i": 1}])
        self.compare("topk", [x], [t(0), {"i": 2}])
        self.compare("sort.stable", [x], [t(0)], [("stable", {"b": True}), ("dim", {"i": 0})])
        self.compare("frexp.Tensor", [x], [t(0)])

    def test_factories_and_types(self):
        x = torch.randn(3, 4)
        options = [("dtype", {"dtype": "bfloat16"}), ("layout", {"layout": "strided"}), ("device", {"device": "cuda"}), ("pin_memory", {"b": False})]
        self.compare("full", [], [{"is": [2, 3]}, {"f": 1.5}], options)
        self.compare("arange.start_step", [], [{"i": 1}, {"i": 9}, {"i": 3}], [("device", {"device": "cuda:1"})])
        self.compare("zeros", [], [{"is": []}])
        self.compare("_to_copy", [x], [t(0)], [("dtype", {"dtype": "float8_e4m3fn"})])
        self.compare("_to_copy", [x], [t(0)], [("dtype", {"dtype": "complex64"}), ("device", {"device": "cuda"})])
        self.compare("clone", [x.t()], [t(0)], [("memory_format", {"mf": "contiguous"})])
        self.compare("new_empty", [torch.zeros(2)], [t(0), {"is": [0, 4]}])
        self.compare("tril", [x], [t(0), {"i": -1}])

    def test_views_need_no_execution(self):
        x = torch.randn(3, 4)
        for step, want in (
            ({"op": "aten::t", "args": [t(0)]}, x.t()),
            ({"op": "aten::slice", "overload": "Tensor", "args": [t(0), {"i": 1}, {"i": 1}, {"i": 3}]}, x[:, 1:3]),
            ({"op": "aten::expand", "args": [t(0), {"is": [2, 3, 4]}]}, x.expand(2, 3, 4)),
            ({"op": "aten::_unsafe_view", "args": [t(0), {"is": [12]}]}, x.view(12)),
        ):
            frame = Frame(self.table, [(x, BOUND), (want, OWN)], [{"kind": "aten", "overload": "", "kwargs": [], "results": [t(1)], **step}])
            view = step["op"] != "aten::_unsafe_view"  # its schema promises a tensor of its own
            self.assertEqual(frame.run(), DONE if view else PENDING, step)
            self.assertEqual(frame.table.frame_data(frame.frame, 1) == want.data_ptr(), view, step)
            self.assertTrue(torch.equal(frame.value(1), want))
            frame.close()

    def test_a_reshape_that_must_copy_waits_for_its_data(self):
        x = torch.randn(3, 4).t()
        want = x.reshape(12)
        frame = Frame(self.table, [(x, BOUND), (want, OWN)],
                      [{"kind": "aten", "op": "aten::reshape", "overload": "", "args": [t(0), {"is": [12]}], "kwargs": [], "results": [t(1)]}])  # fmt: skip
        status = frame.check(self.table.run(frame.frame, 0, None, frame.error, 1000))
        self.assertEqual(status, PENDING)
        x.mul_(2)  # what a kernel before it would still write
        frame.check(self.table.execute(frame.frame, 0, frame.error, 1000))
        self.assertTrue(torch.equal(frame.value(1), want * 2))
        frame.close()

    def test_strides_are_those_of_the_slot(self):
        x = torch.randn(3, 4)
        turned = torch.empty_strided((3, 4), (1, 3))
        frame = Frame(self.table, [(x, BOUND), (turned, OWN)],
                      [{"kind": "aten", "op": "aten::neg", "overload": "", "args": [t(0)], "kwargs": [], "results": [t(1)]}])  # fmt: skip
        frame.run()
        self.assertTrue(torch.equal(frame.value(1), -x))
        frame.close()

    def test_an_out_overload_without_a_kernel_for_the_device_is_not_taken(self):
        library = torch.library.Library("pkb_aten_test", "DEF")
        out = "out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
        for name in ("elsewhere", "here"):
            library.define(f"{name}(Tensor x) -> Tensor")
            library.define(f"{name}.{out}")
            library.impl(name, lambda x: x * 2, "CPU")
        called = []
        library.impl("elsewhere.out", lambda x, *, out: self.fail("the kernel of another device"), "CUDA")
        library.impl("here.out", lambda x, *, out: called.append(torch.mul(x, 2, out=out)) or out, "CPU")
        x, result = torch.randn(3, 4), torch.zeros(3, 4)
        for name in ("elsewhere", "here"):
            result.zero_()
            step = {"kind": "aten", "op": f"pkb_aten_test::{name}", "overload": "", "args": [t(0)], "kwargs": [], "results": [t(1)]}
            frame = Frame(self.table, [(x, BOUND), (result, BOUND)], [step])
            frame.run()
            self.assertTrue(torch.equal(result, x * 2), name)
            frame.close()
        self.assertEqual(len(called), 1)

    def test_writes_in_place_stay_in_place(self):
        x, other = torch.randn(3, 4), torch.randn(3, 4)
        want = x + 2 * other
        steps = [{"kind": "aten", "op": "aten::add_", "overload": "Tensor", "args": [t(0), t(1)], "kwargs": [["alpha", {"i": 2}]], "results": [t(0)], "mutates": [0]},
                 {"kind": "aten", "op": "aten::copy_", "overload": "", "args": [t(1), t(0)], "kwargs": [], "results": [t(1)], "mutates": [1]},
                 {"kind": "copy", "from": 0, "to": 2}]  # fmt: skip
        turned = torch.empty_strided((3, 4), (1, 3))
        frame = Frame(self.table, [(x, BOUND), (other, BOUND), (turned, BOUND)], steps)
        for step in range(3):
            frame.run(step)
        for tensor in (x, other, turned):
            self.assertTrue(torch.equal(tensor, want))
        frame.close()

    def test_what_does_not_fit_is_one_line(self):
        x = torch.randn(3, 4)

        def error(**step):
            base = {"kind": "aten", "op": "aten::neg", "overload": "", "args": [t(0)], "kwargs": [], "results": [t(1)]}
            with self.assertRaises(native.PkbError) as caught:
                frame = Frame(self.table, [(x, BOUND), (torch.empty(4, 3), OWN), (torch.empty(3, 4), OWN)], [{**base, **step}])
                frame.run()
            self.assertNotIn("\n", str(caught.exception))
            return str(caught.exception)

        self.assertIn("returned Float [3, 4] for slot 1, which was recorded as Float [4, 3]", error())
        self.assertIn("operator 'aten::neg.nothing' is not in this libtorch (2.11.0)", error(overload="nothing"))
        self.assertIn("is given 2 arguments, takes 1", error(args=[t(0), t(0)]))
        self.assertIn("argument 'self': argument {\"s\":\"1\"} cannot be given as Tensor", error(args=[{"s": "1"}]))
        self.assertIn("argument 'self' is Tensor, got: {\"ts\":[0]}", error(args=[{"ts": [0]}]))
        self.assertIn("has 2 results, returns 1", error(results=[t(1), t(1)]))
        self.assertIn("dtype 'float7' is not known", error(op="aten::_to_copy", kwargs=[["dtype", {"dtype": "float7"}]]))
        self.assertIn("layout 'sparse_coo' is not supported", error(op="aten::_to_copy", kwargs=[["layout", {"layout": "sparse_coo"}]]))
        self.assertIn("operator 'aten::neg' reads slot 2 before an operator has made it", error(args=[t(2)]))


if __name__ == "__main__":
    unittest.main()
