# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results as JSON lines: kept for good, appended whole, found again by what they depend on."""

import datetime
import hashlib
import json
import os

from .. import files
from .cells import BenchError

WAYS = ("graph step", "loop")
FIELDS = {  # of each kind of row: what is read again
    "check": {"device": str, "exit": int, "verdict": str, "message": str},
    "time": {"device": str, "exit": int, "way": str, "speedup": (int, float, type(None))},
    "failure": {"step": str, "message": str, "tools": str},
}
TIMED = {"ours_us": (int, float), "best_us": (int, float), "best": str}  # where there is a speedup


def headers_digest(folder):
    """The hash of the run-time headers under which pkb-run writes results; folder holds pkb_rt/."""
    text = b""
    files = [os.path.join(d, f) for d, _, names in os.walk(os.path.join(folder, "pkb_rt")) for f in names]
    for path in sorted(files, key=lambda p: p.split(os.sep)):
        with open(path, "rb") as f:
            text += os.path.relpath(path, folder).encode() + b"\n" + f.read() + b"\n"
    return hashlib.sha256(text).hexdigest()


def text_digest(path):
    """The hash of an emitted file under which pkb-run writes results."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


class Results:
    """One file of JSON lines. A line is written by one call, so a kill leaves whole lines, or a torn last one, which the next result replaces.

    Raises BenchError, and changes nothing, where the file holds anything else than results.
    """

    def __init__(self, path):
        self.path = path
        self.rows = []
        self.torn_at = None  # where a torn last line begins
        if os.path.isdir(path):
            raise BenchError(f"the results file is a folder: {path}")
        if os.path.exists(path) and not os.path.isfile(path):
            raise BenchError(f"the results file is read again, which {path} cannot be: name a regular file")
        if os.path.exists(path):
            self._read()

    def check_writable(self):
        """Raises BenchError if rows cannot be added, before there are any. Makes the folder, and no file."""
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            if os.path.exists(self.path):
                os.close(os.open(self.path, os.O_WRONLY | os.O_APPEND))
            else:
                files.check_writable(self.path)
        except OSError as e:
            raise BenchError(f"cannot write {self.path}: {e.strerror}") from e

    def _read(self):
        with open(self.path, "rb") as f:
            data = f.read()
        whole = data[:data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as e:
                raise BenchError(f"{self.path}:{number} is not JSON ({e}); mend or move the file") from e
            if not isinstance(row, dict) or row.get("schema") != "pkb-result":
                raise BenchError(f"{self.path}:{number} is not a result (schema pkb-result); name another file with --results")
            if problem := row_problem(row):
                raise BenchError(f"{self.path}:{number} is not a whole result: {problem}; mend or move the file")
            self.rows.append(row)
        if len(whole) != len(data):
            if not self.rows:
                raise BenchError(f"{self.path} holds no result (schema pkb-result); name another file with --results, or remove it")
            self.torn_at = len(whole)

    def append(self, rows):
        """Adds rows for good."""
        data = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode()
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            if self.torn_at is not None:
                os.truncate(self.path, self.torn_at)
                self.torn_at = None
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                written = os.write(handle, data)
                if written != len(data):
                    os.ftruncate(handle, os.lseek(handle, 0, os.SEEK_CUR) - written)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as e:
            raise BenchError(f"cannot write {self.path}: {e.strerror}") from e
        if written != len(data):
            raise BenchError(f"cannot write {self.path}: {written} of {len(data)} bytes written; is the disk full?")
        self.rows += rows

    def find(self, cell, text, headers, device):
        """Rows of a cell as it is now: the same emitted text, run-time headers and kind of device."""
        return [r for r in self.rows if r["name"] == cell.name and r.get("text") == text and r.get("runtime_headers") == headers
                and kind_of(r) == device and r["kind"] != "failure"]  # fmt: skip

    def failure(self, cell, tools):
        """The last failure of a cell to be made by these tools, or None."""
        found = [r for r in self.rows if r["name"] == cell.name and r["kind"] == "failure" and r["tools"] == tools]
        return found[-1] if found else None

    def stale(self, cell, device):
        """The last check of a cell that belongs to another text or other headers, or None."""
        found = [r for r in self.rows if r["name"] == cell.name and r["kind"] == "check" and kind_of(r) == device]
        return found[-1] if found else None


def row_problem(row):
    """What a row lacks of what is read again, in words; empty if it is whole."""
    if row.get("kind") not in FIELDS:
        return f"kind is {row.get('kind')!r}, and must be one of {', '.join(FIELDS)}"
    fields = {"name": str, "date": str, **FIELDS[row["kind"]], **(TIMED if row.get("speedup") else {})}
    missing = [name for name, kind in fields.items() if not isinstance(row.get(name), kind)]
    return f"no {', '.join(missing)}" if missing else ""


def kind_of(row):
    return "emulated" if "emulated" in row.get("device", "") else "gpu"


def failure_row(cell, step, message, tools):
    """A cell that could not be made, or did not come back from a run."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"schema": "pkb-result", "version": [1, 0], "kind": "failure", "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "name": cell.name,
            "world_size": cell.ranks, "step": step, "message": message, "tools": tools, "bench": label(cell)}  # fmt: skip


def label(cell):
    """What the benchmark calls a cell; added to each of its rows."""
    return {"problem": cell.problem, "shape": cell.shape, "dtype": cell.dtype}
