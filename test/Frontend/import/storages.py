# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Storages have versions: what a write through one view does to another is exact, and views by themselves are nothing.
#
# RUN: %python %s %t.pkb && pkb-opt %t.pkb | FileCheck %s
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import spmd


def program(rank):
    # CHECK: func.func @main(%[[X:.*]]: tensor<4x3xf32>, %[[Y:.*]]: tensor<3xf32>)
    x, y = rank.input([4, 3]), rank.input([3])
    # CHECK: %[[A:.*]] = aten.call "aten::add" overload "Tensor"(%[[X]], %[[Y]])
    # CHECK-SAME: args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>]
    a = rank.tensor([4, 3])
    rank.op("aten::add", [{"t": x}, {"t": y}], [a], overload="Tensor")
    # The view is no operation of its own.
    # CHECK-NOT: aten::select
    row = rank.view(a, [3], offset=6)
    rank.op("aten::select", [{"t": a}, {"i": 0}, {"i": 2}], [row], overload="int")
    # CHECK-NEXT: %[[ROW:.*]] = aten.as_strided %[[A]] : tensor<4x3xf32> -> tensor<3xf32, #aten.strided<[1], 6>>
    # CHECK-NEXT: %[[NEW:.*]] = aten.call "aten::mul_" overload "Tensor"(%[[ROW]], %[[Y]])
    # CHECK-SAME: returns [#aten.operand<0>] mutates [0]
    # CHECK-SAME: -> tensor<3xf32, #aten.strided<[1], 6>>
    # CHECK-NEXT: %[[A1:.*]] = aten.view_write %[[A]], %[[NEW]] : tensor<4x3xf32>, tensor<3xf32, #aten.strided<[1], 6>>
    rank.op("aten::mul_", [{"t": row}, {"t": y}], [row], mutates=[row], overload="Tensor")
    # Reading the base, or another view, sees the write.
    # CHECK-NEXT: %[[T:.*]] = aten.as_strided %[[A1]] : tensor<4x3xf32> -> tensor<3x4xf32, #aten.strided<[1, 3], 0>>
    # CHECK-NEXT: %[[M:.*]] = aten.call "aten::mm"(%[[A1]], %[[T]])
    t = rank.view(a, [3, 4], [1, 3])
    rank.op("aten::t", [{"t": a}], [t])
    m = rank.tensor([4, 4])
    rank.op("aten::mm", [{"t": a}, {"t": t}], [m])
    # A view of another dtype reads the same bytes.
    # CHECK-NEXT: %[[B:.*]] = aten.as_strided %[[M]] : tensor<4x4xf32> -> tensor<32xi16>
    # CHECK-NEXT: %[[H:.*]] = aten.call "aten::sum"(%[[B]])
    bits = rank.view(m, [32], dtype="int16")
    h = rank.tensor([], "int64")
    rank.op("aten::sum", [{"t": bits}], [h])
    # An operator that makes a transposed tensor says so in its type.
    # CHECK-NEXT: %[[S:.*]] = aten.call "aten::sin"(%[[T]]) {{.*}} -> tensor<3x4xf32, #aten.strided<[1, 3], 0>>
    s = rank.tensor([3, 4], strides=[1, 3])
    rank.op("aten::sin", [{"t": t}], [s])
    # A lazy conjugate is done when it is read.
    # CHECK-NEXT: %[[Z:.*]] = aten.call "aten::view_as_complex_copy"
    # CHECK-NEXT: %[[CZ:.*]] = aten.call "aten::conj_physical"(%[[Z]])
    # CHECK-NEXT: aten.call "aten::mul" overload "Tensor"(%[[CZ]], %[[Z]])
    z = rank.tensor([6], "complex64")
    rank.op("aten::view_as_complex_copy", [{"t": s}], [z])
    conj = rank.view(z, [6], conj=True)
    rank.op("aten::_conj", [{"t": z}], [conj])
    p = rank.tensor([6], "complex64")
    rank.op("aten::mul", [{"t": conj}, {"t": z}], [p], overload="Tensor")
    # Operators that change only what a tensor is a view of are nothing; the record describes it anew.
    # CHECK-NOT: aten::transpose_
    # CHECK: aten.as_strided %[[M]] : tensor<4x4xf32> -> tensor<4x4xf32, #aten.strided<[1, 4], 0>>
    turned = rank.view(m, [4, 4], [1, 4])
    rank.op("aten::transpose_", [{"t": m}, {"i": 0}, {"i": 1}], [turned], mutates=[m])
    rank.returns(turned, h, p)


spmd(sys.argv[1], 1, program)
