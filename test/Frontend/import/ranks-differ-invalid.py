# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Ranks that differ are refused with the lines and the values of both.
#
# RUN: %python %s %t
# RUN: not pkb-opt %t.op.pkb 2>&1 | FileCheck %s --check-prefix=OP
# OP: rank 0 runs aten::neg at model.py:3 where rank 1 runs aten::abs at model.py:5; programs whose ranks differ are not supported yet
# RUN: not pkb-opt %t.constant.pkb 2>&1 | FileCheck %s --check-prefix=CONSTANT
# CONSTANT: argument 1 of aten::mul.Scalar is 1 on rank 0 (model.py:1) and 2 on rank 1 (model.py:1); programs whose ranks differ are not supported yet; pass what differs as an argument, if it can be one
# RUN: not pkb-opt %t.keyword.pkb 2>&1 | FileCheck %s --check-prefix=KEYWORD
# KEYWORD: argument "alpha" of aten::add is 1 on rank 0 (model.py:1) and 2 on rank 1 (model.py:1)
# RUN: not pkb-opt %t.shape.pkb 2>&1 | FileCheck %s --check-prefix=SHAPE
# SHAPE: the shape of the arguments[0] is [4] on rank 0 (its arguments) and [5] on rank 1 (its arguments)
# RUN: not pkb-opt %t.result.pkb 2>&1 | FileCheck %s --check-prefix=RESULT
# RESULT: the shape of result 0 of aten::f is [2] on rank 0 (model.py:1) and [3] on rank 1 (model.py:1)
# RUN: not pkb-opt %t.dtype.pkb 2>&1 | FileCheck %s --check-prefix=DTYPE
# DTYPE: the dtype of result 0 of aten::f is float32 on rank 0 (model.py:1) and int32 on rank 1 (model.py:1)
# RUN: not pkb-opt %t.literal.pkb 2>&1 | FileCheck %s --check-prefix=LITERAL
# LITERAL: a constant tensor is tensors/{{.*}}.bin on rank 0 (model.py:1) and tensors/{{.*}}.bin on rank 1 (model.py:1)
# RUN: not pkb-opt %t.argument.pkb 2>&1 | FileCheck %s --check-prefix=ARGUMENT
# ARGUMENT: the arguments[1] is 1 on rank 0 (its arguments) and 2 on rank 1 (its arguments)
# RUN: not pkb-opt %t.operand.pkb 2>&1 | FileCheck %s --check-prefix=OPERAND
# OPERAND: argument 0 of aten::neg is another tensor on rank 0 (model.py:1) than on rank 1 (model.py:1)
# RUN: not pkb-opt %t.alias.pkb 2>&1 | FileCheck %s --check-prefix=ALIAS
# ALIAS: the tensors that the arguments[1] shares its memory with differ between rank 0 (its arguments) and rank 1 (its arguments)
# RUN: not pkb-opt %t.result-order.pkb 2>&1 | FileCheck %s --check-prefix=ORDER
# ORDER: the results is another tensor on rank 0 ({{.*}}) than on rank 1
# RUN: not pkb-opt %t.collective.pkb 2>&1 | FileCheck %s --check-prefix=COLLECTIVE
# COLLECTIVE: rank 0 runs all_reduce at model.py:3 where rank 1 runs barrier at model.py:5; collectives must match on all ranks, in one order
# RUN: not pkb-opt %t.ended.pkb 2>&1 | FileCheck %s --check-prefix=ENDED
# ENDED: rank 0 runs all_reduce at model.py:3 where rank 1 has ended
# RUN: not pkb-opt %t.reduce.pkb 2>&1 | FileCheck %s --check-prefix=REDUCE
# REDUCE: 'reduce' of all_reduce is "sum" on rank 0 (model.py:1) and "max" on rank 1 (model.py:1)
# RUN: not pkb-opt %t.group.pkb 2>&1 | FileCheck %s --check-prefix=GROUP
# GROUP: rank 0 runs all_reduce at model.py:3 in the group [0, 1] while rank 1 runs all_reduce at model.py:5 in the group [1, 2]; collectives must match on all ranks, in one order
# RUN: not pkb-opt %t.member.pkb 2>&1 | FileCheck %s --check-prefix=MEMBER
# MEMBER: all_reduce at model.py:5 uses the group [0, 2] on rank 1, which is not a member
# RUN: not pkb-opt %t.sizes.pkb 2>&1 | FileCheck %s --check-prefix=SIZES
# SIZES: all_reduce at model.py:5 joins groups of 1 and 2 ranks; groups of different size are not supported yet
#
# RUN: not pkb-opt %t.peer.pkb 2>&1 | FileCheck %s --check-prefix=PEER
# PEER: model.py:1: send: this collective is not supported yet
# RUN: not pkb-opt %t.alone.pkb 2>&1 | FileCheck %s --check-prefix=ALONE
# ALONE: rank 0 runs aten::neg at model.py:1 where rank 1 runs all_reduce at model.py:1; programs whose ranks differ are not supported yet
#
# Ids are names: ranks whose tensors have other numbers run the same program.
# RUN: pkb-opt %t.renumbered.pkb | FileCheck %s --check-prefix=SAME
# SAME: comm.all_reduce sum {{.*}} : tensor<4xf32>
#
# Where an argument lies in the caller's memory is chance; how arguments lie to each other is not.
# RUN: pkb-opt %t.moved.pkb | FileCheck %s --check-prefix=MOVED
# MOVED: func.func @main(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<2xf32, #aten.strided<[1], 2>> {aten.alias_of = #aten.alias<argument, 0>}, %{{.*}}: tensor<3xf32>)
# RUN: not pkb-opt %t.shifted.pkb 2>&1 | FileCheck %s --check-prefix=SHIFTED
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
case("constant", lambda r, n: (r.input([4]), unary(r, "aten::mul", args=[{"i": n + 1}], overload="Scalar")))
case("keyword", lambda r, n: (r.input([4]), unary(r, "aten::add", kwargs=[["alpha", {"i": n + 1}]])))
case("shape", lambda r, n: r.input([4 + n]))
case("result", lambda r, n: (r.input([4]), unary(r, "aten::f", [2 + n])))
case("dtype", lambda r, n: (r.input([4]), unary(r, "aten::f", dtype="int32" if n else "float32")))
case("literal", lambda r, n: r.returns(r.literal(r.tensor([1], origin="literal"), bytes([n, 0, 0, 0]))))
case("argument", lambda r, n: (r.input([4]), r.args.append({"kind": "int", "value": n + 1})))
case("operand", lambda r, n: (r.input([4]), r.input([4]), r.op("aten::neg", [{"t": n}], [r.tensor([4])])))
case("alias", lambda r, n: (r.input([4]), r.input([4], **({"storage": 0} if n else {}))))
case("result-order", lambda r, n: (r.input([4]), r.input([4]), r.returns(n)))
case("collective", lambda r, n: (r.input([4]), r.at(line(n)), r.collective("barrier", [], []) if n else r.all_reduce(0)))
case("ended", lambda r, n: (r.input([4]), r.at(line(n)), n or r.all_reduce(0)))
case("reduce", lambda r, n: r.all_reduce(r.input([4]), reduce="max" if n else "sum"))


