# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Level L1 programs of one collective each, over collective x form x reduction x dtype x group x size.

As a program it prints them, a piece each, for `pkb-interpret --split-input-file`:

  cells.py --ranks 2,3 --elements 0,1,81 --dtypes bf16,i32 --mechanism ldst [--collectives all_reduce,gather] [--kinds sum] [--depth D]

The name of the function in a piece says which cell it is.
"""
import argparse
from dataclasses import dataclass

KINDS = ("sum", "avg", "min", "max", "prod", "band", "bor", "bxor", "premul_sum")
# Name -> (type, accumulation type, class).
DTYPES = {
    "f64": ("f64", "f64", "float"), "f32": ("f32", "f32", "float"), "f16": ("f16", "f32", "float"), "bf16": ("bf16", "f32", "float"),
    "e4m3": ("f8E4M3FN", "f32", "float"), "e5m2": ("f8E5M2", "f32", "float"),
    "i64": ("i64", "i64", "integer"), "i32": ("i32", "i32", "integer"), "i16": ("i16", "i16", "integer"), "i8": ("i8", "i8", "integer"),
    "u8": ("ui8", "ui8", "integer"), "bool": ("i1", "i1", "bool"),
    "c64": ("complex<f32>", "complex<f32>", "complex"), "c128": ("complex<f64>", "complex<f64>", "complex"),
}  # fmt: skip
REDUCING = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_list")
MOVING = ("all_gather", "all_gather_list", "all_to_all", "all_to_all_list", "all_to_all_v", "broadcast", "gather", "gather_list", "scatter", "scatter_list",
          "permute")  # fmt: skip
COLLECTIVES = REDUCING + MOVING
MECHANISMS = ("ldst", "ll", "copy_engine", "nccl")


def is_defined(kind, dtype):
    """As the ReductionOpInterface says."""
    element = DTYPES[dtype][2]
    if kind in ("sum", "prod"):
        return True
    if kind in ("avg", "premul_sum"):
        return element in ("float", "complex")
    if kind in ("min", "max"):
        return element != "complex"
    return element in ("integer", "bool")


@dataclass(frozen=True)
class Cell:
    """rows: the group's rows of ranks. elements: of one message. kind: None for what only moves. ranks: of the mesh."""

    collective: str
    kind: str
    dtype: str
    rows: tuple
    elements: int
    ranks: int

    @property
    def size(self):
        return len(self.rows[0])

    @property
    def name(self):
        rows = "_".join("".join(str(r) for r in row) for row in self.rows)
        return f"{self.collective}.{self.kind or 'move'}.{self.dtype}.{rows}.{self.elements}"

    def tensor(self, parts=1):
        return self.flat(self.elements * parts)

    def flat(self, count):
        return f"tensor<{count}x{DTYPES[self.dtype][0]}>"

    @property
    def counts(self):
        """Of all_to_all_v, by sender and receiver of a row: all sizes differ, one is 0, and all ranks have as many elements in all."""
        sizes = [0, self.elements, 1, 2 * self.elements + 1, 3, self.elements + 2, 5, 8][:self.size]
        return [[sizes[(sender + receiver) % self.size] for receiver in range(self.size)] for sender in range(self.size)]

    @property
    def roots(self):
        """By row: another position in each, so that roots that are not uniform are seen."""
        return [row[(1 + i) % len(row)] for i, row in enumerate(self.rows)]

    @property
    def pairs(self):
        """A ring, from which the last rank of each row does not send if there are more than two."""
        pairs = []
        for row in self.rows:
            ring = [[row[i], row[(i + 1) % len(row)]] for i in range(len(row))]
            pairs += ring[:-1] if len(row) > 2 else ring
        return pairs

    @property
    def factors(self):
        return [0.5 + 0.375 * i for i in range(sum(len(row) for row in self.rows))]


def signature(cell):
    """Types of the inputs and of the results."""
    one, all_, n = cell.tensor(), cell.tensor(cell.size), cell.size
    base, is_list = cell.collective.removesuffix("_list"), cell.collective.endswith("_list")
    many = [one] * n if is_list else [all_]
    uneven = [cell.flat(sum(cell.counts[0]))]
    return {
        "all_reduce": ([one], [one]), "reduce": ([one], [one]), "broadcast": ([one], [one]), "permute": ([one], [one]),
        "all_gather": ([one], many), "gather": ([one], many), "reduce_scatter": (many, [one]), "scatter": (many, [one]),
        "all_to_all": (many, many), "all_to_all_v": (uneven, uneven),
    }[base]  # fmt: skip


