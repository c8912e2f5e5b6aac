# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# --explain says of every collective, by the line of the user's file, what moves it, what else could, and what its kernel computes.
#
# RUN: %python %s %t
#
# One with an operator after it, others that stand alone, with the reason, and collectives that share a kernel.
# RUN: pkb-opt %t.same.pkb --pkb-pipeline=target=h200x2 --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=SAME --strict-whitespace
# SAME: same.pkb: 5 collectives
# SAME-NEXT: before fusion, a call is 5 collectives and 2 operators of PyTorch
# SAME-NEXT: after it: 3 kernels of ours, 1 operator of PyTorch
# SAME: where {{ *}}what {{ *}}moved by {{ *}}instead of {{ *}}computed in its kernel
# SAME-NEXT: {{^[- ]+$}}
# SAME-NEXT: {{^}}model.py:7 {{ *}}all_reduce {{ *}}ll {{ *}}ldst {{[0-9.]+}} us {{ *}}mul after it{{$}}
# SAME-NEXT: {{^}}dist.all_reduce(x) {{ *}}4 KiB to a peer {{ *}}{{[0-9.]+}} us {{ *}}not copy_engine: only kernels of ours hold{{$}}
# SAME-NEXT: {{^ *}}ranks 0 1 {{ *}}several collectives; apart they take {{[0-9.]+}} us{{$}}
# SAME-NEXT: not nccl: only kernels of ours hold several{{$}}
# SAME: {{^}}model.py:9 {{ *}}all_reduce {{.*}}nothing: there is no operator next to it{{$}}
# SAME: {{^}}model.py:9 {{ *}}all_reduce {{.*}}nothing:
# SAME: all_reduce goes on in the kernel of all_reduce{{$}}
# SAME-NEXT: in one kernel with {{.*}} (line 9){{$}}
# SAME-NEXT: the all_reduce{{ }}
# SAME-NEXT: of line 9{{ }}
# SAME: {{^}}model.py:12 {{ *}}all_gather {{ *}}ll
# SAME: cumsum after it has no form
# SAME-NEXT: what comes before it stands in the{{$}}
# SAME-NEXT: {{ }}row of line 7{{$}}
# SAME-NEXT: the all_reduce {{.*}}all_gather goes on in the kernel of all_reduce{{$}}
# SAME-NEXT: of line 7 {{.*}}(line 7){{$}}
# SAME: {{^}}model.py:15 {{ *}}all_reduce
# SAME-NEXT: 256 MiB to a peer
# SAME: not ll: message of 268435456 bytes exceeds
# SAME: {{^}}nccl {{ *}}the call of the library stays as it is
#
# Without fusion nothing is said of it, and the mechanism that was asked for is named so. The two equal calls of a loop are one row.
# RUN: pkb-opt %t.same.pkb --pkb-pipeline='target=h200x2 fuse=false mechanism=nccl' --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=ASKED
# ASKED: same.pkb: 5 collectives
# ASKED-NEXT: a call has 0 kernels of ours, 5 library calls{{$}}
# ASKED: {{^}}model.py:7 {{ *}}all_reduce {{ *}}nccl {{ *}}ll {{[0-9.]+}} us {{ *}}-{{$}}
# ASKED: as asked for
# ASKED: {{^}}model.py:9
# ASKED: {{^}}2 times {{ *}}ranks 0 1
#
# Ranks that run different code have a table each, and the reason is there.
# RUN: pkb-opt %t.differ.pkb --pkb-pipeline=target=h200x2 --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=DIFFER
# DIFFER: differ.pkb: 1 collective; the ranks run different code, a table for each that calls one
# DIFFER: @main_0, which rank 0 runs
# DIFFER-NEXT: before fusion, a call is 1 collective and 1 operator of PyTorch
# DIFFER: model.py:7 {{.*}}all_reduce {{.*}}nothing: other ranks run other code around it
# DIFFER: @main_1, which rank 1 runs
# DIFFER: model.py:7 {{.*}}all_reduce
# DIFFER: note: @main_1: rank 0 runs aten::neg at model.py:6 where rank 1 runs aten::abs at model.py:6
#
# Collectives that share a kernel say so, each at its line; a sum that became two collectives in one kernel is one row, and one kernel.
# RUN: pkb-opt %t.chain.pkb --pkb-pipeline=target=h200x2 --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=CHAIN
# CHAIN: chain.pkb: 2 collectives
# CHAIN: after it: 1 kernel of ours, 0 operators of PyTorch
# CHAIN: model.py:7 {{.*}}all_to_all
# CHAIN: model.py:12 {{.*}}reduce_scatter {{.*}}ll
# CHAIN-NEXT: reduce_scatter goes on in the kernel of{{$}}
# CHAIN-NEXT: in one kernel with {{.*}}all_to_all (line 7){{$}}
# CHAIN-NEXT: the all_to_all{{ }}
# CHAIN-NEXT: of line 7{{ }}
# RUN: pkb-opt %t.shots.pkb --pkb-pipeline='target=h200x4 mechanism=ldst' --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=SHOTS
# SHOTS: shots.pkb: 1 collective
# SHOTS: after it: 1 kernel of ours, 1 copy, 0 operators of PyTorch
# SHOTS: model.py:7 {{.*}}all_reduce {{.*}}ldst
# SHOTS-NEXT: dist.all_reduce(x) {{ *}}as reduce_scatter, {{ *}}{{[0-9.]+}} us
# SHOTS-NEXT: {{^ *}}all_gather {{ *}}as asked for
# SHOTS-NEXT: {{^ *}}32 MiB to a peer
# SHOTS-NEXT: {{^ *}}ranks 0-3
# SHOTS-NOT: model.py
#
# Every kernel names every mechanism, with a time or a reason: also one of a collective and operators around it.
# RUN: pkb-opt %t.after.pkb --pkb-pipeline=target=h200x2 --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=AFTER
# AFTER: after.pkb: 2 collectives
# AFTER: model.py:7 {{ *}}all_reduce {{ *}}ll {{ *}}ldst {{[0-9.]+}} us {{ *}}mul after it{{$}}
# AFTER-NEXT: 4 KiB to a peer {{.*}}not copy_engine: only kernels of ours take in{{$}}
# AFTER-NEXT: what is around a collective; alone it takes{{$}}
# AFTER-NEXT: {{^ *[0-9.]+}} us{{$}}
# AFTER-NEXT: not nccl: only kernels of ours take in what is{{$}}
# AFTER: model.py:9 {{.*}}all_reduce
# AFTER-NEXT: 8 bytes to a peer {{.*}}not copy_engine: a message is no multiple of{{$}}
# AFTER-NEXT: 16 bytes{{$}}
# AFTER-NEXT: not nccl: only kernels of ours take in what is{{$}}
#
# What is taken apart again, since that is faster, is counted as it is in the end.
# RUN: pkb-opt %t.apart.pkb --pkb-pipeline=target=h200x3 --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=APART
# APART: before fusion, a call is 1 collective and 1 operator of PyTorch
# APART-NEXT: after it: 1 kernel of ours, 1 operator of PyTorch
# APART: model.py:7 {{.*}}all_reduce {{.*}}nothing: what was in it is taken apart again
# APART-NOT: _softmax after it
# APART: all_reduce, 1 operator on rows get kernels of
#
# Calls of one helper function are told apart by the lines that call it; a kernel of both says which of them it begins with.
# RUN: pkb-opt %t.helper.pkb --pkb-pipeline=target=h200x2 --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=HELPER
# RUN: pkb-opt %t.helper.pkb --pkb-pipeline=target=h200x2 --explain --json -o %t.cu 2>&1 | FileCheck %s --check-prefix=HELPER-JSON
# HELPER: helper.pkb: 2 collectives
# HELPER: {{^}}model.py:7 {{.*}}all_reduce
# HELPER-NEXT: {{^}}dist.all_reduce(x) {{.*}}
# HELPER-NEXT: {{^}}called from layers.py:40, model.py:20 {{.*}}
# HELPER: {{^}}model.py:7 {{.*}}all_reduce
# HELPER-NEXT: {{^}}dist.all_reduce(x) {{.*}}
# HELPER-NEXT: {{^}}called from layers.py:40, model.py:21 {{.*}}in one kernel
# HELPER: of line 7,{{ }}
# HELPER-NEXT: {{^ *}}called from{{ *$}}
# HELPER-NEXT: {{^ *}}model.py:20{{ *$}}
# HELPER-JSON: "callers": [
# HELPER-JSON-NEXT: "layers.py:40",
# HELPER-JSON-NEXT: "model.py:20"
# HELPER-JSON: "callers": [
# HELPER-JSON-NEXT: "layers.py:40",
# HELPER-JSON-NEXT: "model.py:21"
#
# One that only some ranks call is one collective of a program whose ranks differ.
# RUN: pkb-opt %t.some.pkb --pkb-pipeline=target=h200x3 --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=SOME
# SOME: some.pkb: 1 collective; the ranks run different code
# SOME: @main_0, which ranks 0 1 run
# SOME-NOT: @main_1
#
# The same for machines, into a file.
# RUN: pkb-opt %t.same.pkb --pkb-pipeline=target=h200x2 --explain --json=%t.json -o %t.cu 2>&1 | count 0
# RUN: %python %s %t.json check
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Frontend", "import", "Inputs"))
from bundle import Rank, write


