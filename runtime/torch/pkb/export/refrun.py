# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference: run the user's function of a bundle on W forked ranks and write what it got and gave as raw files.

Layout below the output folder: `t<trial>/r<rank>/in<i>.bin` (tensor arguments before the call), `out<j>.bin` (results),
`arg<i>.bin` (tensor arguments after the call), with --oracle also `out<j>.f64.bin` and `arg<i>.f64.bin`; `index.json`
describes them all. Data files hold the elements in row-major order. docs/Tools/pkb-export.md has the fields.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import partial

from ..arguments import MAX_SEED, MAX_TRIALS, SECONDS, check_number
from ..files import whole_file
from .bundle import Bundle
from .errors import ExportError, InputError


@dataclass
class RefJob:
    """One reference run. source: folder whose files are run instead of the bundle's copy, or None."""

    bundle: str
    out: str
    source: str = None
    trials: int = 3
    seed: int = None
    oracle: bool = False
    timeout: float = 300.0

    @staticmethod
    def from_dict(fields):
        unknown = set(fields) - set(RefJob.__dataclass_fields__)
        missing = {"bundle", "out"} - set(fields)
        if unknown or missing:
            raise InputError(f"a job needs bundle and out; unknown: {sorted(unknown)}, missing: {sorted(missing)}")
        return RefJob(**fields)


def run(job):
    """Run a RefJob; returns the content of index.json, which is written last."""
    import torch

    from . import coordinator, runtime

    bundle = Bundle(job.bundle)
    try:
        check_number("--trials", job.trials, 1, MAX_TRIALS)
        check_number("--seed", job.seed or 0, 0, MAX_SEED)
        check_number("--timeout", job.timeout, *SECONDS, whole=False)
    except ValueError as e:
        raise InputError(str(e)) from e
    folder = tempfile.mkdtemp(prefix="pkb-source-")
    notes = {}
    try:
        sources, warnings = _sources(bundle, job.source, folder)
        try:
            os.makedirs(job.out, exist_ok=True)
        except OSError as e:
            raise InputError(f"cannot write to {job.out}: {e.strerror}") from e
        runtime.warm_up()
        body = partial(_body, job=job, bundle=bundle, sources=sources)
        reason = None
        try:
            results = coordinator.run_ranks(bundle.world_size, body, job.timeout, "the reference", notes)
        except ExportError as e:
            # The plain results of all ranks are on disk once each has posted its note; only the oracle is missing.
            if not job.oracle or len(notes) < bundle.world_size:
                raise
            results, reason = [notes[k] for k in range(bundle.world_size)], str(e)
        reason = reason or next((r["oracle_reason"] for r in results if r["oracle_reason"]), None)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not job.oracle or reason:
        _forget_oracle(results)
    index = {
        "schema": "pkb-reference", "version": [1, 0], "bundle": os.path.abspath(job.bundle), "capture": bundle.head["capture"],
        "world_size": bundle.world_size, "device": "cpu", "torch": torch.__version__.partition("+")[0],
        "seed": _seed(job, bundle), "oracle": bool(job.oracle and not reason), "oracle_reason": reason, "warnings": warnings,
        "trials": [
            {"trial": t, "ranks": [{"rank": k, **r["trials"][t]} for k, r in enumerate(results)]} for t in range(job.trials)
        ],
    }  # fmt: skip
    path = os.path.join(job.out, "index.json")
    try:
        with whole_file(path) as f:
            f.write(json.dumps(index, indent=1).encode())
    except OSError as e:
        raise InputError(f"cannot write {path}: {e.strerror}") from e
    return index


def _seed(job, bundle):
    return bundle.head["inputs"].get("seed", 0) if job.seed is None else job.seed


def _forget_oracle(results):
    for r in results:
        for trial in r["trials"]:
            for entry in trial["outputs"] + trial["args"]:
                entry["oracle"] = entry["oracle_dtype"] = None


