# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What cannot be imported yet is refused by name, with the line of the user's program.
#
# RUN: %python %s %t
# RUN: not pkb-opt %t.dtype.pkb 2>&1 | FileCheck %s --check-prefix=DTYPE
# DTYPE: tensors[1]: tensor of dtype 'quint4x2' (first at model.py:12) is not supported
# RUN: not pkb-opt %t.symbol.pkb 2>&1 | FileCheck %s --check-prefix=SYMBOL
# SYMBOL: tensors[0]: sizes: symbolic value 's0*2' is not supported; export without --dynamic
# RUN: not pkb-opt %t.symbols.pkb 2>&1 | FileCheck %s --check-prefix=SYMBOLS
# SYMBOLS: bundle has symbols ({"name":"s0"}), which are not supported; export without --dynamic
# RUN: not pkb-opt %t.guards.pkb 2>&1 | FileCheck %s --check-prefix=GUARDS
# GUARDS: bundle has guards ({"expr":"s0 > 4"}), which are not supported
# RUN: not pkb-opt %t.encoding.pkb 2>&1 | FileCheck %s --check-prefix=ENCODING
# ENCODING: model.py:12: aten::add.Tensor: argument encoding 'q' is not known
# RUN: not pkb-opt %t.device.pkb 2>&1 | FileCheck %s --check-prefix=DEVICE
# DEVICE: model.py:12: aten::to: device 'xla:0' is not supported
# RUN: not pkb-opt %t.item.pkb 2>&1 | FileCheck %s --check-prefix=ITEM
# ITEM: model.py:12: aten::item: gives a value to the host, which is not supported; keep it in a tensor
# RUN: not pkb-opt %t.resize.pkb 2>&1 | FileCheck %s --check-prefix=RESIZE
# RESIZE: model.py:12: aten::resize_: gives a tensor another storage, which is not supported; make a new tensor instead
# RUN: not pkb-opt %t.host.pkb 2>&1 | FileCheck %s --check-prefix=HOST
# HOST: model.py:12: all_reduce: a tensor in host memory is not supported; move it to the device first
# A result has the line that made it, an argument the line that uses it first.
# RUN: not pkb-opt %t.result.pkb 2>&1 | FileCheck %s --check-prefix=RESULT
# RESULT: model.py:14: result 1, made here, is a tensor in host memory, which is not supported; return one on the device
# RUN: not pkb-opt %t.constant.pkb 2>&1 | FileCheck %s --check-prefix=CONSTANT
# CONSTANT: model.py:12: result 0, made here, is a tensor in host memory, which is not supported; return one on the device
# RUN: not pkb-opt %t.argument.pkb 2>&1 | FileCheck %s --check-prefix=ARGUMENT
# ARGUMENT: model.py:13: argument 0, used here, is a tensor in host memory, which is not supported; pass one on the device
# RUN: not pkb-opt %t.unused.pkb 2>&1 | FileCheck %s --check-prefix=UNUSED
# UNUSED: unused.pkb': argument 0 is a tensor in host memory, which is not supported; pass one on the device
# RUN: not pkb-opt %t.overlap.pkb 2>&1 | FileCheck %s --check-prefix=OVERLAP
# OVERLAP: arguments 0 and 1 overlap in memory and neither contains the other, which is not supported; pass the whole tensor
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import spmd


def case(name, **more):
    def decorate(program):
        spmd(f"{sys.argv[1]}.{name}.pkb", 2, lambda rank: program(rank.at(12)), **more)
    return decorate


case("dtype")(lambda r: r.op("aten::quantize", [{"t": r.input([4])}], [r.tensor([4], "quint4x2")]))
case("symbol")(lambda r: r.tensors[r.input([4])].update(sizes=[{"expr": "s0*2"}]))
case("symbols", edit=lambda b: b.update(symbols=[{"name": "s0"}]))(lambda r: None)
case("guards", edit=lambda b: b.update(guards=[{"expr": "s0 > 4"}]))(lambda r: None)
case("encoding")(lambda r: r.op("aten::add", [{"t": r.input([4])}, {"q": 1}], [r.tensor([4])], overload="Tensor"))
case("device")(lambda r: r.op("aten::to", [{"t": r.input([4])}, {"device": "xla:0"}], [r.tensor([4])]))
case("item")(lambda r: r.op("aten::item", [{"t": r.input([])}], [{"f": 1.0}]))
case("unused")(lambda r: r.input([4], storage=r.storage(16, "input", device="cpu")))
case("host")(lambda r: r.all_reduce(r.literal(r.tensor([4], storage=r.storage(16, "literal", device="cpu")), bytes(16))))


@case("result")
def result(r):
    x = r.input([4])
    y, z = r.tensor([4]), r.tensor([4], storage=r.storage(16, "op", device="cpu"))
    r.op("aten::neg", [{"t": x}], [y])
    r.at(14).op("aten::_to_copy", [{"t": y}], [z], kwargs=[("device", {"device": "cpu"})])
    r.at(15).op("aten::abs", [{"t": x}], [r.tensor([4])])
    r.returns(y, r.view(z, [2]))


@case("constant")
def constant(r):
    r.returns(r.literal(r.tensor([4], storage=r.storage(16, "literal", device="cpu")), bytes(16)))


@case("argument")
def argument(r):
    memory = r.storage(16, "input", device="cpu")
    x = r.input([4], storage=memory)
    r.at(13).op("aten::abs", [{"t": x}], [r.tensor([4])])
    r.at(14).op("aten::neg", [{"t": x}], [r.tensor([4])])


@case("resize")
def resize(r):
    x = r.input([4])
    r.op("aten::resize_", [{"t": x}, {"is": [8]}], [x], mutates=[x])


@case("overlap")
def overlap(r):
    memory = r.storage(24, "input")
    r.input([4], storage=memory)
    r.input([4], storage=memory, offset=2)
