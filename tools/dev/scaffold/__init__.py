# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kinds of `tools/dev/new` share: each is a module with HELP, PLACEHOLDERS, arguments(parser), plan(root, args) and after(args).

PLACEHOLDERS: what its files say that their writer is to replace, and by what; `lint.py placeholders` finds what is left.
"""
import os
import re

LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"


class Failed(Exception):
    """It cannot be made; the message says why and what to do."""


def camel(what, text):
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]+", text):
        raise Failed(f"{what} must be UpperCamel, got: {text}")
    return text


def fill(text, words):
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def read(root, path):
    """Text of a file; None if there is none."""
    path = os.path.join(root, path)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return f.read()


def write_new(texts, root, path, text):
    if os.path.exists(os.path.join(root, path)):
        raise Failed(f"exists already: {path}")
    texts[path] = text


def add_source(root, path, source):
    """A CMakeLists.txt with one more source."""
    text = read(root, path)
    if text is None or "SOURCES" not in text:
        raise Failed(f"cannot find SOURCES in {path}: add {source} by hand")
    return text.replace("SOURCES", f"SOURCES {source}", 1)


def insert_before_endif(text, part, path):
    at = text.rfind("#endif")
    if at < 0:
        raise Failed(f"cannot find where to add to {path}: it has no #endif")
    return text[:at] + part + text[at:]
