#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fills the result tables of problems/*/NOTES.md and docs/results/README.md from docs/results/<machine>/*.jsonl.

    tools/dev/result_tables.py --write     rewrite what stands between the markers
    tools/dev/result_tables.py --check     exit 1 if a table is stale, naming the file

A line of a table is a problem, shape, dtype, number of ranks and way of measuring. Of rows of other program texts or other run-time headers only the
newest count; of several runs the one in the middle is shown, with how many there were.
"""
import argparse
import collections
import glob
import json
import math
import os
import re
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARKED = re.compile(r"(<!-- results: [^\n]*-->\n)(.*?)(<!-- end of results -->)", re.S)
BEGIN = "<!-- results: made by tools/dev/result_tables.py, do not edit -->\n"
CAP = 20.0  # of a ratio in a geometric mean

NAME = re.compile(r"(?P<problem>pkb\d+)\.(?P<shape>[\dx]+)\.(?P<dtype>\w+)\.w\d+")

Key = collections.namedtuple("Key", "machine problem ranks dtype shape way")
Line = collections.namedtuple("Line", "key row runs verdict")


class BadResults(Exception):
    """A results file that cannot be read; the message names it, the line and what is wrong."""


def read(root):
    """All rows that name a problem, each with its machine (the name of its folder)."""
    rows = []
    for path in sorted(glob.glob(os.path.join(root, "docs", "results", "*", "*.jsonl"))):
        name = os.path.relpath(path, root)
        with open(path, encoding="utf-8") as f:
            for number, text in enumerate(f, 1):
                try:
                    row = json.loads(text)
                    if row["schema"] != "pkb-result":
                        raise ValueError(f"schema must be pkb-result, got: {row['schema']}")
                    if NAME.fullmatch(row["name"]) and row["kind"] in ("check", "time"):
                        rows.append((os.path.basename(os.path.dirname(path)), row))
                except (ValueError, KeyError, TypeError) as error:
                    raise BadResults(f"{name}:{number}: not a row of results: {error}") from error
    return rows


def program_of(row):
    return row["text"], row["runtime_headers"]


def lines_of(rows):
    """One Line for each key, in order."""
    times, checks = collections.defaultdict(list), {}
    for machine, row in rows:
        name = NAME.fullmatch(row["name"])
        key = Key(machine, name["problem"], row["world_size"], name["dtype"], name["shape"], row.get("way", ""))
        if row["kind"] == "check":
            checks[(key._replace(way=""), program_of(row))] = row["verdict"]
        else:
            times[key].append(row)
    lines = []
    for key, group in sorted(times.items(), key=lambda item: (item[0].problem, item[0].ranks, item[0].dtype, size_of(item[0].shape), item[0].way)):
        newest = program_of(max(group, key=lambda row: row["date"]))
        group = [row for row in group if program_of(row) == newest]
        timed = sorted((row for row in group if row["speedup"]), key=lambda row: row["speedup"])
        row = timed[(len(timed) - 1) // 2] if timed else group[-1]
        lines.append(Line(key, row, len(timed), checks.get((key._replace(way=""), newest), "not checked")))
    return lines


def size_of(shape):
    return [int(part) for part in re.findall(r"\d+", shape)]


def number(value):
    return "–" if value is None else f"{value:.1f}"


def in_bytes(count):
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def why_untimed(row):
    """Why ours has no time, in a few words."""
    error = row["variants"].get("ours", {}).get("error", row["message"] or "not timed")
    error = re.sub(r"^rank \d+: ", "", error.splitlines()[0])
    return error if len(error) <= 60 else error[:57] + "..."


def count(counted, who):
    return sum(counted[who].values()) if who in counted else "–"


def table(lines, with_problem):
    """Markdown of some lines."""
    if not lines:
        return "Not measured yet.\n"
    head = ["problem"] * with_problem + ["machine", "W", "dtype", "shape", "way", "ours µs", "best baseline µs", "ratio", "predicted µs",
                                         "launches, ours / theirs", "sent", "checked", "date"]
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for line in lines:
        key, row = line.key, line.row
        ours = number(row["ours_us"]) if row["ours_us"] else why_untimed(row)
        ratio = "–" if not row["speedup"] else f"{row['speedup']:.2f}" + (f" ({line.runs} runs)" if line.runs > 1 else "")
        of_call = key.way == "graph step" and not row["library_calls"]  # else there is more in the time than kernels of ours
        cells = [key.machine, key.ranks, key.dtype, key.shape.replace("x", " × "), key.way, ours, f"{number(row['best_us'])} ({row['best']})", ratio,
                 number(row["predicted_us"] if of_call else None),
                 f"{count(row['counted'], 'ours')} / {count(row['counted'], 'eager')}", in_bytes(row["kernel_bytes"]), line.verdict, row["date"][:10]]
        out.append("| " + " | ".join(str(cell) for cell in [key.problem] * with_problem + cells) + " |")
    return "\n".join(out) + "\n"


def means(lines):
    """A sentence for each machine, number of ranks and way."""
    groups = collections.defaultdict(list)
    errors = collections.defaultdict(list)
    for line in lines:
        if not line.row["speedup"]:
            continue
        groups[(line.key.machine, line.key.ranks, line.key.way)].append(line.row["speedup"])
        if line.key.way == "graph step" and not line.row["library_calls"] and line.row["predicted_us"]:
            errors[line.key.machine].append(abs(line.row["predicted_us"] / line.row["ours_us"] - 1))
    out = []
    for (machine, ranks, way), ratios in sorted(groups.items()):
        mean = math.exp(statistics.fmean(math.log(min(ratio, CAP)) for ratio in ratios))
        out.append(f"{machine}, W = {ranks}, {way}: geometric mean {mean:.2f} of {len(ratios)} (least {min(ratios):.2f}).")
    for machine, list_of in sorted(errors.items()):
        out.append(f"{machine}, programs of one kernel, graph step: predicted times are off by {100 * statistics.median(list_of):.0f} % (median of {len(list_of)}).")
    return "\n".join(out) + "\n"


def fill(text, body):
    """The text with `body` between its markers; None if it has none."""
    if not MARKED.search(text):
        return None
    return MARKED.sub(lambda match: BEGIN + body + match.group(3), text, count=1)


def pages(root, lines):
    """{path: text as it should be}; raises BadResults where a page lacks its markers."""
    wanted = {}
    for folder in sorted(glob.glob(os.path.join(root, "problems", "[0-9]*-*"))):
        problem = f"pkb{int(os.path.basename(folder).split('-')[0]):02d}"
        wanted[os.path.join(folder, "NOTES.md")] = table([line for line in lines if line.key.problem == problem], with_problem=False)
    wanted[os.path.join(root, "docs", "results", "README.md")] = (means(lines) + "\n" + table(lines, with_problem=True)) if lines else table([], True)
    texts = {}
    for path, body in wanted.items():
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as f:
            text = f.read()
        texts[path] = (text, fill(text, body))
        if texts[path][1] is None:
            raise BadResults(f"{os.path.relpath(path, root)}: has no place for results: add the lines\n{BEGIN}<!-- end of results -->")
    return texts


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    args = parser.parse_args(argv)
    try:
        texts = pages(args.root, lines_of(read(args.root)))
    except BadResults as error:
        print(f"result_tables: error: {error}", file=sys.stderr)
        return 2
    stale = [path for path, (text, fresh) in texts.items() if text != fresh]
    for path in stale:
        if args.write:
            with open(path, "w", encoding="utf-8") as f:
                f.write(texts[path][1])
        print(os.path.relpath(path, args.root) + ": " + ("rewritten" if args.write else "the results are stale: run tools/dev/result_tables.py --write"))
    print(f"{len(texts)} pages")
    return 1 if stale and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
