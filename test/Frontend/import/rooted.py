# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A list that only the root has: the ranks have functions of their own, which call the same operation.
#
# RUN: %python %s %t && pkb-opt %t.pkb | FileCheck %s
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import Rank, write

# CHECK: func.func @main_0(%[[X:.*]]: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {{.*}}comm.ranks = array<i64: 0, 2>
# What is not there: one absent tensor stands for the whole list.
# CHECK: %[[NONE:.*]] = comm.absent : tensor<2x3xf32>
# CHECK: comm.scatter %[[NONE]], %[[NONE]], %[[NONE]] in <{{\[}}[0, 1, 2]]> from [1] {comm.exchange = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
# Results that nobody gets here have the type of the input.
# CHECK: comm.gather %[[X]] in <{{\[}}[0, 1, 2]]> to [1] {comm.exchange = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
# CHECK: func.func @main_1(%[[Y:.*]]: tensor<2x3xf32>, %[[Z:.*]]: tensor<5x3xf32>) -> (tensor<6xf32>, tensor<2x3xf32>) attributes {{.*}}comm.ranks = array<i64: 1>
# A contiguous part is read where it is, a part with gaps is copied.
# CHECK: %[[ROWS:.*]] = aten.as_strided %[[Z]] : tensor<5x3xf32> -> tensor<2x3xf32, #aten.strided<[3, 1], 3>>
# CHECK: %[[GAPS:.*]] = aten.as_strided %[[Z]] : tensor<5x3xf32> -> tensor<3x2xf32, #aten.strided<[3, 1], 1>>
# CHECK: %[[DENSE:.*]] = aten.call "aten::clone"(%[[GAPS]]){{.*}} -> tensor<3x2xf32>
# The shape of a piece is the business of the rank that has it.
# CHECK: %[[PIECE:.*]] = aten.as_strided %[[Y]] : tensor<2x3xf32> -> tensor<6xf32>
# CHECK: %[[PART:.*]] = aten.as_strided %[[ROWS]] : tensor<2x3xf32, #aten.strided<[3, 1], 3>> -> tensor<6xf32, #aten.strided<[1], 3>>
# CHECK: %[[FLAT:.*]] = aten.as_strided %[[DENSE]] : tensor<3x2xf32> -> tensor<6xf32>
# CHECK: %[[S:.*]] = comm.scatter %[[PIECE]], %[[PART]], %[[FLAT]] in <{{\[}}[0, 1, 2]]> from [1] {comm.exchange = 0 : i64} : (tensor<6xf32>, tensor<6xf32, #aten.strided<[1], 3>>, tensor<6xf32>) -> tensor<6xf32>
# CHECK: %[[G:.*]]:3 = comm.gather %[[Y]] in <{{\[}}[0, 1, 2]]> to [1] {comm.exchange = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
# CHECK: return %[[S]], %[[G]]#2


def program(number):
    rank = Rank()
    x = rank.input([2, 3])
    root = number == 1
    piece = rank.tensor([6] if root else [2, 3])
    z = rank.input([5, 3]) if root else None
    rank.collective("scatter", [x, rank.view(z, [2, 3], offset=3), rank.view(z, [3, 2], [3, 1], offset=1)] if root else [], [piece], root=1)
    pieces = [rank.tensor([2, 3]) for _ in range(3)] if root else []
    rank.collective("gather", [x], pieces, root=1)
    rank.returns(*([piece, pieces[2]] if root else [piece]))
    return rank


write(sys.argv[1] + ".pkb", [program(k) for k in range(3)])
