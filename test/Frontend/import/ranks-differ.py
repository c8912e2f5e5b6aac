# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Ranks that run different programs become functions of their own. Ids are names: ranks whose tensors have other numbers run the
# same program.
#
# RUN: %python %s %t
# RUN: pkb-opt %t.op.pkb --pkb-verify-comm --remarks-filter=ranks 2>&1 | FileCheck %s --check-prefix=OP
# OP: remark: {{.*}}Remark="@main_1: rank 0 runs aten::neg at model.py:3 where rank 1 runs aten::abs at model.py:5"
# OP: func.func @main_0(%[[A:.*]]: tensor<4xf32>) attributes {{{.*}}comm.ranks = array<i64: 0>} {
# OP: aten.call "aten::neg"(%[[A]])
# OP: func.func @main_1(%[[B:.*]]: tensor<4xf32>) attributes {{{.*}}comm.ranks = array<i64: 1>} {
# OP: aten.call "aten::abs"(%[[B]])
#
# What differs is said; a class has all ranks that agree.
# RUN: pkb-opt %t.constant.pkb | FileCheck %s --check-prefix=CONSTANT
# CONSTANT: @main_0{{.*}}comm.ranks = array<i64: 0, 2>}
# CONSTANT: args [#aten.operand<0>, 1]
# CONSTANT: @main_1{{.*}}comm.difference = "argument 1 of aten::mul.Scalar is 1 on rank 0 (model.py:1) and 2 on rank 1 (model.py:1)", comm.ranks = array<i64: 1>}
# CONSTANT: args [#aten.operand<0>, 2]
# RUN: pkb-opt %t.keyword.pkb | FileCheck %s --check-prefix=KEYWORD
# KEYWORD: argument \22alpha\22 of aten::add is 1 on rank 0 (model.py:1) and 2 on rank 1 (model.py:1)
# RUN: pkb-opt %t.shape.pkb | FileCheck %s --check-prefix=SHAPE
# SHAPE: @main_0(%{{.*}}: tensor<4xf32>)
# SHAPE: @main_1(%{{.*}}: tensor<5xf32>){{.*}}"the shape of the arguments[0] is [4] on rank 0 (its arguments) and [5] on rank 1 (its arguments)"
# RUN: pkb-opt %t.result.pkb | FileCheck %s --check-prefix=RESULT
# RESULT: the shape of result 0 of aten::f is [2] on rank 0 (model.py:1) and [3] on rank 1 (model.py:1)
# RUN: pkb-opt %t.dtype.pkb | FileCheck %s --check-prefix=DTYPE
# DTYPE: the dtype of result 0 of aten::f is float32 on rank 0 (model.py:1) and int32 on rank 1 (model.py:1)
# RUN: pkb-opt %t.literal.pkb | FileCheck %s --check-prefix=LITERAL
# LITERAL: a constant tensor is tensors/{{.*}}.bin on rank 0 (model.py:1) and tensors/{{.*}}.bin on rank 1 (model.py:1)
# RUN: pkb-opt %t.literal-view.pkb | FileCheck %s --check-prefix=LITERAL
# RUN: pkb-opt %t.argument.pkb | FileCheck %s --check-prefix=ARGUMENT
# ARGUMENT: <int value 1
# ARGUMENT: <int value 2{{.*}}the arguments[1] is 1 on rank 0 (its arguments) and 2 on rank 1 (its arguments)
# RUN: pkb-opt %t.operand.pkb | FileCheck %s --check-prefix=OPERAND
# OPERAND: argument 0 of aten::neg is another tensor on rank 0 (model.py:1) than on rank 1 (model.py:1)
# RUN: pkb-opt %t.alias.pkb | FileCheck %s --check-prefix=ALIAS
# ALIAS: the tensors that the arguments[1] shares its memory with differ between rank 0 (its arguments) and rank 1 (its arguments)
# RUN: pkb-opt %t.result-order.pkb | FileCheck %s --check-prefix=ORDER
# ORDER: the results is another tensor on rank 0 ({{.*}}) than on rank 1
#
# One collective of both functions has one number; the extra one of ranks 0 and 1 another.
# RUN: pkb-opt %t.some.pkb --pkb-verify-comm | FileCheck %s --check-prefix=SOME
# SOME: @main_0{{.*}}comm.ranks = array<i64: 0, 1>
# SOME: comm.all_reduce sum {{.*}} in <{{\[\[}}0, 1]]> {{.*}}{comm.exchange = 0 : i64}
# SOME: comm.all_reduce sum {{.*}} in <{{\[\[}}0, 1, 2]]> {{.*}}{comm.exchange = 1 : i64}
# SOME: @main_2{{.*}}comm.ranks = array<i64: 2>
# SOME-NOT: comm.all_reduce {{.*}}0, 1]]>
# SOME: comm.all_reduce sum {{.*}} in <{{\[\[}}0, 1, 2]]> {{.*}}{comm.exchange = 1 : i64}
# RUN: pkb-opt %t.sizes.pkb --pkb-verify-comm | FileCheck %s --check-prefix=SIZES
# SIZES: comm.all_reduce {{.*}}<{{\[\[}}0]]>
# SIZES: comm.all_reduce {{.*}}<{{\[\[}}1, 2]]>
#
# Groups that overlap cannot be one operation, though the ranks run the same code.
# RUN: pkb-opt %t.chain.pkb --pkb-verify-comm | FileCheck %s --check-prefix=CHAIN
# CHAIN: @main_0{{.*}}comm.ranks = array<i64: 0>
# CHAIN: @main_1{{.*}}comm.ranks = array<i64: 1>
# CHAIN: <{{\[\[}}0, 1]]>{{.*}}{comm.exchange = 0 : i64}
# CHAIN: <{{\[\[}}1, 2]]>{{.*}}{comm.exchange = 1 : i64}
# CHAIN: @main_2{{.*}}comm.ranks = array<i64: 2>
# CHAIN: <{{\[\[}}1, 2]]>{{.*}}{comm.exchange = 1 : i64}
# CHAIN: <{{\[\[}}2, 3]]>{{.*}}{comm.exchange = 2 : i64}
#
# Ranks 0, 2 and 3 run one program. As one operation each, its two collectives would wait for each other, so they part.
# RUN: pkb-opt %t.crossed.pkb --pkb-verify-comm | FileCheck %s --check-prefix=CROSSED
# CROSSED-COUNT-4: func.func @main_
#
# RUN: pkb-opt %t.renumbered.pkb | FileCheck %s --check-prefix=SAME
# SAME: func.func @main(
# SAME: comm.all_reduce sum {{.*}} : tensor<4xf32>
#
# Where an argument lies in the caller's memory is chance; how arguments lie to each other is not.
# RUN: pkb-opt %t.moved.pkb | FileCheck %s --check-prefix=MOVED
# MOVED: func.func @main(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<2xf32, #aten.strided<[1], 2>> {aten.alias_of = #aten.alias<argument, 0>}, %{{.*}}: tensor<3xf32>)
# RUN: pkb-opt %t.shifted.pkb | FileCheck %s --check-prefix=SHIFTED
# SHIFTED: the storage offset of the arguments[1] is 2 on rank 0 (its arguments) and 1 on rank 1 (its arguments)
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import Rank, write


