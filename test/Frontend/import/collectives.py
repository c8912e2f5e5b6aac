# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The collectives of the record become operations of `comm`, in every form they are recorded in.
#
# RUN: %python %s %t && cat %t.pkb | pkb-opt --mlir-print-debuginfo --mlir-print-local-scope - | FileCheck %s
# RUN: pkb-opt %t.groups.pkb | FileCheck %s --check-prefix=GROUPS
# RUN: pkb-opt %t.factors.pkb | FileCheck %s --check-prefix=FACTORS
# RUN: pkb-opt %t.roots.pkb | FileCheck %s --check-prefix=ROOTS
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import Rank, spmd, write


def program(rank):
    x = rank.input([4, 3], "bfloat16")
    # Narrow floats are summed in fp32; the line of the user's program is the location.
    # CHECK: func.func @main(%[[X:.*]]: tensor<4x3xbf16>
    # CHECK: %[[SUM:.*]] = comm.all_reduce sum %[[X]] in <{{\[}}[0, 1]]> accumulate f32 deterministic : tensor<4x3xbf16> loc("model.py":7:1)
    rank.at(7).all_reduce(x)
    # A result of flat memory: joined, stacked, or neither.
    # CHECK: %[[JOINED:.*]] = comm.all_gather %[[SUM]] in <{{.*}}> : (tensor<4x3xbf16>) -> tensor<8x3xbf16> loc("model.py":8:1)
    joined = rank.at(8).tensor([8, 3], "bfloat16")
    rank.collective("all_gather", [x], [joined])
    # CHECK: %[[STACKED:.*]] = comm.all_gather %[[SUM]] {{.*}} -> tensor<2x4x3xbf16>
    stacked = rank.tensor([2, 4, 3], "bfloat16")
    rank.collective("all_gather", [x], [stacked])
    # CHECK: %[[GATHERED:.*]] = comm.all_gather %[[SUM]] {{.*}} -> tensor<2x4x3xbf16>
    # CHECK: %[[FLAT:.*]] = aten.as_strided %[[GATHERED]] : tensor<2x4x3xbf16> -> tensor<24xbf16>
    flat = rank.tensor([24], "bfloat16")
    rank.collective("all_gather", [x], [flat])
    # CHECK: %[[LIST:.*]]:2 = comm.all_gather %[[SUM]] {{.*}} -> (tensor<4x3xbf16>, tensor<4x3xbf16>)
    list0, list1 = rank.tensor([4, 3], "bfloat16"), rank.tensor([4, 3], "bfloat16")
    rank.collective("all_gather", [x], [list0, list1])
    # Equal splits are no splits.
    # CHECK: %[[PARTS:.*]] = comm.all_to_all %[[LIST]]#0 {{.*}} : (tensor<4x3xbf16>) -> tensor<4x3xbf16>
    parts = rank.tensor([4, 3], "bfloat16")
    rank.collective("all_to_all", [list0], [parts], splits={"in": [2, 2], "out": [2, 2]})
    # CHECK: %[[SWAP:.*]]:2 = comm.all_to_all %[[PARTS]], %[[LIST]]#1 {{.*}} -> (tensor<4x3xbf16>, tensor<4x3xbf16>)
    swap0, swap1 = rank.tensor([4, 3], "bfloat16"), rank.tensor([4, 3], "bfloat16")
    rank.collective("all_to_all", [parts, list1], [swap0, swap1])
    # CHECK: comm.barrier in <{{\[}}[0, 1]]>
    rank.collective("barrier", [], [])
    # A wait is nothing: values order what it waited for.
    # CHECK-NOT: wait
    rank.events.append({"kind": "wait", "collective": 0, "site": 0})
    # Integers are summed in their own type.
    # CHECK: comm.all_reduce max {{.*}} accumulate i32 deterministic : tensor<5xi32>
    rank.all_reduce(rank.input([5], "int32"), reduce="max")
    # A collective reads contiguous memory: a transposed input is copied first.
    # CHECK: %[[T:.*]] = aten.as_strided %[[SWAP]]#1 : tensor<4x3xbf16> -> tensor<3x4xbf16, #aten.strided<[1, 3], 0>>
    # CHECK: %[[C:.*]] = aten.call "aten::clone"(%[[T]]) {{.*}} -> tensor<3x4xbf16>
    # CHECK: %[[R:.*]] = comm.all_reduce sum %[[C]]
    # What it writes goes back to where the transpose reads: column-major, into the version of the storage.
    # CHECK: %[[V:.*]] = aten.view_write %[[SWAP]]#1, %[[R]] window <[1, 3], 0> : tensor<4x3xbf16>, tensor<3x4xbf16>
    rank.all_reduce(rank.view(swap1, [3, 4], [1, 3]))
    # The combined parts of one tensor, or of a list; the record's input may have any shape.
    # CHECK: comm.reduce_scatter avg %[[JOINED]] {{.*}} accumulate f32 deterministic : (tensor<8x3xbf16>) -> tensor<4x3xbf16>
    rank.collective("reduce_scatter", [joined], [rank.tensor([4, 3], "bfloat16")], reduce="avg")
    # CHECK: %[[STACK:.*]] = aten.as_strided %[[FLAT]] : tensor<24xbf16> -> tensor<2x4x3xbf16>
    # CHECK: comm.reduce_scatter max %[[STACK]] {{.*}} -> tensor<4x3xbf16>
    rank.collective("reduce_scatter", [flat], [rank.tensor([4, 3], "bfloat16")], reduce="max")
    # CHECK: %[[P0:.*]] = aten.as_strided %[[SWAP]]#0 : tensor<4x3xbf16> -> tensor<12xbf16>
    # CHECK: %[[P1:.*]] = aten.as_strided %[[LIST]]#0 : tensor<4x3xbf16> -> tensor<12xbf16>
    # CHECK: comm.reduce_scatter sum %[[P0]], %[[P1]] in {{.*}} -> tensor<12xbf16>
    rank.collective("reduce_scatter", [swap0, list0], [rank.tensor([12], "bfloat16")], reduce="sum")
    # Ranks of the world stand for roots.
    # CHECK: comm.broadcast %[[SUM]] in <{{.*}}> from [1] : tensor<4x3xbf16>
    rank.collective("broadcast", [x], [rank.tensor([4, 3], "bfloat16")], root=1)
    # CHECK: comm.reduce prod %[[SUM]] in <{{.*}}> to [0] accumulate f32 deterministic : tensor<4x3xbf16>
    rank.collective("reduce", [x], [rank.tensor([4, 3], "bfloat16")], reduce="prod", root=0)
    # Elements in another shape come as a list of them.
    # CHECK: %[[LONG:.*]]:2 = comm.all_gather %[[SUM]] {{.*}} -> (tensor<4x3xbf16>, tensor<4x3xbf16>)
    # CHECK: aten.as_strided %[[LONG]]#0 : tensor<4x3xbf16> -> tensor<12xbf16>
    rank.collective("all_gather", [x], [rank.tensor([12], "bfloat16"), rank.tensor([2, 6], "bfloat16")])
    # One number and none.
    # CHECK: comm.all_gather {{.*}} : (tensor<f64>) -> tensor<2xf64>
    rank.collective("all_gather", [rank.input([], "float64")], [rank.tensor([2], "float64")])
    # CHECK: comm.all_to_all {{.*}} : (tensor<0x3xf32>) -> tensor<0x3xf32>
    rank.collective("all_to_all", [rank.input([0, 3])], [rank.tensor([0, 3])])
    # CHECK: return %[[JOINED]], %[[STACKED]], %[[FLAT]], %[[SWAP]]#0, %[[V]],
    rank.returns(joined, stacked, flat, swap0, swap1)


