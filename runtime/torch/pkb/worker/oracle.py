# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function in float64: the bundle's record replayed with floating tensors raised, on any device, integers exact."""

import json
import os
import time

import torch

from ..export import collectives
from ..export.data import DTYPES, from_raw
from ..export.exchange import Payload
from ..export.oracle import OracleReplayer, float64_by_default
from ..export.replay import Replayer
from .protocol import one_line

_GONE = "pkb-oracle/gone"
_POLL_S = 0.001


class FileExchange:
    """The exchange of pkb.export between rank processes of one machine: payloads are files in `folder`, meetings go over a torch
    Store. Same interface as pkb.export.exchange.Exchange."""

    def __init__(self, store, rank, world_size, folder, name="0", timeout_s=600.0):
        """name: distinguishes exchanges that share the folder."""
        self.rank, self.world_size = rank, world_size
        self._name = name
        self._store, self._folder, self._timeout = store, folder, timeout_s
        self._counts, self._files = {}, 0

    def _publish(self, key, meta, pieces):
        self._files += 1
        path = os.path.join(self._folder, f"oracle-{self._name}.{self.rank}.{self._files}")
        lengths = [len(p) for p in pieces]
        if sum(lengths):
            with open(path, "wb") as f:
                for p in pieces:
                    f.write(p)
        self._store.set(key, json.dumps({"meta": meta, "path": path, "lengths": lengths}))

    def give_up(self, reason):
        """Tells the other ranks that this one will publish nothing more: who waits for it raises `reason`."""
        self._store.set(_GONE, f"rank {self.rank} gave up: {reason}")

    def _fetch(self, key):
        deadline = time.monotonic() + self._timeout
        while not self._store.check([key]):
            if self._store.check([_GONE]):
                raise RuntimeError(self._store.get(_GONE).decode())
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing came under {key} in {self._timeout} s")
            time.sleep(_POLL_S)
        entry = json.loads(self._store.get(key))
        return entry["meta"], Payload(entry["path"], entry["lengths"])

    def _next(self, *key):
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]

    def meet(self, group, meta, pieces):
        base = f"pkb-oracle/{'.'.join(map(str, group))}/{self._next('meet', group)}"
        self._publish(f"{base}/{self.rank}", meta, pieces)
        return [self._fetch(f"{base}/{r}") for r in group]

    def send(self, group, peer, tag, meta, pieces):
        n = self._next("send", group, peer, tag)
        self._publish(f"pkb-oracle/p2p/{'.'.join(map(str, group))}/{self.rank}>{peer}/{tag}/{n}", meta, pieces)

    def recv(self, group, peer, tag, meta):
        if peer is None:
            raise ValueError("a receive from any rank has no oracle")
        n = self._next("recv", group, peer, tag)
        found, payload = self._fetch(f"pkb-oracle/p2p/{'.'.join(map(str, group))}/{peer}>{self.rank}/{tag}/{n}")
        return peer, found, payload


class WideReplayer(OracleReplayer):
    """The oracle's replay on `device`, from storages that are wide already. Collectives are carried out on the host, in float64, in
    rank order."""

    def __init__(self, record, groups, blob, exchange, device):
        super().__init__(record, groups, blob, exchange)
        self.device = torch.device(device)

    def run(self, storages):
        with float64_by_default():
            Replayer.run(self, storages)

    def _view(self, storage, entry):
        out = torch.empty(0, dtype=self._dtype(entry["dtype"]), device=self.device)
        out = out.set_(storage, entry["offset"], entry["sizes"], entry["strides"])
        out = torch._conj(out) if entry.get("conj") else out
        return torch._neg_view(out) if entry.get("neg") else out

    def _load_literal(self, literal):
        entry = self.record["tensors"][literal["tensor"]]
        value = from_raw(self.blob(literal["file"]), DTYPES[entry["dtype"]], entry["sizes"])
        self.memory[entry["storage"]] = value.to(self.device, self._dtype(entry["dtype"])).untyped_storage()

    def _value(self, v):
        if "device" in v:
            return self.device if v["device"].startswith("cuda") else torch.device("cpu") if self.device.type == "cpu" else self.device
        return super()._value(v)

    def _call(self, event, inputs, outputs):
        return super()._call(event, [t.cpu() for t in inputs], outputs)

    def _store(self, event, values):
        super()._store(event, [v.to(self.device) for v in values])


def _widened_inputs(player, ids, tensors):
    """Wide storages (storage id -> UntypedStorage on the player's device) that hold the input tensors."""
    record, memory = player.record, {}
    sizes = {s["id"]: s["bytes"] for s in record["storages"]}
    for tid, tensor in zip(ids, tensors):
        entry = record["tensors"][tid]
        if entry["storage"] not in memory:
            elements = sizes[entry["storage"]] // DTYPES[entry["dtype"]].itemsize
            wide = torch.zeros(elements, dtype=player._dtype(entry["dtype"]), device=player.device)
            memory[entry["storage"]] = wide.untyped_storage()
        with torch.no_grad():
            player._view(memory[entry["storage"]], entry).copy_(tensor)
    return memory


def run(record, groups, blob, exchange, tensors, device):
    """(results, arguments after the call) in float64, flat, in the order of the record's trees.

    tensors: this rank's input tensors in the order of the record's input tree, of the recorded dtypes; they are not changed.
    Raises what the replay raises, also where a program looks at the bits of a float.
    """
    from ..export.tree import tensor_ids

    ids = tensor_ids(record["inputs"])
    try:
        player = WideReplayer(record, groups, blob, exchange, device)
        memory = _widened_inputs(player, ids, tensors)
        player.run(memory)
    except Exception as error:
        exchange.give_up(one_line(error))  # the others may wait for what this rank would have sent
        raise
    results = [player.tensor(t) for t in tensor_ids(record["outputs"])]
    return results, [player._view(memory[record["tensors"][t]["storage"]], record["tensors"][t]) for t in ids]


def wide_collective_names():
    """Collectives that the oracle can carry out, for messages."""
    return sorted(collectives._OUTPUTS)
