# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emitted programs on emulated ranks, called through the C interface of the run time: W threads, any tensors, any mutant."""
import ctypes
import os
import re
import shutil
import tempfile
import threading

import torch

SOURCE, BUILD = os.environ["PKB_SOURCE_DIR"], os.environ["PKB_BUILD_DIR"]
# In the order of pkb_dtype (pkb_rt/pkb.h).
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool,
          torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64, torch.complex128]  # fmt: skip
VALUE, PROOF = 0, 1
FINDINGS = ["ok", "deadlock", "race", "uninitialised", "barrier", "bounds"]
MUTANTS = ["none", "drop", "relax", "narrow", "value", "peer", "parity"]
_POISON = 0xA5
_GUARD = 256


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32), ("sizes", ctypes.c_int64 * 16),
                ("strides", ctypes.c_int64 * 16)]  # fmt: skip


class ContextDesc(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_uint32), ("rank", ctypes.c_int32), ("world_size", ctypes.c_int32), ("device", ctypes.c_int32),
                ("driver", ctypes.c_void_p), ("rendezvous", ctypes.c_char_p), ("arena_bytes", ctypes.c_int64), ("timeout_s", ctypes.c_double),
                ("debug", ctypes.c_int32)]  # fmt: skip


class Options(ctypes.Structure):
    _fields_ = [("struct_bytes", ctypes.c_uint32), ("devices", ctypes.c_int32), ("seed", ctypes.c_uint64), ("mode", ctypes.c_int32),
                ("proof_threads", ctypes.c_int32), ("sms", ctypes.c_int32), ("blocks_per_sm", ctypes.c_int32),
                ("no_peer", ctypes.c_uint64 * 64), ("dead", ctypes.c_uint64), ("memory_model", ctypes.c_int32), ("races", ctypes.c_int32),
                ("idle_s", ctypes.c_double), ("mutant_site", ctypes.c_int32), ("mutant_kind", ctypes.c_int32), ("mutant_device", ctypes.c_int32),
                ("report", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)), ("report_user", ctypes.c_void_p)]  # fmt: skip


def _library(name):
    for folder in ("lib", "bin", "runtime/lib", "runtime/emu"):
        path = os.path.join(BUILD, folder, name)
        if os.path.exists(path):
            return ctypes.CDLL(path)
    raise FileNotFoundError(f"{name} is not in {BUILD}: build the targets pkb_rt and PkbEmu")


_rt, _emu = _library("libpkb_rt.so"), _library("libpkb_emu.so")
_rt.pkb_last_error.restype = ctypes.c_char_p
_emu.pkb_emu_create.restype = ctypes.c_void_p
_emu.pkb_emu_create.argtypes = [ctypes.POINTER(Options), ctypes.POINTER(ctypes.c_char_p)]
_emu.pkb_emu_driver.restype = ctypes.c_void_p
_emu.pkb_emu_driver.argtypes = [ctypes.c_void_p]
_emu.pkb_emu_destroy.argtypes = [ctypes.c_void_p]
_emu.pkb_emu_result.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)]


def _driver_functions():
    """Functions of the driver's table by name: its order is that of pkb_rt/driver.h, after four fields of a pointer's size."""
    with open(os.path.join(SOURCE, "runtime/include/pkb_rt/driver.h"), encoding="utf-8") as f:
        names = re.findall(r"^  pkb_cu_result \(\*(\w+)\)", f.read(), re.M)
    return {name: 4 + index for index, name in enumerate(names)}


_PLACES = _driver_functions()
_quiet = Options().report.__class__(lambda user, finding, text: None)


class Failure(Exception):
    pass


class Result:
    """outputs[call][rank]: tensors. finding: of the emulator, with its text. error: of the run time, "" if none."""

    def __init__(self):
        self.outputs, self.finding, self.text, self.error = [], "ok", "", ""