def groups(*rows):
    return {"groups": [{"id": 0, "ranks": [0, 1, 2]}] + [{"id": i + 1, "ranks": list(row)} for i, row in enumerate(rows)],
            "world_size": 3}


case("group", lambda r, n: (r.input([4]), r.at(line(n)).all_reduce(0, group=1 if n == 0 else 2)), **groups([0, 1], [1, 2]))
case("member", lambda r, n: (r.input([4]), r.at(line(n)).all_reduce(0, group=1)), **groups([0, 2]))
case("sizes", lambda r, n: (r.input([4]), r.at(line(n)).all_reduce(0, group=1 if n == 0 else 2)), **groups([0], [1, 2]))


def renumbered(rank, number):
    if number:
        rank.tensor([7], origin="op")
    x = rank.input([4])
    rank.all_reduce(x)
    rank.returns(x)


case("renumbered", renumbered)
case("peer", lambda r, n: (r.input([4]), r.collective("send", [0], [], peer=n)))
case("alone", lambda r, n: (r.input([4]), r.all_reduce(0) if n else unary(r, "aten::neg")))


def placed(rank, first, inner, last):
    memory = rank.storage(4096, "input")
    rank.input([4], storage=memory, offset=first)
    rank.input([2], storage=memory, offset=first + inner)
    rank.input([3], storage=memory, offset=last)


case("moved", lambda r, n: placed(r, 10 * n, 2, 100 - 70 * n))
case("shifted", lambda r, n: placed(r, 0, 2 - n, 100))
