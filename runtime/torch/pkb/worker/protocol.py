# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines between pkb-run and a rank, and small values between ranks."""

import json
import os
import time


class Channel:
    """JSON lines: jobs come on file descriptor `read_fd`, events leave on `write_fd`. User code may print as it likes."""

    def __init__(self, read_fd=3, write_fd=4):
        self._in = os.fdopen(read_fd, "r", encoding="utf-8")
        self._out = os.fdopen(write_fd, "w", encoding="utf-8")
        self.job = None

    def jobs(self):
        """Jobs until pkb-run closes its end."""
        for line in self._in:
            if line.strip():
                yield json.loads(line)

    def send(self, event, **fields):
        self._out.write(json.dumps({"event": event, "job": self.job, **fields}) + "\n")
        self._out.flush()

    def step(self, name):
        """Tells pkb-run what this rank does now; the watchdog names it when nothing follows."""
        self.send("step", step=name)


class Refusal(Exception):
    """Ends a job with one message. `code` is an exit status of pkb-run: 1 wrong, 2 bad input, 3 fell back."""

    def __init__(self, message, code=2):
        super().__init__(message)
        self.code = code


class Exchange:
    """Small Python values between ranks over a torch Store (anything with set, get, wait as torch.distributed.Store has)."""

    def __init__(self, store, rank, world_size, timeout_s=600.0):
        self.store, self.rank, self.world_size, self.timeout_s = store, rank, world_size, timeout_s
        self._count = 0

    def allgather(self, value):
        """[value of rank 0, ...] on every rank; a value must survive JSON. All ranks call in the same order."""
        from datetime import timedelta

        self._count += 1
        key = f"pkb-worker/{self._count}"
        self.store.set(f"{key}/{self.rank}", json.dumps(value))
        keys = [f"{key}/{r}" for r in range(self.world_size)]
        self.store.wait(keys, timedelta(seconds=self.timeout_s))
        return [json.loads(self.store.get(k)) for k in keys]

    def barrier(self):
        self.allgather(None)

    def largest(self, value):
        return max(self.allgather(value))

    def agree(self, error):
        """`error` is None or a message on each rank; the first message of any rank (with its rank), or None, on all."""
        for rank, message in enumerate(self.allgather(error)):
            if message is not None:
                return f"rank {rank}: {message}"
        return None


def attempt(exchange, action):
    """Runs `action` on every rank; (result, None) if it worked on all, else (None, first message)."""
    result, error = None, None
    try:
        result = action()
    except Exception as e:  # noqa: BLE001 - whatever a baseline raises is reported, never lost
        error = one_line(e)
    error = exchange.agree(error)
    return (result, None) if error is None else (None, error)


def one_line(error, limit=300):
    """An exception as one line: its type and the first line of its text."""
    lines = [s for s in str(error).splitlines() if s.strip()] or [""]
    text = f"{type(error).__name__}: {lines[0].strip()}"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def now():
    return time.perf_counter()
