# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that torch.export saved, with the collectives that it keeps: read without torch, as one program or one for each rank.
#
# REQUIRES: torch
# RUN: rm -rf %t && mkdir -p %t/ranks && %python %s %t
# RUN: pkb-opt %t/module.pt2 --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=MODULE
# RUN: pkb-opt %t/collectives.pt2 | FileCheck %s --check-prefix=COLL
# RUN: pkb-opt --world-size=3 %t/views.pt2 | FileCheck %s --check-prefix=VIEWS
# RUN: pkb-opt --world-size=3 %t/written.pt2 | FileCheck %s --check-prefix=WRITTEN
# RUN: pkb-opt --world-size=3 %t/layout.pt2 | FileCheck %s --check-prefix=LAYOUT
# RUN: pkb-opt --world-size=3 %t/trees.pt2 | FileCheck %s --check-prefix=TREES
# RUN: pkb-opt --world-size=3 %t/written.pt2 -o %t/written.mlir && cp %t/written.pt2 %t/ranks/rank0.pt2 && cp %t/written.pt2 %t/ranks/rank1.pt2
# RUN: pkb-opt %t/ranks | FileCheck %s --check-prefix=RANKS
# RANKS: comm.mesh = #comm.mesh<size = 2>
# RANKS: comm.all_reduce sum {{.*}} in <{{\[}}[0, 1]]>
#
# What it does not keep, or what a file does not say, is refused.
# RUN: not pkb-opt %t/written.pt2 2>&1 | FileCheck %s --check-prefix=SIZE
# SIZE: bundle '{{.*}}written.pt2': does not say for how many ranks it is; use --world-size
# RUN: not pkb-opt --world-size=4 %t/collectives.pt2 2>&1 | FileCheck %s --check-prefix=OTHER
# OTHER: has collectives of 3 ranks on rank 0, but there are 4
# RUN: not pkb-opt --world-size=3 %t/none.pt2 2>&1 | FileCheck %s --check-prefix=NONE
# NONE: has no collective: torch.export drops collectives that it cannot trace; make a bundle with pkb-export
# RUN: not pkb-opt --world-size=3 %t/group.pt2 2>&1 | FileCheck %s --check-prefix=GROUP
# GROUP: exported-program.py:[[#]]: torch.ops._c10d_functional.all_reduce.default: group '1' is not known: a .pt2 file does not say which ranks it has; use the default group, or make a bundle with pkb-export
# RUN: not pkb-opt --world-size=3 %t/dynamic.pt2 2>&1 | FileCheck %s --check-prefix=DYNAMIC
# DYNAMIC: tensor 'a_0': has the symbolic size {{.*}}, which is not supported; export without dynamic shapes
# RUN: not pkb-opt --world-size=3 %t/buffer.pt2 2>&1 | FileCheck %s --check-prefix=BUFFER
# BUFFER: exported-program.py:[[#]]: torch.ops.aten.add_.Tensor: writes to a parameter, a buffer or a constant of the module; pass it as an argument
# RUN: not pkb-opt --world-size=3 %t/random.pt2 2>&1 | FileCheck %s --check-prefix=RANDOM
# RANDOM: exported-program.py:[[#]]: torch.ops.aten.dropout.default: draws random numbers; pass the random tensor as an argument, or switch dropout off
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
from torch.testing._internal.distributed.fake_pg import FakeStore

warnings.simplefilter("ignore")
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=3)
WORLD = dist.group.WORLD


def save(name, function, *args, module=None, dynamic=None, **kwargs):
    class Module(torch.nn.Module):
        def forward(self, *a, **k):
            return function(*a, **k)

    program = torch.export.export(module or Module(), args, kwargs, dynamic_shapes=dynamic)
    torch.export.save(program, f"{sys.argv[1]}/{name}.pt2")


x = torch.arange(18.0).reshape(3, 6)


# Weights become constants; the location is the user's line.
# MODULE: outputs = <tensor at 0>>, comm.mesh = #comm.mesh<size = 3>
# MODULE: func.func @main(%[[X:.*]]: tensor<3x6xf32> {{.*}}) -> tensor<2x6xf32>
# MODULE-DAG: %[[W:.*]] = aten.literal dense<5.000000e-01> : tensor<36xf32>
# MODULE-DAG: %[[M:.*]] = aten.as_strided %[[W]] : tensor<36xf32> -> tensor<6x6xf32>
# MODULE: %[[L:.*]] = aten.call "aten::linear"(%[[X]], %[[M]]) {{.*}} loc("{{.*}}exported-program.py":[[#@LINE+10]]:1)
# MODULE: %[[R:.*]] = comm.all_gather %[[L]] in <{{\[}}[0, 1, 2]]> : (tensor<3x6xf32>) -> tensor<9x6xf32> loc("{{.*}}exported-program.py":[[#@LINE+10]]:1)
# MODULE: %[[S:.*]] = aten.as_strided %[[R]] : tensor<9x6xf32> -> tensor<2x6xf32, #aten.strided<[6, 1], 6>>
# MODULE: aten.call "aten::add" overload "Tensor"(%[[S]], %[[X2:.*]]) args [#aten.operand<0>, #aten.operand<1>] kwargs {alpha = 2 : i64}
class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((6, 6), 0.5))

    def forward(self, x):
        y = torch.nn.functional.linear(x, self.weight)
        return torch.add(fc.all_gather_tensor(y, 0, WORLD)[1:3], x[1:], alpha=2)


