# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A whole job of the GPU worker on two CPU processes: gloo for NCCL, the host's clock for events, and the original function, right or
spoilt, in the place of the compiled program.

    python worker_job.py BUNDLE FOLDER [--spoil] [--no-time]   prints the events of rank 0
"""

import json
import multiprocessing
import os
import sys
import time
from types import SimpleNamespace

import torch
import torch.distributed as dist

from pkb.export import tree


class HostMarker:
    def record(self):
        self.at = time.perf_counter()


class HostClock:
    def __init__(self, device):
        pass

    def mark(self):
        return time.perf_counter()

    def markers(self, count):
        return [HostMarker() for _ in range(count)]

    def between(self, a, b):
        return getattr(b, "at", b) - getattr(a, "at", a)

    def synchronize(self):
        pass


class HostMark:
    def record(self):
        self.at = time.perf_counter()


class HostGraph:
    def __init__(self, action):
        self.replay = action


class StandIn:
    """The original function with the interface of worker.ours.Ours."""

    original, spoil, aliases, handle = None, False, [None], 0

    def __init__(self, path):
        pass

    def tensors(self, args):
        return list(args)

    def call(self, tensors):
        results = tree.tensors(StandIn.original.function(*[t.clone() for t in tensors]))
        if StandIn.spoil and dist.get_rank() == 1:
            results[0].view(-1)[7] += 1
        return results

    call_poisoned = operator = call

    def results(self, outputs):
        return outputs

    def synchronize(self):
        pass

    def unload(self):
        pass


class Printer:
    def __init__(self, rank):
        self.rank, self.job = rank, 0

    def send(self, event, **fields):
        if self.rank == 0 or event == "error":
            print(json.dumps({"event": event, "rank": self.rank, **fields}), flush=True)

    def step(self, name):
        self.send("step", step=name)


def capture(action, stream, warm, times=3, graph=None):
    for _ in range(times):
        warm()
    return HostGraph(action), action()


def launches(action, stream):
    if stream == "side":
        raise RuntimeError("operation not permitted when stream is capturing")
    return {"kernels": 1, "nccl": 0, "copies": 0}


def rank_main(rank, bundle, folder, options):
    from pkb.worker import counts, job, timing, variants
    from pkb.worker.oracle import FileExchange
    from pkb.worker.protocol import Exchange

    os.chdir("/")
    torch.set_num_threads(1)
    store = dist.FileStore(os.path.join(folder, "store"), 2)
    dist.init_process_group("gloo", store=dist.PrefixStore("g", store), rank=rank, world_size=2)
    torch.cuda.synchronize = lambda device=None: None
    timing.CudaClock, timing.TARGET_S = HostClock, 0.01
    variants.capture, variants.STEP_CALLS, job.Ours, StandIn.spoil = capture, 3, StandIn, "--spoil" in options
    variants.Step.calls_per_item = 3
    timing.host_time = lambda enqueue, clock: 1.0
    counts.launches, counts.profiled_launches = launches, lambda action: (action(), {"kernels": 5, "nccl": 1, "copies": 0})[1]
    make = job.Original

    def original(*args):
        StandIn.original = make(*args)
        return StandIn.original

    job.Original = original
    exchange = Exchange(dist.PrefixStore("x", store), rank, 2, 60)
    ranks = SimpleNamespace(
        rank=rank, world_size=2, device=torch.device("cpu"), exchange=exchange, channel=Printer(rank), stream="own", link_rate=1e9,
        device_barrier=exchange.barrier, side_stream=lambda: "side",
        file_exchange=lambda where, name: FileExchange(dist.PrefixStore(f"o{name}", store), rank, 2, where, name, 60),
    )  # fmt: skip
    spec = {"id": 0, "program": "none", "bundle": bundle, "folder": folder, "trials": 3, "seed": 0, "time": "--no-time" not in options, "compile": False}
    job.run_job(spec, ranks)


def main():
    bundle, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    ranks = multiprocessing.get_context("spawn")
    children = [ranks.Process(target=rank_main, args=(r, bundle, folder, sys.argv[3:])) for r in range(2)]
    [c.start() for c in children]
    [c.join(120) for c in children]
    return max(c.exitcode if c.exitcode is not None else 1 for c in children)


if __name__ == "__main__":
    sys.exit(main())
