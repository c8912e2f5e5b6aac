# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every label of a constraint (`<op>_c<N>` at the begin of an item of a description), stands where it is checked (C++, or a comment beside the trait in the .td) and in a
test; and none is tested that no description has."""
import re

from tree import Finding

DESCRIBED = re.compile(r"(?:\(|\* )`([a-z0-9_]+_c\d+)`")
IN_COMMENT = re.compile(r"//.*?\b([a-z0-9_]+_c\d+)\b")
TEST_NAME = re.compile(r"func\.func @([a-z0-9_]+_c\d+)(?![0-9])")
CODE = ("dialects/", "passes/", "lib/", "include/")
TESTS = ("test/", "problems/", "runtime/tests/")


def run(tree):
    labels = {}
    for td in tree.select(".td", under=CODE):
        for number, line in enumerate(tree.lines(td), 1):
            for match in DESCRIBED.finditer(line):
                labels.setdefault(match.group(1), (td, number))
    checked = {match.group(1) for td in tree.select(".td", under=CODE) for match in IN_COMMENT.finditer(tree.text(td))}
    words = {word for name in tree.select(".cpp", ".h", under=CODE) for word in re.findall(r"\b[a-z0-9_]+_c\d+\b", tree.text(name))}
    tested = {word for name in tree.select(".mlir", ".test", ".py", ".cpp", under=TESTS)
              for word in re.findall(r"[a-z0-9_]+_c\d+(?!\d)", tree.text(name))}
    for label, (td, line) in sorted(labels.items()):
        if label not in checked | words:
            yield Finding(td, line, f"{label} is checked nowhere: name it at the check, or in a comment at the trait that checks it")
        if not any(label == word or word.endswith("_" + label) for word in tested):
            yield Finding(td, line, f"{label} has no test: add a case @{label} to an -invalid test")
    for name in tree.select(".mlir", under=("test/Dialect/",)):
        for match in TEST_NAME.finditer(tree.text(name)):
            if match.group(1) not in labels:
                yield Finding(name, tree.text(name).count("\n", 0, match.start()) + 1, f"{match.group(1)} is in no description")
