# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One job on one rank: load, check, time."""

import gc
import os

import torch

from ..export import tree
from . import clones, counts, oracle, rules, timing, variants
from .judge import bits_hash, judge, magnitude
from .ours import Ours
from .protocol import PeerFailed, Refusal, attempt, one_line
from .sources import Original


class Job:
    """spec: program, bundle, source, folder, trials, seed, atol, rtol, time (bool), ways, compile (bool), skip (variant names).

    ranks: a worker.Ranks (rank, world_size, device, exchange, store, channel, stream, link_rate, device_barrier).
    """

    def __init__(self, spec, ranks):
        self.spec, self.ranks, self.exchange = spec, ranks, ranks.exchange
        self.step = ranks.channel.step

    def run(self):
        s, r = self.spec, self.ranks
        self.step("loading the program")
        folder = os.path.join(s["folder"], f"rank{r.rank}")
        os.makedirs(folder, exist_ok=True)
        self.step("loading the original function")
        self.original = Original(s["bundle"], folder, s.get("source"), r.rank, r.device, s.get("seed", 0))
        for message in self.original.warnings:
            r.channel.send("warning", message=message)
        self.ours = Ours(s["program"])
        self.check()
        if s.get("time") and self.right:
            self.time()
        self.step("unloading the program")
        self.ours.unload()

    # Correctness

    def check(self):
        self.step("running the original function")
        trials = int(self.spec["trials"])
        self.sets, reference = [], []
        for t in range(trials):
            args = self.original.arguments(t)
            self.sets.append(clones.clone(args))
            result = self.original.function(*args)
            reference.append({"results": [x.detach().clone() for x in tree.tensors(result)], "after": tree.tensors(args)})
        torch.cuda.synchronize()
        self.step("running the program")
        ours = self._run_ours(trials)
        self.step("computing the oracle")
        if "oracle" in self.spec.get("skip", []):
            wide, reason = None, "it did not answer in an earlier attempt"
        else:
            wide, reason = attempt(self.exchange, lambda: [self._oracle(t) for t in range(trials)])
        self.step("comparing")
        verdicts = self._compare(reference, ours, wide)
        self.expected = [o["program_outputs"] for o in ours]
        self.right = all(self.exchange.allgather(all(not v.reason for v in verdicts)))
        self.ranks.channel.send("check", verdicts=[v.json() for v in verdicts], oracle="float64" if wide else f"none: {reason}")

    def _run_ours(self, trials):
        """All calls back to back, nothing waits for the device between them."""
        copies = [clones.clone(args) for args in self.sets]
        flat = [self.ours.tensors(args) for args in copies]
        outputs = [self.ours.call_poisoned(tensors) for tensors in flat]
        self.ours.synchronize()
        torch.cuda.synchronize()
        return [
            {"results": self.ours.results(out), "program_outputs": [x.clone() for x in out], "after": tree.tensors(args)}
            for out, args in zip(outputs, copies)
        ]

    def _oracle(self, trial):
        o = self.original
        return oracle.run(
            o.record, o.groups, o.bundle.read, self.ranks.file_exchange(self.spec["folder"], f"t{trial}"), tree.tensors(self.sets[trial]), self.ranks.device
        )

    def _compare(self, reference, ours, wide):
        result_rules, argument_rules = rules.rules(
            self.original.record, self.original.groups, self.spec.get("atol"), self.spec.get("rtol")
        )
        out = []
        for kind, key, part, rule_list in (("output", "results", 0, result_rules), ("argument", "after", 1, argument_rules)):
            columns = []
            for j, _ in enumerate(rule_list):
                pairs = enumerate(zip(ours, reference))
                rows = [(mine[key][j], ref[key][j], wide[t][part][j] if wide else None) for t, (mine, ref) in pairs]
                columns.append(rows)
            told = self.exchange.allgather([[_summary(*row) for row in rows] for rows in columns])
            for j, (rule, rows) in enumerate(zip(rule_list, columns)):
                samples = [_sample(row, [theirs[j][t] for theirs in told if j < len(theirs)]) for t, row in enumerate(rows)]
                out.append(judge(f"{kind} {j}", rule, samples, self.ranks.rank))
        return out

    # Time

    def time(self):
        s, r = self.spec, self.ranks
        sets = [a for a in self.sets if clones.same_geometry(a, self.sets[0])]
        mutates = self._mutates()
        expected = None if mutates else [self.expected[i] for i, a in enumerate(self.sets) if clones.same_geometry(a, self.sets[0])]
        ways, skip = set(s.get("ways", ["loop", "graph step"])), set(s.get("skip", []))
        # As many on every rank, also where their tensors differ in size: call i means the same inputs everywhere.
        groups = max(self.exchange.allgather(clones.rotation_groups(clones.first_tensor_bytes(sets[0]), clones.l2_bytes(r.device))))
        made, failed = [], {}
        for name, way, make in self._variants(sets, groups, expected):
            if way not in ways or name in skip:
                continue
            self.step(f"preparing {name} ({way})")
            variant, error = attempt(self.exchange, make)
            if error is None:
                made.append(variant)
            else:
                failed[(name, way)] = {"error": error}
        clock = timing.CudaClock(r.device)
        results = timing.measure(made, clock, self.exchange, r.device_barrier, step=self.step)
        results.update(failed)
        launched = self._launches(sets, skip)
        host, host_error = attempt(self.exchange, lambda: self._host_times(sets[0], clock))
        link = max(self.exchange.allgather(counts.link_bytes(self.original.record, self.original.groups)))
        for way in sorted(ways):
            rows = {name: result for (name, w), result in results.items() if w == way}
            checked = sum(v.checked_calls for v in made if v.way == way and hasattr(v, "checked_calls"))
            r.channel.send(
                "time", way=way, variants=rows, launches=launched, link_bytes=link, link_rate=r.link_rate,
                rotating_groups=groups, calls_checked=checked, host=host if host_error is None else {"error": host_error},
                unchecked="the program changes its arguments" if mutates else "", skipped=sorted(skip),
            )  # fmt: skip

    def _host_times(self, args, clock):
        """Host time of one call from Python, nothing else in the loop: the largest rank's median over batches, in microseconds."""
        flat = self.ours.tensors(clones.clone(args))
        outputs = self.ours.call_poisoned(flat)
        own = [o for o, alias in zip(outputs, self.ours.aliases) if alias is None]
        call, call_out, handle = torch.ops.pkb.call.default, torch.ops.pkb.call_out.default, self.ours.handle
        found = {
            "call_us": timing.host_time(lambda: call(handle, flat), clock),
            "call_out_us": timing.host_time(lambda: call_out(handle, flat, own), clock),
        }
        return {name: max(self.exchange.allgather(us)) for name, us in found.items()}

    def _mutates(self):
        """True if the original's record writes into an argument."""
        inputs = {self.original.record["tensors"][t]["storage"] for t in tree.tensor_ids(self.original.record["inputs"])}
        written = set()
        for event in self.original.record["events"]:
            ids = event["mutates"] if event["kind"] == "op" else [d for _, d in event.get("writes", [])]
            written |= {self.original.record["tensors"][t]["storage"] for t in ids}
        return bool(inputs & written)

    def _variants(self, sets, groups, expected):
        """(name, way, maker) of everything that is timed, the risky ones last."""
        ours, original = self.ours, self.original.function
        # Ours is captured where it is called, on the stream whose channel it has; a baseline whose capture fails spoils only its own.
        stream, side = self.ranks.stream, self.ranks.side_stream
        rotating = clones.rotating(sets, groups)
        resident = clones.rotating(sets, variants.STEP_CALLS)
        flat = [ours.tensors(a) for a in rotating]
        resident_flat = [ours.tensors(a) for a in resident]

        def call_original(args):
            return original(*args)

        yield "ours", "loop", lambda: variants.Loop("ours", ours.operator, flat, expected)
        yield "ours", "graph step", lambda: variants.Step("ours", ours.operator, resident_flat, stream, expected)
        yield "eager", "loop", lambda: variants.Loop("eager", call_original, rotating)
        yield "graph", "loop", lambda: variants.GraphLoop("graph", call_original, rotating, side())
        yield "graph", "graph step", lambda: variants.Step("graph", call_original, resident, side())
        if self.spec.get("compile", True):
            torch._dynamo.reset()  # nothing of the job before counts towards its limits
            compiled = torch.compile(original)

            def call_compiled(args):
                return compiled(*args)

            yield "compile", "loop", lambda: variants.Loop("compile", call_compiled, rotating)
            yield "compile", "graph step", lambda: variants.Step("compile", call_compiled, resident, side())

    def _launches(self, sets, skip):
        """What one call enqueues, counted once; a count that fails costs only its column."""
        out = {}
        flat = self.ours.tensors(sets[0])
        actions = {
            "ours": (lambda: self.ours.call(flat), lambda: self.ranks.stream),
            "eager": (lambda: self.original.function(*sets[0]), self.ranks.side_stream),
        }
        for name, (action, stream) in actions.items():
            if name in skip or "launches" in skip:
                continue
            self.step(f"counting the launches of {name}")
            found, uncaptured = attempt(self.exchange, lambda action=action, stream=stream: counts.launches(action, stream()))
            if uncaptured is None:
                out[name] = found
                continue
            self.step(f"counting the launches of {name} with the profiler")
            found, error = attempt(self.exchange, lambda action=action: counts.profiled_launches(action))
            out[name] = {**(found if error is None else {"error": error}), "not_captured": uncaptured}
        return out


