# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a level L1 program with every collective that kernels carry out, in single and list form, over several element types.

usage: collectives.py RANKS ELEMENTS [few]

ELEMENTS: of one message. few: one element type for each kind of arithmetic, six kernels in place of twenty. Schedules are left to
pkb-select-mechanism.
"""
import sys

ranks, elements = int(sys.argv[1]), int(sys.argv[2])
group = "<[[" + ", ".join(str(rank) for rank in range(ranks)) + "]]>"
few = len(sys.argv) > 3 and sys.argv[3] == "few"
arguments, body, results = [], [], []


def argument(count, dtype):
    arguments.append(f"%a{len(arguments)}: tensor<{count}x{dtype}>")
    return f"%a{len(arguments) - 1}"


def add(operation, result):
    body.append(f"  %{len(body)} = {operation}")
    results.append((f"%{len(body) - 1}", result))


for dtype, accumulation in (("f64", "f64"), ("f32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("i8", "i64"), ("i16", "i64"), ("i32", "i64"),
                            ("i64", "i64")):
    if few and dtype not in ("bf16", "i32"):
        continue
    one = f"tensor<{elements}x{dtype}>"
    add(f"comm.all_reduce sum {argument(elements, dtype)} in {group} accumulate {accumulation} deterministic : {one}", one)
for dtype in ("bf16",) if few else ("bf16", "i64", "ui8", "i1", "complex<f32>"):
    one, all_ = f"tensor<{elements}x{dtype}>", f"tensor<{ranks * elements}x{dtype}>"
    add(f"comm.all_gather {argument(elements, dtype)} in {group} : ({one}) -> {all_}", all_)
    add(f"comm.all_to_all {argument(ranks * elements, dtype)} in {group} : ({all_}) -> {all_}", all_)
one = f"tensor<{elements}xf16>"
many = ", ".join([one] * ranks)
if ranks > 1:
    parts = ", ".join(argument(elements, "f16") for _ in range(ranks))
    body.append(f"  %{len(body)}:{ranks} = comm.all_to_all {parts} in {group} : ({many}) -> ({many})")
    results.append((f"%{len(body) - 1}#{ranks - 1}", one))
    body.append(f"  %{len(body)}:{ranks} = comm.all_gather {argument(elements, 'f16')} in {group} : ({one}) -> ({many})")
    results.append((f"%{len(body) - 1}#0", one))
print(f"module attributes {{comm.mesh = #comm.mesh<size = {ranks}>}} {{")
print(f"func.func @main({', '.join(arguments)}) -> ({', '.join(result for _, result in results)}) {{")
print("\n".join(body))
print(f"  return {', '.join(name for name, _ in results)} : {', '.join(result for _, result in results)}\n}}\n}}")