def raw_bytes(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


class _Rank(threading.Thread):
    def __init__(self, owner, rank):
        super().__init__(daemon=True)
        self.owner, self.rank, self.error, self.outputs = owner, rank, "", []

    def check(self, status):
        if status != 0:
            raise Failure(f"rank {self.rank}: {_rt.pkb_last_error().decode()}")

    def driver(self, name, *arguments):
        table = ctypes.cast(_emu.pkb_emu_driver(self.owner.emulator), ctypes.POINTER(ctypes.c_void_p))
        status = ctypes.CFUNCTYPE(ctypes.c_int)(table[_PLACES[name]])(*arguments)
        if status != 0:
            raise Failure(f"rank {self.rank}: {name} returned {status}")

    def memory(self, data, room):
        """Memory of the device with `data`, and `room` bytes of poison behind it."""
        place = ctypes.c_uint64()
        self.driver("mem_alloc", ctypes.byref(place), ctypes.c_size_t(max(16, len(data) + room)))
        ctypes.memmove(place.value, data + bytes([_POISON]) * room, len(data) + room)
        return place.value

    def run(self):
        context = ctypes.c_void_p()
        try:
            self.body(context)
        except Exception as error:  # noqa: BLE001 - whatever ends a rank is told to the others
            self.error = str(error)
            if context:
                _rt.pkb_context_abort(context, self.error.encode())
        if context:
            _rt.pkb_context_destroy(context)

    def body(self, context):
        o = self.owner
        desc = ContextDesc(1, self.rank, o.ranks, self.rank, _emu.pkb_emu_driver(o.emulator), o.folder.encode(), o.arena, 60.0, 1)
        self.check(_rt.pkb_context_create(ctypes.byref(desc), ctypes.byref(context)))
        program = ctypes.c_void_p()
        self.check(_rt.pkb_program_load(context, o.program.encode(), None, ctypes.byref(program)))
        device, current = ctypes.c_int(), ctypes.c_void_p()
        self.driver("device_get", ctypes.byref(device), self.rank)
        self.driver("primary_ctx_retain", ctypes.byref(current), device)
        self.driver("ctx_set_current", current)
        kept = []
        for call in range(o.calls):
            inputs = o.inputs(call, self.rank)
            described = (Tensor * len(inputs))()
            for entry, tensor in zip(described, inputs):
                entry.data, entry.dtype, entry.ndim = self.memory(raw_bytes(tensor), 0), DTYPES.index(tensor.dtype), tensor.dim()
                for i, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
                    entry.sizes[i], entry.strides[i] = size, stride
            count = _rt.pkb_program_output_count(program)
            outputs, memory = (Tensor * count)(), []
            for i in range(count):
                alias = ctypes.c_int32(-1)
                self.check(_rt.pkb_program_output(program, i, ctypes.byref(outputs[i]), ctypes.byref(alias)))
                sizes = list(outputs[i].sizes[: outputs[i].ndim])
                dtype = DTYPES[outputs[i].dtype]
                size = torch.Size(sizes).numel() * dtype.itemsize
                outputs[i].data = self.memory(b"", size + _GUARD)
                memory.append((outputs[i].data, size, dtype, sizes))
            self.check(_rt.pkb_program_call(program, None, described, len(inputs), outputs, count))
            kept.append(memory)
        self.check(_rt.pkb_context_synchronize(context, None))
        for memory in kept:
            found = []
            for place, size, dtype, sizes in memory:
                raw = bytearray(ctypes.string_at(place, size + _GUARD))
                if raw[size:] != bytes([_POISON]) * _GUARD:
                    raise Failure(f"rank {self.rank} wrote behind the end of a result")
                found.append(torch.frombuffer(raw[:size], dtype=dtype).reshape(sizes) if size else torch.empty(sizes, dtype=dtype))
            self.outputs.append(found)
        _rt.pkb_program_unload(program)


class Run:
    """Calls `program` (an emitted .cu) `calls` times on `ranks` emulated ranks. `inputs(call, rank)` gives the tensors."""

    def __init__(self, program, ranks, inputs, arena, calls=2, seed=0, mode=VALUE, mutant=None, idle=5.0):
        self.program, self.ranks, self.inputs, self.arena, self.calls = program, ranks, inputs, arena, calls
        self.options = Options()
        _emu.pkb_emu_default_options(ctypes.byref(self.options))
        self.options.devices, self.options.seed, self.options.mode, self.options.idle_s = ranks, seed, mode, idle
        self.options.report = _quiet
        if mutant:
            self.options.mutant_site, self.options.mutant_kind = mutant[0], MUTANTS.index(mutant[1])

    def go(self):
        why, result = ctypes.c_char_p(), Result()
        self.emulator = _emu.pkb_emu_create(ctypes.byref(self.options), ctypes.byref(why))
        if not self.emulator:
            raise Failure(f"no emulator: {why.value}")
        self.folder = tempfile.mkdtemp(prefix="pkb")
        threads = [_Rank(self, rank) for rank in range(self.ranks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        text = ctypes.c_char_p()
        result.finding = FINDINGS[_emu.pkb_emu_result(self.emulator, ctypes.byref(text))]
        result.text = (text.value or b"").decode()
        result.error = "; ".join(t.error for t in threads if t.error)
        if not result.error:
            result.outputs = [[t.outputs[call] for t in threads] for call in range(self.calls)]
        _emu.pkb_emu_destroy(self.emulator)
        shutil.rmtree(self.folder, ignore_errors=True)
        return result
