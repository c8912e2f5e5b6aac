# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is a result right? The rules of tools/pkb-run/Judge.cpp on tensors of any device (docs/Tools/pkb-run.md)."""

from dataclasses import dataclass, field
from enum import Enum

import torch

ALLOWANCE_OVER_REFERENCE = 1.25
_LARGEST = 1.7976931348623157e308

# Unit roundoff and half of the smallest subnormal, by dtype (IEEE 754, OCP 8-bit formats).
FORMATS = {
    torch.float64: (2.0**-53, 0.0),
    torch.float32: (2.0**-24, 2.0**-150),
    torch.float16: (2.0**-11, 2.0**-25),
    torch.bfloat16: (2.0**-8, 2.0**-134),
    torch.float8_e4m3fn: (2.0**-4, 2.0**-10),
    torch.float8_e5m2: (2.0**-3, 2.0**-17),
    torch.complex64: (2.0**-24, 2.0**-150),
    torch.complex128: (2.0**-53, 0.0),
}


class Comparison(Enum):
    BITS = "bitwise"  # the reference's bits
    VALUES = "values"  # its values: any NaN for a NaN, either zero for a zero
    BOUND = "bound"  # within an error bound


@dataclass
class Rule:
    """comparison: what is asked of an element. terms: longest sum into one element. roundings: values rounded to a storage dtype of
    unit roundoff `storage` (0: the output's) on the way, the last one not counted. atol, rtol: given by the user, or None."""

    comparison: Comparison = Comparison.BITS
    terms: float = 1.0
    roundings: float = 0.0
    storage: float = 0.0
    atol: float | None = None
    rtol: float | None = None


@dataclass
class Verdict:
    what: str
    dtype: str
    sizes: list
    comparison: Comparison
    reason: str = ""
    elements: int = 0
    mismatches: int = 0
    unwritten: int = 0
    error: float = 0.0
    ratio: float = 0.0
    reference_ratio: float = 0.0
    worst: dict = field(default_factory=lambda: {"rank": -1, "trial": -1, "index": []})
    replicated: bool = False

    def json(self):
        return {
            "what": self.what, "dtype": self.dtype, "sizes": self.sizes, "rule": self.comparison.value,
            "right": not self.reason, "reason": self.reason, "elements": self.elements, "mismatches": self.mismatches,
            "unwritten": self.unwritten, "max_error": min(self.error, _LARGEST), "error_over_bound": min(self.ratio, _LARGEST),
            "reference_error_over_bound": min(self.reference_ratio, _LARGEST), "worst": self.worst, "replicated": self.replicated,
        }  # fmt: skip


def dtype_name(dtype):
    return str(dtype).replace("torch.", "")


def is_number(dtype):
    return dtype in FORMATS


def poison_byte(dtype):
    """NaNs for floats, 0xA5 for the rest."""
    return 0xFF if is_number(dtype) else 0xA5


def poison(tensor):
    """Fills the memory of a dense tensor with the poison byte."""
    storage = tensor.untyped_storage()
    view = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
    view.fill_(poison_byte(tensor.dtype))
    return tensor


def element_bytes(tensor):
    """[elements, bytes per element] of a tensor, row-major."""
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.view(torch.uint8).reshape(flat.numel(), tensor.element_size())


def bits_hash(tensor):
    """A position-dependent 64-bit hash of the bits, computed on the tensor's device."""
    bytes_ = element_bytes(tensor).reshape(-1)
    if bytes_.numel() % 8:
        bytes_ = torch.nn.functional.pad(bytes_, (0, 8 - bytes_.numel() % 8))
    words = bytes_.view(torch.int64)
    if words.numel() == 0:
        return 0
    weights = torch.arange(words.numel(), device=words.device) * 0x9E3779B97F4A7C1 + 0x632BE59BD9B4E01
    return int((words * weights).sum().item())


def _wide(tensor):
    """Components as float64, one dimension (complex numbers are two components)."""
    t = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if t.is_complex():
        t = torch.view_as_real(t)
    return t.reshape(-1).double()


def magnitude(tensor):
    """Largest finite magnitude of a tensor, 0.0 if there is none."""
    wide = _wide(tensor).abs()
    wide = wide[wide.isfinite()]
    return float(wide.max().item()) if wide.numel() else 0.0


def _index(i, sizes):
    index = []
    for size in reversed(sizes):
        index.append(i % size)
        i //= size
    return index[::-1]


