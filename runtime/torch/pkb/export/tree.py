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


def plain(tensor):
    """The tensor itself; what is inside, if it is the result of a functional collective that was not waited for yet."""
    return tensor.elem if hasattr(type(tensor), "trigger_wait") else tensor


def module_tensors(module):
    """Parameters, then buffers, of an nn.Module as (qualified name, tensor), shared ones once."""
    return list(module.named_parameters()) + list(module.named_buffers())


def encode(value, tensor_id, group_id, where):
    """The tree of `value`.

    tensor_id(tensor) -> int and group_id(ProcessGroup) -> int give ids; `where` names the value in error messages.
    Raises ExportError for a value that a record cannot hold.
    """
    if value is None:
        return {"kind": "none"}
    if type(value) in (int, bool, str):
        return {"kind": type(value).__name__, "value": value}
    if isinstance(value, float):
        return {"kind": "float", "value": encode_float(value)}
    return _encode_other(value, tensor_id, group_id, where)


def _encode_other(v, tensor_id, group_id, where):
    import torch
    import torch.distributed as dist

    if isinstance(v, torch.Tensor):
        v = plain(v)
        if type(v) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            raise ExportError(f"{where} is a {type(v).__name__}, which a record cannot hold; pass the plain tensor inside (to_local())")
        return {"kind": "tensor", "id": tensor_id(v)}
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
            "items": [encode(t, tensor_id, group_id, f"{where}.{n}") for n, t in named],
        }
    if isinstance(v, (tuple, list)):
        kind = "tuple" if isinstance(v, tuple) else "list"
        return {"kind": kind, "items": [encode(x, tensor_id, group_id, f"{where}[{i}]") for i, x in enumerate(v)]}
    if isinstance(v, dict):
        if not all(isinstance(k, str) for k in v):
            raise ExportError(f"{where} is a dict with keys that are not strings; use string keys")
        items = [encode(x, tensor_id, group_id, f"{where}[{k!r}]") for k, x in v.items()]
        return {"kind": "dict", "keys": list(v), "items": items}
    if isinstance(v, int):
        return {"kind": "int", "value": int(v)}
    raise ExportError(
        f"{where} is a {type(v).__module__}.{type(v).__qualname__}, which a record cannot hold; "
        "pass tensors, numbers, strings, lists, tuples, dicts, modules or process groups"
    )


def tensors(value):
    """The tensors of a Python value in tree order (an object met twice is listed twice)."""
    out = []
    _collect(value, out)
    return out


def _collect(v, out):
    # Not a closure: one that calls itself is a reference cycle and would keep tensors alive until the next collection.
    import torch

    if isinstance(v, torch.Tensor):
        out.append(plain(v))
    elif isinstance(v, (tuple, list)):
        for x in v:
            _collect(x, out)
    elif isinstance(v, dict):
        for x in v.values():
            _collect(x, out)
    elif isinstance(v, torch.nn.Module):
        out.extend(t for _, t in module_tensors(v))


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
    """Every mutable container of a value (modules too) with its elements, to find out later whether the function changed it."""
    found = []
    _containers(value, "argument", found)
    return found


def _containers(v, where, found):
    import torch

    if isinstance(v, (list, dict, torch.nn.Module)):
        if any(v is other for other, _, _ in found):
            return
        pairs = _elements(v)
        found.append((v, pairs, where))
    elif isinstance(v, tuple):
        pairs = list(enumerate(v))
    else:
        return
    for name, x in pairs:
        _containers(x, f"{where}[{name!r}]", found)


def changed_container(found):
    """The path of the first container whose elements were replaced since `containers` looked, or None."""
    for v, before, where in found:
        now = _elements(v)
        if len(now) != len(before):
            return where
        for (name, old), (name2, new) in zip(before, now):
            if name != name2 or (old is not new and not _same_scalar(old, new)):
                return f"{where}[{name!r}]"
    return None


def _elements(container):
    """(name, element) of a list, a dict, or a module, whose elements are its tensors."""
    if isinstance(container, dict):
        return list(container.items())
    if isinstance(container, list):
        return list(enumerate(container))
    return module_tensors(container)


def _same_scalar(a, b):
    return type(a) is type(b) and isinstance(a, (bool, int, float, str)) and a == b
