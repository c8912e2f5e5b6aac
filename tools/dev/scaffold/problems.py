# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A problem: a folder with everything that a problem has, as a copy of one that works."""
import os
import re

from scaffold import Failed, read, write_new

HELP = "a problem (a folder below problems/): problem 19 my-sum [--like 001-allreduce]"

NOTES = '''# @NUMBER@ @SLUG@

What is computed, with which shapes and dtypes; bytes per rank.

## Roofline

Bytes that must enter each GPU over its links and pass its memory, for each number of ranks, and the time that takes.

## Strategy

How it is lowered, and why so.

## Limits

What a better one would do.

## Results

<!-- results: made by tools/dev/result_tables.py, do not edit -->
Not measured yet.
<!-- end of results -->
'''
PLACEHOLDERS = {
    "What is computed, with which shapes and dtypes; bytes per rank.": "say what is computed, with which shapes and dtypes, and the bytes per rank",
    "Bytes that must enter each GPU over its links and pass its memory, for each number of ranks, and the time that takes.": "write the roofline",
    "How it is lowered, and why so.": "say how it is lowered, and why so",
    "What a better one would do.": "say what a better one would do",
}
COPIED = ("problem.toml", "reference.py", "graph.mlir", "lower.mlir", "simulate.mlir")


def arguments(parser):
    parser.add_argument("number", metavar="NUMBER", help="1 to 999; that of the benchmark for one of the benchmark")
    parser.add_argument("slug", metavar="SLUG", help="small letters, digits and dashes")
    parser.add_argument("--like", metavar="NNN-SLUG", default="001-allreduce", help="the problem to begin with (default: 001-allreduce)")


def plan(root, args):
    """{path: text} of every file to write."""
    if not re.fullmatch(r"\d{1,3}", args.number) or int(args.number) == 0:
        raise Failed(f"number must be 1 to 999, got: {args.number}")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", args.slug):
        raise Failed(f"slug must be small letters, digits and dashes, got: {args.slug}")
    number = f"{int(args.number):03d}"
    folder = os.path.join(root, "problems")
    there = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    if args.like not in there:
        raise Failed(f"there is no problem {args.like} to begin with; there are: {', '.join(there)}")
    if taken := [name for name in there if name.startswith(number + "-")]:
        raise Failed(f"number {int(number)} is taken: problems/{taken[0]}")
    texts = {}
    for name in COPIED:
        text = read(root, f"problems/{args.like}/{name}")
        if text is None:
            raise Failed(f"problems/{args.like} has no {name}")
        if name == "problem.toml":
            text = re.sub(r"(?m)^number = \d+[^\n]*$", f"number = {int(number)}", text, count=1)
            text = re.sub(r'(?m)^slug = "[^"]*"', f'slug = "{args.slug}"', text, count=1)
        write_new(texts, root, f"problems/{number}-{args.slug}/{name}", text)
    write_new(texts, root, f"problems/{number}-{args.slug}/NOTES.md", NOTES.replace("@NUMBER@", str(int(number))).replace("@SLUG@", args.slug))
    return texts


def after(args):
    folder = f"problems/{int(args.number):03d}-{args.slug}"
    return (f"write {folder}/reference.py, put what the importer makes of it into graph.mlir, what you expect of the lowering into lower.mlir and of the run into "
            f"simulate.mlir; then tools/dev/run_tests.py --build build --filter {folder.split('/')[1]}")
