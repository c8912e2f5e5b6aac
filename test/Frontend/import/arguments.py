# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Arguments that share memory, arguments that are written, results that are views: all exact in the function's attributes.
#
# RUN: %python %s %t.pkb && pkb-opt %t.pkb | FileCheck %s
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import spmd

# CHECK: module attributes {aten.program = #aten.program<function = "solution", bundle = "{{[0-9a-f]+}}",
# CHECK-SAME: capture = "0123456789abcdef0123456789abcdef", torch = "2.11.0"
# CHECK-SAME: inputs = <tuple items[<tensor at 0>, <list items[<tensor at 1>, <tensor at 0>]>, <dict items[<tensor at 2>, <int value 3 : i64>] keys["w", "n"]>, <none>, <float value 0x7FF0000000000000 : f64>, <bool value true>, <str value "mean">, <size value array<i64: 2, 3>>, <dtype value #aten.dtype<bfloat16>>, <device value #aten.device<cuda>>, <group value #comm.group<{{\[}}[0, 1]]>>, <module items[<tensor at 3>] keys["weight"] value "torch.nn.Linear">]>
# CHECK-SAME: outputs = <tuple items[<tensor at 0>, <tensor at 1>, <tensor at 2>, <tensor at 3>, <tensor at 4>, <tensor at 1>]>


def program(rank):
    # The first eight elements, the whole, and one with an offset in a storage of its own: its memory begins with it.
    # CHECK: func.func @main(
    # CHECK-SAME: %[[HEAD:[a-z0-9]+]]: tensor<8xf32> {aten.alias_of = #aten.alias<argument, 1>},
    # CHECK-SAME: %[[ALL:[a-z0-9]+]]: tensor<16xf32>,
    # CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<2x4xf32, #aten.strided<[8, 1], 0>>,
    # CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<4xf32>)
    memory = rank.storage(64, "input")
    head, whole = rank.tensor([8], storage=memory), rank.tensor([16], storage=memory)
    weight = rank.tensor([2, 4], strides=[8, 1], offset=4, storage=rank.storage(4096, "input"))
    parameter = rank.tensor([4], origin="input")
    leaf = lambda t: {"kind": "tensor", "id": t}
    rank.inputs = {"kind": "tuple", "items": [
        leaf(head), {"kind": "list", "items": [leaf(whole), leaf(head)]},
        {"kind": "dict", "keys": ["w", "n"], "items": [leaf(weight), {"kind": "int", "value": 3}]},
        {"kind": "none"}, {"kind": "float", "value": "inf"}, {"kind": "bool", "value": True}, {"kind": "str", "value": "mean"},
        {"kind": "size", "value": [2, 3]}, {"kind": "dtype", "value": "bfloat16"}, {"kind": "device", "value": "cuda:1"},
        {"kind": "group", "id": 0}, {"kind": "module", "class": "torch.nn.Linear", "keys": ["weight"], "items": [leaf(parameter)]}]}
    # CHECK-SAME: -> (tensor<8xf32> {aten.alias_of = #aten.alias<argument, 1>},
    # CHECK-SAME: tensor<2xf32, #aten.strided<[1], 2>> {aten.alias_of = #aten.alias<result, 2>},
    # CHECK-SAME: tensor<4xf32>,
    # CHECK-SAME: tensor<2xf32, #aten.strided<[8], 0>> {aten.alias_of = #aten.alias<argument, 2>},
    # CHECK-SAME: tensor<2x2xf32, #aten.strided<[1, 2], 0>> {aten.alias_of = #aten.alias<result, 2>},
    # CHECK-SAME: tensor<16xf32> {aten.mutation_of = 1 : i64})
    # CHECK: %[[V0:.*]] = aten.as_strided %[[ALL]] : tensor<16xf32> -> tensor<8xf32>
    # CHECK: %[[NEW:.*]] = aten.call "aten::zero_"(%[[V0]]) {{.*}} mutates [0]
    # CHECK: %[[V1:.*]] = aten.view_write %[[ALL]], %[[NEW]] : tensor<16xf32>, tensor<8xf32>
    rank.op("aten::zero_", [{"t": head}], [head], mutates=[head])
    # CHECK: aten.call "aten::sum" overload "dim_IntList"(%[[V1]])
    total = rank.tensor([4])
    rank.op("aten::sum", [{"t": whole}, {"is": [0]}], [total], overload="dim_IntList")
    # CHECK: return {{.*}}, %[[V1]] :
    tail = rank.view(total, [2], offset=2)
    square = rank.view(total, [2, 2], [1, 2])
    column = rank.view(weight, [2], [8], offset=4)
    rank.outputs = {"kind": "tuple", "items": [leaf(head), leaf(tail), leaf(total), leaf(column), leaf(square), leaf(tail)]}


spmd(sys.argv[1], 2, program)
