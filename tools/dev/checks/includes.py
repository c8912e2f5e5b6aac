# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Include direction: Support -> dialects -> Analysis -> passes -> Frontend, Reference, Target -> InitAll -> tools;
runtime/ includes nothing of these, no MLIR or LLVM header and no Python.h; the compiler shares only plain-C headers with
runtime/; nobody includes MLIR's InitAll headers; every include names the path in the repository."""
import re

from tree import CPP, Finding, without_comments

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.M)
TD_INCLUDE = re.compile(r'^[ \t]*include[ \t]+"([^"]+)"', re.M)

LAYERS = [
    ("Support", 0, r"(lib|include/pkb|pkb)/Support/"),
    ("dialects", 1, r"dialects/"),
    ("Analysis", 2, r"(lib|include/pkb|pkb)/Analysis/"),
    ("machine facts", 2, r"(lib|include/pkb|pkb)/Target/Machine"), # read by passes that choose
    ("passes", 3, r"passes/"),
    ("Frontend, Reference, Target", 4, r"(lib|include/pkb|pkb)/(Frontend|Reference|Target)/"),
    ("InitAll", 5, r"(lib|include/pkb|pkb)/(InitAll|Plugin)\b"),
    ("tools", 6, r"tools/"),
]
# Plain C, shared by both sides.
SHARED_HEADERS = {"pkb_rt/aten.h", "pkb_rt/layout.h", "pkb_rt/manifest.h", "pkb_rt/pkb.h"}
# Programs that run on machines without MLIR.
WITHOUT_MLIR = ("runtime/", "tools/pkb-run/")


def layer(path):
    for name, level, pattern in LAYERS:
        if re.match(pattern, path):
            return name, level
    return None


def includes(tree, name):
    text = tree.text(name)
    if name.endswith(".td"):
        found = ((m.start(), '"', m.group(1)) for m in TD_INCLUDE.finditer(text))
    else:
        text = without_comments(text)
        found = ((m.start(), m.group(1), m.group(2)) for m in INCLUDE.finditer(text))
    for start, quote, header in found:
        yield text.count("\n", 0, start) + 1, quote, header


def of_runtime(header):
    if re.match(r"(mlir|llvm|clang)(-c)?/", header):
        return "runtime/ must not include MLIR or LLVM"
    if re.match(r"(dialects|passes|pkb)/", header):
        return "runtime/ must not include the compiler"
    if re.search(r"(^|/)Python\.h$|^pybind11/|^torch/(extension|python)\.h$|^torch/csrc/(utils/pybind|Dtype|THP)", header):
        return "runtime/ must not include Python.h (one binary serves every Python): use TORCH_LIBRARY"
    return None


def run(tree):
    for name in tree.select(*CPP, ".td"):
        own = layer(name)
        for line, quote, header in includes(tree, name):
            if re.match(r"mlir/InitAll\w*\.h$", header):
                yield Finding(name, line, f"includes {header}: register what is used (it costs a minute to compile)")
            if name.startswith("runtime/"):
                reason = of_runtime(header)
                if reason:
                    yield Finding(name, line, f"includes {header}: {reason}")
            elif name.startswith(WITHOUT_MLIR) and re.match(r"(mlir|llvm)/", header):
                yield Finding(name, line, f"includes {header}: this tool runs where MLIR is not installed")
            if own is None:
                continue
            other = layer(header)
            if other and other[1] > own[1]:
                yield Finding(name, line, f"includes {header}: {own[0]} must not include {other[0]}")
            if own[1] < 6 and header.startswith("pkb_rt/") and header not in SHARED_HEADERS:
                yield Finding(name, line, f"includes {header}: the compiler shares only "
                              f"{', '.join(sorted(SHARED_HEADERS))} with runtime/")
            if own[1] < 6 and quote == '"' and "/" not in header and name.startswith(("dialects/", "passes/")):
                yield Finding(name, line, f'includes "{header}": write the path in the repository')
