# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One pass = one def = one flag = one .cpp = one test file = one entry in docs/generated; every lit test checks something;
a problem folder is complete."""
import os
import re

from tree import Finding

PASS_DEF = re.compile(r'^def\s+(\w+)\s*:\s*(?:Interface)?Pass\s*<\s*"([^"]+)"', re.M)
CHECKS = re.compile(r"FileCheck|verify-diagnostics|pkb-run|%python|\bdiff\b|\bcmp\b|\bnot\b|\bcount\b|\bgrep\b|"
                    r"verify-roundtrip|pkb-reduce|%nvcc|ctest|\btest\b")
PROBLEM_FILES = ("problem.toml", "reference.py", "graph.mlir", "lower.mlir", "simulate.mlir", "NOTES.md")


def dashed(name):
    """CommSelectEngine -> comm-select-engine; L1Form -> l1-form."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def test_folders(folder):
    parts = folder.split("/")
    if parts[0] == "passes":
        return [f"test/Passes/{parts[1]}/"]
    return [f"test/Dialect/{parts[1]}/Transforms/", f"test/Dialect/{parts[1]}/", f"test/Passes/{parts[1]}/"]


def check_pass(tree, td, line, definition, flag):
    folder = os.path.dirname(td)
    if not definition.endswith("Pass"):
        yield Finding(td, line, f"def {definition}: the name of a pass ends in Pass")
        return
    stem = definition[:-len("Pass")]
    wanted = "pkb-" + dashed(stem)
    if flag != wanted:
        yield Finding(td, line, f"flag {flag} of {definition} must be {wanted}")
    source = f"{folder}/{re.sub('^Convert(?=.*To)', '', stem)}.cpp"
    if not tree.exists(source) and not tree.exists(f"{folder}/{stem}.cpp"):
        yield Finding(td, line, f"{definition} has no source {source}")
    short = flag[len("pkb-"):] if flag.startswith("pkb-") else flag
    tests = [n for n in tree.select(".mlir", ".test", under=test_folders(folder))
             if re.fullmatch(re.escape(short) + r"(-[\w-]+)?\.(mlir|test)", os.path.basename(n))]
    if not tests:
        yield Finding(td, line, f"{flag} has no test {test_folders(folder)[0]}{short}.mlir")
    elif not any(flag in tree.text(n) for n in tests):
        yield Finding(tests[0], 1, f"is the test of {flag} but never runs it")
    if not any(re.search(rf"(?<![\w-])-?{re.escape(flag)}(?![\w-])", tree.text(n))
               for n in tree.select(".md", under=("docs/generated/",))):
        yield Finding(td, line, f"{flag} has no entry in docs/generated: run ninja pkb-docs")


def run(tree):
    flags = set()
    for td in tree.select("Passes.td", under=("passes/", "dialects/")):
        for match in PASS_DEF.finditer(tree.text(td)):
            line = tree.text(td).count("\n", 0, match.start()) + 1
            if match.group(2) in flags:
                yield Finding(td, line, f"flag {match.group(2)} is declared twice")
            flags.add(match.group(2))
            yield from check_pass(tree, td, line, match.group(1), match.group(2))
    for name in tree.select(".mlir", ".test", ".pdll", ".cu", under=("test/", "problems/", "tools/dev/tests/",
                                                                       "runtime/tests/lit/")):
        if "/Inputs/" in name:
            continue
        runs = re.findall(r"RUN:(.*)", tree.text(name))
        if not runs:
            yield Finding(name, 1, "has no RUN line: move it to an Inputs folder, or test something")
        elif not any(CHECKS.search(r) for r in runs):
            yield Finding(name, 1, "runs something and checks nothing")
    problems = {n.split("/")[1] for n in tree.select(under=("problems/",)) if n.count("/") > 1}
    for problem in sorted(problems):
        if not re.fullmatch(r"\d{3}-[a-z0-9-]+", problem):
            yield Finding(f"problems/{problem}", 1, "a problem's folder is NNN-slug")
        for wanted in PROBLEM_FILES:
            if not tree.exists(f"problems/{problem}/{wanted}"):
                yield Finding(f"problems/{problem}", 1, f"has no {wanted}")
