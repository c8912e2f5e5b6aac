# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of pkb-export."""

import argparse
import os
import sys

from ..arguments import Parser
from ..files import print_out, why_not
from .errors import ExportError, InputError

TORCH = "2.11.0"


def parser():
    p = Parser(
        prog="pkb-export",
        description="Capture a PyTorch function that calls torch.distributed into a bundle. No GPU is needed.",
    )
    p.add_argument("function", nargs="?", metavar="FILE.py:FUNCTION", help="the function to export")
    p.add_argument("--inputs", metavar="FILE.py:FUNCTION", help="inputs(rank, world_size, device, trial=0) -> tuple of arguments")
    p.add_argument("--world-size", type=int, metavar="W", help="number of ranks (with --pkb: default 4)")
    p.add_argument("-o", "--output", metavar="X.pkb", help="the bundle to write")
    p.add_argument("--random", action=argparse.BooleanOptionalAction, default=False,
                   help="replace floating-point inputs by normal random numbers (with --pkb: of problems 1 to 8 only)")  # fmt: skip
    p.add_argument("--seed", type=int, default=0, help="seed of the inputs (default 0)")
    p.add_argument("--trials", type=int, default=2, help="fresh inputs that the record must explain (default 2)")
    p.add_argument("--timeout", type=float, default=300.0, metavar="S", help="seconds for one export (default 300)")
    p.add_argument("--pkb", metavar="CHECKOUT", help="export a problem of a ParallelKernelBench checkout")
    p.add_argument("--problem", type=int, metavar="N", help="with --pkb: problem number")
    p.add_argument("--m", type=int, default=1024, help="with --pkb: base shape, rows (default 1024)")
    p.add_argument("--n", type=int, default=1024, help="with --pkb: base shape, columns (default 1024)")
    p.add_argument("--dtype", default="bfloat16", help="with --pkb: dtype (default bfloat16)")
    p.add_argument("--batch", metavar="JOBS.json", help="run many exports from one process (see docs/Tools/pkb-export.md)")
    p.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")
    return p


def check_torch():
    """torch must be the pinned version."""
    try:
        import torch
    except ImportError as e:
        raise InputError(f"torch is not installed for {sys.executable}; install torch=={TORCH} or set PKB_PYTHON") from e
    if torch.__version__.partition("+")[0] != TORCH:
        raise InputError(f"torch {TORCH} is needed, {sys.executable} has {torch.__version__}; set PKB_PYTHON to a Python that has it")


def job_of(options):
    """The Job that parsed options describe. Raises InputError."""
    from .jobs import Job
    from .source import Ref

    if options.world_size is None and options.pkb:
        options.world_size = 4
    if options.world_size is None:
        raise InputError("--world-size is missing")
    if not options.output:
        raise InputError("-o is missing: name the bundle to write")
    if os.path.splitext(options.output)[1] in (".cu", ".pkx", ".mlir", ".mlirbc", ".py"):
        raise InputError(f"-o must name a bundle, X.pkb, got: {options.output} (pkb-opt makes the rest of a bundle)")
    common = {
        "world_size": options.world_size, "out": options.output, "seed": options.seed,
        "trials": options.trials, "timeout": options.timeout,
    }  # fmt: skip
    if options.pkb:
        from .problems import problem_job

        if options.function or options.inputs:
            raise InputError("--pkb names function and inputs itself; drop the function and --inputs")
        return problem_job(options.pkb, options.problem, options.m, options.n, options.dtype, options.random, common)
    if not options.function:
        raise InputError("name the function to export: FILE.py:FUNCTION")
    if not options.inputs:
        raise InputError("--inputs is missing: FILE.py:FUNCTION that returns the arguments of a rank")
    return Job(Ref.parse(options.function, "function"), Ref.parse(options.inputs, "--inputs"), randomize=options.random, **common)


def report(summary):
    out = [f"{summary['out']}: {summary['world_size']} ranks, {summary['events']} events, {summary['collectives']} collectives"]
    out += [f"  not exercised: {note}" for note in summary["not_exercised"]]
    return "\n".join(out)


def main(argv=None):
    """Run the command line; returns the exit status."""
    options = parser().parse_args(argv)
    try:
        check_torch()
        if options.batch:
            from .batch import run_batch

            return run_batch(options)
        from . import coordinator, jobs

        coordinator.clean_up_on_sigterm()
        summary = jobs.run(job_of(options))
        for warning in summary["warnings"]:
            print(f"pkb-export: warning: {warning}", file=sys.stderr)
        if not options.quiet:
            print_out(report(summary))
        return 0
    except ExportError as e:
        print(f"pkb-export: error: {e}", file=sys.stderr)
        return e.code
    except OSError as e:
        print(f"pkb-export: error: {why_not(e)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("pkb-export: error: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
