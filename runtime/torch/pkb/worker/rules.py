# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How each tensor of a program is to be judged, from its record."""

from ..export.exactness import analyse
from ..export.tree import tensor_ids
from .judge import Comparison, Rule


def rules(record, groups, atol=None, rtol=None):
    """(rules of the results, rules of the arguments after the call), flat, in tree order.

    record: content of rank<k>.json. groups: rank lists by group id.
    """
    events = [{**e, "group_size": len(groups[e["group"]])} if e["kind"] == "collective" else e for e in record["events"]]
    facts = analyse({**record, "events": events})

    def rule(tid):
        f = facts[record["tensors"][tid]["storage"]]
        comparison = Comparison.BOUND if f["rounding"] else Comparison.VALUES if f["selected"] else Comparison.BITS
        return Rule(comparison, float(f["terms"]), float(f["roundings"]), f["roundoff"], atol, rtol)

    return [rule(t) for t in tensor_ids(record["outputs"])], [rule(t) for t in tensor_ids(record["inputs"])]