class Program(Rank):
    """Remembers the text of each line."""

    TEXTS = {6: "x = f(x)", 7: "dist.all_reduce(x)", 9: "dist.all_reduce(loss)", 12: "dist.all_gather_into_tensor(out, x)", 15: "dist.all_reduce(grads)"}

    def site(self):
        number = super().site()
        self.sites[number]["text"] = "    " + self.TEXTS.get(self.line, "...")
        return number


def same():
    rank = Program()
    x, loss, grads = rank.input([1024]), rank.input([]), rank.input([64 << 20])
    rank.at(7)
    summed = rank.all_reduce(x)
    rank.events[-1]["writes"] = []
    scaled = rank.at(8).tensor([1024])
    rank.op("aten::mul", [{"t": summed}, {"f": 0.5}], [scaled], overload="Scalar")
    for _ in range(2):
        rank.at(9).all_reduce(loss)
    gathered = rank.at(12).tensor([2048])
    rank.collective("all_gather", [scaled], [gathered])
    ordered = rank.at(13).tensor([2048])
    rank.op("aten::cumsum", [{"t": gathered}, {"i": 0}], [ordered])
    rank.at(15).all_reduce(grads)
    rank.returns(scaled, ordered)
    return rank


def differ(name):
    rank = Program()
    x, y = rank.input([1024]), rank.at(6).tensor([1024])
    rank.op("aten::" + name, [{"t": x}], [y])
    rank.at(7).all_reduce(y)
    rank.returns(y)
    return rank


