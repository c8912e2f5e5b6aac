# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the bundle and the program of every cell: one exporter process for all, then pkb-opt for each, a time limit a cell."""

import glob
import hashlib
import json
import os
import re
import subprocess
import time

from .. import processes
from ..files import whole_file
from .cells import BenchError

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def file_digest(*paths):
    """SHA-256 of the contents of files, in the order given."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            digest.update(hashlib.file_digest(f, "sha256").digest())
    return digest.hexdigest()


def write_json(path, value, indent=None):
    """A file of one value, whole or not at all."""
    try:
        with whole_file(path) as f:
            f.write(json.dumps(value, indent=indent).encode())
    except OSError as e:
        raise BenchError(f"cannot write {path}: {e.strerror}") from e


class Maker:
    """tools: folder of pkb-export and pkb-opt. work: where X.pkb, X.cu and X.made of every cell X go.

    say(cell, text) reports progress; failed(cell, step, message, tools) is told what could not be made.
    """

    def __init__(self, tools, work, timeout, say, failed):
        self.tools, self.work, self.timeout, self.say, self.failed = tools, work, timeout, say, failed
        exporter = sorted(glob.glob(os.path.join(PACKAGE, "export", "*.py")))
        self.version = file_digest(self._tool("pkb-opt"), *exporter)

    def _tool(self, name):
        path = os.path.join(self.tools, name)
        if not os.path.exists(path):
            raise BenchError(f"{name} is not in {self.tools}: build it, or name its folder with --tools")
        return path

    def path(self, cell, suffix):
        return os.path.join(self.work, cell.name + suffix)

    def _stamp(self, cell):
        """What a cell's files depend on: the tools, the export job and the user's file."""
        files = [cell.export[key].rpartition(".py")[0] + ".py" for key in ("function", "inputs") if key in cell.export]
        return {"tools": self.version, "export": cell.export, "files": file_digest(*files)}

    def is_made(self, cell):
        """Are bundle and program of this cell there, made by these tools?"""
        try:
            with open(self.path(cell, ".made"), encoding="utf-8") as f:
                stamp = json.load(f)
        except (OSError, ValueError):
            return False
        return stamp == self._stamp(cell) and all(os.path.exists(self.path(cell, s)) for s in (".pkb", ".cu"))

    def make(self, cells):
        """Makes what is missing; returns the cells whose program is there."""
        os.makedirs(self.work, exist_ok=True)
        missing = [cell for cell in cells if not self.is_made(cell)]
        made = {cell.name for cell in cells} - {cell.name for cell in missing}
        for cell in self._export(missing):
            if self._compile(cell):
                made.add(cell.name)
        return [cell for cell in cells if cell.name in made]

    def _export(self, cells):
        """Exports cells in one process of pkb-export; yields those that succeeded."""
        if not cells:
            return
        jobs = os.path.join(self.work, "export.json")
        write_json(jobs, [{**cell.export, "output": self.path(cell, ".pkb"), "timeout": self.timeout} for cell in cells])
        log = os.path.join(self.work, "export.log")
        with open(log, "w", encoding="utf-8") as errors:
            child = processes.start([self._tool("pkb-export"), "--batch", jobs], stdout=subprocess.PIPE, stderr=errors, text=True)
            try:
                yield from self._answers(child, cells, log)
            finally:
                processes.end(child)
                child.stdout.close()

    def _answers(self, child, cells, log):
        started = time.monotonic()
        waiting = list(cells)
        for line in child.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                continue  # printed by the user's code while its file was loaded
            cell = waiting.pop(0)
            if answer["ok"]:
                self.say(cell, f"exported, {time.monotonic() - started:.1f} s")
                yield cell
            else:
                self.failed(cell, "export", answer["error"], self.version)
            started = time.monotonic()
        for cell in waiting:
            self.failed(cell, "export", f"pkb-export ended before this job: {last_line(log)}", self.version)

    def _compile(self, cell):
        """Import to emission. The program appears under its name only when it is whole."""
        cu = self.path(cell, ".cu")
        command = [self._tool("pkb-opt"), self.path(cell, ".pkb"), f"--pkb-pipeline=target=h200x{cell.ranks}", "-o", cu]
        started = time.monotonic()
        try:
            done = processes.run(command, self.timeout)
        except subprocess.TimeoutExpired:
            self.failed(cell, "opt", f"took more than {self.timeout:g} s; --timeout allows more", self.version)
            return False
        if done.returncode:
            self.failed(cell, "opt", first_error(done.stderr) or f"exit status {done.returncode}", self.version)
            return False
        write_json(self.path(cell, ".made"), self._stamp(cell))
        self.say(cell, f"compiled, {time.monotonic() - started:.1f} s")
        return True


def first_error(text):
    """The first line that says error, without the tool and the bundle that it names, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = next((line for line in lines if "error" in line), lines[-1] if lines else "")
    return re.sub(r"^pkb-\w+: error: (bundle '[^']*': )?", "", line)


def last_line(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = [line.strip() for line in f if line.strip()]
    return lines[-1] if lines else "no message"
