# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the cells that its arguments choose (those of cells.py) at level L1 and after the lowering to L2, and prints a table: a line for each
collective and reduction with the number of programs that are equal, by dtype class. What has no kernel, or one that the proof rejects, is listed with the reason. So
the proof is held against the interpreter, too: what it accepts must run without a race. Exit status 1 if a program differs or fails."""
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import cells  # noqa: E402

LOWER = "pkb-convert-comm-to-xfer,pkb-verify-xfer"


def main():
    script = os.path.join(os.path.dirname(__file__), "cells.py")
    text = subprocess.run([sys.executable, script] + sys.argv[1:], capture_output=True, text=True, check=True).stdout
    tool = os.path.join(os.environ["PKB_BUILD_DIR"], "bin", "pkb-interpret")
    done = subprocess.run([tool, "-", "--split-input-file", f"--lower={LOWER}", "--calls=3", "--seeds=2", "--special-values"], input=text, text=True,
                          capture_output=True)  # fmt: skip
    names = re.findall(r'func\.func @"([^"]*)"', text)
    equal = {int(n) for n in re.findall(r"^- piece (\d+): equal", done.stdout, re.M)}
    wrong = dict((int(n), what) for n, what in re.findall(r"error: - piece (\d+): (seed .*)", done.stderr))
    refused = {int(n) for n in re.findall(r"error: - piece (\d+): cannot be lowered", done.stderr)}
    reasons = collections.Counter(re.findall(r"error: '(comm\.\w+' op has no kernel.*|xfer\.\w+' op XV\d+)", done.stderr))
    table = collections.defaultdict(collections.Counter)
    for number, name in enumerate(names):
        collective, kind, dtype = name.split(".")[:3]
        outcome = "equal" if number in equal else "wrong" if number in wrong else "refused" if number in refused else "lost"
        table[collective, kind][cells.DTYPES[dtype][2], outcome] += 1
    for (collective, kind), row in table.items():
        print(f"{collective:20} {kind:10} " + "  ".join(f"{element}: {count} {outcome}" for (element, outcome), count in sorted(row.items())))
    for number, what in list(wrong.items())[:20]:
        print(f"{names[number]}: differ: {what}")
    for reason, count in reasons.items():
        print(f"{count} x '{reason}")
    unknown = len(names) - len(equal) - len(wrong) - min(len(refused), sum(reasons.values()))
    if unknown:
        print(f"{unknown} programs have no verdict\n{done.stderr[-2000:]}")
    print(f"{len(equal)} of {len(names)} programs are equal, {len(wrong)} are not, {len(refused)} have no kernel or one that is rejected")
    sys.exit(1 if wrong or unknown or not equal else 0)


if __name__ == "__main__":
    main()
