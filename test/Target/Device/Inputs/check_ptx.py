# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the PTX of Inputs/functions.cu against the rows of ops.def.

check_ptx.py OPS_DEF PTX

Every row's opcode must stand in the kernel use_<function>; and every instruction there that orders, blocks or names a scope must be one of the
function's rows. Prints one line per row and the totals; exit 1 with one line per mismatch otherwise.
"""
import re
import sys

ROW = re.compile(r'^PKB_DEVICE_OP\((\w+), (\w+), "((?:[^"\\]|\\.)*)", (\w+), (\w+), (\w+), (\w+)\)', re.M)
KERNEL = re.compile(r"\.entry use_(\w+)\(.*?\n\{(.*?)\n\}", re.S)
ORDERS = re.compile(r"(?<![\w.])(?:bar|barrier|atom|red|fence|membar|ld\S*\.(?:relaxed|acquire|volatile)|st\S*\.(?:relaxed|release|volatile))[.\s]")
# Outside of the functions' own rows: the abort word and the report of a spin that has run out of its bound (docs/Rationale/Runtime.md).
SPIN_EXTRAS = re.compile(r"ld\.volatile\S*\.u32|st\.volatile\S*\.u64|atom\S*\.sys\S*\.cas\.b64|(?:fence|membar)\.(?:sc\.)?sys")


def posix(regex):
    """ops.def writes POSIX expressions inside of C string literals."""
    return re.compile(regex.replace("\\\\", "\\").replace("[[:space:]]", r"\s"))


def main(ops_def, ptx_file):
    with open(ops_def, encoding="utf-8") as file:
        rows = ROW.findall(file.read())
    with open(ptx_file, encoding="utf-8") as file:
        kernels = dict(KERNEL.findall(file.read()))
    errors = []
    if not rows:
        errors.append(f"{ops_def}: no rows")
    functions = {}
    for name, function, regex, semantics, scope, _, _ in rows:
        functions.setdefault(function, []).append(regex)
        if function not in kernels:
            errors.append(f"{name}: no kernel use_{function}")
        elif regex and not posix(regex).search(kernels[function]):
            errors.append(f"{name}: '{regex}' is not in the PTX of {function}")
        for word in (semantics, scope):  # the words of the row must be in its opcode, so that the emulator and the GPU agree
            stands_for_itself = word in ("none", "weak", "thread", "cta") or "bar\\\\.sync" in regex
            if not stands_for_itself and word not in regex:
                errors.append(f"{name}: its opcode '{regex}' does not say '{word}'")
        if not errors:
            print(f"{name}: {semantics} {scope}: {regex or '-'}")
    for function, body in kernels.items():
        if function not in functions:
            errors.append(f"use_{function}: no row for this function")
            continue
        allowed = [posix(regex) for regex in functions[function] if regex]
        if function in ("wait", "wait_blocks", "load_ll", "gather_ll"):
            allowed.append(SPIN_EXTRAS)
        for line in body.splitlines():
            if ORDERS.search(line) and not any(regex.search(line) for regex in allowed):
                errors.append(f"{function}: '{line.strip()}' is in no row")
    for error in errors:
        print(f"error: {error}")
    print(f"{len(rows)} rows, {len(kernels)} functions, {len(errors)} errors")
    return 1 if errors else 0


sys.exit(main(*sys.argv[1:]))
