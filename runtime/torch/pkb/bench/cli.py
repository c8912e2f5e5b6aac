# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of pkb-bench."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict

from ..arguments import MAX_SEED, MAX_TRIALS, SECONDS, Parser, check_number
from ..export.errors import ExportError
from ..files import print_out, why_not
from . import cells as cell_lists
from . import table
from .cells import MOST_RANKS, BenchError, Cell, parse_numbers, parse_shapes
from .make import PACKAGE, Maker, write_json
from .results import Results, failure_row, headers_digest, text_digest
from .run import Runner

ROOT = os.environ.get("PKB_ROOT") or os.path.abspath(os.path.join(PACKAGE, *[os.pardir] * 3))
PLAN = "bench.json"  # in a packed folder: the cells


def parser():
    p = Parser(prog="pkb-bench", description="Run many programs on many shapes, dtypes and numbers of ranks; keep and show the results.")
    what = p.add_argument_group("what")
    what.add_argument("--pkb", metavar="CHECKOUT", help="a ParallelKernelBench checkout")
    what.add_argument("--problems", default="1-8", metavar="N,N-N", help="with --pkb: problem numbers (default 1-8)")
    what.add_argument("--shapes", default="1024", metavar="M[xN],...", help="with --pkb: base shapes (default 1024)")
    what.add_argument("--dtypes", default="bfloat16", metavar="D,...", help="with --pkb: dtypes (default bfloat16)")
    what.add_argument("--folder", action="append", default=[], metavar="NAME", help="a folder below problems/, or all (may be repeated)")
    what.add_argument("--program", action="append", default=[], metavar="FILE.py[:SOLUTION:INPUTS]", help="a file of your own (may be repeated)")
    what.add_argument("--ranks", default="2", metavar="W,...", help="numbers of ranks (default 2)")
    how = p.add_argument_group("how")
    how.add_argument("--device", choices=("auto", "gpu", "emulated"), default="auto", help="auto: GPUs if there are two or more, else emulated ranks")
    how.add_argument("--no-time", dest="time", action="store_false", help="check only, on GPUs too")
    how.add_argument("--no-compile", dest="compile", action="store_false", help="do not time torch.compile of the original")
    how.add_argument("--trials", type=int, default=3, help="inputs that are checked (default 3)")
    how.add_argument("--seed", type=int, default=0)
    how.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds for each step of each cell (default 120)")
    how.add_argument("--retry", action="store_true", help="try cells again that failed before with the same tools")
    where = p.add_argument_group("where")
    where.add_argument("--work", metavar="FOLDER", help="bundles and programs (default: bench/ of the build tree)")
    where.add_argument("--tools", metavar="FOLDER", help="pkb-export, pkb-opt, pkb-run (default: bin/ of the build tree)")
    where.add_argument("--results", metavar="FILE", help="JSON lines to add to (default: docs/results/MACHINE/bench.jsonl, emulated ones WORK/emulated.jsonl)")
    where.add_argument("--json", action="store_true", help="print the result rows of these cells instead of the table")
    pack = p.add_argument_group("to a machine with GPUs and without MLIR")
    pack.add_argument("--pack", metavar="FOLDER", help="make the programs here, and a folder that holds all that --run needs; run nothing")
    pack.add_argument("--run", metavar="FOLDER", help="run and time what --pack put into this folder")
    pack.add_argument("--show", action="store_true", help="run nothing: show what the results file has, with --run also on another machine")
    return p