def case(name, program, world_size=2, **more):
    """`program(rank, number)`; rank 0 is at line 3, the others at line 5."""
    ranks = []
    for number in range(world_size):
        ranks.append(Rank())
        program(ranks[-1], number)
    write(f"{sys.argv[1]}.{name}.pkb", ranks, **more)


def unary(rank, name, sizes=(4,), dtype="float32", args=(), **more):
    result = rank.tensor(sizes, dtype)
    rank.op(name, [{"t": 0}, *args], [result], **more)
    return result


def line(number):
    return 5 if number else 3


case("op", lambda r, n: (r.input([4]), unary(r.at(line(n)), "aten::abs" if n else "aten::neg")))
case("constant", lambda r, n: (r.input([4]), unary(r, "aten::mul", args=[{"i": n % 2 + 1}], overload="Scalar")), 3)
case("keyword", lambda r, n: (r.input([4]), unary(r, "aten::add", kwargs=[["alpha", {"i": n + 1}]])))
case("shape", lambda r, n: r.input([4 + n]))
case("result", lambda r, n: (r.input([4]), unary(r, "aten::f", [2 + n])))
case("dtype", lambda r, n: (r.input([4]), unary(r, "aten::f", dtype="int32" if n else "float32")))
case("literal", lambda r, n: r.returns(r.literal(r.tensor([1], origin="literal"), bytes([n, 0, 0, 0]))))
case("literal-view", lambda r, n: r.returns(r.view(r.literal(r.tensor([4], origin="literal"), bytes([n] * 16)), [2, 2])))
case("argument", lambda r, n: (r.input([4]), r.args.append({"kind": "int", "value": n + 1})))
case("operand", lambda r, n: (r.input([4]), r.input([4]), r.op("aten::neg", [{"t": n}], [r.tensor([4])])))
case("alias", lambda r, n: (r.input([4]), r.input([4], **({"storage": 0} if n else {}))))
case("result-order", lambda r, n: (r.input([4]), r.input([4]), r.returns(n)))


def groups(*rows, size=3):
    return {"groups": [{"id": 0, "ranks": list(range(size))}] + [{"id": i + 1, "ranks": list(row)} for i, row in enumerate(rows)],
            "world_size": size}


def some(rank, number):
    rank.input([4])
    if number < 2:
        rank.all_reduce(0, group=1)
    rank.all_reduce(0)


case("some", some, **groups([0, 1]))
case("sizes", lambda r, n: (r.input([4]), r.at(line(n)).all_reduce(0, group=1 if n == 0 else 2)), **groups([0], [1, 2]))


def ids(*by_rank):
    """All-reduces in the groups that a rank's entry lists."""
    return lambda rank, number: (rank.input([4]), [rank.all_reduce(0, group=g) for g in by_rank[number]])


case("chain", ids([1], [1, 2], [2, 3], [3]), **groups([0, 1], [1, 2], [2, 3], size=4))


case("crossed", ids([1, 3], [4, 1], [2, 4], [2, 3]), **groups([0, 1], [2, 3], [0, 3], [1, 2], size=4))


def renumbered(rank, number):
    if number:
        rank.tensor([7], origin="op")
    x = rank.input([4])
    rank.all_reduce(x)
    rank.returns(x)


case("renumbered", renumbered)


def placed(rank, first, inner, last):
    memory = rank.storage(4096, "input")
    rank.input([4], storage=memory, offset=first)
    rank.input([2], storage=memory, offset=first + inner)
    rank.input([3], storage=memory, offset=last)


case("moved", lambda r, n: placed(r, 10 * n, 2, 100 - 70 * n))
case("shifted", lambda r, n: placed(r, 0, 2 - n, 100))
