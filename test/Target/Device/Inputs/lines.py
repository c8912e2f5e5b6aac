# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a level L1 program whose kernels use lines in part: statistics of rows, of which a line has one word or a few, and messages that are narrower or
wider than what is computed with them.

usage: lines.py RANKS
"""
import sys

ranks = int(sys.argv[1])
group = "<[[" + ", ".join(map(str, range(ranks))) + "]]>"
ROWS, COLUMNS, ELEMENTS = 24, 64, 1536
arguments, body, results = [], [], []


def argument(kind):
    arguments.append(f"%a{len(arguments)}: {kind}")
    return f"%a{len(arguments) - 1}"


def add(operation, result):
    body.append(f"  %{len(body)} = {operation}")
    return f"%{len(body) - 1}"


def call(name, kind, *operands, types, overload="", more=""):
    """An operator of `operands` (values) and constants `more`."""
    places = ", ".join([f"#aten.operand<{i}>" for i in range(len(operands))] + ([more] if more else []))
    overload = f' overload "{overload}"' if overload else ""
    return add(f'aten.call "aten::{name}"{overload}({", ".join(operands)}) args [{places}] returns [#aten.result<0>] : ({", ".join(types)}) -> {kind}', kind)


def statistic(dtype, reduce, kind, overload, accumulation):
    """Rows less what all ranks have of them: one number of `dtype` for each row."""
    whole, column = f"tensor<{ROWS}x{COLUMNS}x{dtype}>", f"tensor<{ROWS}x1x{dtype}>"
    x = argument(whole)
    own = call(reduce, column, x, types=[whole], overload=overload, more="array<i64: -1>, true")
    every = add(f"comm.all_reduce {kind} {own} in {group} accumulate {accumulation} deterministic : {column}", column)
    results.append((call("sub", whole, x, every, types=[whole, column], overload="Tensor", more=""), whole))


def converted(message, computed, accumulation):
    """A sum of `message`, from `computed` and back to it."""
    narrow, wide = f"tensor<{ELEMENTS}x{message}>", f"tensor<{ELEMENTS}x{computed}>"
    names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}

    def to(value, source, target, dtype):
        return add(f'aten.call "aten::_to_copy"({value}) args [#aten.operand<0>] kwargs {{dtype = #aten.dtype<{names[dtype]}>}} returns [#aten.result<0>] '
                   f": ({source}) -> {target}", target)  # fmt: skip

    sent = to(argument(wide), wide, narrow, message)
    every = add(f"comm.all_reduce sum {sent} in {group} accumulate {accumulation} deterministic : {narrow}", narrow)
    results.append((call("neg", wide, to(every, narrow, wide, computed), types=[wide]), wide))


for dtype, accumulation in (("f32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("f64", "f64")):
    statistic(dtype, "sum", "sum", "dim_IntList", accumulation)
    statistic(dtype, "amax", "max", "", dtype)
for message, computed in (("bf16", "f32"), ("f16", "f64"), ("f64", "f32"), ("f32", "bf16")):
    converted(message, computed, "f64" if message == "f64" else "f32")
print(f"module attributes {{comm.mesh = #comm.mesh<size = {ranks}>}} {{")
print(f"func.func @main({', '.join(arguments)}) -> ({', '.join(kind for _, kind in results)}) {{")
print("\n".join(body))
print(f"  return {', '.join(name for name, _ in results)} : {', '.join(kind for _, kind in results)}\n}}\n}}")
