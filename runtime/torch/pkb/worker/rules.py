# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How each result of a record is to be judged: pure data movement or not, terms summed, values rounded on the way.

A walk along the record's events with one state per storage (a write joins what was there): conservative, never too strict for
views that do not overlap.
"""

from dataclasses import dataclass

from ..export.replay import value_tensors
from ..export.tree import tensor_ids
from .judge import Rule

# Operators that only move or make elements: a result's bits are bits of an argument, or constants.
_MOVES = {
    "alias", "as_strided", "as_strided_", "_unsafe_view", "_reshape_alias", "arange", "cat", "chunk", "clone", "constant_pad_nd",
    "contiguous", "copy", "copy_", "detach", "detach_", "diagonal", "empty", "empty_like", "empty_strided", "expand", "expand_as",
    "eye", "fill", "fill_", "flatten", "flip", "full", "full_like", "gather", "index", "index_copy", "index_copy_", "index_fill",
    "index_fill_", "index_select", "lift_fresh", "lift_fresh_copy", "masked_fill", "masked_fill_",
    "masked_scatter", "movedim", "narrow", "narrow_copy", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros",
    "ones", "ones_like", "pad", "permute", "permute_copy", "pixel_shuffle", "repeat", "repeat_interleave", "reshape", "resize_",
    "roll", "rot90", "scalar_tensor", "scatter", "scatter_", "select", "select_scatter", "set_", "slice", "slice_scatter", "split",
    "split_with_sizes", "split_with_sizes_copy", "squeeze", "squeeze_", "stack", "swapaxes", "t", "t_", "take", "tensor_split",
    "tile", "transpose", "transpose_", "tril", "triu", "unbind", "unfold", "unsqueeze", "unsqueeze_", "view", "where", "zero_",
    "zeros", "zeros_like",
}  # fmt: skip
# Indices and comparisons: integers and booleans, compared exactly, but what they select from keeps its own state.
_CONTRACTS = {"mm": 1, "bmm": 2, "addmm": 1, "baddbmm": 1, "matmul": 1, "linear": 1, "mv": 1, "dot": 0, "addmv": 1}
_ROUNDOFF = {
    "float64": 2.0**-53, "complex128": 2.0**-53, "float32": 2.0**-24, "complex64": 2.0**-24, "float16": 2.0**-11,
    "bfloat16": 2.0**-8, "float8_e4m3fn": 2.0**-4, "float8_e5m2": 2.0**-3,
}  # fmt: skip


@dataclass
class State:
    exact: bool = True
    terms: float = 0.0
    roundings: float = 0.0
    storage: float = 0.0

    def joined(self, other):
        return State(
            self.exact and other.exact, max(self.terms, other.terms), max(self.roundings, other.roundings),
            max(self.storage, other.storage),
        )  # fmt: skip


def rules(record, groups, atol=None, rtol=None):
    """(rules of the results, rules of the arguments after the call), flat, in tree order."""
    tensors, states = record["tensors"], {}

    def state(tid):
        return states.get(tensors[tid]["storage"], State())

    def put(tid, new):
        states[tensors[tid]["storage"]] = state(tid).joined(new)

    for event in record["events"]:
        if event["kind"] == "op":
            _walk_op(event, tensors, state, put)
        elif event["kind"] == "collective":
            new = State()
            for tid in event["inputs"]:
                new = new.joined(state(tid))
            summing = event.get("reduce") in ("sum", "avg", "prod", "premul_sum")
            if summing and event["outputs"] and tensors[event["outputs"][0]]["dtype"] in _ROUNDOFF:
                new = _summed(new, len(groups[event["group"]]), tensors[event["outputs"][0]]["dtype"])
            for tid in event["outputs"]:
                put(tid, new)
            for source, target in event["writes"]:
                put(target, state(source))

    def rule(tid):
        s = state(tid)
        return Rule(s.exact, max(s.terms, 1.0), max(0.0, s.roundings - 1), s.storage, atol, rtol)

    return [rule(t) for t in tensor_ids(record["outputs"])], [rule(t) for t in tensor_ids(record["inputs"])]


def _summed(state, terms, dtype):
    return State(False, state.terms + terms, state.roundings + 1, max(state.storage, _ROUNDOFF[dtype]))


def _walk_op(event, tensors, state, put):
    values = event["args"] + [v for _, v in event["kwargs"]]
    sources = [t for v in values for t in value_tensors(v)]
    results = [t for v in event["results"] for t in value_tensors(v)]
    new = State()
    for tid in sources:
        new = new.joined(state(tid))
    name = event["op"].partition("::")[2]
    dtypes = {tensors[t]["dtype"] for t in sources if tensors[t]["dtype"] in _ROUNDOFF}
    accumulates = name.startswith("index_put") and any(v == {"b": True} for v in values)
    targets = results + [t for t in event["mutates"] if t not in results]
    for tid in targets:
        dtype = tensors[tid]["dtype"]
        if dtype not in _ROUNDOFF or (_moves(name, dtype, dtypes) and not accumulates):
            put(tid, new if dtype in _ROUNDOFF else State())
        else:
            put(tid, _summed(new, _terms(name, sources, tid, tensors), dtype))


def _moves(name, dtype, sources):
    if name in ("_to_copy", "copy_", "copy", "to", "index_put_", "index_put"):
        return all(_ROUNDOFF[s] <= _ROUNDOFF[dtype] or s == dtype for s in sources) and all(s == dtype for s in sources)
    return name in _MOVES


def _terms(name, sources, result, tensors):
    """How many products or values one element of the result is a sum of."""
    sizes = [tensors[t]["sizes"] for t in sources]
    if name in _CONTRACTS:
        shape = sizes[_CONTRACTS[name] if name in ("addmm", "baddbmm", "addmv") else 0]
        return shape[-1] if shape else 1
    elements = [_count(s) for s in sizes]
    out = max(1, _count(tensors[result]["sizes"]))
    # Reductions have fewer results than arguments; softmax, norms and attention sum along a dimension of their argument.
    if any(word in name for word in ("softmax", "norm", "attention", "cumsum", "logsumexp", "convolution", "fft")):
        return max([max(s, default=1) for s in sizes] + [1])
    return max([n // out for n in elements] + [1])


def _count(sizes):
    n = 1
    for s in sizes:
        n *= s
    return n
