# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How exactly the results of a record are determined, for the bound of a comparison.

For each storage two facts are carried through the events: `rounding`, whether any floating-point arithmetic went into it
(false: pure data movement, selection and integer arithmetic, to be compared bit for bit), and `terms`, the number of
roundings on the longest way to an element as an error bound counts them: a sum of n values adds n - 1, every other
floating-point operation adds 1 to the largest count among its operands.
"""

from math import prod

from .data import DTYPES

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
    outs = [prod(_sizes(record, r)) for r in event["results"] if "t" in r]
    return max(ins // max(max(outs, default=1), 1), 1)


def analyse(record):
    """storage id -> {"rounding": bool, "terms": int} after the last event."""
    tensors = record["tensors"]
    state = {s["id"]: (False, 1) for s in record["storages"]}

    def read(ids):
        states = [state[tensors[t]["storage"]] for t in ids]
        return any(r for r, _ in states), max([n for _, n in states] + [1])

    def wrote(ids, rounding, terms):
        for t in ids:
            old = state[tensors[t]["storage"]]
            state[tensors[t]["storage"]] = (old[0] or rounding, max(old[1], terms))

    from .replay import value_tensors

    for event in record["events"]:
        if event["kind"] == "op":
            operands = [t for v in event["args"] + [v for _, v in event["kwargs"]] for t in value_tensors(v)]
            results = [t for v in event["results"] for t in value_tensors(v)]
            rounding, terms = read(operands)
            made = results + event["mutates"]
            name = event["op"].split("::")[1]
            aliases = {tensors[t]["storage"] for t in operands}
            is_view = not event["mutates"] and all(tensors[t]["storage"] in aliases for t in results)
            if name not in EXACT and not is_view and any(_floating(record, t) for t in made):
                rounding = True
                terms += max(summed_terms(record, event) - 1, 1)
            if not is_view:
                wrote(made, rounding, terms)
        elif event["kind"] == "collective":
            rounding, terms = read(event["inputs"])
            if event["reduce"] in ("sum", "avg", "prod", "premul_sum"):
                terms += event.get("group_size", 1) - 1
                rounding = rounding or any(_floating(record, t) for t in event["inputs"])
            wrote(event["outputs"] + [d for _, d in event["writes"]], rounding, terms)
    return {sid: {"rounding": r, "terms": n} for sid, (r, n) in state.items()}
