# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `tools/dev/new` writes for its user to replace is replaced: no placeholder text is left, and no problem computes what another one does."""
from scaffold import ops, passes, problems, targets
from tree import Finding

# What only explains the scaffold, or is generated from what is looked at.
OUTSIDE = ("docs/", "tools/dev/", "README.md", "CONTRIBUTING.md")


def run(tree):
    texts = {text: advice for kind in (ops, passes, problems, targets) for text, advice in kind.PLACEHOLDERS.items()}
    for name in tree.select(".td", ".cpp", ".mlir", ".md", ".json", outside=OUTSIDE):
        if not any(text in tree.text(name) for text in texts):
            continue
        for number, line in enumerate(tree.lines(name), 1):
            # Of two that begin alike the longer one is meant.
            found = max((text for text in texts if text in line), key=len, default=None)
            if found:
                yield Finding(name, number, f"placeholder '{found.strip()}': {texts[found]}")
    known = {}
    for name in tree.select("/reference.py", under=("problems/",)):
        first = known.setdefault(tree.text(name), name)
        if first != name:
            yield Finding(name, 1, f"placeholder, a copy of {first}: write the function of this problem")