def judge(what, rule, trials, rank):
    """The verdict of one tensor on one rank.

    trials: for each trial a dict with `ours`, `reference` (same dtype and sizes), `oracle` (float64 or complex128, or None: the
    reference stands in), `magnitude` (largest |oracle| over all ranks), `same_reference`, `same_ours` (equal bits on all ranks).
    """
    first = trials[0]["reference"]
    comparison = rule.comparison if is_number(first.dtype) else Comparison.BITS
    exact = comparison != Comparison.BOUND
    v = Verdict(what, dtype_name(first.dtype), list(first.shape), comparison, replicated=len(trials) > 0)
    worst_key, non_finite, tolerated = -1.0, "", True
    for t, s in enumerate(trials):
        ours, reference = s["ours"], s["reference"]
        if ours.dtype != reference.dtype or ours.shape != reference.shape:
            v.reason = f"is {dtype_name(ours.dtype)} {list(ours.shape)}, the original gives {dtype_name(reference.dtype)} {list(reference.shape)}"
            return v
        v.elements += ours.numel()
        v.replicated = v.replicated and s["same_reference"]
        if s["same_reference"] and not s["same_ours"] and comparison != Comparison.VALUES and not v.reason:
            v.reason = f"ranks differ in bits in trial {t}, the original's do not"
        if ours.numel() == 0:
            continue
        key, at, note = _exact(v, ours, reference) if exact else _bound(v, rule, s)
        non_finite = non_finite or note
        tolerated = tolerated and (exact or key <= 1)
        if at is not None and key > worst_key:
            worst_key = key
            v.worst = {"rank": rank, "trial": t, "index": _index(at, list(ours.shape))}
    where = f" at rank {rank}, trial {v.worst['trial']}, element {v.worst['index']}"
    if v.unwritten:
        v.reason = f"{v.unwritten} of {v.elements} elements were never written, first{where}"
    elif non_finite:
        v.reason = non_finite + where
    elif exact and v.mismatches:
        v.reason = f"{v.mismatches} of {v.elements} elements differ in {'bits' if comparison == Comparison.BITS else 'value'}, first{where}"
    elif not tolerated and v.ratio > ALLOWANCE_OVER_REFERENCE * v.reference_ratio:
        v.reason = f"{v.mismatches} of {v.elements} elements are past the bound, worst{where}"
    return v


def _is_poison(ours):
    return (element_bytes(ours) == poison_byte(ours.dtype)).all(dim=1)


def _count_poison(ours, where):
    """Among the elements chosen by the mask `where`: how many still hold the poison."""
    return int(_is_poison(ours)[where].sum().item())


def _exact(v, ours, reference):
    """(1.0, first differing element, "") and the counts in `v`; (0.0, None, "") if all agree."""
    differ = (element_bytes(ours) != element_bytes(reference)).any(dim=1)
    if v.comparison == Comparison.VALUES:
        a, b = _wide(ours).view(differ.numel(), -1), _wide(reference).view(differ.numel(), -1)
        same = ((a == b) | (a.isnan() & b.isnan())).all(dim=1)
        differ &= ~same | _is_poison(ours)
    n = int(differ.sum().item())
    if n == 0:
        return 0.0, None, ""
    v.mismatches += n
    v.unwritten += _count_poison(ours, differ)
    error = float((_wide(ours) - _wide(reference)).abs().nan_to_num(nan=float("inf")).max().item())
    v.error = max(v.error, error)
    return 1.0, int(differ.nonzero()[0].item()), ""


def _bound(v, rule, sample):
    """(largest error / bound, its element, note on a NaN or infinity that does not match)."""
    ours, reference = sample["ours"], sample["reference"]
    u, tiny = FORMATS[reference.dtype]
    parts = 2 if reference.is_complex() else 1
    a, b = _wide(ours), _wide(reference)
    o = _wide(sample["oracle"]) if sample.get("oracle") is not None else b
    finite = a.isfinite() & b.isfinite()
    strange = ~finite & ~((a.isnan() & b.isnan()) | (a == b))
    n = int(strange.sum().item())
    if n:
        at = int(strange.nonzero()[0].item())
        v.mismatches += n
        elements = strange.reshape(-1, parts).any(dim=1)
        v.unwritten += _count_poison(ours, elements)
        return float("inf"), at // parts, f"{a[at].item():g} where the original gives {b[at].item():g}"
    if rule.atol is not None and rule.rtol is not None:
        bound = rule.atol + rule.rtol * o.abs()
    else:
        accumulator = 2.0**-52 if u < 2.0**-30 else 2.0**-24
        carried = (rule.terms * accumulator + rule.roundings * (rule.storage or u)) * sample["magnitude"] * (1 + u) + tiny
        bound = u * o.abs() + carried

    def ratio(error):
        r = torch.where(error == 0, torch.zeros_like(error), error / bound)
        return torch.where(finite, r, torch.zeros_like(r)).nan_to_num(nan=float("inf"), posinf=float("inf"))

    error = torch.where(finite, (a - o).abs(), torch.zeros_like(a))
    ours_ratio = ratio(error)
    v.error = max(v.error, float(error.max().item()))
    v.reference_ratio = max(v.reference_ratio, float(ratio((b - o).abs()).max().item()))
    worst, at = ours_ratio.max(dim=0)
    worst = float(worst.item())
    v.ratio = max(v.ratio, worst)
    v.mismatches += int((ours_ratio > 1).sum().item())
    return worst, int(at.item()) // parts, ""
