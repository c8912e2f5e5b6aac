# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many calls on GPUs, every result checked on the device, bit for bit.

    soak.py make FOLDER                      compiles the programs (needs pkb-opt: PKB_OPT, or build/bin/pkb-opt)
    torchrun --nproc-per-node 2 soak.py run FOLDER [--calls N] [--streams N] [--replays N] [--loads N]

Four parts: `replays` of one captured call by every mechanism while its inputs change; calls on two `streams` at once; back-to-back `calls` of
programs of mixed collectives, mechanisms and sizes; `loads` and unloads with the device's free memory compared. Prints a line a part and, last,
"soak: N checks, all right" (rank 0), exit status 1 otherwise.

All data are bfloat16 integers up to 128, so that sums of two ranks are exact whatever the order.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

SIZES = {"tiny": 1 << 10, "small": 1 << 14, "odd": 70002, "large": 1 << 19}
MECHANISMS = {
    "all_reduce": ("ldst", "ll", "copy_engine", "nccl"),
    "reduce_scatter": ("ldst", "ll", "copy_engine", "nccl"),
    "all_gather": ("ldst", "ll", "copy_engine", "nccl"),
    "all_to_all": ("ldst", "ll", "copy_engine", "nccl"),
}
BODY = {
    "all_reduce": "comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<{n}xbf16>",
    "reduce_scatter": "comm.reduce_scatter sum %x in <[[0, 1]]> accumulate f32 deterministic : (tensor<{n}xbf16>) -> tensor<{half}xbf16>",
    "all_gather": "comm.all_gather %x in <[[0, 1]]> : (tensor<{n}xbf16>) -> tensor<{twice}xbf16>",
    "all_to_all": "comm.all_to_all %x in <[[0, 1]]> : (tensor<{n}xbf16>) -> tensor<{n}xbf16>",
}


