# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Damaged bundles: one clear message each, exit status 1, no output file.
#
# RUN: %python %s %t
#
# RUN: not pkb-opt %t.nowhere.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=NOWHERE
# NOWHERE: pkb-opt: error: cannot open input '{{.*}}nowhere.pkb': No such file or directory
# RUN: not pkb-opt %t.cut.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=CUT
# CUT: pkb-opt: error: bundle '{{.*}}cut.pkb': the directory of the zip file is missing; the file is cut off or is no bundle
# RUN: not pkb-opt %t.flip.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=FLIP
# FLIP: pkb-opt: error: bundle '{{.*}}flip.pkb': member 'rank1.json' is damaged
# RUN: not pkb-opt %t.hash.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=HASH
# HASH: member 'source/model.py' is damaged: its sha256 is not the one in bundle.json
# RUN: not pkb-opt %t.gone.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=GONE
# GONE: member 'source/model.py' is missing
# RUN: not pkb-opt %t.rank.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=RANK
# RANK: bundle lacks the program of rank 1 of 2 (member 'rank1.json'); export again
# RUN: not pkb-opt %t.mixed.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=MIXED
# MIXED: member 'rank1.json' is of capture fedcba98{{.*}}, the bundle of 01234567{{.*}}: it mixes two exports; export again
# RUN: not pkb-opt %t.swapped.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SWAPPED
# SWAPPED: member 'rank1.json' must be rank 1 of 2, got: rank 0 of 2
# RUN: not pkb-opt %t.major.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=MAJOR
# MAJOR: member 'bundle.json' has schema version 2.0, this pkb-opt reads 1.1; export with the pkb-export of the same release
# RUN: not pkb-opt %t.minor.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=MINOR
# MINOR: member 'rank0.json' has schema version 1.7, this pkb-opt reads 1.1
# RUN: not pkb-opt %t.schema.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SCHEMA
# SCHEMA: member 'bundle.json' must have the schema pkb-bundle, got: pkb-cake
# RUN: not pkb-opt %t.json.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=JSON
# JSON: member 'bundle.json' is not JSON: [1:{{.*}}]: Expected
# RUN: not pkb-opt %t.deep.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=DEEP
# DEEP: member 'bundle.json' is not {{JSON}}: [byte 512]: more than 512 lists and objects are inside each other
# RUN: not pkb-opt %t.pt2.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=PT2
# PT2: member 'archive/models/model.json' is not {{JSON}}: [1:{{.*}}]: Invalid
# RUN: not pkb-opt %t.foreign.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=FOREIGN
# FOREIGN: has no member 'bundle.json', so it is no bundle; make one with pkb-export
# RUN: not pkb-opt %t.window.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=WINDOW
# WINDOW: member 'rank0.json': tensors[0]: reaches byte 40 of a storage of 16
# RUN: not pkb-opt %t.undescribed.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=UNDESCRIBED
# UNDESCRIBED: model.py:1: aten::neg: tensor 99 is used but not described
# RUN: not pkb-opt %t.unmade.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=UNMADE
# UNMADE: model.py:1: aten::neg: tensor 1 is read before anything makes it
# RUN: not pkb-opt %t.kind.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=KIND
# KIND: member 'rank0.json': events[1]: event of kind 'dream' at model.py:1 is not supported
# RUN: not pkb-opt %t.literal.pkb -o %t.mlir 2>&1 | FileCheck %s --check-prefix=LITERAL
# LITERAL: member 'tensors/{{.*}}.bin' must hold 16 bytes, got: 3
#
# RUN: not ls %t.mlir
import json
import os
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from bundle import spmd

OUT = sys.argv[1]


def program(rank):
    x = rank.input([4])
    rank.all_reduce(x)
    rank.returns(x)


def make(name, **more):
    spmd(f"{OUT}.{name}.pkb", 2, more.pop("program", program), **more)
    return f"{OUT}.{name}.pkb"


def edited(number, **changes):
    """Changes rank<number>.json before hashes are taken."""
    def edit_bundle(bundle):
        bundle["files"].pop(f"rank{number}.json")

    def edit_members(members):
        rank = json.loads(members[f"rank{number}.json"])
        rank.update(changes)
        members[f"rank{number}.json"] = json.dumps(rank).encode()
    return {"edit": edit_bundle, "edit_members": edit_members}


with open(make("cut"), "r+b") as file:
    file.truncate(os.path.getsize(file.name) // 2)

path = make("flip")
with zipfile.ZipFile(path) as archive:
    at = archive.getinfo("rank1.json").header_offset
with open(path, "r+b") as file:
    file.seek(at + 30 + len("rank1.json") + 40)
    byte = file.read(1)
    file.seek(-1, os.SEEK_CUR)
    file.write(bytes([byte[0] ^ 0x10]))

make("hash", edit_members=lambda members: members.update({"source/model.py": b"def solution(x):\n    return -x\n"}))
make("gone", edit_members=lambda members: members.pop("source/model.py"))
make("rank", edit_members=lambda members: members.pop("rank1.json"))
make("mixed", **edited(1, capture="fedcba9876543210fedcba9876543210"))
make("swapped", **edited(1, rank=0))
make("major", edit=lambda bundle: bundle.update(version=[2, 0]))
make("minor", **edited(0, version=[1, 7]))
make("schema", edit=lambda bundle: bundle.update(schema="pkb-cake"))
make("json", edit_members=lambda members: members.update({"bundle.json": b"{pkb"}))
make("deep", edit_members=lambda members: members.update({"bundle.json": b"[" * 200000}))
for name, members in (("pt2", ["archive/archive_format", "archive/models/model.json"]), ("foreign", ["a.txt"])):
    with zipfile.ZipFile(f"{OUT}.{name}.pkb", "w") as archive:
        for member in members:
            archive.writestr(member, "x")


def reads(tensor):
    def program(rank):
        rank.input([4])
        rank.tensor([4])
        rank.op("aten::neg", [{"t": tensor}], [rank.tensor([4])])
    return program


def outside(rank):
    rank.input([4], strides=[3])
    rank.storages[0]["bytes"] = 16


def dream(rank):
    program(rank)
    rank.events.append({"kind": "dream", "site": 0})


make("window", program=outside)
make("undescribed", program=reads(99))
make("unmade", program=reads(1))
make("kind", program=dream)
make("literal", program=lambda rank: rank.returns(rank.literal(rank.tensor([4], origin="literal"), b"abc")))
