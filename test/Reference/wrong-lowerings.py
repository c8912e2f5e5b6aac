# RUN: %python %s
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowered programs in which one thing is wrong are found: by values, as a race, or as a deadlock. A mutation that changes nothing, or that is not
found in the way it is expected, fails the test."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import cells  # noqa: E402

TOOLS = os.path.join(os.environ["PKB_BUILD_DIR"], "bin")
VALUE, RACE, DEADLOCK = r"elements differ\)", r"is not ordered after the (read|write) of it|nobody has written", r"nobody can go on"
WAIT_ALL = (r" *(%\d+) = xfer\.wait %\d+ chunk %\w+( in_band)?\n", "")
# Name of the mutation, collective, mechanism, substitutions (regular expression, replacement), what must be said, elements of a message.
MUTANTS = [
    ("wait forgotten", "all_reduce", "ldst", [(r"after (%\d+) : <f32, c", ": <f32, c"), WAIT_ALL], RACE),
    ("signal forgotten", "all_reduce", "ldst", [(r" *xfer\.signal .*\n", "")], DEADLOCK),
    ("signal before the push", "all_reduce", "ldst", [(r"( *%\d+ = xfer\.put .*\n)( *xfer\.signal %\d+ chunk %\w+) after %\d+\n", r"\2\n\1")],
     RACE),
    ("ring too short", "all_reduce", "ldst", [("slots = 4", "slots = 3")], RACE),
    ("ring of one slot", "all_gather", "ldst", [("slots = 4", "slots = 1")], RACE),
    ("one parity", "all_reduce", "ldst", [("parities = 2", "parities = 1")], RACE),
    ("order of the sum", "all_reduce", "ldst", [(r"map (%\d+)#0, %\d+#1, %\d+#2", r"map \1#2, \1#1, \1#0")], VALUE),
    ("a contribution twice", "all_reduce", "ldst", [(r"map (%\d+)#0, %\d+#1, %\d+#2", r"map \1#0, \1#1, \1#1")], VALUE),
    ("difference for sum", "all_reduce", "ll", [(r"arith\.addf (%\d+, %\w+)", r"arith.subf \1")], VALUE),
    ("own part for all", "all_gather", "ldst", [(r"(consume(?:.*\n)*.*)xfer\.store (%\d+) to %arg1 part %arg3", r"\1xfer.store \2 to %arg1 part %me"),
                                                (r"( *)xfer\.for_peers", r"\1%me = xfer.own_rank\n\1xfer.for_peers")], VALUE),
    ("own part forgotten", "all_gather", "ldst", [(r"( *)xfer\.store %\d+ to %arg1 part %\d+ .*\n", "")], VALUE),
    ("part of the sender", "all_to_all", "ldst", [(r"xfer\.load %arg0 part %arg3", "xfer.load %arg0 part %me"),
                                                     (r"( *)xfer\.for_peers", r"\1%me = xfer.own_rank\n\1xfer.for_peers")], VALUE),
    ("peers not waited for", "all_to_all", "ldst", [(r"( *%\d+ = xfer\.wait %\d+) peer %arg3", r"\1 peer %next"), (r"( *)\^bb0\(%arg3: index\):\n",
      r"\g<0>"), (r"(consume \{\n.*\n)( *)xfer\.for_peers", r"\1\2%next = xfer.own_rank\n\2xfer.for_peers")], DEADLOCK),
    ("push to one peer", "all_reduce", "ldst", [(r"( *)(%\d+ = xfer\.put %\d+ into %\d+) chunk", r"\1%me = xfer.own_rank\n\1\2 peer %me chunk")],
     RACE),
    ("lines not pushed", "all_reduce", "ll", [(r"( *)(%\d+) = xfer\.put .*\n", ""), (r" after %\d+ in_band", " in_band")], DEADLOCK),
    # A later chunk of the block would carry the news that an earlier one has been read, so there is only one.
    ("lines of one parity", "all_gather", "ll", [("parities = 2", "parities = 1")], RACE, 16),
    ("result not stored", "all_reduce", "ll", [(r" *xfer\.store .*\n", "")], VALUE),
    ("slot too small", "all_to_all", "ldst", [(r"<f32, chunk = 8,", "<f32, chunk = 4,")], r"writes 32 bytes into a slot of 16"),
]  # fmt: skip


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


def check(folder, name, collective, mechanism, substitutions, expected, elements=81):
    cell = cells.Cell(collective, "sum" if collective in cells.REDUCING else None, "f32", cells.whole(3), elements, 3)
    before, after = os.path.join(folder, "before.mlir"), os.path.join(folder, "after.mlir")
    with open(before, "w") as f:
        f.write(cells.module(cell, cells.schedule(mechanism)))
    lowered = run(os.path.join(TOOLS, "pkb-opt"), before, "-pkb-convert-comm-to-xfer")
    text = lowered.stdout
    for pattern, replacement in substitutions:
        text, count = re.subn(pattern, replacement, text)
        if count == 0:
            return f"{pattern!r} is not in the program:\n{lowered.stdout}{lowered.stderr}"
    interpret = [os.path.join(TOOLS, "pkb-interpret"), before, "--against", after, "--calls=3", "--seeds=2"]
    for content, status, message in ((lowered.stdout, 0, ""), (text, 1, expected)):
        with open(after, "w") as f:
            f.write(content)
        done = run(*interpret)
        if done.returncode != status or not re.search(message, done.stderr):
            return f"status {done.returncode}, expected {status} and {message!r}: {done.stdout}{done.stderr}"
    return None


wrong = []
with tempfile.TemporaryDirectory() as folder:
    for mutant in MUTANTS:
        error = check(folder, *mutant)
        if error:
            wrong.append(f"{mutant[0]}: {error}")
print("\n".join(wrong))
print(f"{len(MUTANTS) - len(wrong)} of {len(MUTANTS)} mutants found")
sys.exit(1 if wrong else 0)
