# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Ranks whose collectives do not match would wait for ever: the deadlock is reported with the lines of both.
#
# RUN: %python %s %t
# RUN: not pkb-opt %t.collective.pkb 2>&1 | FileCheck %s --check-prefix=COLLECTIVE
# COLLECTIVE: rank 0 runs all_reduce at model.py:3 where rank 1 runs barrier at model.py:5; collectives must match on all ranks, in one order
# RUN: not pkb-opt %t.ended.pkb 2>&1 | FileCheck %s --check-prefix=ENDED
# ENDED: rank 0 runs all_reduce at model.py:3 where rank 1 has ended; collectives must match on all ranks, in one order
# RUN: not pkb-opt %t.alone.pkb 2>&1 | FileCheck %s --check-prefix=ALONE
# ALONE: rank 1 runs all_reduce at model.py:1 where rank 0 has ended; collectives must match
# RUN: not pkb-opt %t.reduce.pkb 2>&1 | FileCheck %s --check-prefix=REDUCE
# REDUCE: 'reduce' of all_reduce is "sum" on rank 0 (model.py:1) and "max" on rank 1 (model.py:1); collectives must match
# RUN: not pkb-opt %t.dtype.pkb 2>&1 | FileCheck %s --check-prefix=DTYPE
# DTYPE: the dtype of all_reduce is float32 on rank 0 (model.py:3) and int32 on rank 1 (model.py:5); collectives must match
# RUN: not pkb-opt %t.elements.pkb 2>&1 | FileCheck %s --check-prefix=ELEMENTS
# ELEMENTS: the number of elements of all_reduce is 4 on rank 0 (model.py:3) and 5 on rank 1 (model.py:5); collectives must match
# RUN: not pkb-opt %t.group.pkb 2>&1 | FileCheck %s --check-prefix=GROUP
# GROUP: rank 0 runs all_reduce at model.py:3 in the group [0, 1] while rank 1 runs all_reduce at model.py:5 in the group [1, 2]; collectives must match on all ranks, in one order
# Each rank has the collectives of the others, in another order.
# RUN: not pkb-opt %t.order.pkb 2>&1 | FileCheck %s --check-prefix=ORDER
# ORDER: rank 0 runs all_reduce at model.py:3 in the group [0, 1] while rank 1 runs all_reduce at model.py:5 in the group [1, 2]
# RUN: not pkb-opt %t.member.pkb 2>&1 | FileCheck %s --check-prefix=MEMBER
# MEMBER: all_reduce at model.py:5 uses the group [0, 2] on rank 1, which is not a member
# RUN: not pkb-opt %t.unknown.pkb 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# UNKNOWN: model.py:1: the group of all_reduce is 7, which bundle.json does not list
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


def line(number):
    return 5 if number else 3


case("collective", lambda r, n: (r.input([4]), r.at(line(n)), r.collective("barrier", [], []) if n else r.all_reduce(0)))
case("ended", lambda r, n: (r.input([4]), r.at(line(n)), n or r.all_reduce(0)))
case("alone", lambda r, n: (r.input([4]), r.all_reduce(0) if n else r.op("aten::neg", [{"t": 0}], [r.tensor([4])])))
case("reduce", lambda r, n: r.all_reduce(r.input([4]), reduce="max" if n else "sum"))
case("dtype", lambda r, n: r.at(line(n)).all_reduce(r.input([4], "int32" if n else "float32")))
case("elements", lambda r, n: r.at(line(n)).all_reduce(r.input([4 + n])))
case("unknown", lambda r, n: r.all_reduce(r.input([4]), group=7))


def groups(*rows):
    return {"groups": [{"id": 0, "ranks": [0, 1, 2]}] + [{"id": i + 1, "ranks": list(row)} for i, row in enumerate(rows)],
            "world_size": 3}


def order(rank, number):
    rank.input([4])
    for name in {0: (1, 3), 1: (2, 1), 2: (3, 2)}[number]:
        rank.at(line(number)).all_reduce(0, group=name)


case("group", lambda r, n: (r.input([4]), [r.at(line(n)).all_reduce(0, group=g) for g in {0: (1,), 1: (2, 1), 2: ()}[n]]),
     **groups([0, 1], [1, 2]))
case("order", order, **groups([0, 1], [1, 2], [0, 2]))
case("member", lambda r, n: (r.input([4]), r.at(line(n)).all_reduce(0, group=1)), **groups([0, 2]))
