# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one forked rank does for an export: record trial 0, replay the record, and hold it against fresh inputs.

The record must explain every trial: the same events (re-recorded and compared), the same collectives in the same order,
and bit-identical results and arguments when replayed.
"""

import inspect

import torch

from . import sites, source, tree
from .data import first_difference, raw_storage, same_bits
from .errors import ExportError
from .illusion import refuse_triton
from .recorder import Recorder
from .replay import Replayer
from .runtime import Rank, modes_off


class Inputs:
    """Calls the user's `inputs` on this rank, seeded per rank and trial, optionally with random floating-point data."""

    def __init__(self, rank, function, seed=0, randomize=False, what="inputs"):
        self.rank, self.function, self.seed, self.randomize, self.what = rank, function, seed, randomize, what

    def __call__(self, trial):
        rank, world_size = self.rank.rank, self.rank.world_size
        torch.manual_seed(trial_seed(self.seed, rank, trial))
        device = torch.device("cuda", rank)
        with self.rank.running():
            if _takes_trial(self.function):
                value = self.rank.call(self.function, (rank, world_size, device), self.what, trial=trial)
            elif trial == 0:
                value = self.rank.call(self.function, (rank, world_size, device), self.what)
            else:
                raise ExportError(f"{self.what} takes no trial; its signature is (rank, world_size, device, trial=0)", code=2)
        value = source.check_call(value, self.what)
        if self.randomize:
            fill_random(value, self.seed, rank, trial)
        return value


def _takes_trial(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == "trial" or p.kind == p.VAR_KEYWORD for p in parameters)


def trial_seed(seed, rank, trial):
    """The global seed before `inputs` runs on a rank for a trial."""
    return ((seed * 1_000_003 + trial) * 4099 + rank) % 2**63  # what manual_seed takes


def fill_random(value, seed, rank, trial):
    """Overwrite every floating-point tensor of a tree with normal random numbers, in place."""
    with torch.no_grad():
        for index, t in enumerate(tree.tensors(value)):
            if t.layout == torch.strided and (t.is_floating_point() or t.is_complex()):
                g = torch.Generator()
                g.manual_seed((trial_seed(seed, rank, trial) * 257 + index + 1) % 2**63)
                wide = torch.complex64 if t.is_complex() else torch.float32
                t.detach().copy_(torch.randn(t.shape, generator=g, dtype=wide).to(t.dtype))


class Snapshot:
    """Copies of the storages of the arguments, keyed like the record."""

    def __init__(self, value):
        self.storages = {}
        for t in tree.tensors(value):
            if t.layout == torch.strided:
                storage = t.untyped_storage()
                if storage._cdata not in self.storages:
                    self.storages[storage._cdata] = storage.clone()