spmd(sys.argv[1] + ".pkb", 2, program)

# Groups of the same call on different ranks are one partition, whatever their ids.
# GROUPS: comm.mesh = #comm.mesh<size = 4>
# GROUPS: comm.all_reduce sum {{.*}} in <{{\[}}[0, 2], [1, 3]]>
# GROUPS: comm.all_reduce sum {{.*}} in <{{\[}}[0, 1, 2, 3]]>
ranks = []
for number in range(4):
    one = Rank()
    y = one.input([6])
    one.all_reduce(y, group=1 + number % 2)
    one.all_reduce(y, group=0)
    one.returns(y)
    ranks.append(one)
write(sys.argv[1] + ".groups.pkb", ranks, groups=[{"id": 0, "ranks": [0, 1, 2, 3]}, {"id": 1, "ranks": [0, 2]},
                                                  {"id": 2, "ranks": [1, 3]}])


def write_ranks(name, program, world_size=4):
    """`program(rank, number)`, with pairs of ranks as groups 1 and 2."""
    each = []
    for k in range(world_size):
        each.append(Rank())
        program(each[-1], k)
    write(f"{sys.argv[1]}.{name}.pkb", each, groups=[{"id": 0, "ranks": list(range(world_size))}, {"id": 1, "ranks": [1, 0]},
                                                     {"id": 2, "ranks": [2, 3]}])


# Each rank has a factor, in the order of the group. It is no reason for a function of its own.
# FACTORS: func.func @main(
# FACTORS: comm.all_reduce premul_sum {{.*}} in <{{\[}}[0, 1, 2, 3]]> factors [5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00] accumulate f32
# FACTORS: comm.all_reduce premul_sum {{.*}} in <{{\[}}[1, 0], [2, 3]]> factors [1.000000e+00, 0.000000e+00, 2.000000e+00, 3.000000e+00] accumulate f32
def factors(rank, number):
    y = rank.input([6], "bfloat16")
    rank.all_reduce(y, reduce="premul_sum", factor=number * 0.5 + 0.5)
    rank.all_reduce(y, reduce="premul_sum", factor=number, group=1 + number // 2)


# The root counts within each group.
# ROOTS: comm.broadcast {{.*}} in <{{\[}}[1, 0], [2, 3]]> from [0, 3]
def roots(rank, number):
    y = rank.input([6])
    rank.collective("broadcast", [y], [rank.tensor([6])], root=1, group=1 + number // 2)


write_ranks("factors", factors)
write_ranks("roots", roots)