save("module", None, x, module=Linear())


# COLL: comm.all_reduce max %{{.*}} in <{{\[}}[0, 1, 2]]> accumulate f32
# COLL: comm.reduce_scatter avg {{.*}} : (tensor<3x6xf32>) -> tensor<1x6xf32>
# COLL: comm.broadcast {{.*}} from [2]
# COLL-COUNT-2: comm.all_reduce prod
def collectives(x):
    a = fc.all_reduce(x, "max", WORLD)
    b = fc.reduce_scatter_tensor(x, "avg", 0, WORLD)
    d = fc.broadcast(x, 2, WORLD)
    e, f = fc.all_reduce_coalesced([x, x + 1], "product", WORLD)
    return a, b, d, e, f


save("collectives", collectives, x)


# Operators that only make views are none; those that copy are calls. What is written through a view is written to its base.
# VIEWS: func.func @main(%[[X:.*]]: tensor<3x6xf32>)
# VIEWS: %[[T:.*]] = aten.as_strided %[[X]] : tensor<3x6xf32> -> tensor<6x3xf32, #aten.strided<[1, 6], 0>>
# VIEWS: %[[C:.*]] = aten.call "aten::contiguous"(%[[T]])
# VIEWS: %[[F:.*]] = aten.call "aten::reshape"(%[[T]])
# VIEWS: %[[H:.*]] = aten.as_strided %[[X]] : tensor<3x6xf32> -> tensor<3x3xf32, #aten.strided<[6, 1], 3>>
# VIEWS: %[[A:.*]] = aten.call "aten::mul_" overload "Tensor"(%[[H]]) {{.*}} mutates [0]
# VIEWS: %[[V:.*]] = aten.view_write %[[X]], %[[A]]
# VIEWS: %[[R:.*]] = aten.as_strided %[[V]] : tensor<3x6xf32> -> tensor<18xf32>
# VIEWS: comm.all_reduce sum %[[R]]
def views(x):
    t = x.transpose(0, 1)
    c, f = t.contiguous(), t.reshape(-1)
    x.chunk(2, dim=1)[1].mul_(2)
    return fc.all_reduce(x.reshape(-1), "sum", WORLD), c, f


save("views", views, x)


# WRITTEN: func.func @main(%[[X:.*]]: tensor<3x6xf32>) -> (tensor<3x6xf32> {aten.alias_of = #aten.alias<argument, 0>}, tensor<3x6xf32> {aten.mutation_of = 0 : i64})
# WRITTEN: %[[S:.*]] = comm.all_reduce sum %[[X]]
# WRITTEN: %[[N:.*]] = aten.call "aten::copy_"(%[[X]], %[[S]]) {{.*}} mutates [0]
# WRITTEN: return %[[N]], %[[N]]
def written(x):
    dist.all_reduce(x)
    return x


save("written", written, x)


# What a collective reads and gives is contiguous, as everywhere.
# LAYOUT: %[[C:.*]] = aten.call "aten::clone"
# LAYOUT: %[[R:.*]] = comm.all_reduce sum %[[C]] {{.*}} : tensor<6x3xf32>
# LAYOUT: aten.call "aten::add" overload "Tensor"(%[[R]])
def layout(x):
    return fc.all_reduce(x.t(), "sum", WORLD) + 1


save("layout", layout, x)


# Keyword arguments follow the others; numbers are part of the tree.
# TREES: inputs = <tuple items[<tensor at 0>, <list items[<tensor at 1>, <int value 3 : i64>]>, <tensor at 2>, <bool value true>]>
# TREES-SAME: outputs = <dict items[<tensor at 0>, <tuple items[<tensor at 1>, <none>]>] keys["sum", "rest"]>
def trees(x, pair, *, scale, flag):
    return {"sum": fc.all_reduce(x * pair[1] + pair[0], "sum", WORLD), "rest": (scale, None)}


save("trees", trees, x, [x + 1, 3], scale=x.clone(), flag=True)

save("none", lambda x: x + 1, x)
save("dynamic", lambda x: fc.all_reduce(x, "sum", WORLD), x, dynamic=(({0: torch.export.Dim("n", min=2)},),))
save("random", lambda x: fc.all_reduce(torch.nn.functional.dropout(x, 0.5, True), "sum", WORLD), x)
pair = dist.new_group([0, 1])
save("group", lambda x: fc.all_reduce(x, "sum", pair), x)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls.add_(1)
        return fc.all_reduce(x, "sum", WORLD)


save("buffer", None, x, module=Counter())
