# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs in batches of pkb-run and keeps each result as it comes; what one cell does to pkb-run costs only that cell."""

import json
import os
import select
import subprocess

from .. import processes
from .make import last_line, write_json
from .results import WAYS, failure_row, label

SLOWER = 0.97  # below this share of the best baseline's speed a way is timed again


class Runner:
    """tools: folder of pkb-run. work: folder of X.pkb and X.cu. options: device ("gpu" or "emulated"), trials, seed, timeout, time, compile."""

    def __init__(self, tools, work, options, results, headers, say):
        self.tools, self.work, self.options, self.results, self.headers, self.say = tools, work, options, results, headers, say

    def run(self, cells):
        """Runs cells, one batch for each number of ranks (one set of rank processes serves it)."""
        for w in sorted({cell.ranks for cell in cells}):
            waiting = [cell for cell in cells if cell.ranks == w]
            while waiting:
                done = self._batch(waiting)
                if done < len(waiting):  # pkb-run ended within a job
                    message = f"pkb-run ended before its result: {last_line(self._log())}"
                    self.results.append([failure_row(waiting[done], "run", message, self.headers)])
                    self.say(waiting[done], message)
                    done += 1
                waiting = waiting[done:]

    def again(self, cells, text_of):
        """Cells that are slower than the best baseline by the rows they have: fewer than three separate runs, median below."""
        out = []
        for cell in cells:
            rows = self.results.find(cell, text_of(cell), self.headers, self.options.device)
            for way in WAYS:
                speeds = [r["speedup"] for r in rows if r.get("way") == way and r.get("speedup")]
                if 0 < len(speeds) < 3 and sorted(speeds)[len(speeds) // 2] < SLOWER and cell not in out:
                    out.append(cell)
        return out

    def _log(self):
        return os.path.join(self.work, "run.log")

    def _batch(self, cells):
        """Runs cells until the end or until pkb-run dies; returns how many have a result."""
        jobs = os.path.join(self.work, "run.json")
        write_json(jobs, [{"name": cell.name, "program": cell.name + ".cu", "check": cell.name + ".pkb", "ranks": cell.ranks} for cell in cells])
        o = self.options
        command = [os.path.join(self.tools, "pkb-run"), "--batch", jobs, f"--device={o.device}", "--trials", str(o.trials), "--seed",
                   str(o.seed), "--timeout", f"{o.timeout:g}", "--json"]  # fmt: skip
        command += (["--time"] if o.time else []) + ([] if o.compile else ["--no-compile"])
        done = 0
        with open(self._log(), "w", encoding="utf-8") as log:
            child = processes.start(command, stdout=subprocess.PIPE, stderr=log)
            try:
                for cell, rows in self._rows_by_job(child.stdout, cells):
                    self.results.append([{**row, "bench": label(cell)} for row in rows])
                    self.say(cell, summary(rows))
                    done += 1
            finally:
                processes.end(child)
                child.stdout.close()
        return done

    @staticmethod
    def _rows_by_job(stream, cells):
        """(cell, rows) of every job. pkb-run writes a job's lines at once, so a pause ends them: nobody waits for the next job."""
        by_name = {cell.name: cell for cell in cells}
        rest, rows = b"", []
        while True:
            if rows and not select.select([stream], [], [], 0.3)[0]:
                yield by_name[rows[0]["name"]], rows
                rows = []
            data = os.read(stream.fileno(), 1 << 16)
            *lines, rest = (rest + data).split(b"\n")
            for row in map(json.loads, filter(None, lines)):
                if row["kind"] == "check" and rows:
                    yield by_name[rows[0]["name"]], rows
                    rows = []
                rows.append(row)
            if not data:
                break
        if rows:
            yield by_name[rows[0]["name"]], rows


def summary(rows):
    """One line of progress."""
    check = rows[0]
    text = check["verdict"] if check.get("checked") else f"{check['verdict']}: {check['message']}"
    for row in rows[1:]:
        if row.get("ours_us") and row.get("best_us"):
            text += f"; {row['way']} {row['ours_us']:.1f} µs, {row['speedup']:.2f}x"
    return text
