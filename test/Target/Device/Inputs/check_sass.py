# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the machine code of the kernels of a .cu against their PTX: an LL line is one access of 16 bytes in both.

check_sass.py NVCC CUOBJDUMP INCLUDE ARCHITECTURE FILE.cu [OPTION ...]

PTX says `b128`, but ptxas may take a load of which not all words are used apart. So in each kernel there must be as many loads and stores of 128 bits at
system scope as the PTX has, and no more narrow loads at that scope than the watchdog's, which the PTX shows as such. Prints a row per kernel and the totals;
exit 1 with a line for each that differs.
"""
import os
import re
import subprocess
import sys
import tempfile

PTX_KERNEL = re.compile(r"\.entry (\w+)\(.*?\n\{(.*?)\n\}", re.S)
SASS_KERNEL = re.compile(r"Function : (\w+)\n(.*?)(?=Function : |\Z)", re.S)
# A volatile access is one at system scope.
PTX_LOAD, PTX_STORE = (re.compile(rf"\b{kind}\.(?:(?:relaxed|acquire|release)\.sys|volatile)\.global\.(\S+)") for kind in ("ld", "st"))
SASS_LOAD, SASS_STORE = (re.compile(rf"\b{kind}\.(\S*)STRONG\.SYS") for kind in ("LDG", "STG"))


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{os.path.basename(command[0])} failed: {done.stderr.strip()}")
    return done.stdout


def count(accesses):
    """(of 128 bits, narrower)"""
    wide = sum("128" in access or access.startswith("v4.u32") for access in accesses)
    return wide, len(accesses) - wide


def main(nvcc, cuobjdump, include, architecture, source, *options):
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = os.path.join(folder, "x.ptx"), os.path.join(folder, "x.cubin")
        number = architecture.removeprefix("sm_")
        run(nvcc, "-std=c++17", f"-arch=compute_{number}", "-ptx", f"-I{include}", *options, source, "-o", ptx)
        run(nvcc, f"-arch={architecture}", "-cubin", ptx, "-o", cubin)
        with open(ptx, encoding="utf-8") as f:
            asked = dict(PTX_KERNEL.findall(f.read()))
        made = dict(SASS_KERNEL.findall(run(cuobjdump, "-sass", cubin)))
    errors, lines = [], 0
    if not asked or asked.keys() != made.keys():
        errors.append(f"kernels of the PTX and of the machine code must be the same, got: {sorted(asked)} and {sorted(made)}")
    for name in sorted(asked.keys() & made.keys()):
        loads, narrow = count(PTX_LOAD.findall(asked[name]))
        stores, _ = count(PTX_STORE.findall(asked[name]))
        got_loads, got_narrow = count(SASS_LOAD.findall(made[name]))
        got_stores, _ = count(SASS_STORE.findall(made[name]))
        print(f"{name}: {got_loads} loads and {got_stores} stores of whole lines, {got_narrow} narrow loads")
        lines += got_loads
        if (got_loads, got_stores) != (loads, stores):
            errors.append(f"{name}: {loads} loads and {stores} stores of 128 bits must be as many in the machine code, got: {got_loads} and {got_stores}")
        if got_narrow > narrow:
            errors.append(f"{name}: {got_narrow - narrow} narrow loads at system scope are in the machine code only: a line is loaded in parts")
        if loads == 0:
            errors.append(f"{name}: has no LL lines to look at")
    for error in errors:
        print(f"error: {error}")
    print(f"{len(asked)} kernels, {lines} loads of lines, {len(errors)} errors")
    return 1 if errors else 0


sys.exit(main(*sys.argv[1:]))
