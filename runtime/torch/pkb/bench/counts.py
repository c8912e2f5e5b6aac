# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program and its original do per rank and call, counted from the manifest and from the record."""

import json
import math
import re
import zipfile

DTYPE_BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "float32": 4, "int64": 8,
               "float64": 8, "complex64": 8, "complex128": 16}  # fmt: skip


def tensor_bytes(tensor):
    return math.prod(tensor["sizes"]) * DTYPE_BYTES.get(tensor["dtype"], 1)


def original_work(bundle):
    """The recorded program of rank 0: (bytes that must arrive over the links, operator and collective calls)."""
    with zipfile.ZipFile(bundle) as z:
        groups = {g["id"]: len(g["ranks"]) for g in json.loads(z.read("bundle.json"))["groups"]}
        program = json.loads(z.read("rank0.json"))
    tensors = {t["id"]: t for t in program["tensors"]}
    origin = {s["id"]: s["origin"] for s in program["storages"]}
    arriving, calls = 0, 0
    for event in program["events"]:
        if event["kind"] == "op":
            made = [tensors[t] for r in event["results"] for t in r.get("ts") or [r.get("t")] if t is not None]
            views = event["mutates"] == [] and made and all(origin[t["storage"]] != "op" for t in made)
            calls += 0 if views or re.match(r"aten::(new_)?empty", event["op"]) else 1
        elif event["kind"] == "collective":
            calls += 1
            size = groups[event["group"]]
            bytes_in = sum(tensor_bytes(tensors[t]) for t in event["inputs"])
            arriving += {"all_reduce": 2 * (size - 1) * bytes_in // size, "all_gather": (size - 1) * bytes_in,
                         "all_to_all": (size - 1) * bytes_in // size,
                         "reduce_scatter": (size - 1) * bytes_in // size}.get(event["name"], bytes_in)  # fmt: skip
    return arriving, calls


def manifest_of(cu):
    """The manifest at the head of an emitted file. Raises ValueError if it has none."""
    with open(cu, encoding="utf-8") as f:
        text = f.read()
    head = re.match(r"/\* pkb-manifest\s*(\{.*?\n?\})\s*\*/", text, re.S)
    if not head:
        raise ValueError(f"{cu} has no manifest at its head")
    return json.loads(head.group(1))


def sent_bytes(manifest):
    """Bytes that the kernels and library calls of a program send per rank (the first kind of rank) and call, or None if one of them does not say."""
    first = manifest["programs"][0] if "programs" in manifest else manifest
    sent = [s.get("sent_bytes") for s in first["steps"] if s["kind"] in ("launch", "library")]
    return sum(sent) if sent and all(isinstance(s, int) for s in sent) else None


def human_bytes(count):
    """ "2.1 MB"; "?" for what is not known."""
    if not isinstance(count, (int, float)):
        return "?"
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:g} B"
