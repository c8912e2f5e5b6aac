# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commit titles are `[Area] Imperative title`, at most 100 characters, without a full stop. The last 50 are looked at;
where CI is set a bad title is only shown, since a published title can't be changed any more."""
import os
import re
import subprocess

from tree import Finding

TITLE = re.compile(r"(\[[A-Z][\w/+, -]*\])+(\[NFC\])? [A-Z`]")
NOT_IMPERATIVE = re.compile(
    r"^(Add|Fix|Remov|Mak|Chang|Updat|Us|Mov|Renam|Writ|Test|Check|Improv|Implement|Introduc|Clean|Document)(ed|es|s|ing)\b|"
    r"^(Added|Made|Wrote|Did|Putting|Puts|Running|Ran|Fixup|Wip|WIP)\b")


def judge(title):
    """What is wrong with a title, or None."""
    if not TITLE.match(title):
        return "must read '[Area] Imperative title'"
    words = re.sub(r"^(\[[^\]]*\])+ ", "", title)
    if NOT_IMPERATIVE.match(words):
        return "must be imperative ('Add', not 'Added' or 'Adds')"
    if len(title) > 100:
        return f"must have at most 100 characters, has {len(title)}"
    if title.endswith("."):
        return "must not end in a full stop"
    return None


def run(tree):
    if not os.path.exists(os.path.join(tree.root, ".git")):
        return
    log = subprocess.run(["git", "-C", tree.root, "log", "--no-merges", "-50", "--format=%h %s"],
                         capture_output=True, text=True)
    for line in log.stdout.splitlines():
        commit, title = line.split(" ", 1)
        wrong = judge(title)
        if wrong and os.environ.get("CI"):
            print(f"note: commit {commit} '{title}': {wrong}")
        elif wrong:
            yield Finding(f"commit {commit}", 0, f"'{title}': {wrong}")
