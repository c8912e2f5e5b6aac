# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPU rank that follows $SCRIPT: a comma-separated list of `what@rank`, applied to each job.

wrong@1     rank 1 finds a wrong result           hang@1      rank 1 stops while it runs the program
compile@0   rank 0 stops while it times compile   die@1       rank 1 ends
fall@1      rank 1 refuses the arguments          raise@0     the original function raises on rank 0, rank 1 waits for it
"""

import json
import os
import sys
import time

RANK = int(os.environ["RANK"])
for name in ("NCCL_NVLS_ENABLE", "TORCH_SYMM_MEM_DISABLE_MULTICAST", "NVSHMEM_DISABLE_NVLS", "MASTER_PORT", "WORLD_SIZE"):
    assert name in os.environ, name
SCRIPT = [s.split("@")[0] for s in os.environ.get("SCRIPT", "").split(",") if s.endswith(f"@{RANK}")]
out = os.fdopen(4, "w")


def send(job, event, **fields):
    out.write(json.dumps({"event": event, "job": job, **fields}) + "\n")
    out.flush()


def verdict(right):
    return {
        "what": "output 0", "dtype": "bfloat16", "sizes": [16, 24], "rule": "bound", "right": right, "elements": 10,
        "reason": "" if right else "3 of 10 elements are past the bound, worst at rank 1, trial 0, element [1]",
        "mismatches": 0 if right else 3, "unwritten": 0, "max_error": 0.5, "error_over_bound": 0.5 + RANK / 10,
        "reference_error_over_bound": 0.75, "worst": {"rank": RANK, "trial": 0, "index": [1]}, "replicated": True,
    }  # fmt: skip


def stop():
    time.sleep(1000)


def run(spec):
    job = spec["id"]
    send(job, "step", step="running the program")
    if "hang" in SCRIPT:
        stop()
    if "die" in SCRIPT:
        print("Traceback (most recent call last):\nMemoryError: no memory left", file=sys.stderr)
        sys.exit(1)
    if "fall" in SCRIPT:
        return send(job, "error", code=3, message="the program did not run: guard: argument 0 has size 3, compiled for 4")
    if "raise" in SCRIPT:
        return send(job, "error", code=2, message="ValueError: no such head")
    if os.environ.get("SCRIPT") == "raise@0":
        stop()
    send(job, "check", verdicts=[verdict("wrong" not in SCRIPT)], oracle="float64")
    if spec["time"] and "wrong" not in SCRIPT:
        for way in spec["ways"]:
            variants = {"ours": {"us": 10.0, "low": 9.0, "high": 11.0, "calls": 100}, "graph": {"us": 20.0, "low": 19, "high": 21, "calls": 9}}
            variants["eager"] = {"error": "rank 1: RuntimeError: out of memory"}
            if "compile" not in spec["skip"] and spec["compile"]:
                send(job, "step", step=f"timing compile ({way}), round 1")
                if "compile" in SCRIPT:
                    stop()
                variants["compile"] = {"us": 15.0, "low": 14, "high": 16, "calls": 9}
            launches = {"ours": {"kernels": 1, "nccl": 0, "copies": 0}, "eager": {"kernels": 2, "nccl": 1, "copies": 0}}
            send(job, "time", way=way, variants=variants, launches=launches, link_bytes=1000000, link_rate=2e11, rotating_groups=3,
                 calls_checked=500, unchecked="", skipped=spec["skip"], host={"call_us": 9.5, "call_out_us": 7.25})  # fmt: skip
    send(job, "done", code=1 if "wrong" in SCRIPT else 0)


send(None, "ready", device="Scripted GPU", torch="2.11.0", cuda="13.0")
for line in os.fdopen(3):
    run(json.loads(line))
