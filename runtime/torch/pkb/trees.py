# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a function's arguments to the tensors of a program and back, as the trees of the manifest say
(docs/Rationale/Bundle.md): `{"kind": "tensor", "id": N}` is argument or output N of the program."""

_SCALARS = ("int", "float", "bool", "str")
_MANY = 20  # names of a list that a message prints
_LONG = 200  # characters of a text that a message prints


def flattener(tree, count):
    """A function (args, kwargs) -> (tensors, None), or (None, reason) if the arguments have another structure."""
    import torch

    if plain(tree, count):

        def check(args, kwargs):
            if len(args) != count or kwargs:
                return None, f"the program takes {count} arguments, got: {len(args)}" + (f" and {sorted(kwargs)}" if kwargs else "")
            for i, arg in enumerate(args):
                if not isinstance(arg, torch.Tensor):
                    return None, f"argument {i} must be a tensor, got: {type(arg).__name__}"
            return list(args), None

        return check

    def walk(args, kwargs):
        if kwargs:
            return None, f"the program was recorded without keyword arguments, got: {sorted(kwargs)}"
        tensors = [None] * count
        reason = _fill(tree, tuple(args), tensors, "arguments")
        if reason:
            return None, reason
        for i, tensor in enumerate(tensors):
            if tensor is None:
                return None, f"tensor {i} of the program is not in its tree of arguments"
        return tensors, None

    return walk


def plain(tree, count):
    """Whether the arguments are exactly the program's tensors, in order."""
    if tree is None:
        return True
    items = tree.get("items") if tree["kind"] == "tuple" else None
    return items is not None and [(n["kind"], n.get("id")) for n in items] == [("tensor", i) for i in range(count)]


def _fill(node, value, tensors, where):
    """Puts the tensors of `value` into their places. Returns a reason if it does not fit."""
    import torch

    kind = node["kind"]
    if kind == "tensor":
        if not isinstance(value, torch.Tensor):
            return f"{where} must be a tensor, got: {type(value).__name__}"
        known = tensors[node["id"]]
        if known is not None and known is not value:
            return f"{where} must be the same tensor as another argument, as it was when the program was made"
        tensors[node["id"]] = value
        return None
    if kind in ("tuple", "list"):
        if not isinstance(value, (tuple, list)) or len(value) != len(node["items"]):
            return f"{where} must be a {kind} of {len(node['items'])}, got: {_describe(value)}"
        return next(filter(None, (_fill(n, v, tensors, f"{where}[{i}]") for i, (n, v) in enumerate(zip(node["items"], value)))), None)
    if kind == "dict":
        if not isinstance(value, dict) or list(value) != node["keys"]:
            return f"{where} must be a dict with keys {_names(node['keys'])}, got: {_describe(value)}"
        return next(filter(None, (_fill(n, value[k], tensors, f"{where}[{k!r}]") for k, n in zip(node["keys"], node["items"]))), None)
    if kind == "module":
        if not isinstance(value, torch.nn.Module):
            return f"{where} must be a module, got: {type(value).__name__}"
        named = dict([*value.named_parameters(), *value.named_buffers()])
        if list(named) != node["keys"]:
            return f"{where} must have parameters and buffers {_names(node['keys'])}, got: {_names(list(named))}"
        return next(filter(None, (_fill(n, named[k], tensors, f"{where}.{k}") for k, n in zip(node["keys"], node["items"]))), None)
    return _same_constant(node, value, where)


def _same_constant(node, value, where):
    """Constants were baked in: they must be what they were."""
    kind = node["kind"]
    if kind == "none":
        return None if value is None else f"{where} must be None, got: {_describe(value)}"
    if kind in _SCALARS:
        expected = node["value"]
        if kind == "float":
            expected = float(expected)  # "inf", "-inf", "nan" are strings in JSON
            same = isinstance(value, (int, float)) and (value == expected or (value != value and expected != expected))
        else:
            same = type(value).__name__ == kind and value == expected
        return None if same else f"{where} must be {expected!r}, got: {_describe(value)}"
    if kind == "size":
        return None if list(value) == node["value"] else f"{where} must be {node['value']}, got: {list(value)}"
    if kind == "dtype":
        return None if str(value) == f"torch.{node['value']}" else f"{where} must be torch.{node['value']}, got: {value}"
    return None  # a device or a group stands for this rank's own


def _describe(value):
    if isinstance(value, (list, tuple, dict)):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, str) and len(value) > _LONG:
        return f"{value[:_LONG]!r}... ({len(value)} characters)"
    return repr(value) if value is None or isinstance(value, (int, float, str, bool)) else type(value).__name__


def _names(names):
    """A list for a message: the first of many."""
    return f"[{', '.join(map(repr, names[:_MANY]))}, and {len(names) - _MANY} more]" if len(names) > _MANY else str(names)


def builder(tree, count):
    """A function from the list of outputs to the function's result."""
    if single(tree, count):
        return lambda outputs: outputs[0]
    return tuple if tree is None else lambda outputs: _make(tree, outputs)


def single(tree, count):
    """Whether the result is output 0 itself."""
    return count == 1 if tree is None else tree["kind"] == "tensor" and tree["id"] == 0


def _make(node, outputs):
    import torch

    kind = node["kind"]
    if kind == "tensor":
        return outputs[node["id"]]
    if kind in ("tuple", "list"):
        return (tuple if kind == "tuple" else list)(_make(n, outputs) for n in node["items"])
    if kind == "dict":
        return {k: _make(n, outputs) for k, n in zip(node["keys"], node["items"])}
    if kind == "none":
        return None
    if kind == "float":
        return float(node["value"])
    if kind in _SCALARS:
        return node["value"]
    if kind == "size":
        return torch.Size(node["value"])
    if kind == "dtype":
        return getattr(torch, node["value"])
    if kind == "device":
        return torch.device(node["value"])
    raise TypeError(f"a result of kind {kind!r} cannot be made")


def aliases(manifest):
    """Per output: None, or (argument or arguments + output whose memory it shares, offset in elements of the slot's dtype)."""
    slots = {slot["id"]: slot for slot in manifest["slots"]}
    result = []
    for i, output in enumerate(manifest["outputs"]):
        slot, offset = slots[output["slot"]], 0
        view = slot["kind"] == "view"
        while slot["kind"] == "view":
            offset += slot["offset"]
            slot = slots[slot["of"]]
        if slot["kind"] == "argument":
            result.append((slot["index"], offset))
        elif slot["kind"] == "output" and (view or slot["index"] != i):
            result.append((len(manifest["arguments"]) + slot["index"], offset))
        else:
            result.append(None)
    return result


def view_of(tensor, spec, offset):
    """The tensor of an output that shares memory with `tensor`, `offset` elements after its start."""
    import torch

    dtype = getattr(torch, spec["dtype"])
    if offset == 0 and tensor.dtype == dtype and list(tensor.shape) == spec["sizes"] and list(tensor.stride()) == spec["strides"]:
        return tensor
    typed = tensor if tensor.dtype == dtype else tensor.view(dtype)
    return torch.as_strided(typed, spec["sizes"], spec["strides"], typed.storage_offset() + offset)