def _sources(bundle, override, folder):
    """Where the functions and modules of the bundle are on disk: ({role: Ref}, modules, ...), and warnings."""
    from .source import Ref, file_hash

    warnings = []
    bundle.extract_sources(folder)
    base = folder
    refs = {}
    for role in ("function", "inputs"):
        entry = bundle.head[role]
        path = os.path.join(base, *entry["file"].split("/"))
        if override:
            inside = os.path.join(override, *entry["file"].split("/")[1:])
            beside = os.path.join(override, os.path.basename(entry["path"]))
            path = next((p for p in (inside, beside) if os.path.isfile(p)), None if role == "function" else path)
            if path is None:
                raise InputError(f"--source {override} has no file {os.path.basename(entry['path'])}")
        elif os.path.isfile(entry["path"]) and file_hash(entry["path"]) != entry["sha256"]:
            note = f"{entry['path']} has changed since the export; the bundle's copy is run"
            warnings += [note] if note not in warnings else []
        refs[role] = Ref(os.path.abspath(path), entry["qualname"])
    modules = {}
    for name, member in bundle.head.get("modules", {}).items():
        path = os.path.join(base, *member.split("/"))
        if override and os.path.isfile(os.path.join(override, *member.split("/")[1:])):
            path = os.path.join(override, *member.split("/")[1:])
        modules[name] = os.path.abspath(path)
    return {"refs": refs, "modules": modules, "root": os.path.join(base, "source")}, warnings


def open_program(bundle, sources):
    """Load the user's function and `inputs` from a bundle's files in this process: (function, inputs)."""
    from . import source

    source.use_bundle_modules(sources["modules"])
    return source.load(sources["refs"]["function"], "the bundle's function"), source.load(sources["refs"]["inputs"], "the bundle's inputs")


def _body(exchange, job, bundle, sources):
    from .reference import ReferenceRank

    return ReferenceRank(exchange, job, bundle, sources, _seed(job, bundle)).run()


def _serve():
    """One JSON job a line on stdin, one JSON answer a line on stdout; every job runs in a fork."""
    import torch  # noqa: F401

    from . import reference, runtime

    runtime.warm_up()
    del reference
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(_forked(line)), flush=True)
    return 0


def _forked(line):
    from .batch import in_fork

    def work():
        try:
            fields = json.loads(line)
            if not isinstance(fields, dict):
                raise InputError("a job is a JSON object")
        except json.JSONDecodeError as e:
            raise InputError(f"a job is one line of JSON: {e}") from e
        job = RefJob.from_dict(fields)
        index = run(job)
        return {"index": os.path.join(job.out, "index.json"), "oracle": index["oracle"], "warnings": index["warnings"]}

    return in_fork(work)


def main(argv=None):
    p = argparse.ArgumentParser(prog="python -m pkb.export.refrun", description="Run the original function of a bundle on forked ranks.")
    p.add_argument("--bundle", metavar="X.pkb")
    p.add_argument("--source", metavar="DIR", help="run the files of DIR instead of the bundle's copy")
    p.add_argument("--trials", type=int, default=3)
    p.add_argument("--seed", type=int, default=None, help="seed of the inputs (default: the bundle's)")
    p.add_argument("--out", metavar="DIR")
    p.add_argument("--oracle", action="store_true", help="also evaluate in float64")
    p.add_argument("--device", choices=["cpu"], default="cpu")
    p.add_argument("--timeout", type=float, default=300.0, metavar="S")
    p.add_argument("--serve", action="store_true", help="take JSON jobs from stdin, one a line")
    options = p.parse_args(argv)
    try:
        from .cli import check_torch
        from .coordinator import clean_up_on_sigterm

        check_torch()
        clean_up_on_sigterm()
        if options.serve:
            return _serve()
        if not options.bundle or not options.out:
            raise InputError("--bundle and --out are needed")
        index = run(RefJob(options.bundle, options.out, options.source, options.trials, options.seed, options.oracle, options.timeout))
        for w in index["warnings"]:
            print(f"pkb-reference: warning: {w}", file=sys.stderr)
        return 0
    except ExportError as e:
        print(f"pkb-reference: error: {e}", file=sys.stderr)
        return e.code


if __name__ == "__main__":
    sys.exit(main())
