# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The record of one rank: storages, tensors, events, sites and literals, exactly as docs/Rationale/Bundle.md says.

A tensor is known by (storage, dtype, sizes, strides, offset, conj, neg): two Python objects with the same key are the
same tensor of the record, so views that never pass the dispatcher (`.data`) need no event. Storages are held by weak
pointers, which keep an address from being reused without keeping its memory.
"""

import functools
import operator

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from . import sites, tree
from .c10d import group_ranks
from .data import dtype_name, raw_storage, sha256
from .errors import ExportError
from .races import Races, from_python, reads_data

# What a storage depends on; a storage made of constants only has none of them.
DATA = 1  # the arguments or the peers
RANDOM = 2  # a random number generator

# Operators that give another handle of the same tensor; without effect if the record sees the same tensor id.
_NOTHING = {torch.ops.aten.detach.default, torch.ops.aten.alias.default, torch.ops.aten.lift_fresh.default}

# Operators that overwrite their first operand with the others, or with a constant.
_OVERWRITE = {torch.ops.aten.copy_.default, torch.ops.aten.fill_.Scalar, torch.ops.aten.fill_.Tensor, torch.ops.aten.zero_.default}


def _is_whole(tensor):
    """Is each byte of the tensor's storage one of its elements?"""
    return tensor.is_contiguous() and tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()


def _without_dropout(func, args, kwargs):
    """Is this an operator that draws random numbers only for dropout, called without it?"""
    bound = {a.name: args[i] if i < len(args) else kwargs.get(a.name, a.default_value) for i, a in enumerate(func._schema.arguments)}
    return bound.get("dropout_p", 1.0) == 0.0


def return_values(func, result):
    """What a call returned, one entry per return value of its schema; a list of tensors is one."""
    count = len(func._schema.returns)
    return () if count == 0 else (result,) if count == 1 else tuple(result)


