# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The float64 oracle: a record replayed with every floating-point tensor and dtype raised to float64 (complex128).

Integer and boolean data stay exact. A record that looks at one storage under unrelated types (a bit cast) has no such
reading; `check` says so before anything runs.
"""

from contextlib import contextmanager

import torch

from .data import DTYPES, from_raw, raw_storage
from .errors import ExportError
from .replay import Replayer

_WIDE = {d: torch.complex128 if d.is_complex else torch.float64 for d in DTYPES.values() if d.is_floating_point or d.is_complex}


class NoOracle(ExportError):
    """This record cannot be read in float64; the message says why."""


def wide(dtype):
    """The dtype that stands for `dtype` in the oracle."""
    return _WIDE.get(dtype, dtype)


def _factor(dtype):
    return wide(dtype).itemsize // dtype.itemsize


def _stored_as(record):
    """Per storage the dtype in which its bytes are widened. Raises NoOracle for bit casts."""
    out = {}
    for t in record["tensors"]:
        dtype = DTYPES[t["dtype"]]
        known = out.setdefault(t["storage"], dtype)
        if known == dtype:
            continue
        related = {known, dtype} in ({torch.float32, torch.complex64}, {torch.float64, torch.complex128}, {torch.float16, torch.complex32})
        if not related and (known in _WIDE or dtype in _WIDE):
            raise NoOracle(f"storage {t['storage']} is read as {known} and as {dtype}")
        if not known.is_complex and dtype.is_complex:
            out[t["storage"]] = known
        elif known.is_complex:
            out[t["storage"]] = dtype
    return out


def check(record):
    """Raise NoOracle if the record cannot be read in float64."""
    _stored_as(record)
    for t in record["tensors"]:
        if t["dtype"] == "complex32":
            raise NoOracle("complex32 data")


@contextmanager
def float64_by_default():
    """Factories without a dtype, and quotients of integers, give float64."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(default)


class OracleReplayer(Replayer):
    """A Replayer in float64. `run` takes the original (narrow) input storages."""

    def __init__(self, record, groups, blob, exchange):
        super().__init__(record, groups, blob, exchange)
        self._stored = _stored_as(record)

    def run(self, storages):
        with float64_by_default():
            super().run({sid: self._widened(sid, raw_storage(s)) for sid, s in storages.items()})

    def _widened(self, sid, data):
        dtype = self._stored.get(sid)
        if dtype is None:
            dtype = torch.uint8
        flat = from_raw(data, dtype, (len(data) // dtype.itemsize,))
        return flat.to(wide(dtype)).untyped_storage()

    def _dtype(self, name):
        return wide(DTYPES[name])

    def _load_literal(self, literal):
        sid = self.record["tensors"][literal["tensor"]]["storage"]
        self.memory[sid] = self._widened(sid, self.blob(literal["file"]))

    def _op(self, index, event):
        if event["op"] in ("aten::_softmax", "aten::_log_softmax") and event["args"][2].get("b"):
            event = {**event, "args": [*event["args"][:2], {"b": False}]}
        super()._op(index, event)
