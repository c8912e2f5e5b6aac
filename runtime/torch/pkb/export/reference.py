# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank of a reference run (refrun.py): the original function on each trial, its data written to files."""

import os

import torch

from . import exactness, oracle, tree
from .capture import Inputs, Snapshot
from .data import dtype_name, raw, raw_storage
from .errors import InputError
from .recorder import Recorder
from .refrun import open_program
from .replay import Replayer  # noqa: F401  (part of what a worker process needs loaded before it forks)
from .runtime import Rank, modes_off


class ReferenceRank:
    def __init__(self, exchange, job, bundle, sources, seed):
        self.rank, self.exchange, self.job, self.bundle = Rank(exchange), exchange, job, bundle
        function, inputs = open_program(bundle, sources)
        self.function = function
        self.inputs = Inputs(self.rank, inputs, seed, bundle.head["inputs"].get("random", False), "inputs")

    def run(self):
        runs = [self._trial(t) for t in range(self.job.trials)]
        result = {"trials": [r["index"] for r in runs], "oracle_reason": None}
        if self.job.oracle:
            self.exchange.post("note", result)
            result["oracle_reason"] = self._oracle(runs)
        return result

    def _trial(self, t):
        folder = os.path.join(f"t{t}", f"r{self.rank.rank}")
        os.makedirs(os.path.join(self.job.out, folder), exist_ok=True)
        arguments = self.inputs(t)
        tensors = tree.tensors(arguments)
        before = Snapshot(arguments)
        ids = _storage_numbers(tensors)
        ins = [self._save(f"{folder}/in{i}.bin", x, ids) for i, x in enumerate(tensors)]
        record, groups, blobs = self._known_record(tensors), self.bundle.groups, None
        recorder = None if record else Recorder(self.rank.world_size, self.rank.rank, self.rank.host)
        if recorder:
            recorder.begin(arguments)
        with self.rank.running(recorder):
            result = self.rank.call(self.function, arguments)
        if recorder:
            with modes_off():
                recorder.end(result)
            record, groups, blobs = recorder.to_json(self.bundle.head["capture"]), list(recorder.groups), recorder.blobs
        outs = tree.tensors(result)
        facts = exactness.analyse(_with_group_sizes(record, groups))
        args = []
        for i, x in enumerate(tensors):
            entry = self._save(f"{folder}/arg{i}.bin", x, ids)
            old = before.storages[x.untyped_storage()._cdata]
            entry["changed"] = raw_storage(old) != raw_storage(x.untyped_storage())
            args.append(entry)
        outputs = []
        for j, x in enumerate(outs):
            entry = self._save(f"{folder}/out{j}.bin", x, ids)
            entry["alias_of_input"] = ids.get(x.untyped_storage()._cdata)
            outputs.append(entry)
        for entries, ids_of in ((args, tree.tensor_ids(record["inputs"])), (outputs, tree.tensor_ids(record["outputs"]))):
            for entry, tid in zip(entries, ids_of):
                entry.update(facts[record["tensors"][tid]["storage"]])
                entry["oracle"] = entry["oracle_dtype"] = None
        index = {
            "inputs": ins, "args": args, "outputs": outputs,
            "input_tree": _positions(arguments, self.rank), "output_tree": _positions(result, self.rank),
        }  # fmt: skip
        in_ids = tree.tensor_ids(record["inputs"])
        storages = {record["tensors"][i]["storage"]: before.storages[x.untyped_storage()._cdata] for i, x in zip(in_ids, tensors)}
        return {"index": index, "record": record, "groups": groups, "blobs": blobs, "storages": storages, "folder": folder}

    def _known_record(self, tensors):
        """The bundle's record of this rank, if the inputs have its geometry."""
        record = self.bundle.ranks[self.rank.rank]
        ids = tree.tensor_ids(record["inputs"])
        if len(ids) != len(tensors):
            return None
        for i, x in zip(ids, tensors):
            e = record["tensors"][i]
            if (e["dtype"], e["sizes"], e["strides"], e["offset"]) != (dtype_name(x.dtype), list(x.shape), list(x.stride()), x.storage_offset()):
                return None
        return record

    def _write(self, name, tensor):
        path = os.path.join(self.job.out, name)
        try:
            with open(path, "wb") as f:
                f.write(raw(tensor))
        except OSError as e:
            raise InputError(f"cannot write {path}: {e.strerror}") from e

    def _save(self, name, tensor, ids):
        self._write(name, tensor)
        return {
            "file": name, "dtype": dtype_name(tensor.dtype), "sizes": list(tensor.shape), "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(), "storage": ids.get(tensor.untyped_storage()._cdata),
            "storage_bytes": tensor.untyped_storage().nbytes(),
        }  # fmt: skip

    def _oracle(self, runs):
        """Write the float64 files of every trial; returns why not, if not. All ranks decide alike."""
        reason = None
        try:
            for r in runs:
                oracle.check(r["record"])
        except oracle.NoOracle as e:
            reason = str(e)
        everybody = tuple(range(self.rank.world_size))
        meta = {"name": "pkb oracle", "site": "the reference", "inputs": [], "outputs": [], "reason": reason}
        for their, _ in self.exchange.meet(everybody, meta, []):
            if their["reason"]:
                return their["reason"]
        for r in runs:
            record, blobs = r["record"], r["blobs"]
            blob = self.bundle.read if blobs is None else lambda name, blobs=blobs: blobs[name[8:-4]]
            player = oracle.OracleReplayer(record, r["groups"], blob, self.exchange)
            player.run(r["storages"])
            for kind, key in (("inputs", "args"), ("outputs", "outputs")):
                for entry, tid in zip(r["index"][key], tree.tensor_ids(record[kind])):
                    value = player.tensor(tid)
                    if value.is_floating_point() or value.is_complex():
                        name = entry["file"].removesuffix(".bin") + ".f64.bin"
                        self._write(name, value)
                        entry["oracle"], entry["oracle_dtype"] = name, dtype_name(value.dtype)
        return None


def _storage_numbers(tensors):
    """Storage address -> position of the first tensor argument that has it."""
    out = {}
    for i, t in enumerate(tensors):
        out.setdefault(t.untyped_storage()._cdata, i)
    return out


def _positions(value, rank):
    """The tree of a value whose tensor leaves are positions in `tree.tensors`."""
    counter = iter(range(1 << 30))
    with torch.no_grad():
        return tree.encode(value, lambda t: next(counter), lambda g: 0, "value")


def _with_group_sizes(record, groups):
    events = [
        {**e, "group_size": len(groups[e["group"]])} if e["kind"] == "collective" else e for e in record["events"]
    ]
    return {**record, "events": events}
