# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits kernels of large messages, builds each with the header beside this file and runs it.

usage: run.py CXX SOURCE_ROOT SCRATCH
"""
import json
import os
import subprocess
import sys

CXX, ROOT, SCRATCH = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
HALF, GIB3 = 268435456, 805306369  # elements of f32: 1 GiB, and 3 GiB and one element
CASES = {
    "all_gather_v": (f"comm.all_gather_v %a in <[[0, 1]]> counts [{GIB3}, {HALF}] : (tensor<{GIB3}xf32>) -> tensor<{GIB3 + HALF}xf32>",
                     f"tensor<{GIB3}xf32>", f"tensor<{GIB3 + HALF}xf32>", "(pkb::trace.rank == 0 ? 3221225476 : 1073741824)", 4 * (GIB3 + HALF)),
    "all_to_all": ("comm.all_to_all %a in <[[0, 1]]> : (tensor<1610612736xf32>) -> tensor<1610612736xf32>", "tensor<1610612736xf32>",
                   "tensor<1610612736xf32>", 6442450944, 6442450944),
}  # fmt: skip

failed = False
for name, (operation, argument, result, read, written) in CASES.items():
    base = f"{SCRATCH}.{name}"
    with open(base + ".mlir", "w") as f:
        f.write(f"module attributes {{comm.mesh = #comm.mesh<size = 2>}} {{\nfunc.func @main(%a: {argument}) -> {result} {{\n"
                f"%0 = {operation}\nreturn %0 : {result}\n}}\n}}\n")  # fmt: skip
    subprocess.run(["pkb-opt", base + ".mlir", "--pkb-pipeline=target=h200x2 mechanism=ldst", "-o", base + ".cu"], check=True)
    with open(base + ".cu") as f:
        text = f.read()
    manifest = json.loads(text[text.index("/* pkb-manifest") + len("/* pkb-manifest") : text.index("*/")])
    values = {"PROGRAM": f'"{base}.cu"', "KERNEL": manifest["kernels"][0]["name"], "RANKS": 2, "GRID": manifest["steps"][0]["grid"],
              "REGION_BYTES": manifest["region_bytes"], "READ_BYTES": read, "WRITTEN_BYTES": written}  # fmt: skip
    command = [CXX, "-std=c++17", "-O1", "-w", f"-I{HERE}", f"-I{ROOT}/runtime/include", os.path.join(HERE, "check.cpp"), "-o", base + ".run"]
    subprocess.run(command + [f"-D{key}={value}" for key, value in values.items()], check=True)
    done = subprocess.run([base + ".run"], capture_output=True, text=True)
    failed |= done.returncode != 0
    print("\n".join(f"{name}: {line}" for line in done.stdout.splitlines()))
sys.exit(failed)
