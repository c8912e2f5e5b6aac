# RUN: %python %s --ranks 3
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value matrix: every collective, by every reduction that it may have, on every dtype, by every mechanism, on emulated ranks and by the rank interpreter on
both of its levels, against the recorder's definition of collectives.

    matrix.py [--ranks 1,2,3,4,5,6,8] [--mechanisms ldst,ll,copy_engine,nccl] [--seed N] [--jobs N]

One program per mechanism and number of ranks holds all cells that are legal for it, so it is compiled once; each is called twice, on other values. What is legal
is what pkb-opt says of each cell, out of its table. Prints one table: for each collective and dtype one place per mechanism, with how many numbers of ranks it
is right on in all three executions, or a letter that stands for the reason why it is not there.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "Inputs")]
import cells  # noqa: E402
import executions  # noqa: E402
import torch  # noqa: E402

CALLS = 2
EXECUTIONS = ("emulated ranks", "level L1", "level L2")
Job = collections.namedtuple("Job", "mechanism ranks reasons chosen wrong seconds")


def questions(asked, ranks):
    """{number of the cell: what pkb-opt says of it}: a message, or the table of mechanisms."""
    text, places = "", {}
    for number, cell in enumerate(asked):
        piece = cells.module([cell], ranks)
        places[text.count("\n") + 1 + next(i for i, line in enumerate(piece.split("\n")) if "= comm." in line or " comm." in line[:8])] = number
        text += piece + "// -----\n"
    done = subprocess.run([executions.tool("pkb-opt"), "-", "--split-input-file", f"--pkb-select-mechanism=target=h200x{ranks}", "--remarks-filter=select", "-o",
                           os.devnull], input=text, capture_output=True, text=True)  # fmt: skip
    said = {}
    for line, message in re.findall(r"^<stdin>:(\d+):\d+: (?:error|remark): (.*)$", done.stderr, re.M):
        if int(line) in places:
            said[places[int(line)]] = message
    return said


def reason_against(said, mechanism):
    """Why the mechanism does not carry a cell out, by what pkb-opt said of it; None if it does."""
    if said is None:
        raise SystemExit("pkb-opt says nothing of a cell")
    known = "|".join(cells.MECHANISMS)
    found = re.search(rf"\b{mechanism} not legal: (.*?)(?=, (?:{known}) (?:not legal|\d)|\"?$)", said)
    if found:
        return found.group(1)
    return None if re.search(rf"\b{mechanism} \d", said) else re.sub(r"^'comm.\w+' op ", "", said)


def run_job(mechanism, ranks, seed):
    """One program: what is legal, and what is wrong with each cell that is, by execution."""
    begun = time.monotonic()
    everything = cells.cells(ranks, mechanism)
    said = questions(everything, ranks)
    reasons = [reason_against(said.get(number), mechanism) for number in range(len(everything))]
    chosen = [cell for cell, reason in zip(everything, reasons) if reason is None]
    with tempfile.TemporaryDirectory() as folder:
        wrong = executions.run(chosen, ranks, mechanism, folder, CALLS, seed)
    return Job(mechanism, ranks, [(c, r) for c, r in zip(everything, reasons) if r is not None], chosen, wrong, time.monotonic() - begun)


def general(reason):
    """Reasons that name a collective, a reduction or a type are one reason."""
    kinds = "|".join(sorted(cells.KINDS, key=len, reverse=True))
    reason = re.sub(rf"\b({kinds}) of \S+$", "<reduction> of <dtype>", reason)
    reason = re.sub(rf"\b(kind|reduction) ({kinds})\b", r"\1 <reduction>", reason)
    return re.sub(rf"'.*'|\b({'|'.join(cells.REDUCING + cells.MOVING)})\b", lambda m: "<collective>" if m[1] else "<dtype>", reason)


class Table:
    """One place per collective, reduction, dtype and mechanism."""

    def __init__(self, mechanisms, jobs):
        self.mechanisms, self.right, self.tried, self.reasons, self.letters = mechanisms, collections.Counter(), collections.Counter(), {}, {}
        self.asked = collections.Counter(job.mechanism for job in jobs)
        for job in jobs:
            for cell, reason in job.reasons:
                self.reasons.setdefault((job.mechanism, cell.name, cell.kind, cell.dtype), reason)
            for number, cell in enumerate(job.chosen):
                if len(cell.rows) == 1:
                    key = (job.mechanism, cell.name, cell.kind, cell.dtype)
                    self.tried[key] += 1
                    self.right[key] += not any(wrong[number] for wrong in job.wrong.values())
        for cell, said in zip(cells.undefined(), map(questions(cells.undefined(), 2).get, range(1000))):
            for name in cells.REDUCING:
                for mechanism in mechanisms:
                    self.reasons[mechanism, name, cell.kind, cell.dtype] = reason_against(said, mechanism) or "legal, but PyTorch does not have it"

    def letter(self, reason):
        return self.letters.setdefault(reason, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(self.letters)])

    def place(self, mechanism, name, kind, dtype):
        key = (mechanism, name, kind, dtype)
        if self.right[key] < self.tried[key]:
            return "!"
        count = str(self.tried[key]) if self.tried[key] else ""
        return count + (self.letter(general(self.reasons.get(key, "nobody asked for it"))) if self.tried[key] < self.asked[mechanism] else "")

    def lines(self):
        rows = [(name, kind) for name in cells.REDUCING for kind in cells.KINDS] + [(name, None) for name in cells.MOVING]
        width = 2 + max(7, 2 * len(self.mechanisms))
        lines = [f"{'':<28}" + "".join(f"{cells.NAMES[d][0].replace('complex', 'c'):>{width}}" for d in cells.DTYPES)]
        for name, kind in rows:
            places = [" ".join(self.place(m, name, kind, d) for m in self.mechanisms) for d in cells.DTYPES]
            lines.append(f"{name + (' ' + kind if kind else ''):<28}" + "".join(f"{p:>{width}}" for p in places))
        places = " ".join(self.place(m, "barrier", None, None) for m in self.mechanisms)
        return lines + [f"{'barrier':<28}{places:>{width}}"] + [f"  {letter}: {reason}" for reason, letter in self.letters.items()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", default="1,2,3,4,5,6,8")
    parser.add_argument("--mechanisms", default=",".join(cells.MECHANISMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    torch.set_num_threads(1)
    mechanisms, begun = options.mechanisms.split(","), time.monotonic()
    work = [(m, int(r), options.seed) for r in reversed(options.ranks.split(",")) for m in mechanisms] # the long ones first
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        jobs = list(pool.map(run_job, *zip(*work)))
    table, wrong, ran = Table(mechanisms, jobs), [], collections.Counter()
    for job in jobs:
        for execution in EXECUTIONS:
            for cell, reason in zip(job.chosen, job.wrong[execution]):
                ran[execution] += 1
                if reason:
                    wrong.append(f"{job.mechanism}, {job.ranks} ranks, {cell.label()}, {execution}: {reason}")
    print(f"places: {', '.join(mechanisms)}; a number: right on so many of {options.ranks} ranks; !: wrong on one; a letter: not there on the others, see below")
    print("\n".join(table.lines()))
    print("\n".join([text for text in wrong if not text.endswith(executions.NOT_RUN)][:20]))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(jobs)} programs, {time.monotonic() - begun:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time")
    total = sum(ran.values())
    print(f"{total - len(wrong)} of {total} right: " + ", ".join(f"{ran[e]} cells on {e}" for e in EXECUTIONS))
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
