# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Calls of a collective that do not fit, or not each other, are refused with the lines of the user's program.
#
# RUN: %python %s %t
# RUN: not pkb-opt %t.band.pkb 2>&1 | FileCheck %s --check-prefix=BAND
# BAND: model.py:3: 'comm.all_reduce' op kind band must be defined for the element type, got: 'f32'
# RUN: not pkb-opt %t.average.pkb 2>&1 | FileCheck %s --check-prefix=AVERAGE
# AVERAGE: model.py:3: 'comm.all_reduce' op kind avg must be defined for the element type, got: 'i1'
# RUN: not pkb-opt %t.kind.pkb 2>&1 | FileCheck %s --check-prefix=KIND
# KIND: model.py:3: all_reduce: reduction 'median' is not supported
# RUN: not pkb-opt %t.factor.pkb 2>&1 | FileCheck %s --check-prefix=FACTOR
# FACTOR: model.py:3: all_reduce: has no factor, which premul_sum needs
# RUN: not pkb-opt %t.infinite.pkb 2>&1 | FileCheck %s --check-prefix=INFINITE
# INFINITE: model.py:3: 'comm.all_reduce' op factors must be finite, got: INF
# RUN: not pkb-opt %t.root.pkb 2>&1 | FileCheck %s --check-prefix=ROOT
# ROOT: model.py:3: broadcast: root must be one of the 2 ranks of the group, got: 2
# RUN: not pkb-opt %t.rootless.pkb 2>&1 | FileCheck %s --check-prefix=ROOTLESS
# ROOTLESS: model.py:3: reduce: root must be one of the 2 ranks of the group, got: none
# RUN: not pkb-opt %t.roots.pkb 2>&1 | FileCheck %s --check-prefix=ROOTS
# ROOTS: 'root' of broadcast is 0 on rank 0 (model.py:3) and 1 on rank 1 (model.py:5); collectives must match on all ranks, in one order
# RUN: not pkb-opt %t.dtypes.pkb 2>&1 | FileCheck %s --check-prefix=DTYPES
# DTYPES: the dtype of all_reduce is float32 on rank 0 (model.py:3) and int32 on rank 1 (model.py:5); collectives must match on all ranks, in one order
# RUN: not pkb-opt %t.elements.pkb 2>&1 | FileCheck %s --check-prefix=ELEMENTS
# ELEMENTS: the number of elements of all_reduce is 4 on rank 0 (model.py:3) and 5 on rank 1 (model.py:5); collectives must match on all ranks, in one order
# RUN: not pkb-opt %t.number.pkb 2>&1 | FileCheck %s --check-prefix=NUMBER
# NUMBER: model.py:3: all_gather: must have 1 or 2 outputs on rank 0, got: 3
# RUN: not pkb-opt %t.nobody.pkb 2>&1 | FileCheck %s --check-prefix=NOBODY
# NOBODY: model.py:3: scatter: must have 1 or 2 inputs on rank 0, got: 0
# RUN: not pkb-opt %t.parts.pkb 2>&1 | FileCheck %s --check-prefix=PARTS
# PARTS: model.py:3: reduce_scatter: input of 5 elements cannot be cut into 2 equal parts
# RUN: not pkb-opt %t.negative.pkb 2>&1 | FileCheck %s --check-prefix=NEGATIVE
# NEGATIVE: model.py:3: all_to_all: split sizes must not be negative, got: -1
# RUN: not pkb-opt %t.sum.pkb 2>&1 | FileCheck %s --check-prefix=SUM
# SUM: model.py:3: all_to_all: input split sizes must be 2 numbers that add up to dimension 0, 4, got 2 that add up to 5
# RUN: not pkb-opt %t.split.pkb 2>&1 | FileCheck %s --check-prefix=SPLIT
# SPLIT: model.py:3: all_to_all: has the symbolic split {"expr":"s0"}, which is not supported; export without --dynamic
# RUN: not pkb-opt %t.peer.pkb 2>&1 | FileCheck %s --check-prefix=PEER
# PEER: model.py:3: all_to_all: rank 0 (model.py:3) sends 3 elements to rank 1 (model.py:5), which expects 1; sizes must match on all ranks
# RUN: not pkb-opt %t.gathered.pkb 2>&1 | FileCheck %s --check-prefix=GATHERED
# GATHERED: model.py:3: all_gather: rank 1 (model.py:5) sends 4 elements to rank 0 (model.py:3), which expects 3; sizes must match on all ranks
# RUN: not pkb-opt %t.scattered.pkb 2>&1 | FileCheck %s --check-prefix=SCATTERED
# SCATTERED: model.py:3: reduce_scatter: rank 0 (model.py:3) sends 4 elements to rank 1 (model.py:5), which expects 3; sizes must match on all ranks
# RUN: not pkb-opt %t.sizes.pkb 2>&1 | FileCheck %s --check-prefix=SIZES
# SIZES: model.py:3: scatter: tensors of the list must have one size on rank 0 (model.py:3)
# RUN: not pkb-opt %t.missing.pkb 2>&1 | FileCheck %s --check-prefix=MISSING
# MISSING: model.py:3: all_reduce: tensor 77 is used but not described
# RUN: not pkb-opt %t.stale.pkb 2>&1 | FileCheck %s --check-prefix=STALE
# STALE: model.py:3: all_reduce: result must be a fresh tensor, got: tensor 0
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import Rank, write


