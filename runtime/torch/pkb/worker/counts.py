# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches, by the profiler; bytes that collectives must move, from the record."""

import torch

_RECEIVED = {
    # bytes that one rank must receive, from the bytes of its input (n), those of its output (m), and the group size w
    "all_reduce": lambda n, m, w: 2 * (w - 1) * n // w,
    "all_gather": lambda n, m, w: (w - 1) * n,
    "reduce_scatter": lambda n, m, w: (w - 1) * m,
    "all_to_all": lambda n, m, w: (w - 1) * m // w,
    "broadcast": lambda n, m, w: m,
    "scatter": lambda n, m, w: m,
    "gather": lambda n, m, w: (w - 1) * n,
    "reduce": lambda n, m, w: (w - 1) * n,
    "recv": lambda n, m, w: m,
    "permute": lambda n, m, w: m,
}

ITEM_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "bool": 1,
    "uint16": 2, "uint32": 4, "uint64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1, "complex32": 4, "complex64": 8, "complex128": 16,
}  # fmt: skip


def tensor_bytes(entry):
    """Bytes of the elements of a record's tensor entry."""
    n = ITEM_BYTES[entry["dtype"]]
    for size in entry["sizes"]:
        n *= size
    return n


def link_bytes(record, groups):
    """Bytes that this record's rank must receive from peers in one call, at least: the two-shot count for an all-reduce.

    record: content of rank<k>.json; groups: rank lists by group id. A collective with uneven splits counts the rows of the peers.
    """
    total, me = 0, record["rank"]
    for event in record["events"]:
        if event["kind"] != "collective":
            continue
        ranks = groups[event["group"]]
        w = len(ranks)
        if w < 2 or me not in ranks or event["name"] not in _RECEIVED:
            continue
        tensors = record["tensors"]
        n = sum(tensor_bytes(tensors[t]) for t in event["inputs"])
        m = sum(tensor_bytes(tensors[t]) for t in event["outputs"])
        index, root = ranks.index(me), event.get("root")
        if event["name"] in ("broadcast", "scatter") and index == root:
            continue
        if event["name"] in ("gather", "reduce") and index != root:
            continue
        splits = event.get("splits")
        if event["name"] == "all_to_all" and splits and sum(splits["out"]):
            total += m * (sum(splits["out"]) - splits["out"][index]) // sum(splits["out"])
        else:
            total += _RECEIVED[event["name"]](n, m, w)
    return total


def launches(action):
    """Kernels, copies and memsets that one call of `action` enqueues on the device, by the profiler.

    Returns {"kernels", "nccl", "copies"}; raises what the profiler raises.
    """
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        action()
        torch.cuda.synchronize()
    return count_events([(e.name, e.device_type == torch.autograd.DeviceType.CUDA) for e in profiler.events()])


def count_events(events):
    """The counts of (name, on the device) pairs."""
    counts = {"kernels": 0, "nccl": 0, "copies": 0}
    for name, on_device in events:
        if not on_device or name.startswith(("ProfilerStep", "Optimizer", "nccl:", "record_param_comms")):
            continue
        if name.startswith(("Memcpy", "Memset")):
            counts["copies"] += 1
        else:
            counts["kernels"] += 1
            counts["nccl"] += "nccl" in name.lower()
    return counts


def link_rate(device, world_size, size=256 << 20, repeats=5):
    """Bytes per second of a copy of `size` bytes to the next GPU, all ranks at once; 0.0 with one rank.

    The best of `repeats` by events, as a copy engine moves them: the rate that the roofline is measured with.
    """
    if world_size < 2:
        return 0.0
    peer = torch.device("cuda", (device.index + 1) % world_size)
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty(size, dtype=torch.uint8, device=peer)
    best = float("inf")
    for _ in range(repeats + 1):
        a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record()
        target.copy_(source, non_blocking=True)
        b.record()
        torch.cuda.synchronize(device)
        best = min(best, a.elapsed_time(b) * 1e-3)
    del source, target
    torch.cuda.empty_cache()
    return size / best