def chain():
    rank = Program()
    x, y, z = rank.input([64]), rank.at(7).tensor([64]), rank.at(12).tensor([32])
    rank.at(7).collective("all_to_all", [x], [y])
    rank.at(12).collective("reduce_scatter", [y], [z], reduce="sum")
    rank.returns(z)
    return rank


def after():
    rank = Program()
    x, part = rank.input([1024]), rank.input([2])
    summed = rank.at(7).all_reduce(x)
    rank.events[-1]["writes"] = []
    scaled = rank.at(8).tensor([1024])
    rank.op("aten::mul", [{"t": summed}, {"f": 0.5}], [scaled], overload="Scalar")
    total = rank.at(9).all_reduce(part)
    rank.events[-1]["writes"] = []
    halved = rank.at(10).tensor([2])
    rank.op("aten::mul", [{"t": total}, {"f": 0.5}], [halved], overload="Scalar")
    rank.returns(scaled, halved)
    return rank


def helper():
    rank = Program()
    x = rank.input([1024])
    for line in (20, 21):
        x = rank.at(7).all_reduce(x)
        rank.events[-1]["writes"] = []
        rank.sites[rank.events[-1]["site"]]["callers"] = [{"file": "layers.py", "line": 40, "function": "forward"}, {"file": "model.py", "line": line, "function": "f"}]
    rank.returns(x)
    return rank


def some(number):
    rank = Program()
    x = rank.input([1024])
    if number < 2:
        x = rank.at(7).all_reduce(x, group=1)
    rank.returns(x)
    return rank


def apart():
    rank = Program()
    x, y = rank.input([6, 300]), rank.at(8).tensor([6, 300])
    summed = rank.at(7).all_reduce(x)
    rank.events[-1]["writes"] = []
    rank.op("aten::_softmax", [{"t": summed}, {"i": -1}, {"b": False}], [y])
    rank.returns(y)
    return rank


def shots():
    rank = Program()
    x = rank.input([8 << 20])
    rank.returns(rank.at(7).all_reduce(x))
    return rank


if len(sys.argv) == 2:
    write(sys.argv[1] + ".chain.pkb", [chain(), chain()])
    write(sys.argv[1] + ".after.pkb", [after(), after()])
    write(sys.argv[1] + ".helper.pkb", [helper(), helper()])
    write(sys.argv[1] + ".some.pkb", [some(number) for number in range(3)], groups=[{"id": 0, "ranks": [0, 1, 2]}, {"id": 1, "ranks": [0, 1]}])
    write(sys.argv[1] + ".apart.pkb", [apart() for _ in range(3)])
    write(sys.argv[1] + ".shots.pkb", [shots() for _ in range(4)])
    write(sys.argv[1] + ".same.pkb", [same(), same()])
    write(sys.argv[1] + ".differ.pkb", [differ("neg"), differ("abs")])
else:
    with open(sys.argv[1], encoding="utf-8") as f:
        said = json.load(f)
    assert (said["schema"], said["version"]) == ("pkb-explain", [1, 3]), said
    assert said["functions"] == [{"name": "main", "ranks": [], "before": {"collectives": 5, "operators": 2},
                                  "after": {"kernels": 3, "library_calls": 0, "copy_engine_exchanges": 0, "copies": 0, "operators": 1}}], said["functions"]
    assert said["calls"] == 5, said["calls"]
    for call in said["collectives"]:
        assert [choice["mechanism"] for choice in call["choices"]] == ["ldst", "ll", "copy_engine", "nccl"], call
        assert all(choice["predicted_us"] or choice["reason"] for choice in call["choices"]), call
    assert [(call["phase"], call.get("kernel_of")) for call in said["collectives"]] == [(0, None), (0, None), (1, 1), (1, 0), (0, None)], said
    first, _, _, gather, last = said["collectives"]
    assert (first["file"], first["line"], first["text"], first["group"]) == ("model.py", 7, "dist.all_reduce(x)", [[0, 1]]), first
    assert (first["fused_before"], first["fused_after"], first["message_bytes"]) == ([], ["mul"], 4096), first
    assert gather["collective"] == "all_gather" and "not_fused" in gather, gather
    times = {choice["mechanism"]: choice["predicted_us"] for choice in last["choices"]}
    assert last["predicted_us"] == min(t for t in times.values() if t is not None), last
    assert times["ll"] is None and all("reason" in choice for choice in last["choices"] if choice["predicted_us"] is None), last