def count_gpus():
    """(number, model) of the GPUs here: (0, "") without nvidia-smi or a driver; the model is as h200."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0, ""
    models = re.findall(r"^GPU \d+: (?:NVIDIA )?(\S+)", listed, re.M)
    return len(models), re.sub(r"[^a-z0-9]+", "-", models[0].lower()) if models else ""


def read_plan(path):
    """The cells of a packed folder. Raises BenchError, OSError."""
    try:
        with open(path, encoding="utf-8") as f:
            return [Cell(**fields) for fields in json.load(f)]
    except (ValueError, TypeError) as e:
        raise BenchError(f"{path} is damaged ({e}); pack again with --pack") from e


class Bench:
    """One call of pkb-bench: where things are, and what is done with the cells."""

    def __init__(self, options):
        self.options = options
        packed = options.run
        if packed and not os.path.isfile(os.path.join(packed, PLAN)):
            raise BenchError(f"--run: {packed} was not made by pkb-bench --pack: it has no {PLAN}")
        build = os.environ.get("PKB_BUILD_DIR") or os.path.join(ROOT, "build")
        self.tools = os.path.abspath(options.tools or os.path.join(packed or build, "bin"))
        self.work = os.path.abspath(options.work or (os.path.join(packed, "bundles") if packed else os.path.join(build, "bench")))
        if os.path.exists(self.work) and not os.path.isdir(self.work):
            raise BenchError(f"the work folder is none: {self.work}; name a folder with --work")
        gpus, model = count_gpus() if options.device != "emulated" and not options.pack else (0, "")
        if options.device == "auto":
            options.device = "gpu" if gpus >= 2 else "emulated"
        if options.device == "gpu" and not gpus and not options.pack and not options.show:
            raise BenchError("--device=gpu: there is no GPU here; --device=emulated checks without one")
        self.machine = "emulated" if options.device != "gpu" else f"{model}x{gpus}" if gpus else "gpu"
        self.headers = headers_digest(os.path.join(packed, "include") if packed else os.path.join(ROOT, "runtime", "include"))
        self.results = Results(os.path.abspath(options.results or self._default_results()))

    def _default_results(self):
        if self.machine == "emulated" or self.options.run:
            return os.path.join(self.work, f"{self.machine}.jsonl")
        return os.path.join(ROOT, "docs", "results", self.machine, "bench.jsonl")

    def cells(self):
        """What was asked for."""
        o = self.options
        if o.run:
            return read_plan(os.path.join(o.run, PLAN))
        ranks = parse_numbers(o.ranks, "--ranks", 1, MOST_RANKS)
        found = []
        if o.pkb:
            dtypes = [d for d in o.dtypes.split(",") if d]
            found += cell_lists.pkb_cells(o.pkb, parse_numbers(o.problems, "--problems"), ranks, parse_shapes(o.shapes), dtypes)
        gpu = o.device == "gpu" or bool(o.pack)
        found += cell_lists.folder_cells(ROOT, o.folder, ranks, gpu) if o.folder else []
        found += cell_lists.user_cells(o.program, ranks)
        if not found:
            raise BenchError("nothing to run: name --pkb CHECKOUT, --folder NAME or --program FILE.py")
        return cell_lists.distinct(found)

    def say(self, cell, text):
        print(f"{cell.name}: {text}", file=sys.stderr, flush=True)

    def failed(self, cell, step, message, tools):
        self.results.append([failure_row(cell, step, message, tools)])
        self.say(cell, f"{step} failed: {message}")

    def _path(self, cell, suffix):
        return os.path.join(self.work, cell.name + suffix)

    def text_of(self, cell):
        """The hash of a cell's program, or None if it is not made."""
        path = self._path(cell, ".cu")
        return text_digest(path) if os.path.exists(path) else None

    def make(self, cells):
        """Programs of the cells that can be made; what these tools failed to make before is not tried again."""
        maker = Maker(self.tools, self.work, self.options.timeout, self.say, self.failed)
        wanted = [c for c in cells if self.options.retry or not self.results.failure(c, maker.version)]
        return maker.make(wanted)

    def finished(self, cell):
        """Is there a result of this very program, timed if it is to be?"""
        rows = self.results.find(cell, self.text_of(cell), self.headers, self.options.device)
        if self.options.retry:
            rows = [r for r in rows if not r["exit"]]
        timing = self.options.time and self.options.device == "gpu"
        return any(r["kind"] == "check" and (r["exit"] or not timing or r.get("not_timed")) for r in rows) or any(r["kind"] == "time" for r in rows)

    def run(self, cells):
        runner = Runner(self.tools, self.work, self.options, self.results, self.headers, self.say)
        todo = [c for c in cells if not self.finished(c)]
        if len(todo) < len(cells):
            print(f"{len(cells) - len(todo)} of {len(cells)} have a result already", file=sys.stderr)
        runner.run(todo)
        if self.options.time and self.options.device == "gpu":
            for _ in range(2):
                runner.run(runner.again(cells, self.text_of))

    def show(self, cells):
        """Prints the table or the rows; returns the exit status: 0 if every cell is right."""
        lines, speedups, right = [], [], 0
        for cell in cells:
            text = self.text_of(cell)
            rows = self.results.find(cell, text, self.headers, self.options.device) if text else []
            if self.options.json:
                for row in rows:
                    print_out(json.dumps(row, sort_keys=True))
            if any(r["kind"] == "check" for r in rows):
                line, speeds = table.cell_row(cell, rows, self._path(cell, ".cu"), self._path(cell, ".pkb"))
                speedups.append(speeds)
                right += line[-1] == "right"
            else:
                line = table.empty_row(cell, self._why_missing(cell))
            lines.append(line)
        if not self.options.json:
            devices = sorted({re.sub(r"\s*\(.*", "", r["device"]) for r in self.results.rows if r.get("device")}) or [self.machine]
            print_out(f"device: {'; '.join(devices)}\nresults: {self.results.path}")
            print_out(table.render(lines, any(speedups)))
            print_out("\n".join([*table.means(speedups), f"{right} of {len(cells)} right"]))
        return 0 if right == len(cells) else 1

    def _why_missing(self, cell):
        failures = [r for r in self.results.rows if r["name"] == cell.name and r["kind"] == "failure"]
        old = self.results.stale(cell, self.options.device)
        if failures and (not old or failures[-1]["date"] >= old["date"]):
            return f"{failures[-1]['step']}: {failures[-1]['message']}"
        return f"{old['verdict']}, but stale since {old['date'][:10]}" if old else "no result"

    def pack(self, cells):
        """A folder for the other machine, by pack-gpu, with the programs beside their bundles."""
        folder = os.path.abspath(self.options.pack)
        command = [os.path.join(ROOT, "tools", "dev", "pack-gpu"), "-o", folder, "--no-build", *(self._path(c, ".pkb") for c in cells)]
        if subprocess.run(command, stdin=subprocess.DEVNULL).returncode:
            raise BenchError("pack-gpu failed; build first: cmake --build build --target pkb-main-job, and tools/dev/pack-gpu", code=1)
        for cell in cells:
            for suffix in (".cu", ".cu.data"):
                if os.path.exists(self._path(cell, suffix)):
                    shutil.copy(self._path(cell, suffix), os.path.join(folder, "bundles"))
        write_json(os.path.join(folder, PLAN), [{**asdict(c), "export": {}} for c in cells], indent=1)
        print_out(f"{folder}: {len(cells)} programs; there: {os.path.basename(folder)}/bin/pkb-bench --run {os.path.basename(folder)} --results FILE")


def main(argv=None):
    """Run the command line; returns the exit status: 0 all right, 1 not all, 2 bad input, 130 interrupted."""
    options = parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        try:
            check_number("--trials", options.trials, 1, MAX_TRIALS)
            check_number("--seed", options.seed, 0, MAX_SEED)
            check_number("--timeout", options.timeout, *SECONDS, whole=False)
        except ValueError as e:
            raise BenchError(str(e)) from e
        if options.pack and options.run:
            raise BenchError("--pack is for here, --run for the other machine; give one of them")
        bench = Bench(options)
        cells = bench.cells()
        if options.show:
            return bench.show(cells)
        bench.results.check_writable()
        made = cells if options.run else bench.make(cells)
        if options.pack:
            if len(made) < len(cells):
                print(f"pkb-bench: {len(cells) - len(made)} of {len(cells)} programs could not be made", file=sys.stderr)
            bench.pack(made)
            return 0 if len(made) == len(cells) else 1
        bench.run(made)
        return bench.show(cells)
    except (BenchError, ExportError) as e:
        print(f"pkb-bench: error: {e}", file=sys.stderr)
        return e.code
    except OSError as e:
        print(f"pkb-bench: error: {why_not(e)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("pkb-bench: interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130
