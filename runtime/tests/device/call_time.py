# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""call_time.py X.pkx RANKS [--emulated]: host time of a load and of a call, from C++ and from Python, as one table of rank 0.

On GPUs a call is enqueued and the stream drained between batches, so the time is the host's. On the fake driver a call has run when it returns: the table then shows
that everything works, not how fast. PKB_CALL_TIME names pkb-call-time where it is not beside the libraries.
"""

import os
import re
import statistics
import subprocess
import sys
import time

BATCHES, CALLS = 41, 64


def median_us(call, drain, batches):
    times = []
    for _ in range(batches):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - begin) / CALLS * 1e6)
        drain()
    return statistics.median(times)


def rank_main(path):
    import torch
    import torch.distributed as dist

    import pkb

    rank, emulated = int(os.environ["RANK"]), os.environ.get("PKB_DEVICE") == "emulated"
    device = torch.device("cpu" if emulated else f"cuda:{rank}")
    if not emulated:
        torch.cuda.set_device(device)
    dist.init_process_group("gloo" if emulated else "nccl")
    pkb.load(path).unload()  # makes the context, and fills the cache
    loads = []
    for _ in range(5):
        begin = time.perf_counter()
        program = pkb.load(path)
        loads.append((time.perf_counter() - begin) * 1e3)
        program.unload()
    program = pkb.load(path)
    arguments = [
        torch.zeros(torch.Size(a["sizes"]).numel(), dtype=getattr(torch, a["dtype"]), device=device).reshape(a["sizes"]) for a in program.manifest["arguments"]
    ]
    outputs = [torch.empty_strided(o["sizes"], o["strides"], dtype=getattr(torch, o["dtype"]), device=device) for o in program.manifest["outputs"]]
    handle, call, call_out = program.handle, torch.ops.pkb.call.default, torch.ops.pkb.call_out.default
    batches, drain = (3 if emulated else BATCHES), program._context.synchronize
    rows = [("pkb.load of a cached artefact", statistics.median(loads) * 1e3)]
    ways = [("torch.ops.pkb.call_out, outputs passed in", lambda: call_out(handle, arguments, outputs)), ("torch.ops.pkb.call", lambda: call(handle, arguments))]
    if program._quick:
        ways.append(("the callable of pkb.load", lambda: program(*arguments)))
    for name, way in ways:
        way()
        drain()
        rows.append((name, median_us(way, drain, batches)))
    if rank == 0:
        for name, us in rows:
            print(f"| {name} | {us:.2f} |", flush=True)
        print(f"{program.launches} launches a call", flush=True)
    pkb.shutdown()
    dist.destroy_process_group()


def main(path, size, emulated):
    print(f"{'fake driver: not timed' if emulated else 'GPUs'}, {size} ranks\n| what | us |\n|---|---|", flush=True)
    if not emulated:
        tool = os.environ.get("PKB_CALL_TIME") or os.path.join(os.environ["PKB_LIBRARY_DIR"], "..", "bin", "pkb-call-time")
        done = subprocess.run([tool, path, size], capture_output=True, text=True, check=False)
        found = re.search(r"rank 0: host time of a call ([0-9.]+) us", done.stdout)
        print(f"| pkb_program_call in C++, outputs passed in | {found.group(1)} |" if found else f"pkb-call-time failed: {done.stderr.strip()}", flush=True)
    device = {"PKB_DEVICE": "emulated"} if emulated else {}
    meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000), "WORLD_SIZE": size}
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, **device, **meet, "RANK": str(r)}) for r in range(int(size))]
    return max(rank.wait() for rank in ranks)


if __name__ == "__main__":
    if "RANK" in os.environ:
        rank_main(sys.argv[1])
    elif len(sys.argv) < 3 or not sys.argv[2].isdigit():
        sys.exit("usage: call_time.py X.pkx RANKS [--emulated]")
    else:
        sys.exit(main(sys.argv[1], sys.argv[2], "--emulated" in sys.argv))
