# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes bundles by hand (docs/Rationale/Bundle.md), right ones and damaged ones, for tests of the importer.

A test describes the program of one rank with `Rank` and writes all ranks with `write`. Nothing of torch is needed.
"""
import hashlib
import json
import zipfile

BYTES = {"float64": 8, "int64": 8, "complex64": 8, "float32": 4, "int32": 4, "bfloat16": 2, "float16": 2, "uint8": 1,
         "int8": 1, "bool": 1}


def contiguous(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


class Rank:
    """The recorded program of one rank. Methods return tensor ids."""

    def __init__(self, file="source/model.py"):
        self.file = file
        self.line = 1
        self.storages, self.tensors, self.literals, self.events, self.sites = [], [], [], [], []
        self.members = {}
        self.args = []
        self.inputs = None
        self.outputs = {"kind": "none"}

    def at(self, line):
        self.line = line
        return self

    def site(self):
        self.sites.append({"file": self.file, "line": self.line, "function": "solution", "text": "..."})
        return len(self.sites) - 1

    def storage(self, nbytes, origin="op", **more):
        self.storages.append({"id": len(self.storages), "bytes": nbytes, "origin": origin, **more})
        return len(self.storages) - 1

    def tensor(self, sizes, dtype="float32", strides=None, offset=0, storage=None, origin="op", **more):
        if storage is None:
            count = 1
            for size in sizes:
                count *= size
            storage = self.storage(count * BYTES.get(dtype, 4), origin)
        self.tensors.append({"id": len(self.tensors), "storage": storage, "dtype": dtype, "sizes": list(sizes),
                             "strides": contiguous(sizes) if strides is None else list(strides), "offset": offset, **more})
        return len(self.tensors) - 1

    def input(self, sizes, dtype="float32", **more):
        tensor = self.tensor(sizes, dtype, origin="input", **more)
        self.args.append({"kind": "tensor", "id": tensor})
        return tensor

    def view(self, of, sizes, strides=None, offset=0, dtype=None, **more):
        base = self.tensors[of]
        return self.tensor(sizes, dtype or base["dtype"], strides, offset, base["storage"], **more)

    def literal(self, tensor, data):
        name = "tensors/" + hashlib.sha256(data).hexdigest() + ".bin"
        self.members[name] = data
        self.literals.append({"tensor": tensor, "file": name, "site": self.site()})
        return tensor

    def op(self, name, args, results, mutates=(), overload="", kwargs=(), rng=False):
        self.events.append({"kind": "op", "op": name, "overload": overload, "site": self.site(), "args": list(args),
                            "kwargs": [list(k) for k in kwargs], "mutates": list(mutates), "rng": rng,
                            "results": [r if isinstance(r, dict) else {"t": r} for r in results]})

    def collective(self, name, inputs, outputs, writes=(), group=0, **more):
        self.events.append({"kind": "collective", "name": name, "group": group, "site": self.site(),
                            "inputs": list(inputs), "outputs": list(outputs), "writes": [list(w) for w in writes],
                            "reduce": None, "async": False, "api": "c10d", "splits": None, **more})

    def all_reduce(self, tensor, **more):
        described = self.tensors[tensor]
        output = self.tensor(described["sizes"], described["dtype"])
        self.collective("all_reduce", [tensor], [output], [[output, tensor]], **{"reduce": "sum", **more})
        return output

    def returns(self, *tensors):
        leaves = [{"kind": "tensor", "id": t} for t in tensors]
        self.outputs = leaves[0] if len(leaves) == 1 else {"kind": "tuple", "items": leaves}

    def json(self, rank, world_size, capture):
        inputs = self.inputs or {"kind": "tuple", "items": self.args}
        return {"schema": "pkb-rank", "version": [1, 0], "capture": capture, "rank": rank, "world_size": world_size,
                "storages": self.storages, "tensors": self.tensors, "inputs": inputs, "outputs": self.outputs,
                "literals": self.literals, "events": self.events, "sites": self.sites}


def write(path, ranks, groups=None, edit=None, edit_members=None):
    """`ranks`: a Rank for each rank. `edit(bundle)` changes bundle.json; `edit_members(members)` changes bytes after the
    hashes were taken."""
    capture = "0123456789abcdef0123456789abcdef"
    world_size = len(ranks)
    members = {"source/model.py": b"def solution(x):\n    return x\n"}
    for number, rank in enumerate(ranks):
        members.update(rank.members)
        members[f"rank{number}.json"] = json.dumps(rank.json(number, world_size, capture)).encode()
    bundle = {"schema": "pkb-bundle", "version": [1, 0], "capture": capture, "world_size": world_size, "torch": "2.11.0",
              "pkb": "0.1.0", "created": "2026-01-01T00:00:00Z",
              "function": {"file": "source/model.py", "qualname": "solution", "path": "/user/model.py", "sha256": "-"},
              "inputs": {"file": "source/model.py", "qualname": "inputs", "path": "/user/model.py", "sha256": "-"},
              "pkb_problem": None, "groups": groups or [{"id": 0, "ranks": list(range(world_size))}],
              "symbols": [], "guards": [], "not_exercised": [], "replayed": {"captured": True, "fresh_trials": [1, 2]}}
    bundle["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    if edit:
        edit(bundle)
    members["bundle.json"] = json.dumps(bundle).encode()
    if edit_members:
        edit_members(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name), members[name])


def spmd(path, world_size, program, **more):
    """Writes a bundle whose ranks all run `program(Rank())`."""
    ranks = []
    for _ in range(world_size):
        rank = Rank()
        program(rank)
        ranks.append(rank)
    write(path, ranks, **more)
