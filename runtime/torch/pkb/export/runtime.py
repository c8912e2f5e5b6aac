# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A forked rank that runs the user's function: process groups without a network, collectives carried out here.

torch's fake backend gives rank, world size, groups and meshes; the dispatch mode below autograd sees every collective and
carries it out over the exchange; with a Recorder it also takes everything down. Without one it only executes, which is
how the original function is run for comparison.
"""

import contextlib
import os
import sys
import threading

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from . import c10d, collectives, sites, tree
from .errors import ExportError
from .illusion import CudaIllusion, HostMemory, install_cuda_stubs, is_cuda_device
from .objects import install_object_collectives


@contextlib.contextmanager
def modes_off():
    """Plain torch, whatever modes the program runs under."""
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield


def _is_foreign(kind):
    """A tensor subclass that takes its operations apart itself (AsyncCollectiveTensor, DTensor): let it go first."""
    if kind in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        return False
    return kind.__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl


_OF_LIBTORCH = ("aten", "prim", "profiler")  # namespaces whose operators need no Python


class _Mode(TorchDispatchMode):
    def __init__(self, rank):
        super().__init__()
        self.rank = rank

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None:
            return func(*args, **kwargs)  # fake tensors (DTensor's shape rules use them) have no data and are no part of the program
        if any(_is_foreign(t) for t in types):
            return NotImplemented
        with torch._C.DisableTorchFunction():
            if func.namespace in c10d.NAMESPACES:
                return self.rank.communicate(func, args, kwargs)
            if func.namespace in ("symm_mem",):
                raise ExportError(
                    f"{func.namespace}::{func._opname} at {sites.text(sites.current())} needs GPUs; call a collective of torch.distributed"
                )
            kind = self.rank.kind
            if is_cuda_device(kwargs.get("device")):  # from a hook of autograd, which runs without the illusion
                kwargs, kind = {**kwargs, "device": torch.device("cpu")}, "cuda"
            if func.namespace not in _OF_LIBTORCH:
                return self._inside(func, args, kwargs)
            recorder = self.rank.recorder
            if recorder is None or func.namespace in ("prim", "profiler"):
                operands = tree.tensors([args, kwargs])
                self.rank.host.before(func, operands, kind)
                result = func(*args, **kwargs)
                self.rank.host.place(operands, "device" in kwargs, kind, tree.tensors([result]))
                return result
            return recorder.op(func, args, kwargs, kind)

    def _inside(self, func, args, kwargs):
        """An operator that a library or the user registered (FSDP's are): run time has none of it, so the calls that it makes are taken."""
        with self:
            return func.redispatch(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), *args, **kwargs)


