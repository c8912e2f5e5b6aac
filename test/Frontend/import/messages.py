# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sends and receives are matched over all ranks: what matches becomes a permutation of the ranks that take part.
#
# RUN: %python %s %t
# RUN: pkb-opt %t.ring.pkb --pkb-verify-comm | FileCheck %s --check-prefix=RING
# RUN: pkb-opt %t.halo.pkb --pkb-verify-comm | FileCheck %s --check-prefix=HALO
# RUN: pkb-opt %t.blocking.pkb --pkb-verify-comm | FileCheck %s --check-prefix=BLOCKING
# RUN: pkb-opt %t.stages.pkb --pkb-verify-comm | FileCheck %s --check-prefix=STAGES
# RUN: pkb-opt %t.crossed.pkb --pkb-verify-comm | FileCheck %s --check-prefix=CROSSED
# RUN: pkb-opt %t.late.pkb --pkb-verify-comm | FileCheck %s --check-prefix=LATE
# RUN: pkb-opt %t.order.pkb --pkb-verify-comm | FileCheck %s --check-prefix=ORDER
# RUN: pkb-opt %t.self.pkb --pkb-verify-comm | FileCheck %s --check-prefix=SELF
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import Rank, write


class Messages(Rank):
    def __init__(self, number, world_size):
        super().__init__()
        self.number, self.world_size = number, world_size

    def send(self, tensor, peer, **more):
        self.collective("send", [tensor], [], peer=peer % self.world_size, **{"tag": 0, **more})
        return len(self.events) - 1

    def recv(self, into, peer, **more):
        """Returns the event to wait for."""
        described = self.tensors[into]
        output = self.tensor(described["sizes"], described["dtype"])
        self.collective("recv", [], [output], [[output, into]], peer=peer % self.world_size, **{"tag": 0, **more})
        return len(self.events) - 1

    def wait(self, *events):
        for event in events:
            self.events.append({"kind": "wait", "collective": event, "site": self.site()})

    def call(self, name, tensor, **more):
        described = self.tensors[tensor]
        result = self.tensor(described["sizes"], described["dtype"])
        self.op(name, [{"t": tensor}], [result], **more)
        return result


def case(name, program, world_size, **more):
    ranks = [Messages(k, world_size) for k in range(world_size)]
    for k, rank in enumerate(ranks):
        program(rank, k, world_size)
    write(f"{sys.argv[1]}.{name}.pkb", ranks, **more)


# All ranks of a ring run one function. What is sent is the value at the call, whatever is written later; what comes is written
# at the wait.
# RING: func.func @main(%[[X:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<2x2xf32>)
# RING-NEXT: %[[P:.*]] = comm.permute %[[X]] in <{{\[}}[0, 1, 2]]> pairs {{\[}}[0, 1], [1, 2], [2, 0]] : (tensor<4xf32>) -> tensor<2x2xf32>
# RING-NEXT: %[[N:.*]] = aten.call "aten::neg_"(%[[X]])
# RING-NEXT: return %[[N]], %[[P]]
def ring(rank, k, w):
    x, b = rank.input([4]), rank.input([2, 2])
    events = [rank.send(x, k + 1), rank.recv(b, k - 1)]
    rank.op("aten::neg_", [{"t": x}], [x], mutates=[x])
    rank.wait(*events)


case("ring", ring, 3)


# Two messages in each direction, in one function: two permutations, in the order of the sends, though the receives are posted in
# another order.
# HALO: func.func @main(
# HALO: %[[L:.*]] = comm.permute %{{.*}} pairs {{\[}}[0, 1], [1, 2], [2, 3], [3, 0]]
# HALO: %[[R:.*]] = comm.permute %{{.*}} pairs {{\[}}[0, 3], [1, 0], [2, 1], [3, 2]]
# HALO: aten.call "aten::add" overload "Tensor"(%[[R]], %[[L]])
def halo(rank, k, w):
    x, y = rank.input([4]), rank.input([4])
    low, high = rank.tensor([4]), rank.tensor([4])
    rank.op("aten::empty", [{"is": [4]}], [low])
    rank.op("aten::empty", [{"is": [4]}], [high])
    events = [rank.send(x, k + 1), rank.send(y, k - 1), rank.recv(high, k + 1), rank.recv(low, k - 1)]
    rank.wait(*events)
    result = rank.tensor([4])
    rank.op("aten::add", [{"t": high}, {"t": low}], [result], overload="Tensor")
    rank.returns(result)


case("halo", halo, 4)


# Every rank sends first and waits for it: one permutation, where a rendezvous would hang.
# BLOCKING: func.func @main(
# BLOCKING: comm.permute %{{.*}} pairs {{\[}}[0, 1], [1, 0]]
# BLOCKING-NOT: comm.permute
def blocking(rank, k, w):
    x, b = rank.input([4]), rank.input([4])
    rank.wait(rank.send(x, 1 - k))
    rank.wait(rank.recv(b, 1 - k))


case("blocking", blocking, 2)


