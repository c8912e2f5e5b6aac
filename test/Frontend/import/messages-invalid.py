# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sends and receives that do not match are the deadlock that they are, with the lines of the user's program.
#
# RUN: %python %s %t
# RUN: not pkb-opt %t.lonely.pkb 2>&1 | FileCheck %s --check-prefix=LONELY
# LONELY: rank 0 runs send at model.py:3 to rank 1, which does not receive it; every send needs a receive
# RUN: not pkb-opt %t.unsent.pkb 2>&1 | FileCheck %s --check-prefix=UNSENT
# UNSENT: rank 1 waits for recv at model.py:5 from rank 0, which has ended; every receive needs a send
# RUN: not pkb-opt %t.unwaited.pkb 2>&1 | FileCheck %s --check-prefix=UNWAITED
# UNWAITED: rank 1 runs recv at model.py:5 from rank 0, which does not send it; every receive needs a send
# RUN: not pkb-opt %t.tags.pkb 2>&1 | FileCheck %s --check-prefix=TAGS
# TAGS: rank 1 waits for recv at model.py:5 from rank 0, which has ended; every receive needs a send
# RUN: not pkb-opt %t.cycle.pkb 2>&1 | FileCheck %s --check-prefix=CYCLE
# CYCLE: rank 0 waits for recv at model.py:3 from rank 1, which waits for recv at model.py:5 from rank 0; every receive needs a send
# RUN: not pkb-opt %t.collective.pkb 2>&1 | FileCheck %s --check-prefix=COLLECTIVE
# COLLECTIVE: rank 0 runs all_reduce at model.py:3 where rank 1 waits for recv at model.py:5 from rank 0; collectives must match on all ranks, in one order
# RUN: not pkb-opt %t.size.pkb 2>&1 | FileCheck %s --check-prefix=SIZE
# SIZE: rank 0 (model.py:3) sends 4 elements of float32 to rank 1 (model.py:5), which expects 3 of float32
# RUN: not pkb-opt %t.dtype.pkb 2>&1 | FileCheck %s --check-prefix=DTYPE
# DTYPE: rank 0 (model.py:3) sends 4 elements of float32 to rank 1 (model.py:5), which expects 4 of int32
# RUN: not pkb-opt %t.peer.pkb 2>&1 | FileCheck %s --check-prefix=PEER
# PEER: send at model.py:3: peer must be one of the 2 ranks of the group, got: 2
# RUN: not pkb-opt %t.anybody.pkb 2>&1 | FileCheck %s --check-prefix=ANYBODY
# ANYBODY: recv at model.py:3: peer must be one of the 2 ranks of the group, got: null
# RUN: not pkb-opt %t.member.pkb 2>&1 | FileCheck %s --check-prefix=MEMBER
# MEMBER: send at model.py:5 uses the group [0] on rank 1, which is not a member
# RUN: not pkb-opt %t.nothing.pkb 2>&1 | FileCheck %s --check-prefix=NOTHING
# NOTHING: send at model.py:3 has no tensor
# RUN: not pkb-opt %t.host.pkb 2>&1 | FileCheck %s --check-prefix=HOST
# HOST: model.py:3: send: a tensor in host memory is not supported; move it to the device first
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import Rank, write


def send(rank, peer=1, sizes=(4,), **more):
    rank.collective("send", [rank.input(list(sizes))], [], **{"peer": peer, "tag": 0, **more})
    return len(rank.events) - 1


def recv(rank, peer=0, sizes=(4,), dtype="float32", wait=True, **more):
    rank.collective("recv", [], [rank.tensor(list(sizes), dtype)], **{"peer": peer, "tag": 0, **more})
    if wait:
        rank.events.append({"kind": "wait", "collective": len(rank.events) - 1, "site": rank.site()})


def case(name, *programs, **more):
    """A program for each rank; rank 0 is at line 3, rank 1 at line 5."""
    ranks = [Rank().at(3), Rank().at(5)]
    for rank, program in zip(ranks, programs):
        program(rank)
    write(f"{sys.argv[1]}.{name}.pkb", ranks, **more)


def nothing(rank):
    pass


case("lonely", send, nothing)
case("unsent", nothing, recv)
case("unwaited", nothing, lambda r: recv(r, wait=False))
case("tags", lambda r: send(r, tag=1), lambda r: recv(r, tag=2))
case("cycle", lambda r: (recv(r, 1), send(r, 1)), lambda r: (recv(r, 0), send(r, 0)))
case("collective", lambda r: (r.all_reduce(r.input([4])), send(r)), lambda r: (recv(r), r.all_reduce(r.input([4]))))
case("size", send, lambda r: recv(r, sizes=[3]))
case("dtype", send, lambda r: recv(r, dtype="int32"))
case("peer", lambda r: send(r, 2), nothing)
case("anybody", lambda r: recv(r, None), nothing)
case("member", nothing, lambda r: send(r, 0, group=1), groups=[{"id": 0, "ranks": [0, 1]}, {"id": 1, "ranks": [0]}])
case("nothing", lambda r: r.collective("send", [], [], peer=1), recv)
case("host", lambda r: r.collective("send", [r.literal(r.tensor([4], storage=r.storage(16, "literal", device="cpu")), bytes(16))], [],
                                    peer=1, tag=0), recv)