def _summary(ours, reference, wide):
    """What other ranks must know of one tensor: its kind, its largest magnitude, hashes of the reference and of ours."""
    number = reference.is_floating_point() or reference.is_complex()
    largest = magnitude(wide if wide is not None else reference) if number else 0.0
    return [f"{reference.dtype} {list(reference.shape)}", largest, bits_hash(reference), bits_hash(ours)]


def _sample(row, told):
    """A sample for `judge`. told: the summaries of this tensor from the ranks that have one of this number; on others, where it is of
    another dtype or shape, it is another tensor."""
    ours, reference, wide = row
    alike = [x for x in told if x[0] == f"{reference.dtype} {list(reference.shape)}"]
    return {
        "ours": ours, "reference": reference, "oracle": wide, "magnitude": max(x[1] for x in alike),
        "same_reference": len(alike) > 1 and len({x[2] for x in alike}) == 1, "same_ours": len({x[3] for x in alike}) == 1,
    }  # fmt: skip


def run_job(spec, ranks):
    """Runs a job and tells pkb-run how it ended. A rank that raises leaves its peers to pkb-run, which ends them."""
    channel = ranks.channel
    try:
        job = Job(spec, ranks)
        job.run()
        channel.send("done", code=0 if job.right else 1)
    except Refusal as e:
        channel.send("error", code=e.code, message=str(e))
    except PeerFailed as e:
        channel.send("error", code=2, message=str(e), peer=True)
    except Exception as e:  # noqa: BLE001 - user code may raise anything
        import traceback

        traceback.print_exc()
        channel.send("error", code=exit_code(e), message=one_line(e))
    gc.collect()
    torch.cuda.empty_cache()


def exit_code(error):
    """The exit status of pkb-run for what a job raised: PkbError carries a pkb_status (pkb_rt/pkb.h), torch's operator a text."""
    status = getattr(error, "status", None)
    if status == 3 or str(error).startswith("pkb guard: "):
        return 3
    return 4 if status in (5, 6) else 2