# A pipeline: the ends send or receive only, and the stages between them do one after the other.
# STAGES: func.func @main_0({{.*}}comm.ranks = array<i64: 0>
# STAGES: %[[E:.*]] = aten.call "aten::exp"
# STAGES-NEXT: comm.permute %[[E]] in <{{\[}}[0, 1]]> pairs {{\[}}[0, 1]] {comm.exchange = [[#A:]] : i64}
# STAGES-NOT: comm.permute
# STAGES: func.func @main_1({{.*}}comm.ranks = array<i64: 1>
# STAGES: %[[NONE:.*]] = comm.absent : tensor<4xf32>
# STAGES-NEXT: %[[GOT:.*]] = comm.permute %[[NONE]] in <{{\[}}[0, 1]]> pairs {{\[}}[0, 1]] {comm.exchange = [[#A]] : i64}
# STAGES-NEXT: %[[E:.*]] = aten.call "aten::exp"(%[[GOT]])
# STAGES-NEXT: comm.permute %[[E]] in <{{\[}}[1, 2]]> pairs {{\[}}[1, 2]] {comm.exchange = [[#B:]] : i64}
# STAGES: func.func @main_2({{.*}}comm.ranks = array<i64: 2>
# STAGES: %[[GOT:.*]] = comm.permute %{{.*}} pairs {{\[}}[1, 2]] {comm.exchange = [[#B]] : i64}
# STAGES: comm.permute %{{.*}} pairs {{\[}}[2, 3]] {comm.exchange = [[#C:]] : i64}
# STAGES: func.func @main_3({{.*}}comm.ranks = array<i64: 3>
# STAGES: comm.permute %{{.*}} pairs {{\[}}[2, 3]] {comm.exchange = [[#C]] : i64}
def stages(rank, k, w):
    x = rank.input([4])
    if k > 0:
        rank.wait(rank.recv(x, k - 1))
    x = rank.call("aten::exp", x)
    if k < w - 1:
        rank.wait(rank.send(x, k + 1))
    rank.returns(x)


case("stages", stages, 4)


# Rank 0 sends first, rank 1 receives last: the messages cross, and both ranks meet them in one order.
# CROSSED: func.func @main_0(
# CROSSED: comm.permute %{{.*}} pairs {{\[}}[0, 1]] {comm.exchange = [[#A:]] : i64}
# CROSSED: comm.permute %{{.*}} pairs {{\[}}[1, 0]] {comm.exchange = [[#B:]] : i64}
# CROSSED: func.func @main_1(
# CROSSED: comm.permute %{{.*}} pairs {{\[}}[0, 1]] {comm.exchange = [[#A]] : i64}
# CROSSED: comm.permute %{{.*}} pairs {{\[}}[1, 0]] {comm.exchange = [[#B]] : i64}
def crossed(rank, k, w):
    x, b = rank.input([4]), rank.input([4])
    if k == 0:
        send = rank.send(x, 1)
        rank.wait(rank.recv(b, 1), send)
    else:
        receive = rank.recv(b, 0)
        send = rank.send(x, 0)
        rank.wait(receive, send)


case("crossed", crossed, 2)


# A message that is sent long before anybody asks for it leaves where the ranks meet; a collective between is no obstacle.
# LATE: func.func @main_0(
# LATE: comm.all_reduce
# LATE: comm.permute %{{.*}} pairs {{\[}}[0, 1]]
# LATE: func.func @main_1(
# LATE: comm.all_reduce
# LATE: comm.permute %{{.*}} pairs {{\[}}[0, 1]]
def late(rank, k, w):
    x, b = rank.input([4]), rank.input([4])
    send = rank.send(x, 1) if k == 0 else None
    rank.all_reduce(b)
    rank.wait(send if k == 0 else rank.recv(x, 0))


case("late", late, 2)


# Messages of one sender and receiver are taken in their order, by tag.
# ORDER: func.func @main_0(%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>, %[[Z:.*]]: tensor<4xf32>)
# ORDER-DAG: comm.permute %[[X]] in {{.*}}{comm.exchange = [[#A:]] : i64}
# ORDER-DAG: comm.permute %[[Y]] in {{.*}}{comm.exchange = [[#B:]] : i64}
# ORDER-DAG: comm.permute %[[Z]] in {{.*}}{comm.exchange = [[#C:]] : i64}
# ORDER: func.func @main_1(
# ORDER-DAG: %[[P:.*]] = comm.permute {{.*}}{comm.exchange = [[#A]] : i64}
# ORDER-DAG: %[[Q:.*]] = comm.permute {{.*}}{comm.exchange = [[#B]] : i64}
# ORDER-DAG: %[[R:.*]] = comm.permute {{.*}}{comm.exchange = [[#C]] : i64}
# ORDER: return %[[R]], %[[P]], %[[Q]]
def order(rank, k, w):
    x, y, z = rank.input([4]), rank.input([4]), rank.input([4])
    if k == 0:
        rank.wait(rank.send(x, 1), rank.send(y, 1), rank.send(z, 1, tag=7))
    else:
        rank.wait(rank.recv(x, 0, tag=7), rank.recv(y, 0), rank.recv(z, 0))


case("order", order, 2)


# SELF: comm.permute %{{.*}} in <{{\[}}[0, 1]]> pairs {{\[}}[0, 0], [1, 1]]
def itself(rank, k, w):
    x, b = rank.input([4]), rank.input([4])
    rank.wait(rank.send(x, k), rank.recv(b, k))


case("self", itself, 2)
