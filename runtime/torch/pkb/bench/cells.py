# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cells of a benchmark: one program at one shape, dtype and number of ranks, and how it is exported."""

import os
import re
import tomllib
from dataclasses import dataclass, field

from ..export.problems import DTYPES, reference_file

MOST_RANKS = 64  # of pkb-export


class BenchError(Exception):
    """A message for the user; `code` is the exit status."""

    def __init__(self, message, code=2):
        super().__init__(message)
        self.code = code


@dataclass
class Cell:
    """problem: number, folder or file stem. shape, dtype: what was asked for ("as written" where the program has its own).

    export: the job of `pkb-export --batch` without output.
    """

    problem: str
    shape: str
    dtype: str
    ranks: int
    export: dict = field(default_factory=dict)

    @property
    def name(self):
        """Unique within a benchmark, and a file name."""
        parts = [self.problem] + [p for p in (self.shape, self.dtype) if p != "as written"]
        return ".".join(parts).replace(" ", "-") + f".w{self.ranks}"


def parse_numbers(text, what, least=0, most=9999):
    """ "1-3,8" -> [1, 2, 3, 8], none below `least` or above `most`."""
    out = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise BenchError(f"{what} must be numbers and ranges as 1-8,13, got: {part[:40]}")
        if int(match[1]) < least or int(match[2] or match[1]) > most:
            raise BenchError(f"{what} must be {least} to {most}, got: {part}")
        out += range(int(match[1]), int(match[2] or match[1]) + 1)
    if not out:
        raise BenchError(f"{what} names nothing: {text!r}")
    return list(dict.fromkeys(out))


def parse_shapes(text):
    """ "1024,512x2048" -> [(1024, 1024), (512, 2048)]."""
    out = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"([1-9]\d{0,8})(?:x([1-9]\d{0,8}))?", part.strip())
        if not match:
            raise BenchError(f"--shapes must be M or MxN with positive numbers below 1000000000, got: {part[:40]}")
        out.append((int(match[1]), int(match[2] or match[1])))
    if not out:
        raise BenchError(f"--shapes names nothing: {text!r}")
    return out


def pkb_cells(checkout, numbers, ranks, shapes, dtypes):
    """Problems of a ParallelKernelBench checkout."""
    for dtype in dtypes:
        if dtype not in DTYPES:
            raise BenchError(f"--dtypes must be among {', '.join(DTYPES)}, got: {dtype}")
    checkout = os.path.abspath(checkout)
    for number in numbers:
        reference_file(checkout, number)  # raises if there is none
    return [
        Cell(f"pkb{number:02}", f"{m}x{n}", dtype, w,
             {"pkb": checkout, "problem": number, "m": m, "n": n, "dtype": dtype, "random": True, "world-size": w})
        for number in numbers for m, n in shapes for dtype in dtypes for w in ranks
    ]  # fmt: skip


def folder_cells(root, names, ranks, gpu):
    """Problems of problems/: their own inputs and dtype, on the numbers of ranks that they name (and `ranks` asks for)."""
    base = os.path.join(root, "problems")
    known = sorted(n for n in os.listdir(base) if os.path.isfile(os.path.join(base, n, "problem.toml"))) if os.path.isdir(base) else []
    out = []
    for name in known if names == ["all"] else names:
        if name not in known:
            raise BenchError(f"no problem folder {name} below {base}; there are: {', '.join(known)}")
        folder = os.path.join(base, name)
        with open(os.path.join(folder, "problem.toml"), "rb") as f:
            problem = tomllib.load(f)
        reference, inputs = os.path.join(folder, "reference.py"), problem["inputs"]["gpu" if gpu else "emulated"]
        for w in ranks:
            if w in problem["world_sizes"]:
                job = {"function": f"{reference}:solution", "inputs": f"{reference}:{inputs}", "world-size": w}
                out.append(Cell(name, inputs, problem["dtypes"][0], w, job))
    return out


def user_cells(programs, ranks):
    """Files of the user: each of `programs` is FILE.py, whose functions are solution and inputs, or FILE.py:SOLUTION:INPUTS."""
    out = []
    for text in programs:
        path, _, names = text.partition(".py:") if ".py:" in text else (text, "", "")
        path += ".py" if names else ""
        function, _, inputs = names.partition(":")
        if not os.path.isfile(path):
            raise BenchError(f"no such file: {path}")
        path, stem = os.path.abspath(path), os.path.basename(path)[:-3]
        job = {"function": f"{path}:{function or 'solution'}", "inputs": f"{path}:{inputs or 'inputs'}"}
        label = stem if not names else f"{stem}.{function}"
        out += [Cell(label, "as written", "as written", w, {**job, "world-size": w}) for w in ranks]
    return out


def distinct(cells):
    """The cells, each once, in order."""
    return list({cell.name: cell for cell in cells}.values())
