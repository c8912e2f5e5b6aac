# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the dispatcher's view of torch.distributed to functional collectives.

`translate` maps one `c10d::*` or `_c10d_functional::*` call to steps: each step is a Collective and the tensors that
its outputs overwrite. c10d schemas carry no alias information; this table is where it is stated which operand a call
writes. The ranks in `root`, `src` and `dst` of these ops count within the group already.
"""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import ProcessGroup, Work, _create_work_from_future

from .collectives import Collective
from .errors import ExportError

NAMESPACES = ("c10d", "_c10d_functional", "_c10d_functional_autograd")
_REDUCE_NAMES = {0: "sum", 1: "avg", 2: "prod", 3: "min", 4: "max", 5: "band", 6: "bor", 7: "bxor", 8: "premul_sum"}
_premul_factors = []


@dataclass
class Step:
    """One collective; `targets` holds, per output, the tensor it overwrites, or None if the output itself is the result."""

    call: Collective
    targets: list


@dataclass
class Plan:
    """What a dispatcher call does. finish(outputs per step, work) gives its return value; lazy: received at the wait."""

    steps: list
    asynchronous: bool
    finish: object
    group: object = None
    lazy: bool = False


def remember_premul(factor):
    """Note the factor of a PREMUL_SUM (the dispatcher hides it)."""
    _premul_factors.append(factor)


def bind(func, args, kwargs):
    """The arguments of an op by name, defaults filled in."""
    out = dict(kwargs)
    for i, a in enumerate(func._schema.arguments):
        if a.name in out:
            continue
        out[a.name] = args[i] if i < len(args) else a.default_value
    return out


def group_ranks(pg):
    """The global ranks of a process group, as a tuple."""
    return tuple(dist.get_process_group_ranks(pg))


def new_work(tensors):
    """A completed Work whose future holds `tensors`: (the object that the program will hold, the script object that
    c10d ops return)."""
    future = torch.futures.Future()
    future.set_result(tensors)
    script = _create_work_from_future(future).boxed()
    return Work.unbox(script), script


def _reduce_name(op, site):
    kind = _REDUCE_NAMES.get(int(op.op()))
    if kind is None:
        raise ExportError(f"reduce operator {op.op()} at {site} is not supported")
    return kind


def _factor(kind, site):
    if kind != "premul_sum":
        return None
    if not _premul_factors or any(f is not _premul_factors[-1] and f != _premul_factors[-1] for f in _premul_factors):
        raise ExportError(f"PREMUL_SUM at {site}: several factors are in use, and the call does not say which; use one factor")
    return _premul_factors[-1]


class _Translator:
    def __init__(self, func, a, site):
        self.api, self.a, self.site = f"{func.namespace}::{func._opname}", a, site
        if "process_group" in a:
            self.pg = ProcessGroup.unbox(a["process_group"])
        elif "group_name" in a:
            self.pg = dist.distributed_c10d._resolve_process_group(a["group_name"])
        else:
            self.pg = None
        self.ranks = group_ranks(self.pg) if self.pg is not None else ()
        self.me = self.pg.rank() if self.pg is not None else None

    def call(self, name, inputs, outputs, dtype=None, reduce=None, **more):
        for t in inputs:
            if not isinstance(t, torch.Tensor) or t.layout != torch.strided:
                raise ExportError(f"{self.api} at {self.site}: only strided tensors can be communicated")
        if dtype is None and inputs:
            dtype = inputs[0].dtype
        for role in ("root", "peer"):
            rank = more.get(role)
            if rank is not None and not 0 <= rank < len(self.ranks):
                raise ExportError(f"{self.api} at {self.site}: {role} {rank} is not one of the {len(self.ranks)} ranks of the group")
        if reduce is not None:
            more["factor"] = _factor(reduce, self.site)
        return Collective(
            name=name, group=self.ranks, inputs=list(inputs), outputs=[list(s) for s in outputs], dtype=dtype,
            site=self.site, api=self.api, reduce=reduce, **more,
        )  # fmt: skip

    def same_dtype(self, tensors):
        kinds = {t.dtype for t in tensors}
        if len(kinds) > 1:
            raise ExportError(f"{self.api} at {self.site}: mixes dtypes {', '.join(sorted(map(str, kinds)))}")

    def plan(self, steps, finish, asynchronous=None, lazy=False):
        if asynchronous is None:
            asynchronous = bool(self.a.get("async_op", True))
        return Plan(steps, asynchronous, finish, self.pg, lazy)

    def reduce_kind(self):
        return _reduce_name(self.a["reduce_op"], self.site) if "reduce_op" in self.a else None

    # The ops of c10d. Each returns a Plan.

    def allreduce_(self):
        if self.a.get("sparse_indices") is not None:
            raise ExportError(f"sparse all_reduce at {self.site} is not supported; use a dense tensor")
        kind = self.reduce_kind()
        steps = [Step(self.call("all_reduce", [t], [t.shape], reduce=kind), [t]) for t in self.a["tensors"]]
        return self.plan(steps, lambda outs, work: (self.a["tensors"], work))

    def allreduce_coalesced_(self):
        plan = self.allreduce_()
        plan.finish = lambda outs, work: work
        return plan

    def broadcast_(self):
        steps = [
            Step(self.call("broadcast", [t], [t.shape], root=self.a["root_rank"]), [t]) for t in self.a["tensors"]
        ]
        return self.plan(steps, lambda outs, work: (self.a["tensors"], work))

    def reduce_(self):
        # Off the root nothing changes: recorded as an overwrite with itself, so that the ranks have one record.
        root, kind = self.a["root_rank"], self.reduce_kind()
        steps = [Step(self.call("reduce", [t], [t.shape], reduce=kind, root=root), [t]) for t in self.a["tensors"]]
        return self.plan(steps, lambda outs, work: work)

    def _gather_base(self, out, x):
        self.same_dtype([out, x])
        if out.numel() != len(self.ranks) * x.numel():
            raise ExportError(
                f"{self.api} at {self.site}: output {list(out.shape)} must hold {len(self.ranks)} times input {list(x.shape)}"
            )
        return Step(self.call("all_gather", [x], [[len(self.ranks), *x.shape]]), [out])

    def _allgather_base_(self):
        step = self._gather_base(self.a["output_tensor"], self.a["input_tensor"])
        return self.plan([step], lambda outs, work: (self.a["output_tensor"], work))

    def allgather_into_tensor_coalesced_(self):
        steps = [self._gather_base(o, x) for o, x in zip(self.a["outputs"], self.a["inputs"])]
        return self.plan(steps, lambda outs, work: work)

    def _gather_list(self, outs, x):
        self.same_dtype([*outs, x])
        if len(outs) != len(self.ranks):
            raise ExportError(f"{self.api} at {self.site}: {len(outs)} outputs for a group of {len(self.ranks)} ranks")
        return Step(self.call("all_gather", [x], [t.shape for t in outs]), list(outs))

    def allgather_(self):
        steps = [self._gather_list(o, x) for o, x in zip(self.a["output_tensors"], self.a["input_tensors"])]
        return self.plan(steps, lambda outs, work: (self.a["output_tensors"], work))

    def allgather_coalesced_(self):
        # output_lists is [rank][tensor] here.
        per_tensor = list(zip(*self.a["output_lists"]))
        steps = [self._gather_list(o, x) for o, x in zip(per_tensor, self.a["input_list"])]
        return self.plan(steps, lambda outs, work: work)

    def _scatter_base(self, out, x):
        self.same_dtype([out, x])
        if x.numel() != len(self.ranks) * out.numel():
            raise ExportError(
                f"{self.api} at {self.site}: input {list(x.shape)} must hold {len(self.ranks)} times output {list(out.shape)}"
            )
        return Step(self.call("reduce_scatter", [x], [out.shape], reduce=self.reduce_kind()), [out])

    def _reduce_scatter_base_(self):
        step = self._scatter_base(self.a["output_tensor"], self.a["input_tensor"])
        return self.plan([step], lambda outs, work: (self.a["output_tensor"], work))

    def reduce_scatter_tensor_coalesced_(self):
        steps = [self._scatter_base(o, x) for o, x in zip(self.a["outputs"], self.a["inputs"])]
        return self.plan(steps, lambda outs, work: work)

    def reduce_scatter_(self):
        steps = []
        for out, xs in zip(self.a["output_tensors"], self.a["input_tensors"]):
            self.same_dtype([out, *xs])
            if len(xs) != len(self.ranks) or xs[self.me].numel() != out.numel():
                raise ExportError(f"{self.api} at {self.site}: the inputs do not fit the output {list(out.shape)}")
            steps.append(Step(self.call("reduce_scatter", xs, [out.shape], reduce=self.reduce_kind()), [out]))
        return self.plan(steps, lambda outs, work: (self.a["output_tensors"], work))

    def alltoall_(self):
        outs, xs = self.a["output_tensors"], self.a["input_tensors"]
        self.same_dtype([*outs, *xs])
        if len(outs) != len(self.ranks) or len(xs) != len(self.ranks):
            raise ExportError(f"{self.api} at {self.site}: {len(xs)} inputs for a group of {len(self.ranks)} ranks")
        call = self.call("all_to_all", xs, [t.shape for t in outs], out_counts=[t.numel() for t in outs])
        return self.plan([Step(call, list(outs))], lambda o, work: (outs, work))

    def _all_to_all_single(self, x, out_sizes, splits_in, splits_out):
        w = len(self.ranks)
        splits = None
        if splits_in or splits_out:
            splits = {
                "in": list(splits_in) or self._equal(x.shape[0], "input"),
                "out": list(splits_out) or self._equal(out_sizes[0], "output"),
            }
        else:
            self._equal(x.shape[0], "input")
            self._equal(out_sizes[0], "output")
        for key, total in (("in", x.shape[0]), ("out", out_sizes[0])):
            if splits and (len(splits[key]) != w or sum(splits[key]) != total):
                raise ExportError(
                    f"{self.api} at {self.site}: {key}put splits {splits[key]} do not add up to {total} rows of {w} ranks"
                )
        row = torch.Size(out_sizes[1:]).numel()
        rows = splits["out"] if splits else [out_sizes[0] // w] * w
        return self.call("all_to_all", [x], [out_sizes], splits=splits, out_counts=[r * row for r in rows])

    def _equal(self, rows, what):
        if rows % len(self.ranks):
            raise ExportError(
                f"{self.api} at {self.site}: {what} has {rows} rows, which {len(self.ranks)} ranks cannot share equally"
            )
        return [rows // len(self.ranks)] * len(self.ranks)

    def alltoall_base_(self):
        out, x = self.a["output"], self.a["input"]
        self.same_dtype([out, x])
        call = self._all_to_all_single(x, out.shape, self.a["input_split_sizes"], self.a["output_split_sizes"])
        return self.plan([Step(call, [out])], lambda outs, work: work)

    def _list_of_root(self, lists, root, what):
        """The list that only the root has: a tensor for each rank."""
        if root != self.me:
            return []
        tensors = list(lists[0]) if lists else []
        if len(tensors) != len(self.ranks):
            raise ExportError(f"{self.api} at {self.site}: {len(tensors)} {what} for a group of {len(self.ranks)} ranks")
        return tensors

    def gather_(self):
        root, x = self.a["root_rank"], self.a["input_tensors"][0]
        outs = self._list_of_root(self.a["output_tensors"], root, "outputs")
        self.same_dtype([*outs, x])
        call = self.call("gather", [x], [t.shape for t in outs], root=root)
        return self.plan([Step(call, outs)], lambda o, work: work)

    def scatter_(self):
        root, out = self.a["root_rank"], self.a["output_tensors"][0]
        xs = self._list_of_root(self.a["input_tensors"], root, "inputs")
        self.same_dtype([out, *xs])
        call = self.call("scatter", xs, [out.shape], dtype=out.dtype, root=root)
        return self.plan([Step(call, [out])], lambda o, work: (self.a["output_tensors"], work))

    def send(self):
        steps = [
            Step(self.call("send", [t], [], peer=self.a["dst"], tag=self.a["tag"]), []) for t in self.a["tensors"]
        ]
        return self.plan(steps, lambda outs, work: work, asynchronous=True)

    def recv_(self):
        peer = self.a.get("src")
        steps = [
            Step(self.call("recv", [], [t.shape], dtype=t.dtype, peer=peer, tag=self.a["tag"]), [t])
            for t in self.a["tensors"]
        ]
        return self.plan(steps, lambda outs, work: work, asynchronous=True, lazy=True)

    def recv_any_source_(self):
        raise ExportError(f"receive from any source at {self.site}: the order is not fixed; name the source rank")

    def barrier(self):
        return self.plan([Step(self.call("barrier", [], []), [])], lambda outs, work: work)

    def monitored_barrier_(self):
        return self.plan([Step(self.call("barrier", [], []), [])], lambda outs, work: None, asynchronous=False)

    # The functional ops.

    def f_reduce_kind(self):
        kind = {"product": "prod"}.get(self.a["reduce_op"], self.a["reduce_op"])
        if kind not in _REDUCE_NAMES.values():
            raise ExportError(f"reduce operator {kind} at {self.site} is not supported")
        return kind

    def f_all_reduce(self, in_place=False):
        x = self.a["input"]
        call = self.call("all_reduce", [x], [x.shape], reduce=self.f_reduce_kind())
        return self.plan([Step(call, [x if in_place else None])], lambda outs, work: x if in_place else outs[0][0], True)

    def f_all_reduce_(self):
        return self.f_all_reduce(in_place=True)

    def f_all_reduce_coalesced(self, in_place=False):
        xs, kind = self.a["inputs"], self.f_reduce_kind()
        steps = [Step(self.call("all_reduce", [x], [x.shape], reduce=kind), [x if in_place else None]) for x in xs]
        return self.plan(steps, lambda outs, work: xs if in_place else [o[0] for o in outs], True)

    def f_all_reduce_coalesced_(self):
        return self.f_all_reduce_coalesced(in_place=True)

    def _f_gathered(self, x):
        return Step(self.call("all_gather", [x], [[len(self.ranks), *x.shape]]), [None])

    @staticmethod
    def _joined(out, x):
        """[W, n, ...] as the program sees it: [W * n, ...]."""
        return out.view(out.shape[0] * (x.shape[0] if x.dim() else 1), *x.shape[1:])

    def f_all_gather_into_tensor(self):
        x = self.a["input"]
        return self.plan([self._f_gathered(x)], lambda outs, work: self._joined(outs[0][0], x), True)

    def f_all_gather_into_tensor_coalesced(self):
        xs = self.a["inputs"]
        steps = [self._f_gathered(x) for x in xs]
        return self.plan(steps, lambda outs, work: [self._joined(o[0], x) for o, x in zip(outs, xs)], True)

    def f_all_gather_into_tensor_out(self):
        step = self._gather_base(self.a["out"], self.a["input"])
        return self.plan([step], lambda outs, work: self.a["out"], True)

    def _f_scattered(self, x, kind):
        w = len(self.ranks)
        self._equal(x.shape[0], "input")
        return Step(self.call("reduce_scatter", [x], [[x.shape[0] // w, *x.shape[1:]]], reduce=kind), [None])

    def f_reduce_scatter_tensor(self):
        step = self._f_scattered(self.a["input"], self.f_reduce_kind())
        return self.plan([step], lambda outs, work: outs[0][0], True)

    def f_reduce_scatter_tensor_coalesced(self):
        kind = self.f_reduce_kind()
        steps = [self._f_scattered(x, kind) for x in self.a["inputs"]]
        return self.plan(steps, lambda outs, work: [o[0] for o in outs], True)

    def f_reduce_scatter_tensor_out(self):
        step = self._f_scattered(self.a["input"], self.f_reduce_kind())
        step.targets = [self.a["out"]]
        return self.plan([step], lambda outs, work: self.a["out"], True)

    def f_all_to_all_single(self):
        x, splits_out = self.a["input"], [int(s) for s in self.a["output_split_sizes"]]
        splits_in = [int(s) for s in self.a["input_split_sizes"]]
        equal = len(set(splits_in)) <= 1 and splits_in == splits_out
        sizes = [sum(splits_out), *x.shape[1:]] if splits_out else list(x.shape)
        call = self._all_to_all_single(x, sizes, [] if equal else splits_in, [] if equal else splits_out)
        return self.plan([Step(call, [None])], lambda outs, work: outs[0][0], True)

    def f_broadcast(self, in_place=False):
        x = self.a["input"]
        call = self.call("broadcast", [x], [x.shape], root=self.a["src"])
        return self.plan([Step(call, [x if in_place else None])], lambda outs, work: x if in_place else outs[0][0], True)

    def f_broadcast_(self):
        return self.f_broadcast(in_place=True)


def is_wait(func):
    return func.namespace == "_c10d_functional" and func._opname == "wait_tensor"


def is_wrapper(func):
    """An op that only marks a tensor for autograd and returns it."""
    return func.namespace == "_c10d_functional" and func._opname == "_wrap_tensor_autograd"


def translate(func, args, kwargs, site):
    """The Plan of one dispatcher call; site is the user's line as text. Raises ExportError for what cannot be captured."""
    prefix = "" if func.namespace == "c10d" else "f_"
    translator = _Translator(func, bind(func, args, kwargs), site)
    method = getattr(translator, prefix + func._opname, None)
    if method is None:
        raise ExportError(f"{func.namespace}::{func._opname} at {site} is not supported; use a collective of torch.distributed")
    return method()
