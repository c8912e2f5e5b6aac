# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches, from a CUDA graph of one call; bytes that collectives must move, from the record."""

import ctypes

import torch

from . import variants

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


def launches(action, stream):
    """Kernels, copies and memsets that one call of `action` enqueues on the device: the nodes of its CUDA graph, captured on `stream`.

    Returns {"kernels", "nccl", "copies"}; raises what the capture raises, e.g. where the call waits for the device.
    """
    graph, _ = variants.capture(action, stream, action, graph=torch.cuda.CUDAGraph(keep_graph=True))
    return count_nodes(graph.raw_cuda_graph(), ctypes.CDLL("libcuda.so.1"))


def profiled_launches(action):
    """The same of a call that cannot be captured, by the profiler.

    Once used, the profiler stays attached to the process, and what is timed later may take the host longer.
    """
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        action()
        torch.cuda.synchronize()
    return count_events([(e.name, e.device_type == torch.autograd.DeviceType.CUDA) for e in profiler.events()])


_KERNEL, _MEMCPY, _MEMSET, _CHILD_GRAPH = 0, 1, 2, 4  # CUgraphNodeType


class _KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h."""

    _fields_ = [
        ("function", ctypes.c_void_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
        ("params", ctypes.c_void_p), ("extra", ctypes.c_void_p), ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p),
    ]  # fmt: skip


def count_nodes(graph, driver):
    """The counts of a CUgraph, child graphs included. graph: its address. driver: the CUDA driver's library."""

    def call(name, *args):
        status = getattr(driver, name)(*args)
        if status != 0:
            raise RuntimeError(f"{name} failed ({status})")

    counts, size = {"kernels": 0, "nccl": 0, "copies": 0}, ctypes.c_size_t()
    call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(size))
    nodes = (ctypes.c_void_p * size.value)()
    call("cuGraphGetNodes", ctypes.c_void_p(graph), nodes, ctypes.byref(size))
    for node in map(ctypes.c_void_p, nodes):
        kind = ctypes.c_int()
        call("cuGraphNodeGetType", node, ctypes.byref(kind))
        if kind.value in (_MEMCPY, _MEMSET):
            counts["copies"] += 1
        elif kind.value == _KERNEL:
            params, name = _KernelNode(), ctypes.c_char_p()
            call("cuGraphKernelNodeGetParams_v2", node, ctypes.byref(params))
            if params.function:
                call("cuFuncGetName", ctypes.byref(name), ctypes.c_void_p(params.function))
            else:
                call("cuKernelGetName", ctypes.byref(name), ctypes.c_void_p(params.kernel))
            counts["kernels"] += 1
            counts["nccl"] += b"nccl" in name.value.lower()
        elif kind.value == _CHILD_GRAPH:
            child = ctypes.c_void_p()
            call("cuGraphChildGraphNodeGetGraph", node, ctypes.byref(child))
            for key, count in count_nodes(child.value, driver).items():
                counts[key] += count
    return counts


def count_events(events):
    """The counts of the profiler's (name, on the device) pairs."""
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
