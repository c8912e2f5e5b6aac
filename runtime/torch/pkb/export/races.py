# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program touches before it has waited for the asynchronous collective that reads or writes it.

The recorder carries a collective out at once, so such a program has a result here. On GPUs a collective runs on a stream of its group, and only
`wait()` makes the current stream wait for that one: before it, a read of the result or a write to the operand is a race.
"""

import sys

import torch

from . import sites

_API = "distributed_c10d.py"  # calls from there give the program a Work; C++ code, such as DDP's reducer, waits unseen


def from_python():
    """Was the collective that runs now called through the Python API?"""
    frame = sys._getframe(1)
    while frame is not None and not sites.is_user_file(frame.f_code.co_filename):
        if frame.f_code.co_filename.endswith(_API):
            return True
        frame = frame.f_back
    return False


def _window(t):
    """(storage, first byte, end, the tensor) of what a tensor names."""
    if t.numel() == 0:
        return None
    begin = t.storage_offset() * t.element_size()
    reach = sum((size - 1) * stride for size, stride in zip(t.shape, t.stride())) + 1
    return t.untyped_storage()._cdata, begin, begin + reach * t.element_size(), t.detach()


def _overlap(a, b):
    """Do two windows share a byte?"""
    if a is None or b is None or a[0] != b[0] or a[1] >= b[2] or b[1] >= a[2]:
        return False
    (*_, x), (*_, y) = a, b
    if (x.is_contiguous() and y.is_contiguous()) or x.element_size() != y.element_size():
        return True
    touched = torch.zeros(max(a[2], b[2]) // x.element_size(), dtype=torch.bool)
    touched.as_strided(x.shape, x.stride(), x.storage_offset()).fill_(True)
    return bool(touched.as_strided(y.shape, y.stride(), y.storage_offset()).any())


def reads_data(func):
    """False for a view and for what looks at sizes and dtype alone."""
    view = any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)
    return not view and not func._opname.startswith("new_") and not (func._opname.endswith("_like") and "rand" not in func._opname)


class Races:
    """Calls that nobody has waited for yet. `warnings`: what was found, each pair of lines once."""

    def __init__(self):
        self.warnings = []
        self._pending = []  # (work, channel, "all_reduce at FILE:LINE", windows that are read, windows that are written)

    def issued(self, work, call, targets):
        """An asynchronous collective begins."""
        reads = [_window(t) for t in call.inputs]
        writes = [_window(t) for t in targets if t is not None]
        self._pending.append((work, call.channel, f"the {call.name} at {call.site}", reads, writes))

    def waited(self, work):
        self._pending = [p for p in self._pending if p[0] is not work]

    def all_waited(self, channel=None):
        """The host waited for everything, or for everything of one channel."""
        self._pending = [p for p in self._pending if channel is not None and p[1] != channel]

    def touched(self, what, reads, writes, channel=None):
        """The program reads and writes tensors, by a collective of `channel` or by an operator: calls of one channel are in order."""
        for _, other, name, read, written in self._pending:
            if channel is not None and channel == other:
                continue
            if self._meet(reads, written):
                self._warn(f"reads what {name} writes", what)
            elif self._meet(writes, written) or self._meet(writes, read):
                self._warn(f"writes to what {name} works on", what)

    def returned(self, tensors):
        """The function returns, with these tensors for its caller."""
        for _, _, name, _, written in self._pending:
            if self._meet(tensors, written):
                self._warn(f"returns what {name} writes", "the function")
        self._pending = []

    @staticmethod
    def _meet(tensors, windows):
        return windows and any(_overlap(_window(t), w) for t in tensors for w in windows)

    def _warn(self, hazard, what):
        text = f"{what} {hazard}, before wait(): on GPUs the two are not in order; call wait() on its work first"
        if text not in self.warnings:
            self.warnings.append(text)