def case(name, program):
    """`program(rank, number)`; rank 0 is at line 3, rank 1 at line 5."""
    ranks = []
    for number in range(2):
        ranks.append(Rank().at(5 if number else 3))
        program(ranks[-1], number)
    write(f"{sys.argv[1]}.{name}.pkb", ranks)


def call(name, inputs, outputs, **more):
    """A program of one call, by the sizes of its tensors."""
    return lambda r, n: r.collective(name, [r.input(s) for s in inputs], [r.tensor(s) for s in outputs], **more)


case("band", lambda r, n: r.all_reduce(r.input([4]), reduce="band"))
case("average", lambda r, n: r.all_reduce(r.input([4], "bool"), reduce="avg"))
case("kind", lambda r, n: r.all_reduce(r.input([4]), reduce="median"))
case("factor", lambda r, n: r.all_reduce(r.input([4]), reduce="premul_sum"))
case("infinite", lambda r, n: r.all_reduce(r.input([4]), reduce="premul_sum", factor="inf"))
case("root", call("broadcast", [[4]], [[4]], root=2))
case("rootless", call("reduce", [[4]], [[4]], reduce="sum"))
case("roots", lambda r, n: call("broadcast", [[4]], [[4]], root=n)(r, n))
case("dtypes", lambda r, n: r.all_reduce(r.input([4], "int32" if n else "float32")))
case("elements", lambda r, n: r.all_reduce(r.input([4 + n])))
case("number", call("all_gather", [[4]], [[4], [4], [4]]))
case("nobody", call("scatter", [], [[4]], root=0))
case("parts", call("reduce_scatter", [[5]], [[2]], reduce="sum"))
case("negative", call("all_to_all", [[4]], [[4]], splits={"in": [-1, 5], "out": [2, 2]}))
case("sum", call("all_to_all", [[4]], [[4]], splits={"in": [2, 3], "out": [2, 2]}))
case("split", call("all_to_all", [[4]], [[4]], splits={"in": [{"expr": "s0"}, 2], "out": [2, 2]}))
case("peer", call("all_to_all", [[4]], [[4]], splits={"in": [1, 3], "out": [1, 3]}))
case("gathered", call("all_gather", [[4]], [[4], [3]]))
case("scattered", lambda r, n: call("reduce_scatter", [[4], [4]], [[4 - n]], reduce="sum")(r, n))
case("sizes", lambda r, n: call("scatter", [] if n else [[4], [3]], [[4 - n]], root=0)(r, n))
case("missing", lambda r, n: r.collective("all_reduce", [77], [r.tensor([4])], reduce="sum"))
case("stale", lambda r, n: (r.input([4]), r.collective("all_reduce", [0], [0], reduce="sum")))