class Recorder:
    """Takes down what a rank does. `groups` maps a tuple of global ranks to a group id and may grow."""

    def __init__(self, world_size, rank, host):
        self.world_size, self.rank, self.host = world_size, rank, host
        self._kind = "cuda"
        self.storages, self.tensors, self.events, self.sites = [], [], [], []
        self.literals = []
        self.blobs = {}  # sha256 -> bytes
        self.groups = {tuple(range(world_size)): 0}
        self._storage_ids, self._weak = {}, []
        self._depends = []  # per storage: DATA | RANDOM
        self._literal_bytes = {}  # storage id -> tensor id of the literal
        self._fresh_literals = set()
        self._tensor_ids, self._site_ids = {}, {}
        self._works = {}  # id(work) -> (work, event index)
        self._async_storages = {}  # storage id -> event index of the functional collective that is not waited for yet
        self._input_storages = set()
        self.races = Races()

    # Storages, tensors, sites

    def storage_of(self, tensor):
        """The id of a tensor's storage, or None if the record has not met it."""
        return self._storage_ids.get(tensor.untyped_storage()._cdata)

    def _new_storage(self, tensor, origin, depends):
        storage = tensor.untyped_storage()
        sid = len(self.storages)
        self.storages.append({"id": sid, "bytes": storage.nbytes(), "origin": origin})
        if tensor in self.host:
            self.storages[-1]["device"] = "cpu"
        self._weak.append(StorageWeakRef(storage))
        self._storage_ids[storage._cdata] = sid
        self._depends.append(depends)
        return sid

    def depends(self, tensor):
        """What the values of a tensor depend on: DATA | RANDOM bits; 0 for constants and for tensors never seen."""
        sid = self.storage_of(tensor)
        return 0 if sid is None else self._depends[sid]

    def _check(self, tensor):
        if tensor.layout != torch.strided or tensor.is_quantized:
            what = "quantized" if tensor.is_quantized else str(tensor.layout).replace("torch.", "")
            raise ExportError(f"{what} tensors are not supported (at {sites.text(sites.current())}); use dense ones")
        if tensor.device.type not in ("cpu",):
            raise ExportError(f"a tensor on device {tensor.device} cannot be captured (at {sites.text(sites.current())})")

    def tensor_id(self, tensor, origin="literal", depends=0):
        """The id of a tensor; one whose storage was never met becomes a new storage of `origin`."""
        self._check(tensor)
        sid = self.storage_of(tensor)
        if sid is None:
            sid = self._new_storage(tensor, origin, depends)
            if origin == "literal":
                return self._literal(tensor, sid)
        return self._intern(tensor, sid)

    def _intern(self, tensor, sid):
        entry = {
            "storage": sid,
            "dtype": dtype_name(tensor.dtype),
            "sizes": list(tensor.shape),
            "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(),
        }
        if tensor.is_conj():
            entry["conj"] = True
        if tensor.is_neg():
            entry["neg"] = True
        key = (sid, entry["dtype"], tuple(entry["sizes"]), tuple(entry["strides"]), entry["offset"],
               tensor.is_conj(), tensor.is_neg())  # fmt: skip
        tid = self._tensor_ids.get(key)
        if tid is None:
            tid = self._tensor_ids[key] = len(self.tensors)
            self.tensors.append({"id": tid, **entry})
            self.storages[sid]["bytes"] = max(self.storages[sid]["bytes"], tensor.untyped_storage().nbytes())
        return tid

    def _literal(self, tensor, sid):
        """A storage that came from nowhere: keep its bytes, all of them, under a flat tensor of the same dtype."""
        storage = tensor.untyped_storage()
        data = bytes(raw_storage(storage))
        flat = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (storage.nbytes() // tensor.element_size(),))
        tid = self._intern(flat, sid)
        digest = sha256(data)
        self.blobs[digest] = data
        self.literals.append({"tensor": tid, "file": f"tensors/{digest}.bin", "site": self.site()})
        self._literal_bytes[sid] = tid
        return self._intern(tensor, sid)

    def site(self, callers=()):
        """The index of the innermost user frame in `sites`; `callers`: the frames that led to it, as sites.callers() gives them."""
        where = sites.current()
        index = self._site_ids.get((where, callers))
        if index is None:
            index = self._site_ids[where, callers] = len(self.sites)
            path, line, function = where or ("", 0, "")
            self.sites.append({"file": path, "line": line, "function": function, "text": sites.source_line(path, line)})
            if callers:
                self.sites[-1]["callers"] = [{"file": path, "line": line, "function": function} for path, line, function in callers]
        return index

    def group_id(self, group):
        """The id of a process group (by its rank list)."""
        ranks = group if isinstance(group, tuple) else group_ranks(group)
        return self.groups.setdefault(ranks, len(self.groups))

    # Inputs and outputs

    @staticmethod
    def _check_default_dtype():
        if torch.get_default_dtype() != torch.float32:
            raise ExportError(
                f"torch.set_default_dtype({torch.get_default_dtype()}) is in effect; a record assumes float32, name dtypes instead"
            )

    def begin(self, arguments):
        """Take the argument tuple."""
        self._check_default_dtype()

        def input_id(t):
            tid = self.tensor_id(t, "input", DATA)
            self._input_storages.add(self.storage_of(t))
            return tid

        self.inputs = tree.encode(arguments, input_id, self.group_id, "argument")
        self._containers = tree.containers(arguments)
        self._memory = [(t, t.untyped_storage()._cdata) for t in tree.tensors(arguments) if t.layout == torch.strided]
        self._gradients = [(t, t.grad) for t in tree.tensors(arguments) if t.is_leaf]

    def end(self, result):
        """Take the result, and refuse what a plain record cannot say."""
        self._check_default_dtype()
        where = tree.changed_container(self._containers)
        if where:
            raise ExportError(
                f"the function changes the container {where} of its caller; return the new value instead, "
                "or work on a copy (copy.deepcopy of a module)"
            )
        if any(t.untyped_storage()._cdata != storage for t, storage in self._memory):
            raise ExportError("the function puts other memory behind an argument (by .data or set_); copy into it instead (copy_)")
        self.races.returned(tree.tensors([result, [t for t, _ in self._memory]]))
        self.outputs = tree.encode(result, self.tensor_id, self.group_id, "result")
        results = {self.tensors[i]["storage"] for i in tree.tensor_ids(self.outputs)}
        for t, before in self._gradients:
            if t.grad is not before and t.grad is not None and self.storage_of(t.grad) not in results:
                raise ExportError(
                    f"the function leaves a gradient in the .grad of an argument {list(t.shape)}; return the gradient, or clear it"
                )
        kept = results | self._input_storages
        if any(self._depends[s] & RANDOM for s in kept):
            self._refuse_random()
        written = {self.tensors[t]["storage"] for e in self.events for t in self._written(e)}
        for sid in sorted(written & set(self._literal_bytes)):
            if sid not in self._fresh_literals and not self._weak[sid].expired():
                raise ExportError(
                    "the function writes to a tensor that is neither an argument nor made by it (made or found at "
                    f"{self._literal_site(sid)}); pass it as an argument"
                )

    def _written(self, event):
        return event["mutates"] if event["kind"] == "op" else [d for _, d in event.get("writes", ())]

    def _literal_site(self, sid):
        site = next(x for x in self.literals if self.tensors[x["tensor"]]["storage"] == sid)["site"]
        return f"{self.sites[site]['file']}:{self.sites[site]['line']}"

    def _refuse_random(self):
        event = next(e for e in self.events if e.get("rng"))
        s = self.sites[event["site"]]
        raise ExportError(
            f"{event['op']} draws random numbers at {s['file']}:{s['line']}, and a result depends on them; "
            "pass the random tensor as an argument, or switch dropout off"
        )

    # Events

    def op(self, func, args, kwargs, kind="cuda"):
        """Record and run one ATen call; returns its result. kind: the device ("cuda", "cpu") that a device argument means."""
        self._kind = kind
        tags = func.tags
        schema = func._schema
        operands = tree.tensors([args, kwargs])
        depends = 0
        for t in operands:
            depends |= self.depends(t)
        self.host.before(func, operands, kind)
        self._refuse_host_read(func, args, depends, tags)
        # Operands first: the call may write to them.
        encoded = [self._value(a, s.type) for a, s in zip(args, schema.arguments)]
        named = {a.name: a.type for a in schema.arguments}
        keywords = [[k, self._value(v, named[k])] for k, v in kwargs.items() if k != "pin_memory"]
        mutated = self._mutated(schema, args, kwargs)
        if reads_data(func):
            self.races.touched(f"{func._opname} at {sites.text(sites.current())}", operands, mutated)
        fresh_literal = func is torch.ops.aten.lift_fresh.default
        result = func(*args, **kwargs)
        made = tree.tensors([result])
        self.host.place(operands, "device" in kwargs, kind, made)
        if not operands and "device" in named and kwargs.get("device") is None and any(t not in self.host for t in made):
            # Made by C++ code of a library, which finds CPU tensors here: at run time its default device would be the CPU.
            keywords = [k for k in keywords if k[0] != "device"] + [["device", {"device": "cuda"}]]
        rng = torch.Tag.nondeterministic_seeded in tags and not _without_dropout(func, args, kwargs)
        bits = depends | (RANDOM if rng else 0)
        values = return_values(func, result)
        if not any(isinstance(v, torch.Tensor) for t in values for v in (t if isinstance(t, (tuple, list)) else (t,))):
            if not mutated:
                return result  # a constant read on the host: its value is in what follows
        results = [self._result(v, bits) for v in values]
        ids = []
        for t in mutated:
            ids.append(self.tensor_id(t))
            if func in _OVERWRITE and _is_whole(t):
                self._depends[self.storage_of(t)] = functools.reduce(operator.or_, map(self.depends, operands[1:]), 0)
            else:
                self._depends[self.storage_of(t)] |= bits
        if fresh_literal:
            self._fresh_literals.add(self.storage_of(operands[0]))
        if func in _NOTHING and encoded[:1] == results:
            return result
        self.events.append({
            "kind": "op", "op": f"{func.namespace}::{func._opname}",
            "overload": "" if func._overloadname == "default" else func._overloadname,
            "site": self.site(), "args": encoded, "kwargs": keywords, "results": results,
            "mutates": sorted(set(ids)), "rng": rng,
        })  # fmt: skip
        return result

    def _refuse_host_read(self, func, args, depends, tags):
        if not depends:
            return
        where = sites.text(sites.current())
        if torch.Tag.data_dependent_output in tags:
            raise ExportError(
                f"reads a device value on the host at {where} ({func._opname}); "
                "a plain record cannot hold this program, keep the value on the device"
            )
        if torch.Tag.dynamic_output_shape in tags and self._shape_depends(func, args):
            raise ExportError(
                f"makes a tensor whose size depends on data at {where} ({func._opname}); "
                "a plain record cannot hold this program, use a fixed size"
            )

    def _shape_depends(self, func, args):
        """Does the size of the result follow from values that may vary?"""
        if func._opname in ("index", "_unsafe_index"):
            masks = [t for t in args[1] if t is not None and t.dtype in (torch.bool, torch.uint8)]
            return any(self.depends(t) for t in masks)
        if func._opname == "masked_select":
            return self.depends(args[1]) != 0
        return True

    @staticmethod
    def _mutated(schema, args, kwargs):
        out = []
        for i, a in enumerate(schema.arguments):
            if a.alias_info is None or not a.alias_info.is_write:
                continue
            value = args[i] if i < len(args) else kwargs.get(a.name)
            if isinstance(value, torch.Tensor):
                out.append(value)
            elif isinstance(value, (tuple, list)):
                out.extend(value)
        return out

    def _result(self, value, bits):
        if isinstance(value, torch.Tensor):
            return {"t": self._result_tensor(value, bits)}
        if isinstance(value, (tuple, list)) and all(v is None or isinstance(v, torch.Tensor) for v in value):
            return {"ts": [None if v is None else self._result_tensor(v, bits) for v in value]}
        return self._value(value, None)

    def _result_tensor(self, tensor, bits):
        tid = self.tensor_id(tensor, "op", bits)
        self._depends[self.storage_of(tensor)] |= bits
        return tid

    def collective(self, step, outputs, asynchronous, work):
        """Record one collective that was carried out: its functional outputs and what they overwrite."""
        call = step.call
        self._note_race(step, asynchronous, work)
        bits = DATA if call.name == "recv" else call.depends
        inputs = [self.tensor_id(t) for t in call.inputs]
        out_ids, writes = [], []
        for out, target in zip(outputs, step.targets):
            out_ids.append(self.tensor_id(out, "op", bits))
            if target is not None:
                writes.append([out_ids[-1], self.tensor_id(target)])
                self._depends[self.storage_of(target)] |= bits
        event = {
            "kind": "collective", "name": call.name, "group": self.group_id(call.group), "site": self.site(sites.callers()),
            "inputs": inputs, "outputs": out_ids, "reduce": call.reduce, "writes": writes,
            "async": asynchronous, "api": call.api, "splits": call.splits,
        }  # fmt: skip
        for key in ("root", "peer"):
            if getattr(call, key) is not None:
                event[key] = getattr(call, key)
        if call.name in ("send", "recv"):
            event["tag"] = call.tag
        if call.reduce == "premul_sum":
            event["factor"] = self._factor(call.factor)
        index = len(self.events)
        self.events.append(event)
        if asynchronous and work is not None:
            self._works.setdefault(id(work), (work, []))[1].append(index)
        if asynchronous and call.api.startswith("_c10d_functional"):
            for out in outputs:
                self._async_storages.setdefault(self.storage_of(out), index)
        return index

    def _note_race(self, step, asynchronous, work):
        call, targets = step.call, [t for t in step.targets if t is not None]
        if call.name == "barrier":
            self.races.all_waited(call.channel)
        self.races.touched(f"{call.name} at {call.site}", call.inputs, targets, call.channel)
        if asynchronous and work is not None and from_python():
            self.races.issued(work, call, targets)

    def _factor(self, factor):
        if isinstance(factor, torch.Tensor):
            if self.depends(factor):
                raise ExportError(f"PREMUL_SUM with a factor that depends on data at {sites.text(sites.current())}")
            factor = factor.item()
        return tree.encode_float(float(factor))

    def wait(self, work):
        """The program waited for a Work."""
        self.races.waited(work)
        for index in self._works.get(id(work), (None, []))[1]:
            self.events.append({"kind": "wait", "collective": index, "site": self.site()})

    def wait_tensor(self, tensor):
        """The program waited for the result of a functional collective."""
        index = self._async_storages.pop(self.storage_of(tensor), None)
        if index is not None:
            self.events.append({"kind": "wait", "collective": index, "site": self.site()})

    # Values

    def _value(self, v, kind):
        """One argument as Bundle.md writes it; kind is its schema type, or None."""
        name = str(kind) if kind is not None else ""
        if v is None:
            return {"n": None}
        if isinstance(v, torch.Tensor):
            return {"t": self.tensor_id(v)}
        if isinstance(v, bool):
            return {"b": v}
        if isinstance(v, int):
            if "dtype" in name or name.startswith("ScalarType"):
                raise ExportError(f"dtype code {v} is not understood")
            return {"f": float(v)} if name in ("float", "Optional[float]") else {"i": v}
        if isinstance(v, float):
            return {"f": tree.encode_float(v)}
        if isinstance(v, complex):
            return {"c": [tree.encode_float(v.real), tree.encode_float(v.imag)]}
        if isinstance(v, str):
            return {"s": v}
        if isinstance(v, torch.dtype):
            return {"dtype": dtype_name(v)}
        if isinstance(v, torch.device):
            return {"device": self._kind if v.type == "cpu" else v.type}
        if isinstance(v, torch.layout):
            return {"layout": str(v).replace("torch.", "")}
        if isinstance(v, torch.memory_format):
            return {"mf": str(v).replace("torch.", "").removesuffix("_format")}
        if isinstance(v, torch.Generator):
            return {"n": None}
        if isinstance(v, (tuple, list)):
            return self._list(list(v), name)
        raise ExportError(f"an argument of type {type(v).__name__} cannot be recorded (at {sites.text(sites.current())})")

    def _list(self, v, name):
        if "Tensor" in name or any(isinstance(x, torch.Tensor) for x in v):
            if all(x is None or isinstance(x, torch.Tensor) for x in v):
                return {"ts": [None if x is None else self.tensor_id(x) for x in v]}
        if v and all(isinstance(x, bool) for x in v) or "bool" in name:
            return {"bs": v}
        if "float" in name or "double" in name:
            return {"fs": [tree.encode_float(float(x)) for x in v]}
        if all(isinstance(x, int) for x in v):
            return {"is": [int(x) for x in v]}
        return {"list": [self._value(x, None) for x in v]}

    def to_json(self, capture):
        """The content of rank<k>.json; `sites` still hold absolute paths."""
        return {
            "schema": "pkb-rank", "version": [1, 1], "capture": capture, "rank": self.rank, "world_size": self.world_size,
            "storages": self.storages, "tensors": self.tensors, "inputs": self.inputs, "outputs": self.outputs,
            "literals": self.literals, "events": self.events, "sites": self.sites,
        }  # fmt: skip
