# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Parts of different sizes: each operation holds the numbers of elements of all ranks.
#
# RUN: %python %s %t
# RUN: pkb-opt %t.alike.pkb | FileCheck %s --check-prefix=ALIKE
# RUN: pkb-opt %t.apart.pkb | FileCheck %s --check-prefix=APART
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import Rank, write


def case(name, program, world_size=2, **more):
    ranks = []
    for number in range(world_size):
        ranks.append(Rank())
        program(ranks[-1], number)
    write(f"{sys.argv[1]}.{name}.pkb", ranks, **more)


# Ranks that all send the same table run one function. Splits count rows, the operation elements.
# ALIKE: func.func @main(
def alike(rank, number):
    # ALIKE: comm.all_to_all_v %{{.*}} in <{{\[}}[0, 1]]> counts {{\[}}[6, 6], [6, 6]] : (tensor<3x4xf32>) -> tensor<1x12xf32>
    rank.collective("all_to_all", [rank.input([3, 4])], [rank.tensor([1, 12])])
    # Rows that are empty have no elements, however they are split.
    # ALIKE: comm.all_to_all_v %{{.*}} counts {{\[}}[0, 0], [0, 0]] : (tensor<3x0xf32>) -> tensor<3x0xf32>
    rank.collective("all_to_all", [rank.input([3, 0])], [rank.tensor([3, 0])],
                    splits={"in": [1, 2], "out": [2, 1]})


case("alike", alike)

# Rank k has k + 1 rows. The functions differ, the tables do not.
# APART: func.func @main_0(%[[X:.*]]: tensor<1x4xf32>, %[[P:.*]]: tensor<4xf32>, %[[Q:.*]]: tensor<8xf32>)
# APART: comm.all_gather_v %[[X]] in <{{\[}}[0, 1]]> counts [4, 8] {comm.exchange = 0 : i64} : (tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<2x4xf32>)
# APART: comm.reduce_scatter_v premul_sum %[[P]], %[[Q]] in <{{\[}}[0, 1]]> counts [4, 8] factors [1.000000e+00, 2.000000e+00] accumulate f32 deterministic {comm.exchange = 1 : i64} : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
# APART: comm.all_to_all_v %[[X]] in <{{\[}}[0, 1]]> counts {{\[}}[4, 0], [0, 8]] {comm.exchange = 2 : i64} : (tensor<1x4xf32>) -> tensor<1x4xf32>
# APART: comm.all_to_all_v %[[P]], %[[X]] in <{{\[}}[0, 1]]> counts {{\[}}[4, 4], [8, 8]] {comm.exchange = 3 : i64} : (tensor<4xf32>, tensor<1x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>)
# APART: func.func @main_1(%[[X:.*]]: tensor<2x4xf32>, %[[P:.*]]: tensor<4xf32>, %[[Q:.*]]: tensor<8xf32>)
# APART: comm.all_gather_v %[[X]] {{.*}} counts [4, 8] {comm.exchange = 0 : i64} : (tensor<2x4xf32>) -> (tensor<1x4xf32>, tensor<2x4xf32>)
# APART: comm.reduce_scatter_v premul_sum %[[P]], %[[Q]] {{.*}} counts [4, 8] factors [1.000000e+00, 2.000000e+00] {{.*}} {comm.exchange = 1 : i64} : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
# APART: comm.all_to_all_v %[[X]] {{.*}} counts {{\[}}[4, 0], [0, 8]] {comm.exchange = 2 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
# APART: comm.all_to_all_v %[[Q]], %[[X]] {{.*}} counts {{\[}}[4, 4], [8, 8]] {comm.exchange = 3 : i64} : (tensor<8xf32>, tensor<2x4xf32>) -> (tensor<4xf32>, tensor<8xf32>)
def apart(rank, number):
    x, p, q = rank.input([number + 1, 4]), rank.input([4]), rank.input([8])
    rank.collective("all_gather", [x], [rank.tensor([1, 4]), rank.tensor([2, 4])])
    rank.collective("reduce_scatter", [p, q], [rank.tensor([8 if number else 4])], reduce="premul_sum", factor=number + 1)
    own = [0, 2] if number else [1, 0]
    rank.collective("all_to_all", [x], [rank.tensor([number + 1, 4])], splits={"in": own, "out": own})
    rank.collective("all_to_all", [q if number else p, x], [rank.tensor([4]), rank.tensor([8] if number else [2, 4])])


case("apart", apart)
