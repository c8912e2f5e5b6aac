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


class PeerFailed(Exception):
    """Another rank gave up on what all ranks were doing together; the text names the rank and its reason."""


class Exchange:
    """Small Python values between ranks over a torch Store (anything with set, get, wait as torch.distributed.Store has).

    Every meeting also carries a failure: a rank that gives up posts its reason where its peers wait for its value, so that all
    leave the common work together and stay in step.
    """

    def __init__(self, store, rank, world_size, timeout_s=600.0):
        self.store, self.rank, self.world_size, self.timeout_s = store, rank, world_size, timeout_s
        self._count = 0

    def _meet(self, entry):
        from datetime import timedelta

        self._count += 1
        key = f"pkb-worker/{self._count}"
        self.store.set(f"{key}/{self.rank}", json.dumps(entry))
        keys = [f"{key}/{r}" for r in range(self.world_size)]
        self.store.wait(keys, timedelta(seconds=self.timeout_s))
        entries = [json.loads(self.store.get(k)) for k in keys]
        for rank, other in enumerate(entries):
            if "error" in other:
                raise PeerFailed(f"rank {rank}: {other['error']}")
        return [e["value"] for e in entries]

    def allgather(self, value):
        """[value of rank 0, ...] on every rank; a value must survive JSON. All ranks call in the same order.

        Raises PeerFailed if a rank gave up instead.
        """
        return self._meet({"value": value})

    def barrier(self):
        self.allgather(None)

    def largest(self, value):
        return max(self.allgather(value))

    def give_up(self, message):
        """Tells the peers, where they meet next, that this rank left the common work. Raises PeerFailed, as they do."""
        self._meet({"error": message})


def attempt(exchange, action):
    """Runs `action` on every rank; (result, None) if it worked on all, else (None, "rank r: reason") on all."""
    try:
        try:
            result = action()
        except PeerFailed:
            raise
        except Exception as e:  # noqa: BLE001 - whatever a baseline raises is reported, never lost
            exchange.give_up(one_line(e))
        exchange.barrier()
        return result, None
    except PeerFailed as e:
        return None, str(e)


def one_line(error, limit=300):
    """An exception as one line: its type and the first line of its text."""
    lines = [s for s in str(error).splitlines() if s.strip()] or [""]
    text = f"{type(error).__name__}: {lines[0].strip()}"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def now():
    return time.perf_counter()
