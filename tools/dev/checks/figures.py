# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures of the tree, each with a goal and a limit that it must not be beyond: they drift where nobody looks. `lint.py figures --verbose` prints them.

Lines count with blanks, except for comments: those are a share of the lines that are not blank, licence lines included."""
import re
import statistics
import subprocess

from tree import Finding

CODE = ("dialects/", "passes/", "lib/", "include/")
COMMITS = 50


def comment_share(tree, names):
    comments = total = 0
    for name in names:
        inside = False
        for line in (line.strip() for line in tree.lines(name)):
            if not line:
                continue
            total += 1
            comments += inside or line.startswith(("//", "/*"))
            inside = (inside or line.startswith("/*")) and "*/" not in line
    return comments / total if total else None


def line_count(tree, names):
    return sum(tree.text(name).count("\n") for name in names)


def commits_with_tests(root):
    """Share of the last commits that change code and a test, among those that change code."""
    log = subprocess.run(["git", "-C", root, "log", "--no-merges", f"-{COMMITS}", "--format=%x00%s", "--name-only"], capture_output=True, text=True)
    code = tested = 0
    for commit in log.stdout.split("\0")[1:]:
        title, *files = commit.strip().split("\n")
        if "[NFC]" in title or not any(re.search(r"^(dialects|passes|lib|runtime)/.*\.(cpp|td|h|cuh)$", f) and "/tests/" not in f for f in files):
            continue
        code += 1
        tested += any(f.startswith(("test/", "problems/")) or "/tests/" in f for f in files)
    return tested / code if code else None


def measure(tree):
    """(name, value or None where there is nothing to measure, goal, limit, whether more is better)."""
    sources = [n for n in tree.select(".cpp", under=CODE + ("tools/", "runtime/")) if "/tests/" not in n]
    headers = [n for n in tree.select(".h", ".cuh", under=CODE + ("runtime/",)) if "/tests/" not in n]
    lit = line_count(tree, [n for n in tree.select(".mlir", ".test", ".py", under=("test/", "problems/"))])
    code = line_count(tree, tree.select(".cpp", ".h", ".td", under=CODE))
    lengths = [tree.text(n).count("\n") for n in sources]
    yield "median lines of a .cpp", statistics.median(lengths) if lengths else None, 200, 230, False
    yield "comment share of .cpp", comment_share(tree, sources), 0.12, 0.04, True
    yield "comment share of headers", comment_share(tree, headers), 0.3, 0.2, True
    yield "lines of lit tests by lines of compiler code", lit / code if code else None, 1.0, 0.65, True
    yield f"code commits with a test, of the last {COMMITS}", commits_with_tests(tree.root), 0.8, 0.6, True


def shown(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.2f}"


def table(tree):
    yield f"{'figure':50} {'value':>7} {'goal':>7} {'limit':>7}"
    for name, value, goal, limit, _ in measure(tree):
        yield f"{name:50} {'-' if value is None else shown(value):>7} {shown(goal):>7} {shown(limit):>7}"


def run(tree):
    for name, value, goal, limit, more in measure(tree):
        if value is not None and (value < limit if more else value > limit):
            yield Finding("tree", 0, f"{name} is {shown(value)}, beyond the limit of {shown(limit)} (the goal is {shown(goal)})")
