# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program is told that its tensors are CUDA tensors; they live in CPU memory.

Devices that name CUDA become the CPU on the way in, `is_cuda`, `device` and torch.cuda answer as on a machine with
W GPUs. Reads of values on the host that never reach the dispatcher are caught here.
"""

import contextlib
import sys
import types

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

from . import sites
from .errors import ExportError
from .tree import tensors

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
_SDPA = torch.nn.functional.scaled_dot_product_attention
_SDPA_OP = torch.ops.aten.scaled_dot_product_attention.default
_ONE_HOT = torch.nn.functional.one_hot
_PRINTING = {torch.Tensor.__repr__, torch.Tensor.__format__, torch.Tensor.__reduce_ex__}
_MOVES = {torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.cpu}


def is_cuda_device(value):
    """Does a device argument (torch.device or string) name a CUDA device?"""
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


def _is_cpu_device(value):
    return (isinstance(value, torch.device) and value.type == "cpu") or (isinstance(value, str) and value == "cpu")


class HostMemory:
    """Which storages the program believes to be in host memory; all others pass for CUDA memory."""

    def __init__(self):
        self._weak = {}

    def __contains__(self, tensor):
        if tensor.layout != torch.strided:
            return False
        ref = self._weak.get(tensor.untyped_storage()._cdata)
        return ref is not None and not ref.expired()

    def add(self, tensor):
        if tensor.layout == torch.strided:
            ref = StorageWeakRef(tensor.untyped_storage())
            self._weak[ref.cdata] = ref

    def before(self, func, operands, kind):
        """A constant that `torch.tensor` is about to hand out lies where that call puts it."""
        if kind == "cpu" and func is torch.ops.aten.lift_fresh.default:
            self.add(operands[0])

    def place(self, operands, named, kind, made):
        """New storages are in host memory if the call names it (or has no operands), or if all its operands are."""
        if not made:
            return
        in_host = kind == "cpu" if named or not operands else all(t in self for t in operands)
        if in_host:
            known = {t.untyped_storage()._cdata for t in operands if t.layout == torch.strided}
            for t in made:
                if t.layout == torch.strided and t.untyped_storage()._cdata not in known:
                    self.add(t)


class CudaIllusion(TorchFunctionMode):
    """`kind` is "cuda" or "cpu": where the call that runs now puts what it makes."""

    def __init__(self, rank):
        super().__init__()
        self.rank = rank
        self.cuda = torch.device("cuda", rank.rank)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch._C._nn._parse_to:  # Module.to asks what its arguments name; the tensors are moved later, one by one
            return func(*args, **kwargs)
        answer = self._fact(func, args)
        if answer is not None:
            return answer[0]
        if func in _HOST_READS:
            self._host_read(args[0], _HOST_READS[func])
        if func is torch.Tensor.__deepcopy__ and self.rank.recorder is not None:
            return func(args[0].detach().clone(), *args[1:])
        if func in _PRINTING:
            with torch.utils._python_dispatch._disable_current_modes():
                return func(*args, **kwargs)
        if func is _ONE_HOT and self.rank.recorder is not None:
            return self._one_hot(*args, **kwargs)
        if func is _SDPA and self.rank.recorder is not None:
            return self._attention(func, args, kwargs)
        args, kwargs, named = self._without_cuda(func, args, kwargs)
        before = self.rank.kind
        self.rank.kind = named or self._kind_of_operands(args, kwargs)
        try:
            result = args[0] if func is torch.Tensor.cuda else func(*args, **kwargs)
            if func in _MOVES and named and isinstance(result, torch.Tensor):
                result = self._moved(args[0], result, named)
            return result
        finally:
            self.rank.kind = before

    @staticmethod
    def _one_hot(tensor, num_classes=-1):
        """As on a GPU, where the numbers are not read to check them."""
        if num_classes < 0 or tensor.numel() == 0:
            return _ONE_HOT(tensor, num_classes)
        return tensor.new_zeros((*tensor.shape, num_classes)).scatter_(-1, tensor.unsqueeze(-1), 1)

    def _attention(self, func, args, kwargs):
        """Keep scaled_dot_product_attention whole: below autograd it is a kernel of the CPU that no GPU has."""
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors([args, kwargs])):
            return func(*args, **kwargs)
        with torch.utils._python_dispatch._disable_current_modes():
            return self.rank.recorder.op(_SDPA_OP, args, kwargs)

    def _fact(self, func, args):
        """What is answered without running anything, as a 1-tuple."""
        if func == _IS_CUDA:
            return (args[0] not in self.rank.host,)
        if func == _IS_CPU:
            return (args[0] in self.rank.host,)
        if func == _DEVICE:
            return (_CPU if args[0] in self.rank.host else self.cuda,)
        if func is torch.Tensor.get_device:
            return (-1 if args[0] in self.rank.host else self.cuda.index,)
        if func is torch.Tensor.pin_memory:
            return (args[0],)
        if func is torch.Tensor.record_stream:
            return (None,)
        if func is torch.Tensor.is_pinned:
            return (False,)
        return None

    def _without_cuda(self, func, args, kwargs):
        """Arguments with the CPU in place of CUDA devices, and the kind of device they named (or None)."""
        named = None
        kwargs.pop("pin_memory", None)
        if func is torch.Tensor.cuda:
            return (args[0],), {}, "cuda"
        if func is torch.Tensor.cpu:
            return args, kwargs, "cpu"
        if func is torch.Tensor.to and len(args) > 1:
            if type(args[1]) is int:  # a bare index names a CUDA device
                args, named = (args[0], _CPU, *args[2:]), "cuda"
            elif isinstance(args[1], torch.Tensor):
                named = "cpu" if args[1] in self.rank.host else "cuda"
        device = kwargs.get("device")
        if device is not None:
            named = "cpu" if _is_cpu_device(device) else "cuda" if type(device) is int or is_cuda_device(device) else None
            if named:
                kwargs["device"] = _CPU
        if func is not torch.device:
            for a in args:
                if is_cuda_device(a):
                    named = "cuda"
                elif isinstance(a, torch.device) or (func is torch.Tensor.to and _is_cpu_device(a)):
                    named = named or ("cpu" if _is_cpu_device(a) else None)
            args = tuple(_CPU if is_cuda_device(a) else a for a in args)
        return args, kwargs, named

    def _kind_of_operands(self, args, kwargs):
        found = [t for t in tensors([args, kwargs])]
        if not found:
            return "cpu"  # torch's default device
        return "cpu" if all(t in self.rank.host for t in found) else "cuda"

    def _moved(self, source, result, named):
        """A copy between host and device memory is a copy here too, though both are CPU memory."""
        here = "cpu" if source in self.rank.host else "cuda"
        if named != here and result.untyped_storage()._cdata == source.untyped_storage()._cdata:
            result = torch.ops.aten._to_copy.default(result, device=_CPU)
        return result

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


# What a program may ask of its GPU; the figures are those of the machines that captures are meant for.
_PROPERTIES = types.SimpleNamespace(
    name="captured on CPU", major=9, minor=0, multi_processor_count=132, total_memory=141 << 30, L2_cache_size=50 << 20, warp_size=32
)


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
    cuda.is_current_stream_capturing = lambda: False
    cuda.device_count = lambda: rank.world_size
    cuda.current_device = lambda: _State.index
    cuda.set_device = set_device
    cuda.get_device_name = lambda *a: "captured on CPU"
    cuda.get_device_capability = lambda *a: (9, 0)
    cuda.get_device_properties = lambda *a: _PROPERTIES
    cuda.is_bf16_supported = lambda *a, **k: True
    def synchronize(*args, **kwargs):
        if rank.recorder is not None:
            rank.recorder.races.all_waited()

    cuda.synchronize = synchronize
    cuda.init = cuda.empty_cache = cuda.ipc_collect = nothing
    cuda.current_stream = cuda.default_stream = lambda *a, **k: _State.stream
    cuda.set_stream = nothing
    cuda.Stream, cuda.Event = _Stream, _Event
    torch.Tensor.record_stream = nothing
    cuda.stream = cuda.device = cuda.device_of = scope
    cuda.manual_seed = cuda.manual_seed_all = nothing  # the CPU generator is the one there is; torch.manual_seed calls these
    cuda.get_rng_state, cuda.set_rng_state = lambda *a: torch.get_rng_state(), lambda state, *a: torch.set_rng_state(state)
    cuda.memory_allocated = cuda.max_memory_allocated = lambda *a, **k: 0
    cuda.reset_peak_memory_stats = nothing
    _install_generator()
    _refuse_autocast()


def _refuse_autocast():
    """CPU tensors do not take part in CUDA autocast, so the record would miss its casts."""
    enter = torch.amp.autocast.__enter__

    def strict(self):
        if self.device == "cuda" and self._enabled:
            raise ExportError(
                f"torch.autocast at {sites.text(sites.current())} cannot be captured without a GPU; cast with .to() where it would"
            )
        return enter(self)

    torch.amp.autocast.__enter__ = strict


def refuse_triton():
    """Triton kernels pass by the dispatcher. Called when the user's files are loaded."""
    jit = sys.modules.get("triton.runtime.jit")
    if jit is None:
        return

    def launch(self, *args, **kwargs):
        raise ExportError(
            f"launches the Triton kernel {self.__name__} at {sites.text(sites.current())}; "
            "a record cannot hold it, use torch operators"
        )

    jit.JITFunction.run = launch


def _install_generator():
    generator = torch.Generator

    class _GeneratorMeta(type):
        def __instancecheck__(cls, value):
            return isinstance(value, generator)

    class Generator(metaclass=_GeneratorMeta):
        def __new__(cls, device="cpu"):
            return generator(device=_CPU if is_cuda_device(device) else device)

    torch.Generator = Generator
