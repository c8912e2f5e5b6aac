# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An interpreter of records: run the events of one rank on given storages, collectives over the exchange.

Memory is freed at its last use. The interpreter trusts nothing: a result whose storage or geometry is not what the record
says is an error that names the event.
"""

import torch

from . import collectives
from .collectives import Collective
from .data import DTYPES, from_raw
from .errors import ExportError
from .recorder import return_values
from .runtime import write


def decode_float(value):
    return float(value) if isinstance(value, str) else value


class Replayer:
    """One rank's record.

    record: content of rank<k>.json. groups: list of rank tuples by group id. blob(file) -> bytes of a literal.
    exchange: the rank's Exchange, or None for a record without collectives.
    """

    def __init__(self, record, groups, blob, exchange):
        self.record, self.groups, self.blob, self.exchange = record, groups, blob, exchange
        self._last_use = self._find_last_uses()
        self.log = []  # collectives carried out: (name, group, reduce)

    def input_storages(self):
        """Storage ids of the inputs."""
        return [s["id"] for s in self.record["storages"] if s["origin"] == "input"]

    def run(self, storages):
        """Run on `storages` (storage id -> UntypedStorage of the inputs), which the program may overwrite."""
        self.memory = dict(storages)
        self._pending = {}
        for literal in self.record["literals"]:
            self._load_literal(literal)
        with torch.no_grad():
            for index, event in enumerate(self.record["events"]):
                try:
                    getattr(self, "_" + event["kind"])(index, event)
                except ExportError:
                    raise
                except Exception as e:
                    raise ExportError(f"replay of event {index} ({self._name(event)}) failed: {str(e).splitlines()[0]}") from e
                for sid in self._last_use.get(index, ()):
                    self.memory.pop(sid, None)
            for index in list(self._pending):
                self._receive(index)

    def tensor(self, tid):
        """A tensor of the record over the memory it now has."""
        entry = self.record["tensors"][tid]
        storage = self.memory.get(entry["storage"])
        if storage is None:
            raise ExportError(f"tensor {tid} is used before anything wrote its storage {entry['storage']}")
        return self._view(storage, entry)

    def _view(self, storage, entry):
        out = torch.empty(0, dtype=self._dtype(entry["dtype"]))
        out = out.set_(storage, entry["offset"], entry["sizes"], entry["strides"])
        if entry.get("conj"):
            out = torch._conj(out)
        if entry.get("neg"):
            out = torch._neg_view(out)
        return out

    def _dtype(self, name):
        return DTYPES[name]

    def _load_literal(self, literal):
        entry = self.record["tensors"][literal["tensor"]]
        value = from_raw(self.blob(literal["file"]), DTYPES[entry["dtype"]], entry["sizes"])
        self.memory[entry["storage"]] = value.untyped_storage()

    @staticmethod
    def _name(event):
        return event.get("op") or event.get("name") or event["kind"]

    # Events

    def _op(self, index, event):
        if event["rng"]:
            pass  # only recorded when nothing depends on it
        args = [self._value(a) for a in event["args"]]
        kwargs = {k: self._value(v) for k, v in event["kwargs"]}
        overload = overload_of(event)
        values = return_values(overload, overload(*args, **kwargs))
        if len(values) != len(event["results"]):
            raise ExportError(f"replay of event {index} ({event['op']}): {len(values)} results, recorded {len(event['results'])}")
        for value, wanted in zip(values, event["results"]):
            pairs = [(value, wanted["t"])] if "t" in wanted else zip(value, wanted["ts"]) if "ts" in wanted else ()
            for tensor, tid in pairs:
                if tid is not None:
                    self._bind(index, event, tensor, tid)

    def _bind(self, index, event, tensor, tid):
        entry = self.record["tensors"][tid]
        sid = entry["storage"]
        storage = tensor.untyped_storage()
        known = self.memory.get(sid)
        if known is None:
            self.memory[sid] = storage
        elif known._cdata != storage._cdata:
            raise ExportError(f"replay of event {index} ({event['op']}): result {tid} is not the view that was recorded")
        now = (list(tensor.shape), list(tensor.stride()), tensor.storage_offset(), tensor.dtype)
        then = (entry["sizes"], entry["strides"], entry["offset"], self._dtype(entry["dtype"]))
        if now != then:
            raise ExportError(f"replay of event {index} ({event['op']}): result {tid} is {now}, recorded {then}")

    def _collective(self, index, event):
        outputs = [self.record["tensors"][t] for t in event["outputs"]]
        inputs = [self.tensor(t) for t in event["inputs"]]
        call = self._call(event, inputs, outputs)
        self.log.append((call.name, call.group, call.reduce))
        if call.name == "send":
            collectives.send(self.exchange, call)
        elif call.name == "recv":
            self._pending[index] = (call, event)
        else:
            self._store(event, collectives.execute(self.exchange, call))

    def _call(self, event, inputs, outputs):
        site = self.record["sites"][event["site"]]
        dtype = inputs[0].dtype if inputs else self._dtype(outputs[0]["dtype"]) if outputs else None
        splits = event.get("splits")
        group = self.groups[event["group"]]
        counts = [torch.Size(o["sizes"]).numel() for o in outputs]
        if event["name"] == "all_to_all" and len(outputs) == 1:
            rows = splits["out"] if splits else [outputs[0]["sizes"][0] // len(group)] * len(group)
            counts = [r * torch.Size(outputs[0]["sizes"][1:]).numel() for r in rows]
        return Collective(
            name=event["name"], group=group, inputs=inputs, outputs=[o["sizes"] for o in outputs], dtype=dtype,
            site=f"{site['file']}:{site['line']}", api=event["api"], reduce=event["reduce"],
            factor=decode_float(event["factor"]) if "factor" in event else None, root=event.get("root"),
            peer=event.get("peer"), tag=event.get("tag", 0), splits=splits, out_counts=counts,
        )  # fmt: skip

    def _store(self, event, values):
        for tid, value in zip(event["outputs"], values):
            self.memory[self.record["tensors"][tid]["storage"]] = value.untyped_storage()
        for source, target in event["writes"]:
            write([self.tensor(source)], [self.tensor(target)])

    def _wait(self, index, event):
        if event["collective"] in self._pending:
            self._receive(event["collective"])

    def _receive(self, index):
        call, event = self._pending.pop(index)
        self._store(event, [collectives.receive(self.exchange, call)])

    # Values

    def _value(self, v):
        (kind, x), = v.items()
        if kind == "t":
            return self.tensor(x)
        if kind == "ts":
            return [None if i is None else self.tensor(i) for i in x]
        if kind == "f":
            return decode_float(x)
        if kind == "fs":
            return [decode_float(i) for i in x]
        if kind == "c":
            return complex(decode_float(x[0]), decode_float(x[1]))
        if kind in ("i", "b", "s", "is", "bs", "n"):
            return x
        if kind == "dtype":
            return self._dtype(x)
        if kind == "device":
            return torch.device("cpu")
        if kind == "layout":
            return getattr(torch, x)
        if kind == "mf":
            return getattr(torch, x if x.startswith("channels_last") else x + "_format")
        if kind == "list":
            return [self._value(i) for i in x]
        raise ExportError(f"argument kind {kind!r} is not known; the bundle may come from a newer pkb")

    def _find_last_uses(self):
        tensors = self.record["tensors"]
        keep = {tensors[t]["storage"] for t in _tree_ids(self.record["outputs"])}
        keep |= {s["id"] for s in self.record["storages"] if s["origin"] == "input"}
        last = {}
        for index, event in enumerate(self.record["events"]):
            for tid in event_tensors(event):
                last[tensors[tid]["storage"]] = index
            if event["kind"] == "wait":
                for tid in event_tensors(self.record["events"][event["collective"]]):
                    last[tensors[tid]["storage"]] = index
        waited = {e["collective"] for e in self.record["events"] if e["kind"] == "wait"}
        for index, event in enumerate(self.record["events"]):
            if event["kind"] == "collective" and event["name"] == "recv" and index not in waited:
                keep |= {tensors[tid]["storage"] for tid in event_tensors(event)}
        by_event = {}
        for sid, index in last.items():
            if sid not in keep:
                by_event.setdefault(index, []).append(sid)
        return by_event


def _tree_ids(node):
    from .tree import tensor_ids

    return tensor_ids(node)


def overload_of(event):
    """The operator (torch.ops.aten.add.Tensor) of an event of kind "op"."""
    namespace, name = event["op"].split("::")
    packet = getattr(getattr(torch.ops, namespace), name)
    return getattr(packet, event["overload"] or "default")


def value_tensors(v):
    """Tensor ids in one encoded argument."""
    (kind, x), = v.items()
    if kind == "t":
        return [x]
    if kind == "ts":
        return [i for i in x if i is not None]
    if kind == "list":
        return [t for i in x for t in value_tensors(i)]
    return []


def event_tensors(event):
    """Every tensor id that an event names."""
    if event["kind"] == "op":
        values = event["args"] + [v for _, v in event["kwargs"]] + event["results"]
        return [t for v in values for t in value_tensors(v)] + event["mutates"]
    if event["kind"] == "collective":
        return event["inputs"] + event["outputs"] + [t for pair in event["writes"] for t in pair]
    return []
