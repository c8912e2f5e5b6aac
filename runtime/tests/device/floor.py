# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How near a kernel over rows is to what no kernel can be faster than, on two GPUs.

    floor.py make FOLDER                                         compiles the programs (needs pkb-opt: PKB_OPT, or build/bin/pkb-opt)
    torchrun --nproc-per-node 2 floor.py run FOLDER [--json F]

The kernel normalizes rows of a hidden dimension that two ranks share (the arithmetic of problems/018-tp-rms-norm, 4096 x 4096 bfloat16 a rank). The floor is the
sum of parts measured beside it: a pass of torch that reads and writes as much, and an exchange of 64 elements less the launch of a kernel. All are steps of
20 calls in a CUDA graph on 20 resident inputs, taken in turn; a number is the median over rounds of the slower rank, in microseconds. Prints a table;
exit status 1 if a result of the kernel is not within two units of bfloat16 of torch's.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROWS = COLUMNS = 4096
CALLS, ROUNDS, REPLAYS = 20, 14, 5
NORM, TINY = "norm.cu", "exchange.cu"
X, ONE, W = f"tensor<{ROWS}x{COLUMNS}xbf16>", f"tensor<{ROWS}x1xf32>", f"tensor<{COLUMNS}xbf16>"
WIDE = f"tensor<{ROWS}x{COLUMNS}xf32>"
TWO = "args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>]"
PROGRAMS = {
    TINY: """module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<64xbf16>) -> tensor<64xbf16> {
    %y = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<64xbf16>
    return %y : tensor<64xbf16>
  }
}
""",
    NORM: f"""module attributes {{comm.mesh = #comm.mesh<size = 2>}} {{
  func.func @main(%x: {X}, %w: {W}) -> {X} {{
    %0 = aten.call "aten::_to_copy"(%x) args [#aten.operand<0>] kwargs {{dtype = #aten.dtype<float32>}} returns [#aten.result<0>] : ({X}) -> {WIDE}
    %1 = aten.call "aten::pow" overload "Tensor_Scalar"(%0) args [#aten.operand<0>, 2] returns [#aten.result<0>] : ({WIDE}) -> {WIDE}
    %2 = aten.call "aten::sum" overload "dim_IntList"(%1) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : ({WIDE}) -> {ONE}
    %3 = comm.all_reduce sum %2 in <[[0, 1]]> accumulate f32 : {ONE}
    %4 = aten.call "aten::div" overload "Tensor"(%3) args [#aten.operand<0>, {2.0 * COLUMNS}] returns [#aten.result<0>] : ({ONE}) -> {ONE}
    %5 = aten.call "aten::rsqrt"(%4) args [#aten.operand<0>] returns [#aten.result<0>] : ({ONE}) -> {ONE}
    %6 = aten.call "aten::mul" overload "Tensor"(%0, %5) {TWO} : ({WIDE}, {ONE}) -> {WIDE}
    %7 = aten.call "aten::_to_copy"(%6) args [#aten.operand<0>] kwargs {{dtype = #aten.dtype<bfloat16>}} returns [#aten.result<0>] : ({WIDE}) -> {X}
    %8 = aten.call "aten::mul" overload "Tensor"(%w, %7) {TWO} : ({W}, {X}) -> {X}
    return %8 : {X}
  }}
}}
""",
}


