# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trees: how arguments and results of the user's function are written in a record (docs/Rationale/Bundle.md).

A tree node is a JSON object with a `kind`. Tensors are leaves `{"kind": "tensor", "id": N}`.
"""

import math

from .errors import ExportError


def encode_float(value):
    """A float as JSON can hold it: non-finite ones are the strings "inf", "-inf" and "nan"."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def module_tensors(module):
    """Parameters, then buffers, of an nn.Module as (qualified name, tensor), shared ones once."""
    return list(module.named_parameters()) + list(module.named_buffers())


def encode(value, tensor_id, group_id, where):
    """The tree of `value`.

    tensor_id(tensor) -> int and group_id(ProcessGroup) -> int give ids; `where` names the value in error messages.
    Raises ExportError for a value that a record cannot hold.
    """
    import torch
    import torch.distributed as dist

    def go(v, where):
        if v is None:
            return {"kind": "none"}
        if isinstance(v, torch.Tensor):
            return {"kind": "tensor", "id": tensor_id(v)}
        if isinstance(v, bool):
            return {"kind": "bool", "value": v}
        if isinstance(v, int):
            return {"kind": "int", "value": int(v)}
        if isinstance(v, float):
            return {"kind": "float", "value": encode_float(v)}
        if isinstance(v, str):
            return {"kind": "str", "value": v}
        if isinstance(v, torch.Size):
            return {"kind": "size", "value": list(v)}
        if isinstance(v, torch.dtype):
            return {"kind": "dtype", "value": str(v).replace("torch.", "")}
        if isinstance(v, torch.device):
            return {"kind": "device", "value": v.type}
        if isinstance(v, dist.ProcessGroup):
            return {"kind": "group", "id": group_id(v)}
        if isinstance(v, torch.nn.Module):
            named = module_tensors(v)
            return {
                "kind": "module",
                "class": f"{type(v).__module__}.{type(v).__qualname__}",
                "keys": [n for n, _ in named],
                "items": [go(t, f"{where}.{n}") for n, t in named],
            }
        if isinstance(v, (tuple, list)):
            kind = "tuple" if isinstance(v, tuple) else "list"
            return {"kind": kind, "items": [go(x, f"{where}[{i}]") for i, x in enumerate(v)]}
        if isinstance(v, dict):
            if not all(isinstance(k, str) for k in v):
                raise ExportError(f"{where} is a dict with keys that are not strings; use string keys")
            return {"kind": "dict", "keys": list(v), "items": [go(x, f"{where}[{k!r}]") for k, x in v.items()]}
        raise ExportError(
            f"{where} is a {type(v).__module__}.{type(v).__qualname__}, which a record cannot hold; "
            "pass tensors, numbers, strings, lists, tuples, dicts, modules or process groups"
        )

    return go(value, where)


def tensors(value):
    """The tensors of a Python value in tree order (an object met twice is listed twice)."""
    import torch

    out = []

    def go(v):
        if isinstance(v, torch.Tensor):
            out.append(v)
        elif isinstance(v, torch.nn.Module):
            out.extend(t for _, t in module_tensors(v))
        elif isinstance(v, (tuple, list)) and not isinstance(v, torch.Size):
            for x in v:
                go(x)
        elif isinstance(v, dict):
            for x in v.values():
                go(x)

    go(value)
    return out


def tensor_ids(node):
    """The tensor ids of a tree, in the order of `tensors`."""
    if node["kind"] == "tensor":
        return [node["id"]]
    return [i for item in node.get("items", ()) for i in tensor_ids(item)]


def scalars(node, where):
    """(path, value) of every leaf that is neither a tensor nor a group: what a plain record bakes in."""
    kind = node["kind"]
    if kind in ("tensor", "group"):
        return []
    if "items" not in node:
        return [(where, node.get("value"))]
    names = node.get("keys") or range(len(node["items"]))
    out = [(f"{where} length", len(node["items"]))] if kind == "list" else []
    for name, item in zip(names, node["items"]):
        out += scalars(item, f"{where}[{name!r}]")
    return out


def containers(value):
    """Every mutable container of a value with its elements, to find out later whether the function changed it."""
    found, seen = [], set()

    def go(v, where):
        if isinstance(v, (list, dict)):
            if id(v) in seen:
                return
            seen.add(id(v))
            pairs = list(v.items()) if isinstance(v, dict) else list(enumerate(v))
            found.append((v, pairs, where))
        elif isinstance(v, tuple):
            pairs = list(enumerate(v))
        else:
            return
        for name, x in pairs:
            go(x, f"{where}[{name!r}]")

    go(value, "argument")
    return found


def changed_container(found):
    """The path of the first container whose elements were replaced since `containers` looked, or None."""
    for v, before, where in found:
        now = list(v.items()) if isinstance(v, dict) else list(enumerate(v))
        if len(now) != len(before):
            return where
        for (name, old), (name2, new) in zip(before, now):
            if name != name2 or (old is not new and not _same_scalar(old, new)):
                return f"{where}[{name!r}]"
    return None


def _same_scalar(a, b):
    return type(a) is type(b) and isinstance(a, (bool, int, float, str)) and a == b