def warm_up():
    """Import in the parent, once, what torch imports at the first operation under a mode (most of a second)."""
    import torch.distributed._functional_collectives
    import torch.testing._internal.distributed.fake_pg  # noqa: F401

    class Quiet(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    os.environ["TORCH_COMPILE_DISABLE"] = "1"  # a compiled callee is captured as the eager program that it is
    torch.set_num_threads(1)
    with Quiet(), modes_off():
        pass
    with Quiet():
        torch.zeros(1)


class _Works:
    """Several works as one."""

    def __init__(self, works):
        self._works = works

    def wait(self, *timeout):
        return all([work.wait(*timeout) for work in self._works])

    def synchronize(self):
        for work in self._works:
            work.synchronize()

    def is_completed(self):
        return all([work.is_completed() for work in self._works])


class Rank:
    """This process as one rank of a job. Make it once per process, before the user's files are loaded."""

    def __init__(self, exchange):
        self.exchange = exchange
        self.rank, self.world_size = exchange.rank, exchange.world_size
        self.recorder = None
        self.kind = "cuda"  # where the call that runs now puts what it makes
        self.host = HostMemory()
        self._pending = {}  # id(work) -> (work, [(step, target)]) of receives that nobody has waited for
        sys.dont_write_bytecode = True  # the user's folders are not ours to write to
        self._made = []  # groups that a rank makes together with all others: {ranks, site}
        self._made_at = {}  # name of a group -> where it was made
        self._twins = {}  # ranks -> names of the groups that have them, in the order of making
        self._coalesced = {}  # group -> works of the calls that the program makes between start and end of coalescing
        self._thread_error = None
        threading.excepthook = self._thread_failed
        os.environ.update(RANK=str(self.rank), LOCAL_RANK=str(self.rank), WORLD_SIZE=str(self.world_size))
        os.environ.update(LOCAL_WORLD_SIZE=str(self.world_size))
        torch.set_num_threads(1)
        self._init_process_group()
        self._patch_wait()
        self._patch_coalescing()
        install_cuda_stubs(self)
        install_object_collectives(self)

    def _init_process_group(self):
        from torch._C._distributed_c10d import FakeProcessGroup
        from torch.distributed import distributed_c10d as c
        from torch.testing._internal.distributed.fake_pg import FakeStore

        helper = c._new_process_group_helper
        strict = FakeProcessGroup.Options()
        strict.error_on_collective = True  # what escapes the mode (another thread) must not pass for done

        def new_group(size, rank, ranks, backend, store, name, **more):
            # Every group is carried out by the recorder, whatever backend the program asked for.
            more["backend_options"] = strict
            more.pop("device_id", None)
            asked = str(backend).lower()
            pg, prefix = helper(size, rank, ranks, "fake", store, name, **more)
            if pg is not c.GroupMember.NON_GROUP_MEMBER:
                twins = self._twins.setdefault(tuple(ranks or range(self.world_size)), [])
                twins.append(pg.group_name)
            if pg is not c.GroupMember.NON_GROUP_MEMBER and pg in c._world.pg_map:
                label = "nccl" if asked in ("fake", "undefined") else asked
                c._world.pg_map[pg] = (label, c._world.pg_map[pg][1])
            return pg, prefix

        c._new_process_group_helper = new_group
        self._note_groups(c)
        dist.init_process_group("fake", store=FakeStore(), rank=self.rank, world_size=self.world_size)
        c._is_barrier_after_init = lambda: 0

        # A program may set up and take down its own process group, as a script does under torchrun.
        def nothing(*args, **kwargs):
            return None

        position = c.get_group_rank

        def get_group_rank(group, global_rank):
            try:
                return position(group, global_rank)
            except ValueError as error:  # torch names the group by its address
                ranks = sorted(c._world.pg_group_ranks.get(group, {}))
                if not ranks:
                    raise
                raise ValueError(f"rank {global_rank} is not one of the ranks {ranks} of the group") from error

        c.get_group_rank = dist.get_group_rank = get_group_rank
        c.init_process_group = dist.init_process_group = nothing
        c.destroy_process_group = dist.destroy_process_group = nothing
        premul = dist._make_nccl_premul_sum

        def make_premul(factor):
            c10d.remember_premul(factor)
            return premul(factor)

        dist._make_nccl_premul_sum = make_premul

    def _note_groups(self, c):
        """All ranks must make all groups, members or not, for torch numbers them in the order in which a rank makes them."""
        name_of = c._process_group_name

        def name_group(ranks, use_hashed_name):
            name, site = name_of(ranks, use_hashed_name), sites.text(sites.current())
            if ranks:  # not the default group
                self._made_at[name] = site
                if not use_hashed_name:
                    self._made.append({"ranks": sorted(ranks), "site": site})
            return name

        c._process_group_name = name_group

    def _patch_wait(self):
        import torch._C._distributed_c10d as c

        def wrap(real):
            def call(work, *args, **kwargs):
                with modes_off():
                    self.finish(work)
                    return real(work, *args, **kwargs)

            return call

        for kind in (c.Work, c.FakeWork):  # the second for works of the fake backend itself
            for name in ("wait", "synchronize", "get_future", "is_completed"):
                if name in vars(kind):
                    setattr(kind, name, wrap(getattr(kind, name)))

    def _patch_coalescing(self):
        """A coalescing manager with a device brackets its calls by two of the backend's: the second gives one work for all of them."""

        def start(group, *device):
            self._coalesced[group] = []

        def end(group, *device):
            return _Works(self._coalesced.pop(group, []))

        dist.ProcessGroup._start_coalescing, dist.ProcessGroup._end_coalescing = start, end

    def _thread_failed(self, hook):
        """A thread of the program raised; most likely it called a collective, which only the main thread may."""
        text = str(hook.exc_value).splitlines()[0] if str(hook.exc_value) else hook.exc_type.__name__
        if "error_on_collective" in text:
            text = "it calls a collective; call collectives on the main thread"
        self._thread_error = ExportError(f"a thread of the program failed: {text}")

    @contextlib.contextmanager
    def running(self, recorder=None):
        """Run user code: CUDA illusion on, collectives carried out, recorded if there is a recorder."""
        self.recorder = recorder
        self._pending.clear()
        try:
            with CudaIllusion(self), _Mode(self):
                yield
            if self._thread_error is not None:
                raise self._thread_error
            for _, steps in self._pending.values():
                raise ExportError(f"the receive at {steps[0][0].call.site} is never waited for; call wait() on it")
        finally:
            self.recorder = None

    def call(self, function, arguments, what="the function", **named):
        """function(*arguments), with every functional collective among the results waited for and all ranks returned."""
        result = function(*arguments, **named)
        _settle(result)
        self.all_return(what)
        return result

    def all_return(self, what):
        """Meet all ranks at the end of `what`: a rank that waits in a collective that others never call is found here."""
        meta = {"name": "return", "site": what, "inputs": [], "outputs": [], "made": self._made}
        self.exchange.meet(tuple(range(self.world_size)), meta, [])

    # Collectives

    def communicate(self, func, args, kwargs):
        """Carry out one c10d op; returns what the dispatcher expects of it."""
        if c10d.is_wrapper(func):
            return func(*args, **kwargs)  # an AsyncCollectiveTensor, which waits at its first use
        if c10d.is_wait(func):
            if self.recorder is not None:
                self.recorder.wait_tensor(args[0])
            return args[0]
        plan = c10d.translate(func, args, kwargs, sites.text(sites.current()))
        work = None
        if func.namespace == "c10d":
            work, script_work = c10d.new_work([t for step in plan.steps for t in step.targets])
            self._coalesced.get(plan.group, []).append(work)
        outputs = []
        for step in plan.steps:
            outputs.append(self._carry_out(step, plan, work))
        return plan.finish(outputs, script_work if work is not None else None)

    def _carry_out(self, step, plan, work):
        call = step.call
        twins = self._twins.get(call.group, [])
        if plan.group is not None and plan.group.group_name in twins:
            call.twin, call.made_at = twins.index(plan.group.group_name), self._made_at.get(plan.group.group_name, "")
        if self.recorder is not None:
            for t in call.inputs:
                call.depends |= self.recorder.depends(t)
        if plan.lazy:
            outputs = [torch.empty(s, dtype=call.dtype) for s in call.outputs]
            self._pending.setdefault(id(work), (work, []))[1].append((step, outputs))
        elif call.name == "send":
            collectives.send(self.exchange, call)
            outputs = []
        else:
            outputs = collectives.execute(self.exchange, call)
        if self.recorder is not None:
            self.recorder.collective(step, outputs, plan.asynchronous, work)
        if not plan.lazy:
            write(outputs, step.targets)
        return outputs

    def finish(self, work):
        """The program waits for a Work: receive what is due and note the wait."""
        _, steps = self._pending.pop(id(work), (None, ()))
        for step, outputs in steps:
            outputs[0].copy_(collectives.receive(self.exchange, step.call))
            write(outputs, step.targets)
        if self.recorder is not None:
            self.recorder.wait(work)


def _settle(value):
    if hasattr(type(value), "trigger_wait"):
        value.trigger_wait()
    elif isinstance(value, (tuple, list)):
        for v in value:
            _settle(v)
    elif isinstance(value, dict):
        for v in value.values():
            _settle(v)


def write(outputs, targets):
    """Overwrite each target with its output, element by element in row-major order."""
    for out, target in zip(outputs, targets):
        if target is not None:
            with torch.no_grad():
                t = target.detach()
                t.copy_(out.view(t.shape) if out.shape != t.shape else out)
