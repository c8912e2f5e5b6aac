# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools as child processes, each the leader of a group of its own, which are asked to end before they are killed.

An exporter that is killed at once leaves what its ranks exchange, often in memory (export/folders.py).
"""

import contextlib
import os
import signal
import subprocess
import time

GRACE_S = 5.0  # in which a tool removes what it has made


def start(command, **options):
    """A subprocess.Popen that `end` can end. It reads nothing: in a terminal its group is in the background."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0, **options)


def end(child, grace_s=GRACE_S):
    """Ends what `start` gave, with all of its group, and reaps it: SIGTERM, at most `grace_s` seconds, SIGKILL. No-op for one that was reaped."""
    if child.returncode is not None:
        return
    try:
        _tell(child, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        # Not reaped yet: its number, which is the group's, is its own until SIGKILL is sent.
        while time.monotonic() < deadline and not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            time.sleep(0.01)
    finally:
        _tell(child, signal.SIGKILL)
        child.wait()


def _tell(child, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


def run(command, timeout_s, **options):
    """subprocess.CompletedProcess with what the tool wrote as text. Raises subprocess.TimeoutExpired when it has been ended."""
    child = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        out, errors = child.communicate(timeout=timeout_s)
    finally:
        end(child)
        child.stdout.close()
        child.stderr.close()
    return subprocess.CompletedProcess(command, child.returncode, out, errors)
