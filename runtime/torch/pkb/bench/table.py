# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table at the end of a benchmark: a row a cell, and the geometric means of the speedups."""

import math
import statistics

from . import counts
from .results import WAYS

HEAD = ["problem", "shape", "dtype", "W", "error / bound", "bytes: ours / NCCL", "launches: ours / theirs", "library calls"]
TIMES = ["graph step µs: ours / best", "speed", "loop µs: ours / best", "speed"]  # where something was timed
CAP = 20  # one ratio counts at most this much in a mean


def error_text(check):
    """ "exact", or the largest error of a tensor as a share of its bound."""
    tensors = check.get("tensors") or []
    if not tensors:
        return "-"
    if all(t["rule"] != "bound" and t["right"] for t in tensors):
        return "exact"
    return f"{max(t['error_over_bound'] for t in tensors):.3g}"


def median_row(rows):
    """Of several separate runs the one whose speedup is the median (the slower of two)."""
    timed = sorted((r for r in rows if r.get("speedup")), key=lambda r: r["speedup"])
    return timed[(len(timed) - 1) // 2] if timed else None


def verdict_text(check):
    if check["exit"] or not check.get("checked"):
        return f"{check['verdict']}: {check['message']}" if check["message"] else check["verdict"]
    return check["verdict"]


def cell_row(cell, rows, program, bundle):
    """The row of one cell from its result rows (of one key), and its speedups by way. program, bundle: paths."""
    check = [r for r in rows if r["kind"] == "check"][-1]
    times = {way: median_row([r for r in rows if r.get("way") == way]) for way in WAYS}
    timed = next((t for t in times.values() if t), {})
    arriving, calls = counts.original_work(bundle)
    counted = (timed.get("counted") or {}).get("eager")
    theirs = sum(counted.values()) if isinstance(counted, dict) else calls
    sent = counts.sent_bytes(counts.manifest_of(program))
    line = [cell.problem, cell.shape, cell.dtype, str(cell.ranks), error_text(check),
            f"{counts.human_bytes(sent)} / {counts.human_bytes(timed.get('link_bytes') or arriving)}",
            f"{check.get('launches', '?')} / {theirs}", str(check.get("library_calls", "?"))]  # fmt: skip
    for way in WAYS:
        row = times[way]
        line += [f"{row['ours_us']:.2f} / {row['best_us']:.2f} {row['best']}", f"{row['speedup']:.2f}x"] if row else ["not timed", "-"]
    return line + [verdict_text(check)], {way: row["speedup"] for way, row in times.items() if row}


def empty_row(cell, text):
    """The row of a cell without a result."""
    return [cell.problem, cell.shape, cell.dtype, str(cell.ranks), *["-"] * (len(HEAD) + len(TIMES) - 4), text]


def render(rows, timed):
    """The table as text. timed: whether it has the columns of times."""
    rows = [[*HEAD, *TIMES, "verdict"], *rows]
    if not timed:
        rows = [row[:len(HEAD)] + row[-1:] for row in rows]
    widths = [max(len(r[c]) for r in rows) for c in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def means(speedups):
    """A line for each way: the geometric mean of its speedups, each capped, and the smallest."""
    lines = []
    for way in WAYS:
        found = [s[way] for s in speedups if way in s]
        if found:
            mean = math.exp(statistics.fmean(math.log(min(s, CAP)) for s in found))
            lines.append(f"{way}: geometric mean {mean:.2f}x over {len(found)} cells, smallest {min(found):.2f}x")
    return lines
