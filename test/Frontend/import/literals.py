# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Constant tensors: small ones inline, large ones as resources, views of one storage put together.
#
# RUN: %python %s %t.pkb && pkb-opt %t.pkb | FileCheck %s
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import spmd


def program(rank):
    results = []

    def constant(sizes, dtype, data, **more):
        tensor = rank.literal(rank.tensor(sizes, dtype, origin="literal", **more), data)
        results.append(tensor)

    # CHECK-DAG: aten.literal dense<[1.500000e+00, -2.000000e+00]> : tensor<2xf32>
    constant([2], "float32", struct.pack("<2f", 1.5, -2))
    # CHECK-DAG: aten.literal dense<[true, false, true]> : tensor<3xi1>
    constant([3], "bool", bytes([1, 0, 1]))
    # CHECK-DAG: aten.literal dense<[0, 255]> : tensor<2xui8>
    constant([2], "uint8", bytes([0, 255]))
    # CHECK-DAG: aten.literal dense<-3> : tensor<i64>
    constant([], "int64", struct.pack("<q", -3))
    # CHECK-DAG: aten.literal dense<(1.000000e+00,2.000000e+00)> : tensor<1xcomplex<f32>>
    constant([1], "complex64", struct.pack("<2f", 1, 2))
    # CHECK-DAG: aten.literal dense_resource<literal_5> : tensor<300xi32>
    constant([300], "int32", struct.pack("<300i", *range(300)))
    # A transposed constant [[1, 2], [3, 4]] lies as 1 3 2 4.
    # CHECK-DAG: %[[T:.*]] = aten.literal dense<[1, 3, 2, 4]> : tensor<4xi32>
    # CHECK-DAG: aten.as_strided %[[T]] : tensor<4xi32> -> tensor<2x2xi32, #aten.strided<[1, 2], 0>>
    constant([2, 2], "int32", struct.pack("<4i", 1, 2, 3, 4), strides=[1, 2])
    # Two views of one storage.
    # CHECK-DAG: %[[S:.*]] = aten.literal dense<[7, 0, 8]> : tensor<3xi32>
    # CHECK-DAG: aten.as_strided %[[S]] : tensor<3xi32> -> tensor<1xi32, #aten.strided<[1], 2>>
    both = rank.storage(12, "literal")
    constant([1], "int32", struct.pack("<i", 7), storage=both)
    constant([1], "int32", struct.pack("<i", 8), storage=both, offset=2)
    rank.returns(*results)
    # CHECK: literal_5: "0x{{[0-9A-F]+}}"


spmd(sys.argv[1], 2, program)
