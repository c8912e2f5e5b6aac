# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the interpreter makes of each collective at level L1 is what torch's arithmetic makes of the same inputs, bit for bit, infinities
and NaNs among them: every reduction and dtype, groups of 1 to 8 ranks, sub-groups with roots that differ, messages of no element, of one and of 81."""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import cells  # noqa: E402
import torch  # noqa: E402

TORCH = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8,
    "bool": torch.bool, "c64": torch.complex64, "c128": torch.complex128,
}  # fmt: skip


def by_halves(step):
    """torch's vectorized product and quotient of complex numbers round in an order of their own, and its sum multiplies by a complex one, so
    an infinity in one half becomes a NaN in the other."""
    return lambda a, b: torch.view_as_complex(step(torch.view_as_real(a), torch.view_as_real(b) if torch.is_tensor(b) else b))


def complex_product(a, b):
    (ar, ai), (br, bi) = torch.view_as_real(a).unbind(-1), torch.view_as_real(b).unbind(-1)
    return torch.complex(ar * br - ai * bi, ar * bi + ai * br)


def combine(kind, dtype, parts, factors):
    """In the order of `parts`, in the accumulation type; complex numbers by halves."""
    wide = torch.float32 if dtype in ("f16", "bf16", "e4m3", "e5m2") else TORCH[dtype]
    values = [p.to(wide) for p in parts]
    if kind == "premul_sum":
        multiply = by_halves(torch.mul) if dtype in ("c64", "c128") else torch.mul
        values = [multiply(v, f) for v, f in zip(values, factors)]
    if dtype == "bool":
        kind = {"sum": "bor", "prod": "band", "min": "band", "max": "bor"}.get(kind, kind)
    step = {"sum": torch.add, "avg": torch.add, "premul_sum": torch.add, "prod": torch.mul, "min": torch.fmin if wide.is_floating_point else torch.minimum,
            "max": torch.fmax if wide.is_floating_point else torch.maximum, "band": torch.bitwise_and, "bor": torch.bitwise_or, "bxor": torch.bitwise_xor}[kind]  # fmt: skip
    divide = torch.div
    if dtype in ("c64", "c128"):
        step, divide = complex_product if kind == "prod" else by_halves(step), by_halves(torch.div)
    total = values[0]
    for value in values[1:]:
        total = step(total, value)
    if kind == "avg":
        total = divide(total, len(values))
    return total.to(TORCH[dtype])


def expected(cell, position, row, inputs):
    """The results of the rank at `position` of row number `row`; None where its elements are not defined. inputs: by member, its tensors."""
    ranks, n = cell.rows[row], cell.size
    root = ranks.index(cell.roots[row])
    base, is_list = cell.collective.removesuffix("_list"), cell.collective.endswith("_list")
    part = lambda member, k: inputs[member][k] if is_list else inputs[member][0].reshape(n, -1)[k]  # noqa: E731
    join = lambda parts: parts if is_list else [torch.cat(parts)]  # noqa: E731
    factors = cell.factors[row * n:(row + 1) * n]
    whole = [i[0] for i in inputs]
    if base == "all_reduce":
        return [combine(cell.kind, cell.dtype, whole, factors)]
    if base == "reduce":
        return [combine(cell.kind, cell.dtype, whole, factors) if position == root else whole[position]]
    if base == "reduce_scatter":
        return [combine(cell.kind, cell.dtype, [part(m, position) for m in range(n)], factors)]
    if base == "all_gather":
        return join(whole)
    if base == "gather":
        return join(whole) if position == root else [None]
    if base == "all_to_all":
        return join([part(m, position) for m in range(n)])
    if base == "all_to_all_v":
        return [torch.cat([whole[m].split(cell.counts[m])[position] for m in range(n)])]
    if base == "scatter":
        return [part(root, position)]
    if base == "broadcast":
        return [whole[root]]
    senders = [a for a, b in cell.pairs if b == ranks[position]]
    return [whole[ranks.index(senders[0])] if senders else None]


def tensor(data, dtype):
    return torch.frombuffer(bytearray(data), dtype=TORCH[dtype]) if data else torch.empty(0, dtype=TORCH[dtype])


def same(left, right):
    """Bit for bit, but any NaN equals any NaN."""
    if left.dtype.is_complex:
        left, right = torch.view_as_real(left.contiguous()), torch.view_as_real(right.contiguous())
    if left.dtype.is_floating_point:
        nan = left.float().isnan()
        if not torch.equal(nan, right.float().isnan()):
            return False
        left, right = left[~nan], right[~nan]
    return left.numel() == right.numel() and torch.equal(left.contiguous().view(torch.uint8), right.contiguous().view(torch.uint8))


def check(cell, seen):
    """seen: (rank, name) -> bytes, or None where they are not defined."""
    inputs, _ = cells.signature(cell)
    for row, ranks in enumerate(cell.rows):
        given = [[tensor(seen[r, f"argument {i}"], cell.dtype) for i in range(len(inputs))] for r in ranks]
        for position, rank in enumerate(ranks):
            for i, want in enumerate(expected(cell, position, row, given)):
                got = seen[rank, f"result {i}"]
                if want is None:
                    if got is not None:
                        return f"rank {rank} result {i} must not be defined"
                elif got is None or not same(want, tensor(got, cell.dtype)):
                    return f"rank {rank} result {i}: {got and tensor(got, cell.dtype)[:8]} is not {want[:8]}"
    return None


groups = [(n, cells.whole(n)) for n in (1, 2, 3, 4, 5, 6, 8)] + [(6, ((0, 2, 4), (5, 3, 1))), (6, ((5, 0), (1, 2)))]
todo = list(cells.cells(cells.COLLECTIVES, cells.KINDS, cells.DTYPES, groups[:1] + groups[2:3] + groups[-2:], (0, 1, 81)))
todo += list(cells.cells(cells.COLLECTIVES, ("sum", "max"), ("bf16", "i32"), groups, (0, 7)))
text = "\n// -----\n".join(cells.module(cell) for cell in todo)
tool = os.path.join(os.environ["PKB_BUILD_DIR"], "bin", "pkb-interpret")
done = subprocess.run([tool, "-", "--split-input-file", "--print=0", "--json", "--special-values"], input=text, text=True, capture_output=True)
if done.returncode:
    sys.exit(done.stderr)
programs = collections.defaultdict(dict)
for line in done.stdout.splitlines():
    row = json.loads(line)
    programs[row["program"]][row["rank"], row["name"]] = bytes.fromhex(row["bytes"]) if row["defined"] else None
errors = [check(cell, programs[f"- piece {number}"]) for number, cell in enumerate(todo)]
wrong = [f"{cell.name}: {error}" for cell, error in zip(todo, errors) if error]
print("\n".join(wrong[:20]))
print(f"{len(todo) - len(wrong)} of {len(todo)} right")
sys.exit(1 if wrong or not todo else 0)
