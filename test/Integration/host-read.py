# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""comm.host_read: numbers that all ranks have computed on the device become arguments of operators. A program of level L1 against its lowering in
the rank interpreter, and its host plan on emulated ranks, in calls back to back that read other numbers. Argument: `all` for more numbers of ranks."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

import pkb

sys.path.insert(0, os.path.join(os.environ["PKB_SOURCE_DIR"], "runtime", "tests", "torch"))
import rank_threads  # noqa: E402

BUILD = os.environ["PKB_BUILD_DIR"]
os.environ.setdefault("PKB_LIBRARY_DIR", os.path.join(BUILD, "lib"))
CALLS = 4
# Sums of a count, a weight and a condition over all ranks are read. Numbers are taken as a Scalar, a SymInt, a float, a bool and a keyword argument; one
# is read before its tensor is written in place, and a view takes one.
PROGRAM = """
module attributes {comm.mesh = #comm.mesh<size = %W%>} {
  func.func @main(%x: tensor<8x3xf32>, %n: tensor<i64>, %w: tensor<1xf32>, %c: tensor<2xi1>)
      -> (tensor<2x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>, tensor<1x3xf32>, tensor<8x3xf32>, tensor<i64>) {
    %count = comm.all_reduce sum %n in <[[%ROW%]]> accumulate i64 deterministic : tensor<i64>
    %bounded = aten.call "aten::clamp"(%count) args [#aten.operand<0>, 0, 6] returns [#aten.result<0>] : (tensor<i64>) -> tensor<i64>
    %k = comm.host_read %bounded : tensor<i64>
    %weight = comm.all_reduce sum %w in <[[%ROW%]]> accumulate f32 deterministic : tensor<1xf32>
    %f = comm.host_read %weight : tensor<1xf32>
    %second = aten.as_strided %c : tensor<2xi1> -> tensor<i1, #aten.strided<[], 1>>
    %held = aten.call "aten::clone"(%second) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<i1, #aten.strided<[], 1>>) -> tensor<i1>
    %b = comm.host_read %held : tensor<i1>
    %part = aten.call "aten::narrow_copy"(%x, %k) args [#aten.operand<0>, 0, #aten.operand<1>, 2] returns [#aten.result<0>]
        : (tensor<8x3xf32>, i64) -> tensor<2x3xf32>
    %scaled = aten.call "aten::mul" overload "Scalar"(%x, %f) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>]
        : (tensor<8x3xf32>, f32) -> tensor<8x3xf32>
    %total = aten.call "aten::add" overload "Tensor"(%scaled, %x, %k) args [#aten.operand<0>, #aten.operand<1>] kwargs {alpha = #aten.operand<2>}
        returns [#aten.result<0>] : (tensor<8x3xf32>, tensor<8x3xf32>, i64) -> tensor<8x3xf32>
    %more = aten.call "aten::add_" overload "Scalar"(%bounded) args [#aten.operand<0>, 100] returns [#aten.operand<0>] mutates [0]
        : (tensor<i64>) -> tensor<i64>
    %sorted:2 = aten.call "aten::sort"(%x, %b) args [#aten.operand<0>, 0, #aten.operand<1>] returns [#aten.result<0>, #aten.result<1>]
        : (tensor<8x3xf32>, i1) -> (tensor<8x3xf32>, tensor<8x3xi64>)
    %gone = aten.call "aten::select" overload "int"(%x, %k) args [#aten.operand<0>, 0, #aten.operand<1>] returns [#aten.result<0>]
        : (tensor<8x3xf32>, i64) -> tensor<3xf32>
    %line = aten.as_strided %gone : tensor<3xf32> -> tensor<1x3xf32>
    %all = comm.all_reduce sum %total in <[[%ROW%]]> accumulate f32 deterministic : tensor<8x3xf32>
    return %part, %all, %sorted#0, %line, %scaled, %more : tensor<2x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>, tensor<1x3xf32>, tensor<8x3xf32>, tensor<i64>
  }
}
"""


def inputs(rank, world_size, call):
    random = torch.Generator().manual_seed(10 * call + rank)
    counts = torch.zeros(world_size, dtype=torch.int64)
    counts[call % world_size] = call + 1  # a sum from 1 to CALLS
    return [torch.randn(8, 3, generator=random), counts[rank].clone(), torch.randn(1, generator=random), torch.tensor([rank == 0, call % 2 == 1])]


def expected(rank, world_size, call):
    every = [inputs(r, world_size, call) for r in range(world_size)]
    x, _, _, c = every[rank]
    k, weight = int(sum(e[1] for e in every)), torch.zeros(1)
    for e in every:
        weight = weight + e[2]
    total = torch.zeros(8, 3)
    for e in every:
        total = total + torch.add(e[0] * weight.item(), e[0], alpha=k)
    return [x[k : k + 2], total, x.sort(0, bool(c[1])).values, x[k : k + 1], x * weight.item(), torch.tensor(k + 100)]


def on_emulated_ranks(path, world_size):
    """What is wrong with the results of the calls."""
    wrong = []

    def body(rank, context):
        program = pkb.load(path, context=context)
        for call in range(CALLS):
            results = program(*inputs(rank, world_size, call))
            context.synchronize()
            for number, (ours, right) in enumerate(zip(results, expected(rank, world_size, call))):
                if not torch.equal(ours, right):
                    wrong.append(f"W = {world_size}, rank {rank}, call {call}, result {number}: {ours} instead of {right}")

    try:
        rank_threads.on_ranks(world_size, body)
    except pkb.PkbError as error:
        wrong.append(f"W = {world_size}: {error}")
    return wrong


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for world_size in (1, 2, 3, 4, 5, 6, 8) if sys.argv[1:] == ["all"] else (1, 3):
            source, program = pathlib.Path(folder) / f"{world_size}.mlir", pathlib.Path(folder) / f"{world_size}.cu"
            source.write_text(PROGRAM.replace("%W%", str(world_size)).replace("%ROW%", ", ".join(map(str, range(world_size)))))
            lower = f"pkb-elide-clones,canonicalize,cse,pkb-select-mechanism{{target=h200x{world_size}}},pkb-convert-comm-to-xfer"
            done = subprocess.run([f"{BUILD}/bin/pkb-interpret", source, f"--lower={lower}", "--calls=2", "--int-limit=2"], capture_output=True, text=True)
            if done.returncode or "equal" not in done.stdout:
                wrong.append(f"interpreter, W = {world_size}: {done.stdout} {done.stderr}")
            done = subprocess.run([f"{BUILD}/bin/pkb-opt", source, f"--pkb-pipeline=target=h200x{world_size}", "-o", program], capture_output=True, text=True)
            if done.returncode:
                wrong.append(done.stderr)
                continue
            text = program.read_text()
            steps = json.JSONDecoder().raw_decode(text[text.index("{") :])[0]["steps"]
            if [step["kind"] for step in steps].count("host_read") != 3:
                wrong.append(f"three numbers are not read in three steps: {steps}")
            wrong += on_emulated_ranks(program, world_size)
    print("\n".join(wrong) or "right")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
