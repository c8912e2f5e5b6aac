# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the checks of the tree share: the files under version control, their text, and what a finding is."""
import collections
import functools
import os
import re
import subprocess

Finding = collections.namedtuple("Finding", "path line message")

CPP = (".cpp", ".h", ".cuh", ".cu", ".c", ".inc")


class Tree:
    """The files of a repository (tracked, or new and not ignored), with paths relative to `root`.

    Without git (a plain folder, as in the tests of the checks) it is every file below `root`.
    """

    def __init__(self, root):
        self.root = os.path.abspath(root)

    @functools.cached_property
    def files(self):
        listed = subprocess.run(
            ["git", "-C", self.root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            capture_output=True, text=True)
        if listed.returncode == 0 and os.path.exists(os.path.join(self.root, ".git")):
            names = [n for n in listed.stdout.split("\0") if n]
        else:
            names = []
            for folder, folders, files in os.walk(self.root):
                folders[:] = [d for d in folders if d not in (".git", "__pycache__")]
                names += [os.path.relpath(os.path.join(folder, f), self.root) for f in files]
        return sorted(n for n in set(names) if os.path.isfile(os.path.join(self.root, n)))

    def select(self, *suffixes, under=(), outside=()):
        """Files with one of the suffixes, below one of `under` (if given) and none of `outside`."""
        for name in self.files:
            if suffixes and not name.endswith(suffixes):
                continue
            if under and not name.startswith(tuple(under)):
                continue
            if outside and name.startswith(tuple(outside)):
                continue
            yield name

    @functools.lru_cache(maxsize=None)
    def text(self, name):
        """Text of a file; an empty string for binary content."""
        with open(os.path.join(self.root, name), "rb") as f:
            data = f.read()
        if b"\0" in data[:8192]:
            return ""
        return data.decode("utf-8", errors="replace")

    def lines(self, name):
        return self.text(name).split("\n")

    def exists(self, name):
        return os.path.exists(os.path.join(self.root, name))

    def grep(self, pattern, names):
        """(name, line number, match) of every line that matches."""
        compiled = re.compile(pattern)
        for name in names:
            for number, line in enumerate(self.lines(name), 1):
                match = compiled.search(line)
                if match:
                    yield name, number, match


def without_comments(text):
    """C-like text with comments blanked out, line numbers kept; strings are left alone."""
    def blank(match):
        found = match.group(0)
        return found if found[0] in "\"'" else re.sub(r"[^\n]", " ", found)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)
