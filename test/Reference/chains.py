# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives in a row mean the same before and after they are one kernel: both sides run by the rank interpreter on random inputs, three calls back to back."""
import os
import subprocess
import sys

SOURCE = os.environ["PKB_SOURCE_DIR"]
sys.path[:0] = [os.path.join(SOURCE, "test", "Integration", "Inputs")]
import chain_cells  # noqa: E402

ULPS = {"statistics": 64}  # a row is added up in another order than libtorch's
LOWER = "pkb-convert-comm-to-xfer,pkb-verify-xfer"
tool = os.path.join(os.environ["PKB_BUILD_DIR"], "bin", "pkb-interpret")
wrong = 0
for ways in (1, 2, 3, 4, 5, 6, 8):
    for kind in ("turning", "straight", "own_rows", "dealt_rows", "statistics"):
        for mechanism in chain_cells.SCHEDULES:
            text = chain_cells.Chain(kind, ways).text(mechanism)
            done = subprocess.run([tool, "-", f"--lower={LOWER}", "--calls=3", "--seeds=2", "--int-limit=9", f"--ulps={ULPS.get(kind, 0)}"], input=text, text=True, capture_output=True)
            if done.returncode or "equal" not in done.stdout:
                wrong += 1
                print(f"{kind} by {mechanism} on {ways} ranks: {done.stdout.strip()} {done.stderr.strip()[:2000]}")
sys.exit(1 if wrong else 0)
