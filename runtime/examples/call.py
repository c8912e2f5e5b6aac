# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""call.py X.pkx RANKS [--emulated]: calls an artefact, one process per rank, and prints per rank the hash of its results. Call.cpp does the same."""

import os
import subprocess
import sys


def main(path, rank, size):
    import torch
    import torch.distributed as dist

    import pkb

    emulated = os.environ.get("PKB_DEVICE") == "emulated"
    device = torch.device("cpu" if emulated else f"cuda:{rank}")
    if not emulated:
        torch.cuda.set_device(device)
    dist.init_process_group("gloo" if emulated else "nccl")
    program = pkb.load(path)
    inputs = []
    for i, argument in enumerate(program.manifest["arguments"]):
        k = torch.arange(torch.Size(argument["sizes"]).numel())
        inputs.append(((i + rank + k) % 17 - 8).to(getattr(torch, argument["dtype"])).reshape(argument["sizes"]).to(device))
    value = 14695981039346656037
    for output in torch.ops.pkb.call(program.handle, inputs):
        for byte in output.cpu().contiguous().view(torch.uint8).flatten().tolist():
            value = (value ^ byte) * 1099511628211 % 2**64
    print(f"rank {rank}: {value:016x}", flush=True)
    pkb.shutdown()
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main(sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    else:
        size = sys.argv[2]
        device = {"PKB_DEVICE": "emulated"} if "--emulated" in sys.argv else {}
        meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000), "WORLD_SIZE": size}
        ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, **device, **meet, "RANK": str(r)}) for r in range(int(size))]
        sys.exit(max(rank.wait() for rank in ranks))
