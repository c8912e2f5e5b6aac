# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problems of a ParallelKernelBench checkout: the reference file, unmodified, and its input generator."""

import glob
import os
import tempfile

from ..arguments import check_number
from .errors import InputError

MAX_SIZE = 2**31 - 1
DTYPES = ("bfloat16", "float16", "float32", "float64")
CONSTANT_INPUTS = range(1, 9)  # the benchmark fills these with constants, which hide misplaced elements

_INPUTS = '''# Arguments of problem {problem} of ParallelKernelBench, as pkb-export was asked for them.
import torch
from utils.input_output_tensors import create_input_tensor


def inputs(rank, world_size, device, trial=0):
    x = create_input_tensor(rank, world_size, {problem}, ({m}, {n}), torch.{dtype}, trial, device)
    return x if isinstance(x, tuple) else (x,)
'''


def reference_file(checkout, problem):
    """The path of a problem's reference file."""
    if not os.path.isdir(os.path.join(checkout, "reference")):
        raise InputError(f"{checkout} is not a checkout of ParallelKernelBench: it has no folder reference")
    if problem is None:
        raise InputError("--problem is missing: name the problem's number")
    found = sorted(glob.glob(os.path.join(checkout, "reference", f"{problem}_*.py")))
    if not found:
        raise InputError(f"{checkout} has no problem {problem}")
    return os.path.abspath(found[0])


def problem_job(checkout, problem, m, n, dtype, random, common):
    """The Job of one problem. common: the fields of Job that do not depend on it."""
    from .jobs import Job
    from .source import Ref

    reference = reference_file(checkout, problem)
    if dtype not in DTYPES:
        raise InputError(f"--dtype must be one of {', '.join(DTYPES)}, got: {dtype}")
    try:
        check_number("--m", m, 1, MAX_SIZE)
        check_number("--n", n, 1, MAX_SIZE)
    except ValueError as e:
        raise InputError(str(e)) from e
    if not os.path.isfile(os.path.join(checkout, "utils", "input_output_tensors.py")):
        raise InputError(f"{checkout} has no utils/input_output_tensors.py, which makes the inputs; check out the whole repository")
    random = bool(random) and problem in CONSTANT_INPUTS
    folder = tempfile.mkdtemp(prefix="pkb-problem-")
    path = os.path.join(folder, "pkb_problem_inputs.py")
    with open(path, "w") as f:
        f.write(_INPUTS.format(problem=problem, m=m, n=n, dtype=dtype))
    return Job(
        Ref(reference, "solution"),
        Ref(path, "inputs"),
        randomize=random,
        pkb_problem={"id": problem, "m": m, "n": n, "dtype": dtype, "random": random},
        search=[os.path.abspath(checkout)],
        temporary=folder,
        **common,
    )
