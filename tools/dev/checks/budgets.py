# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""File budgets: sources at most 800 lines, .td at most 600, the top CMakeLists.txt below 100, a dialect's umbrella
header and a tool's main short; no string literal block above 5 lines in lib/Target (device code is real headers)."""
import re

from tree import Finding

BUDGETS = {".td": 600, ".cpp": 800, ".h": 800, ".cuh": 800, ".cu": 800, ".c": 800, ".py": 800, ".cmake": 400}
SHELL_BUDGET = 400
LITERAL = re.compile(r'R"(\w*)\((.*?)\)\1"', re.S)


def run(tree):
    for name in tree.files:
        count = tree.text(name).count("\n")
        suffix = "." + name.rsplit(".", 1)[-1] if "." in name.rsplit("/", 1)[-1] else ""
        limit = BUDGETS.get(suffix)
        if name == "CMakeLists.txt":
            limit = 100
        elif not suffix and tree.text(name).startswith("#!"):
            limit = SHELL_BUDGET
        if limit and count > limit:
            yield Finding(name, 1, f"has {count} lines, the budget is {limit}: split it by concern")
    for name in tree.select(".cpp", ".h", under=("lib/Target/",)):
        for match in LITERAL.finditer(tree.text(name)):
            if match.group(2).count("\n") > 5:
                line = tree.text(name).count("\n", 0, match.start()) + 1
                yield Finding(name, line, "string literal of more than 5 lines: device code belongs in runtime/include")
