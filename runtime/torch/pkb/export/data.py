# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors as raw bytes: contiguous, little-endian, no numpy. Used by bundles, the exchange and the comparisons."""

import ctypes
import hashlib

import torch

from .errors import ExportError

# Every dtype that a record may hold, by torch's name.
DTYPES = {
    str(d).replace("torch.", ""): d
    for d in (
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.uint16, torch.uint32, torch.uint64,
        torch.float16, torch.bfloat16, torch.float32, torch.float64,
        torch.complex32, torch.complex64, torch.complex128,
        torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
    )
}  # fmt: skip


def dtype_name(dtype):
    """torch.bfloat16 -> "bfloat16"; raises ExportError for a dtype that no record can hold."""
    name = str(dtype).replace("torch.", "")
    if name not in DTYPES:
        raise ExportError(f"dtype {name} is not supported; use one of {', '.join(sorted(DTYPES))}")
    return name


def raw(tensor):
    """The bytes of a strided CPU tensor's elements in row-major order, as a memoryview over memory it keeps alive."""
    t = tensor.detach()
    if t.is_conj():
        t = t.resolve_conj()
    if t.is_neg():
        t = t.resolve_neg()
    t = t.contiguous()
    n = t.numel() * t.element_size()
    if n == 0:
        return memoryview(b"")
    buffer = (ctypes.c_ubyte * n).from_address(t.data_ptr())
    buffer.owner = t
    return memoryview(buffer).cast("B")


def raw_storage(storage):
    """The bytes of an UntypedStorage, as a memoryview."""
    n = storage.nbytes()
    if n == 0:
        return memoryview(b"")
    buffer = (ctypes.c_ubyte * n).from_address(storage.data_ptr())
    buffer.owner = storage
    return memoryview(buffer).cast("B")


def sha256(view):
    return hashlib.sha256(view).hexdigest()


def view_raw(data, dtype, sizes):
    """A contiguous tensor over bytes in row-major order. It may share their memory: only read it."""
    out_bytes = torch.Size(sizes).numel() * dtype.itemsize
    if len(data) != out_bytes:
        raise ExportError(f"tensor data has {len(data)} bytes, but {str(dtype)} {list(sizes)} needs {out_bytes}")
    if not out_bytes:
        return torch.empty(sizes, dtype=dtype)
    flat = torch.frombuffer(bytearray(data) if isinstance(data, bytes) else data, dtype=torch.uint8)
    if flat.data_ptr() % dtype.itemsize:
        flat = flat.clone()
    return flat.view(dtype).view(sizes)


def from_raw(data, dtype, sizes):
    """A fresh contiguous tensor with its own memory from bytes in row-major order."""
    return view_raw(data, dtype, sizes).clone(memory_format=torch.contiguous_format)


def same_bits(a, b):
    """Equal dtype, sizes and bytes (NaNs compare by their bits)."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return raw(a) == raw(b)


def first_difference(a, b):
    """One phrase on how two tensors differ, for messages."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype} {list(a.shape)} against {b.dtype} {list(b.shape)}"
    x, y = raw(a), raw(b)
    size = a.element_size()
    bad = [i for i in range(0, len(x), size) if x[i : i + size] != y[i : i + size]][:1]
    if not bad:
        return "no difference"
    i = bad[0] // size
    va, vb = a.detach().reshape(-1)[i], b.detach().reshape(-1)[i]
    return f"first at element {i}: {va.item()} against {vb.item()}"
