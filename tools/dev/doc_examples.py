#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps the outputs shown in docs/*.md those of the tools.

A block to keep is a fenced block after a comment that holds a shell command, run from the top of the repository:

    <!-- output of: pkb-opt docs/Examples/all-reduce.mlir -->
    ```mlir
    ...
    ```

    tools/dev/doc_examples.py --build build --write | --check
"""
import argparse
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"(<!-- output of: (?P<command>.+?) -->\n```(?P<kind>\w*)\n)(?P<text>.*?)(?=^```$)", re.S | re.M)


class CommandFailed(Exception):
    """An example's command failed; the message has its first lines of error."""


def output_of(command, root, build):
    environment = dict(os.environ, PATH=os.path.join(build, "bin") + os.pathsep + os.environ["PATH"])
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=root, env=environment, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise CommandFailed(f"{command}\n" + "\n".join(done.stderr.splitlines()[:5]))
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def refresh(text, root, build):
    """The text with the output of every command put in, and the number of commands."""
    parts, at, count = [], 0, 0
    for match in BLOCK.finditer(text):
        parts += [text[at:match.start("text")], output_of(match.group("command"), root, build)]
        at = match.end("text")
        count += 1
    return "".join(parts) + text[at:], count


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build tree")
    parser.add_argument("--root", default=ROOT)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    args = parser.parse_args(argv)
    total, stale = 0, []
    for path in sorted(glob.glob(os.path.join(args.root, "docs", "*.md"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        try:
            fresh, count = refresh(text, args.root, os.path.abspath(args.build))
        except CommandFailed as error:
            print(f"doc_examples: error: {os.path.relpath(path, args.root)}: {error}", file=sys.stderr)
            return 2
        total += count
        if fresh == text:
            continue
        stale.append(os.path.relpath(path, args.root))
        if args.write:
            with open(path, "w", encoding="utf-8") as f:
                f.write(fresh)
    for name in stale:
        print(f"{name}: " + ("rewritten" if args.write else "an example is stale: run tools/dev/doc_examples.py --write"))
    print(f"{total} examples")
    return 1 if stale and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
