# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Parts of different sizes: each operation holds the numbers of elements of all ranks.
#
# RUN: %python %s %t
# RUN: pkb-opt %t.alike.pkb | FileCheck %s --check-prefix=ALIKE
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