def make(folder):
    opt = os.environ.get("PKB_OPT", str(pathlib.Path(__file__).resolve().parents[3] / "build" / "bin" / "pkb-opt"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PROGRAMS.items():
        source = folder / name.replace(".cu", ".mlir")
        source.write_text(text)
        done = subprocess.run([opt, source, "--pkb-pipeline=target=h200x2", "-o", folder / name], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
    print(f"{len(PROGRAMS)} programs")


class Floor:
    """One rank."""

    def __init__(self, folder):
        import torch
        import torch.distributed as dist

        import pkb

        self.torch, self.dist = torch, dist
        self.rank = int(os.environ["RANK"])
        torch.cuda.set_device(self.rank)
        dist.init_process_group("nccl", device_id=torch.device("cuda", self.rank))
        self.stream = torch.cuda.Stream()
        self.graphs, self.results = {}, {}
        random = torch.Generator(device="cuda").manual_seed(self.rank)
        xs = [torch.randn(ROWS, COLUMNS, device="cuda", generator=random).bfloat16() for _ in range(CALLS)]
        weight = torch.randn(COLUMNS, device="cuda", generator=random).bfloat16()
        small = [x.flatten()[:64].clone() for x in xs]
        twice, number = [torch.empty_like(x) for x in xs], torch.empty(1, device="cuda")
        self.programs = [pkb.load(str(folder / name), fallback=None) for name in (TINY, NORM)]
        exchange, norm = self.programs
        self.step("pass", lambda i: torch.mul(xs[i], 2.0, out=twice[i]))
        self.step("launch", lambda i: number.fill_(1.0))
        self.step("exchange", lambda i: exchange(small[i]))
        self.step("kernel", lambda i: norm(xs[i], weight))
        self.expected = [self.reference(x, weight) for x in xs]

    def reference(self, x, weight):
        wide = x.float()
        squares = wide.pow(2).sum(-1, keepdim=True)
        self.dist.all_reduce(squares)
        return weight * (wide * self.torch.rsqrt(squares / (2 * COLUMNS))).bfloat16()

    def step(self, name, call):
        torch = self.torch
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for i in range(3):
                call(i)
        self.stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
            self.results[name] = [call(i) for i in range(CALLS)]
        self.graphs[name] = graph

    def times(self):
        """{name: microseconds of a call, one number a round}"""
        torch, dist = self.torch, self.dist
        found = {name: [] for name in self.graphs}
        for _ in range(ROUNDS):
            for result in self.results["kernel"]:
                result.fill_(float("nan"))
            for name, graph in self.graphs.items():
                graph.replay()
                dist.barrier()
                torch.cuda.synchronize()
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record()
                for _ in range(REPLAYS):
                    graph.replay()
                end.record()
                end.synchronize()
                slower = torch.tensor([start.elapsed_time(end) * 1e3 / (REPLAYS * CALLS)], device="cuda")
                dist.all_reduce(slower, op=dist.ReduceOp.MAX)
                found[name].append(float(slower))
        return {name: numbers[2:] for name, numbers in found.items()}

    def wrong(self):
        """Elements that are further from torch's than two units in the last place, on both ranks."""
        torch = self.torch
        count = torch.zeros(1, device="cuda")
        for got, want in zip(self.results["kernel"], self.expected):
            near = (got.float() - want.float()).abs() <= want.float().abs() * 2.0**-6 + 2.0**-126
            count += (~near).sum()
        self.dist.all_reduce(count)
        return int(count)

    def run(self, path):
        times, wrong = self.times(), self.wrong()
        at = {name: statistics.median(numbers) for name, numbers in times.items()}
        floor = at["pass"] + at["exchange"] - at["launch"]
        if self.rank == 0:
            for name, numbers in times.items():
                print(f"{name:10} {at[name]:8.2f} us  {min(numbers):.2f} to {max(numbers):.2f}")
            print(f"{'floor':10} {floor:8.2f} us  pass + exchange - launch; the kernel takes {at['kernel'] / floor:.3f} of it, {wrong} elements wrong", flush=True)
            if path:
                device = f"{self.dist.get_world_size()} x {self.torch.cuda.get_device_name(0)}"
                row = {"device": device, "rows": ROWS, "columns": COLUMNS, "us": at, "runs": times, "floor_us": floor, "wrong": wrong}
                path.write_text(json.dumps(row, indent=1) + "\n")
        self.dist.barrier()
        self.graphs.clear()
        self.dist.destroy_process_group()
        return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("make", "run"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, help="write the numbers here")
    options = parser.parse_args()
    if options.action == "make":
        make(options.folder)
        return 0
    return Floor(options.folder).run(options.json)


if __name__ == "__main__":
    sys.exit(main())