class RankCapture:
    """The whole export on one rank. `job` is a jobs.Job; the result of `run` goes back to the parent."""

    def __init__(self, exchange, job):
        self.rank = Rank(exchange)
        self.exchange, self.job = exchange, job
        self.function = source.load(job.function, "function")
        inputs = source.load(job.inputs, "--inputs")
        refuse_triton()
        self.inputs = Inputs(self.rank, inputs, job.seed, job.randomize, job.inputs.qualname)

    def run(self):
        arguments = self.inputs(0)
        first = self._record(arguments)
        if self.job.damage:
            self.job.damage(first["record"])
        self._replay(first, "the captured inputs")
        constant = self._constants(first)
        for trial in range(1, self.job.trials + 1):
            again = self._record(self.inputs(trial))
            self._compare_records(first["record"], again["record"], f"trial {trial}")
            self._replay(again, f"trial {trial}", first)
            constant &= self._constants(again, first)
        random = self._random_trial(first, constant)
        record = first["record"]
        record["warnings"] = first["warnings"]
        record["not_exercised"] = self._not_exercised(record, set() if random else constant)
        return {
            "record": record,
            "groups": first["groups"],
            "blobs": first["blobs"],
            "modules": source.user_modules(),
            "random": random,
        }

    # One trial

    def _record(self, arguments):
        """Run the function once under the recorder."""
        recorder = Recorder(self.rank.world_size, self.rank.rank, self.rank.host)
        snapshot = Snapshot(arguments)
        recorder.begin(arguments)
        with self.rank.running(recorder):
            result = self.rank.call(self.function, arguments)
        with modes_off():
            recorder.end(result)
        record = recorder.to_json(self.job.capture)
        groups = list(recorder.groups)
        ids = {recorder.storage_of(t): t.untyped_storage()._cdata for t in tree.tensors(arguments)}
        return {
            "record": record,
            "groups": groups,
            "warnings": recorder.races.warnings,
            "blobs": recorder.blobs,
            "done": [(e["name"], groups[e["group"]], e["reduce"]) for e in record["events"] if e["kind"] == "collective"],
            "before": {sid: snapshot.storages[cdata] for sid, cdata in ids.items()},
            "after": {recorder.storage_of(t): t.untyped_storage() for t in tree.tensors(arguments)},
            "result": [t.detach() for t in tree.tensors(result)],
        }

    def _replay(self, run, what, first=None):
        """Replay the record of the first run on the inputs of `run`; compare with what the function did."""
        first = first or run
        record = first["record"]
        player = Replayer(record, first["groups"], lambda name: first["blobs"][name[8:-4]], self.exchange)
        player.run({sid: s.clone() for sid, s in run["before"].items()})
        self.rank.all_return(f"the replay on {what}")
        if run["done"] != player.log:
            raise ExportError(
                f"replay on {what}: the record makes other collectives than the function: {_first_other(run['done'], player.log)}"
            )
        for number, (tid, real) in enumerate(zip(tree.tensor_ids(record["outputs"]), run["result"])):
            mine = player.tensor(tid)
            if not same_bits(mine, real):
                raise ExportError(f"replay on {what}: result {number} differs from the function's: {first_difference(mine, real)}")
        for sid, real in run["after"].items():
            if raw_storage(player.memory[sid]) != raw_storage(real):
                raise ExportError(f"replay on {what}: {self._argument_of(record, sid)} is not left as the function leaves it")

    @staticmethod
    def _argument_of(record, sid):
        for i, item in enumerate(record["inputs"]["items"]):
            if any(record["tensors"][t]["storage"] == sid for t in tree.tensor_ids(item)):
                return f"argument {i}"
        return f"storage {sid}"

    def _compare_records(self, a, b, what):
        """The record must be the same for other inputs; name the first thing that is not."""
        for number, (x, y) in enumerate(zip(a["inputs"]["items"], b["inputs"]["items"])):
            sx, sy = tree.scalars(x, f"argument {number}"), tree.scalars(y, f"argument {number}")
            for (path, u), (_, v) in zip(sx, sy):
                if u != v and not (u != u and v != v):
                    raise ExportError(f"{path} is {u} at first and {v} in {what}; a plain record holds one value, pass a tensor or fix it")
            for tx, ty in zip(tree.tensor_ids(x), tree.tensor_ids(y)):
                u, v = a["tensors"][tx], b["tensors"][ty]
                if u != v:
                    raise ExportError(
                        f"argument {number} is {u['dtype']} {u['sizes']} at first and {v['dtype']} {v['sizes']} in {what}; "
                        "a plain record holds one shape, fix it"
                    )
        if a["inputs"] != b["inputs"]:
            raise ExportError(f"the arguments have another structure in {what}; a plain record holds one")
        for x, y in zip(a["events"], b["events"]):
            if x != y:
                raise ExportError(
                    f"the program changes with its inputs: in {what} it does {_show(b, y)}, at first {_show(a, x)}"
                )
        if len(a["events"]) != len(b["events"]):
            raise ExportError(f"the program changes with its inputs: {len(b['events'])} events in {what}, {len(a['events'])} at first")
        for key in ("tensors", "storages", "outputs"):
            if a[key] != b[key]:
                raise ExportError(f"the program changes with its inputs: other {key} in {what} than at first")
        for x, y in zip(a["literals"], b["literals"]):
            if x != y:
                s = a["sites"][x["site"]]
                raise ExportError(f"the constant made at {s['file']}:{s['line']} has other values in {what}; a plain record holds one value")

    # What the inputs vary

    def _constants(self, run, first=None):
        """Input tensors (by position) that look constant: all elements equal, or the same as in the first run."""
        out = set()
        for number, tid in enumerate(tree.tensor_ids(run["record"]["inputs"])):
            sid = run["record"]["tensors"][tid]["storage"]
            data = raw_storage(run["before"][sid])
            if first is not None:
                same = data == raw_storage(first["before"][sid])
            else:
                size = torch.empty(0, dtype=_dtype(run["record"]["tensors"][tid])).element_size()
                same = True if self.job.trials else bytes(data[:size]) * (len(data) // size) == data
            if same:
                out.add(number)
        return out

    def _random_trial(self, first, constant):
        """One more trial on random floating-point data, if all ranks want it. Returns whether it was made."""
        ids = tree.tensor_ids(first["record"]["inputs"])
        floating = [n for n in constant if _dtype(first["record"]["tensors"][ids[n]]).is_floating_point]
        meta = {"name": "pkb random trial", "site": "the export", "inputs": [], "outputs": [], "wants": bool(floating)}
        peers = self.exchange.meet(tuple(range(self.rank.world_size)), meta, [])
        if not any(m["wants"] for m, _ in peers):
            return False
        arguments = self.inputs(0)
        fill_random(arguments, self.job.seed + 1, self.rank.rank, self.job.trials + 1)
        again = self._record(arguments)
        self._compare_records(first["record"], again["record"], "a trial on random data")
        self._replay(again, "random data", first)
        return True

    @staticmethod
    def _not_exercised(record, constant):
        out = ["shapes: every trial has the shapes of the first"]
        number = 0
        for i, item in enumerate(record["inputs"]["items"]):
            out += [f"{path}: always {value}" for path, value in tree.scalars(item, f"argument {i}")]
            for _ in tree.tensor_ids(item):
                if number in constant:
                    out.append(f"argument {i}: a tensor with the same values in every trial")
                number += 1
        return out


def _dtype(entry):
    from .data import DTYPES

    return DTYPES[entry["dtype"]]


def _first_other(done, replayed):
    for i, (x, y) in enumerate(zip(done, replayed)):
        if x != y:
            return f"number {i} is {x[0]}, in the record {y[0]}"
    return f"{len(done)} against {len(replayed)} in the record"


def _show(record, event):
    name = event.get("op") or event.get("name") or event["kind"]
    site = record["sites"][event["site"]]
    return f"{name} at {site['file']}:{site['line']}"


def capture_rank(exchange, job):
    """The body of a rank (coordinator.run_ranks)."""
    return RankCapture(exchange, job).run()