def module(cell, attributes=""):
    """The program's text; `attributes` are those of the collective, in braces."""
    inputs, results = signature(cell)
    base = cell.collective.removesuffix("_list")
    group = "<[" + ", ".join("[" + ", ".join(map(str, row)) + "]" for row in cell.rows) + "]>"
    arguments = [f"%a{i}" for i in range(len(inputs))]
    text = f"comm.{base} " + (f"{cell.kind} " if cell.kind else "") + ", ".join(arguments) + f" in {group}"
    if base in ("reduce", "gather"):
        text += f" to {cell.roots}"
    if base in ("broadcast", "scatter"):
        text += f" from {cell.roots}"
    if base == "all_to_all_v":
        text += f" counts {cell.counts * len(cell.rows)}"
    if base == "permute":
        text += f" pairs {cell.pairs}"
    if cell.kind == "premul_sum":
        text += f" factors {cell.factors}"
    if cell.kind:
        text += f" accumulate {DTYPES[cell.dtype][1]} deterministic"
    functional = f"({', '.join(inputs)}) -> ({', '.join(results)})"
    types = inputs[0] if base in ("all_reduce", "reduce", "broadcast") else functional
    names = [f"%r#{i}" for i in range(len(results))] if len(results) > 1 else ["%r"]
    bound = f"%r:{len(results)}" if len(results) > 1 else "%r"
    return "\n".join([
        f"module attributes {{comm.mesh = #comm.mesh<size = {cell.ranks}>}} {{",
        f'func.func @"{cell.name}"({", ".join(f"{a}: {t}" for a, t in zip(arguments, inputs))}) -> ({", ".join(results)}) {{',
        f"  {bound} = {text} {attributes} : {types}",
        f"  return {', '.join(names)} : {', '.join(results)}", "}", "}"])  # fmt: skip


def whole(ranks):
    return (tuple(range(ranks)),)


def schedule(mechanism, blocks=2, depth=1, chunk=32):
    """Small chunks, so that small messages have many; LL has one region for the whole message."""
    slots = 2 * depth + 2
    if mechanism == "ll":
        depth, slots = 0, 1
    if mechanism == "copy_engine": # whole messages, one chunk per block
        depth, slots, blocks = 0, 1, 64
    return (f"{{xfer.schedule = #xfer.schedule<mechanism = {mechanism}, blocks = {blocks}, threads = 64, chunk = {chunk}, depth = {depth}, "
            f"slots = {slots}, unroll = 2>}}")  # fmt: skip


def cells(collectives, kinds, dtypes, groups, elements):
    """groups: list of (ranks of the mesh, rows)."""
    for collective in collectives:
        for kind in kinds if collective in REDUCING else (None,):
            for dtype in dtypes:
                if kind and not is_defined(kind, dtype):
                    continue
                for ranks, rows in groups:
                    for count in elements:
                        yield Cell(collective, kind, dtype, rows, count, ranks)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: text.split(",")  # noqa: E731
    numbers = lambda text: [int(n) for n in text.split(",")]  # noqa: E731
    parser.add_argument("--ranks", type=numbers, default=[2, 3])
    parser.add_argument("--elements", type=numbers, default=[0, 1, 81])
    parser.add_argument("--dtypes", type=names, default=list(DTYPES))
    parser.add_argument("--collectives", type=names, default=list(COLLECTIVES))
    parser.add_argument("--kinds", type=names, default=list(KINDS))
    parser.add_argument("--mechanism", choices=MECHANISMS, default="ldst")
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--sub-groups", action="store_true", help="groups of a mesh of 6: rows of 3 and of 2, and one with outsiders")
    options = parser.parse_args()
    groups = [(n, whole(n)) for n in options.ranks]
    if options.sub_groups:
        groups = [(6, ((0, 2, 4), (1, 3, 5))), (6, ((5, 0), (1, 2))), (6, ((4, 1, 3),))]
    elements = [n for n in options.elements if n or options.mechanism != "ll"] # an empty message has no lines
    attributes = schedule(options.mechanism, depth=options.depth)
    print("\n// -----\n".join(module(cell, attributes)
                             for cell in cells(options.collectives, options.kinds, options.dtypes, groups, elements)))


if __name__ == "__main__":
    main()
