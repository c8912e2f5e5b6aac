# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An export from the parent's view: what to capture, and the bundle made of what the ranks bring back."""

import os
import shutil
from dataclasses import dataclass, field
from functools import partial

from ..arguments import MAX_SEED, MAX_TRIALS, SECONDS, check_number
from . import bundle, sites, source
from .errors import ExportError, InputError

MAX_WORLD_SIZE = 64


@dataclass
class Job:
    """One export. function, inputs: source.Ref. trials: fresh trials to check. timeout in seconds.

    damage: for tests, called with the record of each rank before it is replayed.
    """

    function: source.Ref
    inputs: source.Ref
    world_size: int
    out: str
    randomize: bool = False
    seed: int = 0
    trials: int = 2
    timeout: float = 300.0
    pkb_problem: dict = None
    search: list = field(default_factory=list)  # folders that go on sys.path before the files are loaded
    temporary: str = None  # folder to remove when the job is done
    capture: str = ""
    damage: object = None

    def check(self):
        try:
            check_number("--world-size", self.world_size, 1, MAX_WORLD_SIZE)
            check_number("--trials", self.trials, 0, MAX_TRIALS)
            check_number("--seed", self.seed, 0, MAX_SEED)
            check_number("--timeout", self.timeout, *SECONDS, whole=False)
        except ValueError as e:
            raise InputError(str(e)) from e
        bundle.check_writable(self.out)


def run(job):
    """Capture, check and write one bundle; returns a summary dict (out, world_size, events, collectives, not_exercised, warnings)."""
    import torch  # noqa: F401  (before the fork)

    from . import capture, coordinator, runtime  # noqa: F401

    job.check()
    runtime.warm_up()
    job.capture = bundle.new_capture_id()
    try:
        results = coordinator.run_ranks(job.world_size, partial(_body, job=job), job.timeout, "the function")
        return _write(job, results)
    finally:
        if job.temporary:
            shutil.rmtree(job.temporary, ignore_errors=True)


def _body(exchange, job):
    import sys

    from .capture import capture_rank

    sys.path[:0] = job.search
    return capture_rank(exchange, job)


def _write(job, results):
    import torch

    from .. import __version__

    everybody = tuple(range(job.world_size))
    groups = sorted({g for r in results for g in r["groups"]} - {everybody})
    groups = [everybody, *groups]
    modules = {}
    for r in results:
        modules.update(r["modules"])
    places = source.place_sources([job.function, job.inputs], modules)
    records, blobs, notes, warnings = [], {}, [], []
    for k, r in enumerate(results):
        record = r["record"]
        _renumber_groups(record, [groups.index(g) for g in r["groups"]])
        for s in (frame for site in record["sites"] for frame in (site, *site.get("callers", ()))):
            s["file"] = places.get(s["file"]) or os.path.basename(s["file"])
        for note in record.pop("not_exercised"):
            if note not in notes:
                notes.append(note)
        warnings += [w for w in record.pop("warnings") if w not in warnings]
        records.append(record)
        blobs.update({f"tensors/{digest}.bin": data for digest, data in r["blobs"].items()})
    sources = {}
    for path, name in places.items():
        with open(path, "rb") as f:
            sources[name] = f.read()
    head = {
        "schema": "pkb-bundle",
        "version": bundle.VERSION,
        "capture": job.capture,
        "world_size": job.world_size,
        "torch": torch.__version__.partition("+")[0],
        "pkb": __version__,
        "created": bundle.now(),
        "function": _ref(job.function, places),
        "inputs": {**_ref(job.inputs, places), "seed": job.seed, "random": job.randomize},
        "modules": {n: places[p] for n, p in sorted(modules.items()) if p in places},
        "origins": {name: p for p, name in sorted(places.items())},
        "pkb_problem": job.pkb_problem,
        "groups": [{"id": i, "ranks": list(g)} for i, g in enumerate(groups)],
        "symbols": [],
        "guards": [],
        "not_exercised": notes,
        "warnings": warnings,
        "replayed": {
            "captured": True,
            "fresh_trials": list(range(1, job.trials + 1)),
            "random": any(r["random"] for r in results),
        },
    }
    if not records:
        raise ExportError("no rank brought a record back")
    bundle.write(job.out, head, records, blobs, sources)
    events = [e for e in records[0]["events"]]
    return {
        "out": job.out,
        "world_size": job.world_size,
        "events": len(events),
        "collectives": sum(e["kind"] == "collective" for e in events),
        "not_exercised": notes,
        "warnings": warnings,
    }


def _ref(ref, places):
    return {
        "file": places[ref.path],
        "qualname": ref.qualname,
        "path": ref.path,
        "sha256": source.file_hash(ref.path),
    }


def _renumber_groups(record, ids):
    for e in record["events"]:
        if e["kind"] == "collective":
            e["group"] = ids[e["group"]]

    def go(node):
        if node["kind"] == "group":
            node["id"] = ids[node["id"]]
        for item in node.get("items", ()):
            go(item)

    go(record["inputs"])
    go(record["outputs"])


def describe_site(path, line):
    """For messages: FILE:LINE with the line's text."""
    return f"{path}:{line}: {sites.source_line(path, line)}"
