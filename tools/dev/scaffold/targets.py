# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A target machine: a machine file with the figures of another, to be measured, and a test that pkb-opt knows it."""
import json
import os
import re

from scaffold import Failed, read, write_new

HELP = "a target machine (lib/Target/Machines): target b200 --device \'NVIDIA B200\' [--like h200]"

TEST = '''// RUN: pkb-opt %s --pkb-pipeline=target=@NAME@x2 | FileCheck %s

// The machine is built into pkb-opt under its name, for any number of ranks.
// CHECK: cuda.target = "@NAME@x2"
// CHECK: cuda.kernel @all_reduce_0
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<1024xf32>
    return %0 : tensor<1024xf32>
  }
}
'''
PLACEHOLDERS = {
    ", not measured\"": "measure the machine with pkb-calibrate (docs/Tools/pkb-calibrate.md), which writes its figures and their source",
}


def arguments(parser):
    parser.add_argument("name", metavar="NAME", help="small letters and digits, begins with a letter")
    parser.add_argument("--device", metavar="TEXT", required=True, help="name of the GPU, as the driver gives it")
    parser.add_argument("--like", metavar="NAME", default="h200", help="the machine whose figures it begins with (default: h200)")


def plan(root, args):
    """{path: text} of every file to write."""
    if not re.fullmatch(r"[a-z][a-z0-9]*", args.name) or re.search(r"x\d+$", args.name):
        raise Failed(f"name must be small letters and digits, and must not end like a number of ranks (x4), got: {args.name}")
    folder = "lib/Target/Machines"
    text = read(root, f"{folder}/{args.like}.json")
    if text is None:
        there = sorted(name[:-5] for name in os.listdir(os.path.join(root, folder)) if name.endswith(".json")) if os.path.isdir(os.path.join(root, folder)) else []
        raise Failed(f"there is no machine {args.like} to begin with; there are: {', '.join(there)}")
    for key, value in (("machine", args.name), ("device", args.device), ("source", f"figures of {args.like}, not measured")):
        text, count = re.subn(rf'("{key}": )"[^"]*"', lambda match: match[1] + json.dumps(value), text, count=1)
        if not count:
            raise Failed(f"{folder}/{args.like}.json has no key {key}")
    texts = {}
    write_new(texts, root, f"{folder}/{args.name}.json", text)
    write_new(texts, root, f"test/Target/machine-{args.name}.mlir", TEST.replace("@NAME@", args.name))
    return texts


def after(args):
    return (f"on the machine, pkb-calibrate measures lib/Target/Machines/{args.name}.json (docs/Tools/pkb-calibrate.md); then tools/dev/run_tests.py --build build "
            f"--filter machine-{args.name}")
