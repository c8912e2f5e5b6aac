# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How exactly the results of a record are determined, for the bound of a comparison.

For each storage these facts are carried through the events: `rounding`, whether any floating-point arithmetic went into it
(false: pure data movement, selection and integer arithmetic, to be compared bit for bit); `selected`, whether it went through a
minimum or maximum, which leaves open which of two equal values (+0 and -0) and which NaN it gives; `terms`, the number of
roundings on the longest way to an element as an error bound counts them (a sum of n values adds n - 1, every other
floating-point operation adds 1 to the largest count among its operands: with the accumulator's precision); `roundings`, how many
times a value on the way was rounded to the dtype it was stored in, or converted to before an operator computed with it, the last
time not counted; and `roundoff`, the largest unit roundoff among those dtypes.
"""

from dataclasses import dataclass, replace
from math import prod

import torch

from .data import DTYPES
from .replay import overload_of, value_tensors

# Operators that move, select or compare values without rounding them, whatever their dtype.
EXACT = frozenset(
    """
    abs absolute alias all any arange argmax argmin argsort as_strided bitwise_and bitwise_not bitwise_or bitwise_xor bucketize cat
    clamp clamp_ clamp_max clamp_min clone constant_pad_nd contiguous copy copy_ cummax cummin detach diagonal_copy embedding
    empty empty_like empty_strided eq expand_copy eye fill fill_ flip floor ceil round trunc full full_like gather ge gt hardtanh
    index index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_select isfinite isinf isnan kthvalue le
    lift_fresh logical_and logical_not logical_or logical_xor lt masked_fill masked_fill_ masked_scatter masked_scatter_
    masked_select max max_pool2d_with_indices maximum median min minimum ne neg neg_ new_empty new_empty_strided new_full new_ones
    new_zeros nonzero one_hot ones ones_like pixel_shuffle pixel_unshuffle real imag relu relu_ repeat repeat_interleave
    resolve_conj resolve_neg roll rsub_int scalar_tensor scatter scatter_ searchsorted select_scatter sign slice_scatter
    sort split_with_sizes_copy stack threshold topk trace_copy tril tril_ triu triu_ unfold_copy unique_dim unsafe_split view_copy
    where zero_ zeros zeros_like _conj_physical _reshape_alias _reshape_copy _to_copy _unique2 _unsafe_index _unsafe_view conj_physical
    amax amin aminmax
    """.split()
)
# Those of them that give the smaller or larger of several values.
SELECTING = frozenset(
    """
    amax amin aminmax clamp clamp_ clamp_max clamp_min cummax cummin hardtanh kthvalue max max_pool2d_with_indices maximum median min
    minimum relu relu_ sort threshold topk
    """.split()
)
_MATMULS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1, "addmm_": 1, "baddbmm": 1, "baddbmm_": 1, "addmv": 1, "addbmm": 1,
            "_scaled_mm": 0, "_int_mm": 0}  # fmt: skip
_ALONG_DIM = ("_softmax", "_log_softmax", "cumsum", "cumsum_", "cumprod", "logcumsumexp", "logsumexp")
_ADDING = ("index_add", "index_add_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "embedding_dense_backward")


def _floating(record, tid):
    d = DTYPES[record["tensors"][tid]["dtype"]]
    return d.is_floating_point or d.is_complex


def _sizes(record, value):
    return record["tensors"][value["t"]]["sizes"] if "t" in value else []


def summed_terms(record, event):
    """How many values one element of an op's result adds up."""
    name = event["op"].split("::")[1]
    args = event["args"]
    if name in _MATMULS:
        sizes = _sizes(record, args[_MATMULS[name]])
        return max(sizes[-1] if sizes else 1, 1) + (1 if _MATMULS[name] else 0)
    if name in _ALONG_DIM:
        sizes = _sizes(record, args[0])
        dim = args[1].get("i", args[1].get("is", [0])) if len(args) > 1 else 0
        dims = dim if isinstance(dim, list) else [dim]
        return max(prod(sizes[d] for d in dims) if sizes else 1, 1)
    if name.startswith(("convolution", "_convolution")):
        weight = _sizes(record, args[1])
        return max(prod(weight[1:]), 1) + 1
    if name in ("native_layer_norm", "_fused_rms_norm"):
        return max(prod(args[1].get("is", [1])), 1)
    if name in _ADDING:
        return max([prod(_sizes(record, a)) for a in args[1:] if "t" in a and not _floating(record, a["t"])] + [1])
    if name.startswith("_scaled_dot_product"):
        q, k = _sizes(record, args[0]), _sizes(record, args[1])
        return max(q[-1] * k[-2], 1)
    if name.startswith("_fft"):
        sizes, dims = _sizes(record, args[0]), args[1].get("is", [])
        return max(prod(sizes[d] for d in dims), 1)
    ins = max([prod(_sizes(record, a)) for a in args] + [1])
    outs = [prod(record["tensors"][t]["sizes"]) for r in event["results"] for t in r.get("ts") or [r.get("t")] if t is not None]
    return max(ins // max(max(outs, default=1), 1), 1)


def _converted_to(record, event, results):
    """The dtype (torch's name) to which an operator rounds an operand before it computes with it, or None.

    Of a tensor of no dimension beside others the dtype does not count for that of the computation: on a GPU ATen rounds
    bfloat16 * float32 scalar tensor to bfloat16 first (TensorIterator). On a CPU some operators take the scalar as it is.
    """
    tensors = record["tensors"]
    floats = [tensors[t] for v in event["args"] + [v for _, v in event["kwargs"]] for t in value_tensors(v) if _floating(record, t)]
    given = next((v["dtype"] for k, v in event["kwargs"] if k == "dtype" and "dtype" in v), None)  # sum(x, dtype=...)
    into = given
    if into is None and _is_pointwise(event):
        # What is written in place may be narrower than what it was computed in, a new tensor is not.
        candidates = [t for t in floats if t["sizes"]] if event["mutates"] else [tensors[t] for t in results]
        into = min((t["dtype"] for t in candidates), key=_roundoff, default=None)
    return into if any(_roundoff(t["dtype"]) < _roundoff(into) for t in floats) else None


def _is_pointwise(event):
    namespace, name = event["op"].split("::")
    if namespace != "aten":  # whoever judges need not have the user's operators
        return False
    return name == "rsub" or name.startswith("_foreach_") or torch.Tag.pointwise in overload_of(event).tags


# Unit roundoff by dtype: half of a unit in the last place, relative.
ROUNDOFF = {
    "float64": 2.0**-53, "complex128": 2.0**-53, "float32": 2.0**-24, "complex64": 2.0**-24, "float16": 2.0**-11,
    "complex32": 2.0**-11, "bfloat16": 2.0**-8, "float8_e4m3fn": 2.0**-4, "float8_e4m3fnuz": 2.0**-4, "float8_e5m2": 2.0**-3,
    "float8_e5m2fnuz": 2.0**-3, "float8_e8m0fnu": 2.0**-1,
}  # fmt: skip


def _roundoff(dtype):
    """0 for what is no float."""
    return ROUNDOFF.get(dtype, 0.0)


@dataclass(frozen=True)
class Facts:
    """Of one storage; see the head of this file. `rounded` counts the last rounding too."""

    rounding: bool = False
    selected: bool = False
    terms: int = 0
    rounded: int = 0
    roundoff: float = 0.0

    def joined(self, other):
        return Facts(
            self.rounding or other.rounding, self.selected or other.selected, max(self.terms, other.terms),
            max(self.rounded, other.rounded), max(self.roundoff, other.roundoff),
        )  # fmt: skip

    def after(self, terms, dtype):
        """With one more operation that adds up `terms` values and stores the result as `dtype` (torch's name)."""
        return replace(
            self, rounding=True, terms=self.terms + max(terms - 1, 1), rounded=self.rounded + 1,
            roundoff=max(self.roundoff, _roundoff(dtype)),
        )  # fmt: skip

    def narrowed(self, dtype):
        """After a conversion to a less precise `dtype`: right to the bit if the value was, but a rounding all the same."""
        return replace(self, rounded=self.rounded + 1, roundoff=max(self.roundoff, ROUNDOFF[dtype]))

    def choosing(self):
        """After a minimum or maximum."""
        return replace(self, selected=True)

    def to_json(self):
        return {
            "rounding": self.rounding, "selected": self.selected, "terms": max(self.terms, 1), "roundings": max(self.rounded - 1, 0),
            "roundoff": self.roundoff,
        }  # fmt: skip


def analyse(record):
    """storage id -> {"rounding": bool, "selected": bool, "terms": int, "roundings": int, "roundoff": float} after the last event."""
    tensors = record["tensors"]
    state = {s["id"]: Facts() for s in record["storages"]}

    def read(ids):
        facts = Facts()
        for t in ids:
            facts = facts.joined(state[tensors[t]["storage"]])
        return facts

    def wrote(ids, facts):
        for t in ids:
            sid = tensors[t]["storage"]
            state[sid] = state[sid].joined(facts)

    for event in record["events"]:
        if event["kind"] == "op":
            operands = [t for v in event["args"] + [v for _, v in event["kwargs"]] for t in value_tensors(v)]
            results = [t for v in event["results"] for t in value_tensors(v)]
            facts = read(operands)
            made = results + event["mutates"]
            name = event["op"].split("::")[1]
            aliases = {tensors[t]["storage"] for t in operands}
            is_view = not event["mutates"] and all(tensors[t]["storage"] in aliases for t in results)
            floating = [t for t in made if _floating(record, t)]
            if (name not in EXACT or _accumulates(event, name)) and not is_view and floating:
                if into := _converted_to(record, event, floating):
                    facts = facts.narrowed(into)
                facts = facts.after(summed_terms(record, event), tensors[floating[0]]["dtype"])
            elif floating and not is_view:
                into = tensors[floating[0]]["dtype"]
                sources = [t for t in operands if t not in event["mutates"]]
                sources = [t for t in sources if _floating(record, t)] or sources
                if any(_roundoff(tensors[t]["dtype"]) < ROUNDOFF[into] for t in sources):
                    facts = facts.narrowed(into)
            if name in SELECTING and floating:
                facts = facts.choosing()
            if not is_view:
                wrote(made, facts)
        elif event["kind"] == "collective":
            facts = read(event["inputs"])
            floating = [t for t in event["inputs"] if _floating(record, t)]
            if event["reduce"] in ("sum", "avg", "prod", "premul_sum") and floating:
                facts = facts.after(event.get("group_size", 1), tensors[floating[0]]["dtype"])
            if event["reduce"] in ("min", "max") and floating:
                facts = facts.choosing()
            wrote(event["outputs"] + [d for _, d in event["writes"]], facts)
    return {sid: facts.to_json() for sid, facts in state.items()}


def _accumulates(event, name):
    """index_put with accumulate=True adds."""
    return name.startswith("index_put") and any(v == {"b": True} for v in event["args"] + [v for _, v in event["kwargs"]])
