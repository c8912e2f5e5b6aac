# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lit tests look like: values are captured, never numbered; an -invalid test expects whole messages; one test in five or more is about
diagnostics."""
import re

from tree import Finding

ROOTS = ("test/", "problems/", "tools/dev/tests/", "runtime/tests/lit/")
NUMBERED = re.compile(r"^\s*(?://|#)\s*[A-Z][A-Z0-9_-]*:.*%\d")
EXPECTED = re.compile(r"expected-(?:error|warning|remark|note)")
DIAGNOSTICS = re.compile(r"verify-diagnostics|RUN:.*\bnot\b|refus|error:")
SHARE = 0.2


def run(tree):
    tests = [name for name in tree.select(".mlir", ".test", ".py", ".cu", ".pdll", under=ROOTS) if "/Inputs/" not in name and "RUN:" in tree.text(name)]
    for name in tests:
        if name.endswith(".mlir"):
            for number, line in enumerate(tree.lines(name), 1):
                if NUMBERED.match(line) and "RUN:" not in line:
                    yield Finding(name, number, "a check names a value by number: capture it")
        text = tree.text(name)
        if name.endswith("-invalid.mlir") and not EXPECTED.search(text) and not re.search(r"RUN:.*\bnot\b", text):
            yield Finding(name, 1, "an -invalid test must expect an error: -verify-diagnostics with the whole message, or `not`")
    about = sum(bool(DIAGNOSTICS.search(tree.text(name))) for name in tests)
    if tests and about < SHARE * len(tests):
        yield Finding("test", 0, f"{about} of {len(tests)} lit tests look at diagnostics, at least {SHARE:.0%} must: test the messages of what is new")
