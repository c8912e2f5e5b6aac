# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every encoding of an argument has its attribute, and every shape that results come in.
#
# RUN: %python %s %t.pkb && pkb-opt %t.pkb | FileCheck %s
#
# The manifest of the program has them as the bundle had, slots in place of tensors.
# RUN: pkb-opt %t.pkb --pkb-pipeline=target=h200x1 --emit=cuda | FileCheck %s --check-prefix=STEP
# STEP: {"args":[{"t":0},{"ts":[1,null,0]},{"i":-7},{"f":1.5},{"f":"-inf"},{"b":true},{"s":"s"},{"is":[1,2]},
# STEP-SAME: {"fs":[0.5,"nan"]},{"bs":[true,false]},{"n":null},{"dtype":"float8_e4m3fn"},{"device":"cuda"},{"device":"cpu"},
# STEP-SAME: {"layout":"strided"},{"mf":"channels_last"},{"c":[1,-2]},{"list":[{"i":1},{"list":[{"i":2},{"t":1}]}]},{"is":[]}],
# STEP-SAME: "kwargs":{{\[\[}}"alpha",{"i":2}],["like",{"t":1}]],"mutates":[],"op":"my::op","overload":"all","results":[{"t":[[A:[0-9]+]]},{"n":null}]
# STEP: "results":[{"ts":[[[B:[0-9]+]],null,[[C:[0-9]+]]]},{"t":[[D:[0-9]+]]},{"n":null}]
# STEP: "mutates":[[[B]],[[C]]],"op":"aten::_foreach_add_"
# STEP: "mutates":[],"op":"aten::_assert_async"
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import spmd


def program(rank):
    x, y = rank.input([4]), rank.input([4])
    a = rank.tensor([4])
    # CHECK: aten.call "my::op" overload "all"(%[[X:.*]], %[[Y:.*]]) args [
    # CHECK-SAME: #aten.operand<0>, #aten.operands<[1, -1, 0]>, -7, 1.500000e+00, 0xFFF0000000000000 : f64, true, "s",
    # CHECK-SAME: array<i64: 1, 2>, array<f64: 5.000000e-01, 0x7FF8000000000000>, array<i1: true, false>, unit,
    # CHECK-SAME: #aten.dtype<float8_e4m3fn>, #aten.device<cuda>, #aten.device<cpu>, #aten.layout<strided>,
    # CHECK-SAME: #aten.memory_format<channels_last>, #aten.complex<1.000000e+00 : f64, -2.000000e+00 : f64>,
    # CHECK-SAME: [1, [2, #aten.operand<1>]], array<i64>]
    # CHECK-SAME: kwargs {alpha = 2 : i64, like = #aten.operand<1>} returns [#aten.result<0>, unit]
    rank.op("my::op", [{"t": x}, {"ts": [y, None, x]}, {"i": -7}, {"f": 1.5}, {"f": "-inf"}, {"b": True}, {"s": "s"},
                       {"is": [1, 2]}, {"fs": [0.5, "nan"]}, {"bs": [True, False]}, {"n": None}, {"dtype": "float8_e4m3fn"},
                       {"device": "cuda"}, {"device": "cpu"}, {"layout": "strided"}, {"mf": "channels_last"}, {"c": [1, -2]},
                       {"list": [{"i": 1}, {"list": [{"i": 2}, {"t": y}]}]}, {"is": []}],
            [a, {"i": 3}], overload="all", kwargs=[["like", {"t": y}], ["alpha", {"i": 2}]])
    # A list of fresh tensors beside one, and a None.
    # CHECK: %{{.*}}:3 = aten.call "my::split"({{.*}}) args [#aten.operand<0>] returns [#aten.results<[0, -1, 1]>, #aten.result<2>, unit]
    b, c, d = rank.tensor([2]), rank.tensor([2]), rank.tensor([2])
    rank.op("my::split", [{"t": a}], [{"ts": [b, None, c]}, d, {"n": None}])
    # Foreach operators in place return their operands; each has a new version.
    # CHECK: %[[F:.*]]:2 = aten.call "aten::_foreach_add_" overload "Scalar"({{.*}}) args [#aten.operands<[0, 1]>, 1]
    # CHECK-SAME: returns [#aten.operands<[0, 1]>] mutates [0, 1]
    rank.op("aten::_foreach_add_", [{"ts": [b, c]}, {"i": 1}], [{"ts": [b, c]}], mutates=[b, c], overload="Scalar")
    # An out argument is written; what is read later is its new version.
    # CHECK: %[[OUT:.*]] = aten.call "aten::mul" overload "out"(%[[F]]#0, %[[F]]#1, %{{.*}}) {{.*}} kwargs {out = #aten.operand<2>} returns [#aten.operand<2>] mutates [2]
    rank.op("aten::mul", [{"t": b}, {"t": c}], [d], mutates=[d], overload="out", kwargs=[["out", {"t": d}]])
    # A call that returns nothing is made for what it does, one that draws numbers for the state it leaves.
    # CHECK: aten.call "aten::_assert_async"(%[[OUT]]) args [#aten.operand<0>] returns []
    rank.op("aten::_assert_async", [{"t": d}], [])
    # CHECK: aten.call "aten::rand_like"({{.*}}) {{.*}} rng
    rank.op("aten::rand_like", [{"t": d}], [rank.tensor([2])], rng=True)
    rank.returns(d)


spmd(sys.argv[1], 1, program)