def results(name, n):
    """Number of elements of the result."""
    return {"reduce_scatter": n // 2, "all_gather": 2 * n}.get(name, n)


def make(folder):
    opt = os.environ.get("PKB_OPT", str(pathlib.Path(__file__).resolve().parents[3] / "build" / "bin" / "pkb-opt"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, mechanisms in MECHANISMS.items():
        for size, n in SIZES.items():
            counts = {"n": n, "half": n // 2, "twice": 2 * n}
            text = (
                "module attributes {comm.mesh = #comm.mesh<size = 2>} {\n"
                f"  func.func @main(%x: tensor<{n}xbf16>) -> tensor<{results(name, n)}xbf16> {{\n"
                f"    %y = {BODY[name].format(**counts)}\n    return %y : tensor<{results(name, n)}xbf16>\n  }}\n}}\n"
            )
            source = folder / f"{name}.{size}.mlir"
            source.write_text(text)
            for mechanism in mechanisms:
                target = folder / f"{name}.{size}.{mechanism}.cu"
                command = [opt, source, f"--pkb-pipeline=target=h200x2 mechanism={mechanism}", "-o", target]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode and f"option mechanism={mechanism} cannot be had" not in done.stderr:
                    sys.exit(done.stderr)


class Soak:
    """One rank. Inputs are made on the device from (rank, number of the call) alone, so every rank knows what its peers sent."""

    def __init__(self, folder):
        import torch
        import torch.distributed as dist

        import pkb

        self.torch, self.dist = torch, dist
        self.rank = int(os.environ["RANK"])
        torch.cuda.set_device(self.rank)
        self.device = torch.device("cuda", self.rank)
        dist.init_process_group("nccl", device_id=self.device)
        self.names = sorted(p.name[:-3] for p in folder.glob("*.cu"))
        self.paths = {name: folder / f"{name}.cu" for name in self.names}
        self.pkb = pkb
        self.programs = {name: pkb.load(str(path)) for name, path in self.paths.items()}
        self.wrong = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.ramp = torch.arange(max(SIZES.values()), device=self.device)
        self.checks = 0

    def message(self, rank, call, n):
        """bfloat16 [n]: what `rank` gives in its call number `call` (an int, or an int64 tensor of one element on the device)."""
        return ((self.ramp[:n] * 7 + call * 13 + rank * 31) % 128).to(self.torch.bfloat16)

    def expected(self, name, call):
        collective, size, _ = name.split(".")
        n = SIZES[size]
        a, b = (self.message(r, call, n) for r in (0, 1))
        half = slice(self.rank * (n // 2), (self.rank + 1) * (n // 2))
        if collective == "all_reduce":
            return a + b
        if collective == "reduce_scatter":
            return (a + b)[half]
        return self.torch.cat([a, b]) if collective == "all_gather" else self.torch.cat([a[half], b[half]])

    def elements(self, name):
        return SIZES[name.split(".")[1]]

    def check(self, name, call, result, wrong=None):
        """Adds the elements that differ to the count on the device; the host waits for nothing."""
        bits = self.torch.int16
        (self.wrong if wrong is None else wrong).add_((result.view(bits) != self.expected(name, call).view(bits)).sum())
        self.checks += 1

    def replays(self, times):
        torch = self.torch
        for name in self.names:
            x = torch.empty(self.elements(name), dtype=torch.bfloat16, device=self.device)
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for call in range(3):
                    x.copy_(self.message(self.rank, call, x.numel()))
                    self.check(name, call, self.programs[name](x))
                stream.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=stream):
                    y = self.programs[name](x)
                for call in range(times):
                    x.copy_(self.message(self.rank, call + 5, x.numel()))
                    y.fill_(-1)
                    graph.replay()
                    self.check(name, call + 5, y)
            stream.synchronize()

    def streams(self, times):
        torch = self.torch
        kernels = [n for n in self.names if n.rsplit(".", 1)[1] in ("ldst", "ll") and ".large." not in n]
        streams = [torch.cuda.Stream(), torch.cuda.current_stream()]
        wrongs = [torch.zeros(1, dtype=torch.int64, device=self.device) for _ in streams]
        torch.cuda.synchronize()
        for call in range(times):
            for lane, stream in enumerate(streams):
                name = kernels[(call * (3 + 4 * lane) + lane) % len(kernels)]
                with torch.cuda.stream(stream):
                    number = call * 2 + lane
                    result = self.programs[name](self.message(self.rank, number, self.elements(name)))
                    self.check(name, number, result, wrongs[lane])
        torch.cuda.synchronize()
        for wrong in wrongs:
            self.wrong += wrong

    def calls(self, times):
        fast = [n for n in self.names if n.rsplit(".", 1)[1] in ("ldst", "ll")]
        at, every = time.monotonic(), 10
        for call in range(times):
            name = fast[(call * 11 + call // len(fast)) % len(fast)]
            result = self.programs[name](self.message(self.rank, call, self.elements(name)))
            self.check(name, call, result)
            if time.monotonic() - at > every:
                at = time.monotonic()
                self.say(f"calls: {call} of {times}")
        self.torch.cuda.synchronize()

    def loads(self, times):
        torch = self.torch
        free = []
        for i in range(times):
            name = self.names[i % len(self.names)]
            program = self.pkb.load(str(self.paths[name]))
            self.check(name, i, program(self.message(self.rank, i, self.elements(name))))
            program.unload()
            if i in (times // 3, times - 1):
                torch.cuda.synchronize()
                free.append(torch.cuda.mem_get_info()[0])
        lost = free[0] - free[-1] if free else 0
        self.say(f"loads: {lost} bytes of device memory less after the last than after the first third")
        return lost <= 2 << 20

    def say(self, text):
        if self.rank == 0:
            print(text, flush=True)

    def run(self, counts):
        fine = True
        for part, times in counts.items():
            start, before = time.monotonic(), self.checks
            fine = getattr(self, part)(times) is not False and fine
            self.torch.cuda.synchronize()
            self.dist.all_reduce(self.wrong)
            self.say(f"{part}: {self.checks - before} results checked, {int(self.wrong)} elements wrong, {time.monotonic() - start:.1f} s")
            fine = fine and int(self.wrong) == 0
        self.say(f"soak: {self.checks} checks, {'all right' if fine else 'WRONG'}")
        self.pkb.shutdown()
        self.dist.destroy_process_group()
        return 0 if fine else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("make", "run"))
    parser.add_argument("folder", type=pathlib.Path)
    for part, default in (("replays", 100), ("streams", 10_000), ("calls", 100_000), ("loads", 300)):
        parser.add_argument(f"--{part}", type=int, default=default, help=f"default {default}, 0: not")
    options = parser.parse_args()
    if options.action == "make":
        make(options.folder)
        return 0
    counts = {part: getattr(options, part) for part in ("replays", "streams", "calls", "loads") if getattr(options, part)}
    return Soak(options.folder).run(counts)


if __name__ == "__main__":
    sys.exit(main())
