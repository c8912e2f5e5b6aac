#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the rules of the tree that a machine can check.

    tools/dev/lint.py [NAME ...] [--root DIR]      NAME: budgets includes style words names labels tests placeholders figures commits (default: all)

Prints one line per finding, `path:line: [check] what is wrong and what to do`; the exit status is 1 if there is any.
"""
import argparse
import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

CHECKS = ("budgets", "includes", "style", "words", "names", "labels", "tests", "placeholders", "figures", "commits")


def main(argv=None):
    from tree import Tree
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(HERE)), help="repository to look at")
    parser.add_argument("--verbose", action="store_true", help="print the figures that are held against limits, too")
    args = parser.parse_args(argv)
    for name in args.names:
        if name not in CHECKS:
            parser.error(f"no check named {name}: choose from {', '.join(CHECKS)}")
    tree = Tree(args.root)
    if not tree.files:
        parser.error(f"no files in {args.root}")
    if args.verbose:
        print("\n".join(importlib.import_module("checks.figures").table(tree)))
    count = 0
    for name in args.names or CHECKS:
        for finding in importlib.import_module("checks." + name).run(tree):
            where = f"{finding.path}:{finding.line}" if finding.line else finding.path
            print(f"{where}: [{name}] {finding.message}")
            count += 1
    print(f"{count} finding{'' if count == 1 else 's'} in {len(tree.files)} files")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
