# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text rules: no attribute by raw string, no cl::opt outside tools/, no PassWrapper outside plugins and test/lib, no
dropped driver result, a to-do only with its issue, a licence line in every source
(a CMakeLists.txt of at most ten lines needs none), no tabs or trailing blanks in sources."""
import re

from tree import CPP, Finding, without_comments

LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
LICENSED = (".cpp", ".h", ".cuh", ".c", ".td", ".py", ".cmake", "CMakeLists.txt", ".sh", ".py.in")

RULES = [
    (r"\b(?:get|set|has|remove)(?:Discardable)?Attr(?:OfType<[^>]*>)?\(\s*\"", ("dialects/", "passes/", "lib/", "tools/"), (),
     "attribute by raw string: use the generated accessor, or the constants header of the dialect"),
    (r"\bcl::(?:opt|list|bits)\b", ("dialects/", "passes/", "lib/", "include/"), (),
     "process-wide option: cl::opt belongs in tools/; use an option of the pass"),
    (r"\bPassWrapper<", ("dialects/", "passes/", "lib/", "include/", "tools/"), ("passes/Proposed/",),
     "PassWrapper is for plugins and test/lib: declare the pass in Passes.td"),
    (r"\(void\)\s*apply(?:Patterns|Partial|Full|Op|Signature)", ("dialects/", "passes/", "lib/"), (),
     "the driver's result is dropped: signal the pass failure"),
    (r"\bgetenv\(", ("dialects/", "passes/", "lib/"), (),
     "environment read in the compiler: use a declared option"),
]
# The word alone is a promise that nobody owns.
UNOWNED = re.compile(r"\b(?:TOD" r"O(?!\(#\d+\))|FIXM" r"E\b|XX" r"X\b)")


def run(tree):
    for name in tree.select(*CPP):
        text = without_comments(tree.text(name))
        for pattern, under, outside, message in RULES:
            if not name.startswith(under) or name.startswith(outside or ("\0",)):
                continue
            for match in re.finditer(pattern, text):
                yield Finding(name, text.count("\n", 0, match.start()) + 1, message)
    for name in tree.select(*CPP, ".td", ".py", ".cmake", "CMakeLists.txt", ".sh"):
        for number, line in enumerate(tree.lines(name), 1):
            if UNOWNED.search(line):
                yield Finding(name, number, "write TOD" "O(#issue), or do it")
            if line != line.rstrip():
                yield Finding(name, number, "trailing blanks")
            if "\t" in line and not name.endswith(".inc"):
                yield Finding(name, number, "tab: indent with blanks")
    for name in tree.files:
        text = tree.text(name)
        shell = "." not in name.rsplit("/", 1)[-1] and text.startswith("#!")
        small = name.endswith("CMakeLists.txt") and text.count("\n") <= 10
        if (name.endswith(LICENSED) or shell) and text.strip() and not small:
            if LICENCE not in "\n".join(text.split("\n")[:6]):
                yield Finding(name, 1, f"no licence line: add '{LICENCE}' at the top")
