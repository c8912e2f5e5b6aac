# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program is told that its tensors are CUDA tensors; they live in CPU memory.

Devices that name CUDA become the CPU on the way in, `is_cuda`, `device` and torch.cuda answer as on a machine with
W GPUs. Reads of values on the host that never reach the dispatcher are caught here.
"""

import contextlib

import torch
from torch.overrides import TorchFunctionMode

from . import sites
from .errors import ExportError

_CPU = torch.device("cpu")
_IS_CUDA = torch.Tensor.is_cuda.__get__
_DEVICE = torch.Tensor.device.__get__
_IS_CPU = torch.Tensor.is_cpu.__get__
_HOST_READS = {
    torch.Tensor.tolist: "tolist",
    torch.Tensor.numpy: "numpy",
    torch.Tensor.__array__: "__array__",
    torch.Tensor.__dlpack__: "__dlpack__",
}


def is_cuda_device(value):
    """Does a device argument (torch.device, string, or index after `cuda()`) name a CUDA device?"""
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


class CudaIllusion(TorchFunctionMode):
    def __init__(self, rank):
        super().__init__()
        self.rank = rank
        self.cuda = torch.device("cuda", rank.rank)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func == _IS_CUDA:
            return True
        if func == _IS_CPU:
            return False
        if func == _DEVICE:
            return self.cuda
        if func is torch.Tensor.get_device:
            return self.cuda.index
        if func in _HOST_READS:
            self._host_read(args[0], _HOST_READS[func])
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.record_stream or func is torch.Tensor.pin_memory:
            return args[0] if func is torch.Tensor.pin_memory else None
        if func is torch.Tensor.is_pinned:
            return False
        if func is torch.Tensor.__deepcopy__ and self.rank.recorder is not None:
            return func(args[0].detach().clone(), *args[1:])
        if func is torch.Tensor.__repr__ or func is torch.Tensor.__format__ or func is torch.Tensor.__reduce_ex__:
            with torch.utils._python_dispatch._disable_current_modes():
                return func(*args, **kwargs)
        if func is torch.Tensor.to and len(args) > 1 and type(args[1]) is int:
            args = (args[0], _CPU, *args[2:])  # a bare index names a CUDA device
        if type(kwargs.get("device")) is int:
            kwargs["device"] = _CPU
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if "device" in kwargs and is_cuda_device(kwargs["device"]):
            kwargs["device"] = _CPU
        if any(is_cuda_device(a) for a in args) and func is not torch.device:
            args = tuple(_CPU if is_cuda_device(a) else a for a in args)
        return func(*args, **kwargs)

    def _host_read(self, tensor, name):
        recorder = self.rank.recorder
        if recorder is not None and recorder.depends(tensor):
            raise ExportError(
                f"reads a device value on the host at {sites.text(sites.current())} ({name}); "
                "a plain record cannot hold this program, keep the value on the device"
            )


class _Stream:
    """Stands for torch.cuda.Stream: everything runs at once and in order."""

    def __init__(self, *args, **kwargs):
        self.device = torch.device("cuda", _State.index)
        self.cuda_stream = self.stream_id = 0

    def wait_stream(self, other):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        return event or _Event()

    def synchronize(self):
        pass

    def query(self):
        return True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


class _Event:
    """Stands for torch.cuda.Event."""

    def __init__(self, *args, **kwargs):
        pass

    def record(self, stream=None):
        pass

    def wait(self, stream=None):
        pass

    def synchronize(self):
        pass

    def query(self):
        return True

    def elapsed_time(self, other):
        return 0.0


class _State:
    index = 0
    stream = None


def install_cuda_stubs(rank):
    """Make torch.cuda answer as on a machine with one GPU per rank. Once per process, before user files are loaded."""
    _State.index = rank.rank
    _State.stream = _Stream()
    nothing = lambda *a, **k: None  # noqa: E731

    @contextlib.contextmanager
    def scope(*args, **kwargs):
        yield

    def set_device(device):
        _State.index = torch.device(device).index if not isinstance(device, int) else device

    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.is_initialized = lambda: True
    cuda.device_count = lambda: rank.world_size
    cuda.current_device = lambda: _State.index
    cuda.set_device = set_device
    cuda.get_device_name = lambda *a: "captured on CPU"
    cuda.get_device_capability = lambda *a: (9, 0)
    cuda.init = cuda.synchronize = cuda.empty_cache = cuda.ipc_collect = nothing
    cuda.current_stream = cuda.default_stream = lambda *a, **k: _State.stream
    cuda.set_stream = nothing
    cuda.Stream, cuda.Event = _Stream, _Event
    cuda.stream = cuda.device = cuda.device_of = scope
    cuda.manual_seed = cuda.manual_seed_all = nothing  # the CPU generator is the one there is; torch.manual_seed calls these
    cuda.memory_allocated = cuda.max_memory_allocated = lambda *a, **k: 0
    cuda.reset_peak_memory_stats = nothing
    generator = torch.Generator

    class _GeneratorMeta(type):
        def __instancecheck__(cls, value):
            return isinstance(value, generator)

    class Generator(metaclass=_GeneratorMeta):
        def __new__(cls, device="cpu"):
            return generator(device=_CPU if is_cuda_device(device) else device)

    torch.Generator = Generator
