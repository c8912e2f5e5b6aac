# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Do the members of a group mean the same collective? Pure functions over the metadata that ranks bring to a meeting.

The metadata of a collective: name, api, reduce, root, dtype, site, `inputs` and `outputs` (lists of sizes) and, for
all_to_all, `in_counts`/`out_counts` (elements to and from each member).
"""


def _numel(sizes):
    n = 1
    for s in sizes:
        n *= s
    return n


def message_problem(sent, expected):
    """How a message differs from what its receiver expects, or None. Both: {dtype, numel, site}, numel None for objects."""
    if sent["dtype"] != expected["dtype"]:
        return f"{sent['dtype']} against {expected['dtype']}"
    if expected["numel"] is not None and sent["numel"] != expected["numel"]:
        return f"{sent['numel']} elements against {expected['numel']}"
    return None


def meeting_problem(group, metas):
    """One message on the first disagreement between the members' collectives, or None.

    group: global ranks; metas: one dict per member, in group order.
    """
    first = metas[0]
    if len({meta["name"] == "return" for meta in metas}) > 1:
        return "deadlock in the program: " + "; ".join(waits(rank, group, meta) for rank, meta in zip(group, metas))
    if first["name"] == "return":
        return _groups_problem(group, metas)
    for rank, meta in zip(group, metas):
        if meta.get("twin") != first.get("twin"):
            return (
                f"ranks disagree on the group, of two that have ranks {list(group)}: rank {group[0]} calls {_of(first)}, rank {rank} calls "
                f"{_of(meta)}; on GPUs this can hang, call collectives of different groups in one order on all ranks"
            )
    for key, noun in (("name", "collective"), ("reduce", "reduction"), ("root", "root"), ("dtype", "dtype")):
        for rank, meta in zip(group, metas):
            if meta.get(key) != first.get(key):
                return _differ(group[0], first, rank, meta, noun, first.get(key), meta.get(key))
    check = _SHAPES.get(first["name"])
    return check(group, metas) if check else None


def _of(meta):
    return f"{meta['name']} at {meta['site']} of the group made at {meta['made_at'] or 'the start'}"


def _groups_problem(group, metas):
    """Each rank makes the groups that the others make, in the same order."""
    first = metas[0].get("made", [])
    for rank, meta in zip(group, metas):
        made = meta.get("made", [])
        for i in range(max(len(first), len(made))):
            a, b = (m[i] if i < len(m) else None for m in (first, made))
            if a is None or b is None or a["ranks"] != b["ranks"]:
                say = lambda who, g: f"rank {who} makes {'no more groups' if g is None else 'group ' + str(g['ranks']) + ' at ' + g['site']}"  # noqa: E731
                return (
                    f"ranks disagree on the groups that they make: {say(group[0], a)}, {say(rank, b)}; every rank must call new_group, "
                    "members or not, in one order, else collectives hang on GPUs"
                )
    return None


def waits(rank, group, meta):
    """One clause on what a rank waits in. A rank that has left the function meets the others in a "return"."""
    if meta["name"] == "return":
        return f"rank {rank} has returned from {meta['site']}"
    return f"rank {rank} waits in {meta['name']} of group {list(group)} at {meta['site']}"


def _differ(rank_a, a, rank_b, b, noun, value_a, value_b):
    return (
        f"ranks disagree on the {noun}: rank {rank_a} calls {a['name']} ({noun} {value_a}) at {a['site']}, "
        f"rank {rank_b} calls {b['name']} ({noun} {value_b}) at {b['site']}; on GPUs this hangs"
    )


def _same_numel(which):
    def check(group, metas):
        first = metas[0]
        for rank, meta in zip(group, metas):
            if [_numel(s) for s in meta[which]] != [_numel(s) for s in first[which]]:
                return _differ(group[0], first, rank, meta, "shape", first[which], meta[which])
        return None

    return check


def _all_gather(group, metas):
    for j, (rank_b, b) in enumerate(zip(group, metas)):
        for rank_a, a in zip(group, metas):
            outs = a["outputs"]
            room = _numel(outs[j]) if len(outs) > 1 or len(group) == 1 else _numel(outs[0]) // len(group)
            if room != _numel(b["inputs"][0]):
                return _differ(rank_a, a, rank_b, b, "shape", outs[j] if len(outs) > 1 else outs[0], b["inputs"][0])
    return None


def _all_to_all(group, metas):
    for i, (rank_a, a) in enumerate(zip(group, metas)):
        for j, (rank_b, b) in enumerate(zip(group, metas)):
            if a["in_counts"][j] != b["out_counts"][i]:
                return (
                    f"ranks disagree on the split sizes: rank {rank_a} sends {a['in_counts'][j]} elements to rank {rank_b} "
                    f"at {a['site']}, rank {rank_b} expects {b['out_counts'][i]} at {b['site']}; on GPUs this hangs"
                )
    return None


def _rooted(parts, whole):
    """gather and scatter: the root's list holds what each member brings or takes."""

    def check(group, metas):
        root = metas[0]["root"]
        lists = metas[root][parts]
        for j, (rank, meta) in enumerate(zip(group, metas)):
            if _numel(lists[j]) != _numel(meta[whole][0]):
                return _differ(group[root], metas[root], rank, meta, "shape", lists[j], meta[whole][0])
        return None

    return check


_SHAPES = {
    "all_reduce": _same_numel("inputs"),
    "reduce": _same_numel("inputs"),
    "broadcast": _same_numel("inputs"),
    "reduce_scatter": _same_numel("inputs"),
    "all_gather": _all_gather,
    "all_to_all": _all_to_all,
    "gather": _rooted("outputs", "inputs"),
    "scatter": _rooted("inputs", "outputs"),
}
