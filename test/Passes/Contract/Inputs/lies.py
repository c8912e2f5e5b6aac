# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that the lowering makes, with another promise or another reading of it, are rejected; unchanged they are proved. Prints the count.

usage: lies.py
"""
import os
import re
import subprocess
import sys

SCHEDULE = ("{xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 3, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>}")
GROUP = "<[[0, 1, 2]]>"
ONE, ALL = "tensor<40xbf16>", "tensor<120xbf16>"
SUM = "accumulate f32 deterministic"

# Operation of level L1, then lies: (what is replaced in its kernel, by what, the code that rejects it).
CASES = {
    f"comm.all_reduce max %a in {GROUP} {SUM} {SCHEDULE} : {ONE}": [
        ("by  max", "by  min", "XV103"), ("implements  all_reduce by  max", "implements  all_reduce", "XV103"),
        ("arith.maxnumf", "arith.minnumf", "XV103"), ("implements  all_reduce by  max", "implements  broadcast root 0", "XV103")],
    f"comm.all_reduce avg %a in {GROUP} {SUM} {SCHEDULE} : {ONE}": [
        ("by  avg", "by  sum", "XV103"), ("3.000000e+00", "2.000000e+00", "XV103")],
    f"comm.all_reduce premul_sum %a in {GROUP} factors [0.5, 0.25, 2.0] {SUM} {SCHEDULE} : {ONE}": [
        ("factors [5.000000e-01, 2.500000e-01", "factors [2.500000e-01, 5.000000e-01", "XV103"), ("by  premul_sum", "by  sum", "XV103")],
    f"comm.all_reduce bxor %i in {GROUP} accumulate i32 deterministic {SCHEDULE} : tensor<40xi32>": [
        ("by  bxor", "by  bor", "XV103"), ("arith.xori", "arith.addi", "XV103")],
    f"comm.all_reduce min %u in {GROUP} accumulate ui8 deterministic {SCHEDULE} : tensor<40xui8>": [("arith.minui", "arith.minsi", "XV103")],
    f"comm.all_reduce sum %z in {GROUP} accumulate i1 deterministic {SCHEDULE} : tensor<40xi1>": [("arith.ori", "arith.addi", "XV103")],
    f"comm.reduce_scatter sum %b in {GROUP} {SUM} {SCHEDULE} : ({ALL}) -> {ONE}": [
        ("implements  reduce_scatter", "implements  all_reduce", "XV104"), ("arith.addf", "arith.mulf", "XV103")],
    f"comm.broadcast %a in {GROUP} from [2] {SCHEDULE} : {ONE}": [
        ("root 2", "root 1", "XV103"), ("xfer.table [2, 2, 2]", "xfer.table [2, 0, 2]", "XV506"), ("xfer.on_ranks [0, 1]", "xfer.on_ranks [0]", "XV101"),
        ("xfer.on_ranks [2]", "xfer.on_ranks [1]", "XV506")],
    f"comm.reduce sum %a in {GROUP} to [1] {SUM} {SCHEDULE} : {ONE}": [
        ("root 1", "root 0", "XV103"), ("xfer.on_ranks [0, 2]", "xfer.on_ranks [0]", "XV506"), ("xfer.on_ranks [1]", "xfer.on_ranks [0]", "XV102")],
    f"comm.gather %a in {GROUP} to [0] {SCHEDULE} : ({ONE}) -> {ALL}": [
        ("root 0", "root 1", "XV103"), ("implements  gather root 0", "implements  all_gather", "XV101")],
    f"comm.scatter %b in {GROUP} from [0] {SCHEDULE} : ({ALL}) -> {ONE}": [
        ("root 0", "root 2", "XV103"), ("implements  scatter root 0", "implements  reduce_scatter", "XV103")],
    f"comm.permute %a in {GROUP} pairs [[0, 1], [1, 2]] {SCHEDULE} : ({ONE}) -> {ONE}": [
        ("sources [-1, 0, 1]", "sources [-1, 0, 0]", "XV103"), ("sources [-1, 0, 1]", "sources [2, 0, 1]", "XV101"),
        ("sources [-1, 0, 1]", "sources [-1, 0, -1]", "XV103"), ("xfer.table [1, 2, -1]", "xfer.table [1, 3, -1]", "XV001"),
        (" sources [-1, 0, 1]", "", "XV104")],
    f"comm.all_gather_v %a in {GROUP} counts [40, 0, 7] {SCHEDULE} : ({ONE}) -> tensor<47xbf16>": [
        ("counts [40, 0, 7]", "counts [40, 7, 0]", "XV103"), ("counts [40, 0, 7]", "counts [40, 0, 6]", "XV103"),
        ("xfer.table [0, 40, 40]", "xfer.table [0, 40, 39]", "XV102"), ("xfer.table [40, 0, 7]", "xfer.table [41, 0, 7]", "XV108"),
        (" counts [40, 0, 7]", "", "XV104")],
    f"comm.all_to_all_v %b in {GROUP} counts [[40, 40, 40], [40, 40, 40], [0, 40, 80]] {SCHEDULE} : ({ALL}) -> tensor<160xbf16>": [
        ("counts [40, 40, 40, 40, 40, 40, 0, 40, 80]", "counts [40, 40, 40, 40, 40, 40, 0, 80, 40]", "XV103"),
        ("xfer.table [0, 40, 80, 0, 40, 80, 0, 0, 40]", "xfer.table [0, 40, 80, 0, 40, 80, 0, 0, -1]", "XV107")],
    f"comm.reduce_scatter_v sum %b in {GROUP} counts [40, 80, 0] {SUM} {SCHEDULE} : ({ALL}) -> tensor<80xbf16>": [
        ("counts [40, 80, 0]", "counts [80, 40, 0]", "XV103")],
}  # fmt: skip


def opt(text, *passes):
    done = subprocess.run([os.path.join(os.environ["PKB_BUILD_DIR"], "bin", "pkb-opt"), "-", *passes], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def main():
    bad, lies = [], 0
    for operation, changes in CASES.items():
        program = (f"module attributes {{comm.mesh = #comm.mesh<size = 3>}} {{\nfunc.func @main(%a: {ONE}, %b: {ALL}, %i: tensor<40xi32>, %u: tensor<40xui8>, "
                   f"%z: tensor<40xi1>) {{\n%0 = {operation}\nreturn\n}}\n}}\n")  # fmt: skip
        name = " ".join(operation.split()[:2])
        status, kernel, error = opt(program, "-pkb-convert-comm-to-xfer")
        if status:
            bad.append(f"{name}: not lowered: {error}")
            continue
        status, _, error = opt(kernel, "-pkb-verify-xfer")
        if status:
            bad.append(f"{name}: not proved: {error}")
        for old, new, code in changes:
            lies += 1
            if old not in kernel:
                bad.append(f"{name}: '{old}' is not in its kernel:\n{kernel}")
                continue
            status, _, error = opt(kernel.replace(old, new), "-pkb-verify-xfer")
            found = re.findall(r"op (XV\d+):", error)
            if not status or code not in found:
                bad.append(f"{name}: '{new}' for '{old}': expected {code}, got {found} {error if not found else ''}")
    print("\n".join(bad) or f"{lies} lies of {len(CASES)} kernels rejected")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
