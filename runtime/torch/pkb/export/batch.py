# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many jobs from one process that has imported torch: each runs in a fork of it."""

import json
import os
import pickle
import signal
import sys
import time

from ..files import print_out
from .coordinator import GRACE_S, clean_up_on_sigterm, die_with_parent
from .errors import ExportError, InputError


def in_fork(work):
    """Run work() -> dict in a forked process; returns {"ok": True, ...} or {"ok": False, "error", "code"}."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        die_with_parent()
        os.dup2(2, 1)  # what the user's code prints must not mix with the answers
        try:
            try:
                answer = {"ok": True, **work()}
            except ExportError as e:
                answer = {"ok": False, "error": str(e), "code": e.code}
            except BaseException as e:  # noqa: BLE001 (the parent must get an answer)
                answer = {"ok": False, "error": f"{type(e).__name__}: {e}", "code": 1}
            with os.fdopen(writer, "wb") as f:
                f.write(pickle.dumps(answer))
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as f:
            data = f.read()
    except BaseException:
        _end(pid)
        raise
    status = os.waitpid(pid, 0)[1]
    if not data:
        return {"ok": False, "error": f"the job's process died (status {status})", "code": 4}
    return pickle.loads(data)


def _end(pid):
    """Ends and reaps a forked process: SIGTERM, so that it ends its ranks and removes what they share, and after a moment SIGKILL."""
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def run_batch(options):
    """`--batch JOBS.json`: a list of objects whose keys are the long options; one JSON line per job, worst exit status."""
    from . import jobs, runtime
    from .cli import job_of, parser

    try:
        with open(options.batch) as f:
            entries = json.load(f)
    except OSError as e:
        raise InputError(f"--batch: cannot read {options.batch}: {e.strerror}") from e
    except ValueError as e:
        raise InputError(f"--batch: {options.batch} is not JSON: {e}") from e
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise InputError(f"--batch: {options.batch} must hold a list of objects")
    clean_up_on_sigterm()  # in the forks, too
    runtime.warm_up()
    worst = 0
    for number, entry in enumerate(entries):

        def work(entry=entry, number=number):
            fields = parser().parse_args([])
            known = [name.replace("_", "-") for name in vars(fields) if name != "batch"]
            for key, value in entry.items():
                if key.replace("_", "-") not in known:
                    raise InputError(f"job {number}: unknown key {key}; known: {', '.join(known)}")
                setattr(fields, key.replace("-", "_"), value)
            return jobs.run(job_of(fields))

        answer = {"job": number, **in_fork(work)}
        print_out(json.dumps(answer))
        worst = max(worst, 0 if answer["ok"] else answer["code"])
    return worst
