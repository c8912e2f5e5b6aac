# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Timing: loop and graph step, alternating rounds, statistics (docs/Rationale/Measuring.md).

Nothing here knows what is timed: a variant is anything with `name`, `way` and `call(i)`. The clock is CUDA events on the current
stream; tests hand in one of their own.
"""

import collections
import statistics
import time

import torch

from .protocol import attempt

TARGET_S = 0.2  # length of one timed run
MIN_CALLS, MAX_CALLS = 5, 100
ROUNDS, SHORT_ROUNDS = 5, 15  # the second: of timed runs shorter than SHORT_S, in which the host's speed of a moment decides
SHORT_S = 0.01
LEAD_IN = 3  # untimed calls before a timed run


class CudaClock:
    """Events on the current stream of `device`. Times in seconds."""

    def __init__(self, device):
        self.device = device

    def mark(self):
        """A point in time, now."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def markers(self, count):
        """`count` points in time to come; calling `.record()` on one sets it. Made beforehand, so that a timed run only records."""
        return [torch.cuda.Event(enable_timing=True) for _ in range(count)]

    def between(self, a, b):
        return a.elapsed_time(b) * 1e-3

    def synchronize(self):
        torch.cuda.synchronize(self.device)


def calls_for(seconds_per_call, calls_per_item=1):
    """How often a variant's item (a call, or a graph of `calls_per_item` calls) runs in one timed run."""
    seconds = max(seconds_per_call * calls_per_item, 1e-9)
    return int(min(max(TARGET_S / seconds, MIN_CALLS), MAX_CALLS))


def rounds_for(seconds_per_call, calls):
    """In how many rounds a variant takes part whose timed run is so many calls."""
    return SHORT_ROUNDS if seconds_per_call * calls < SHORT_S else ROUNDS


def timed_run(variant, count, clock, barrier, lead_in=LEAD_IN):
    """Seconds per call of one timed run of `count` items on this rank, and the spread inside it (min, max per item).

    `lead_in` untimed items go first so that the pipeline is full; an event follows every call from Python (of graphs, the last) and
    nothing waits for the device between them. The results of the timed items are handed to `variant.keep` if it has one.
    """
    call, per = variant.call, variant.calls_per_item
    # An event between two graphs costs the device a few microseconds; a call from Python is timed as the benchmark times it.
    marks = clock.markers(count + 1 if per == 1 else 2)
    keep = getattr(variant, "keep", None)
    results = collections.deque(maxlen=variant.most_kept if keep else 0)
    barrier()
    for i in range(lead_in):
        call(i)
    marks[0].record()
    if per == 1:
        for i, record in enumerate([m.record for m in marks[1:]], lead_in):
            results.append(call(i))
            record()
    else:
        for i in range(lead_in, lead_in + count):
            results.append(call(i))
        marks[1].record()
    clock.synchronize()
    if keep is not None:
        for i, result in enumerate(results, lead_in + count - len(results)):
            keep(i, result)
    items = [clock.between(a, b) / (per if per == 1 else per * count) for a, b in zip(marks, marks[1:])]
    return {"mean": clock.between(marks[0], marks[-1]) / count / per, "min": min(items), "max": max(items), "count": count}


def host_time(enqueue, clock, batches=21, calls=32):
    """Median over batches of the host's time for one `enqueue()`, in microseconds; the device is drained between batches."""
    times = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(calls):
            enqueue()
        times.append((time.perf_counter() - start) / calls * 1e6)
        clock.synchronize()
    return statistics.median(times)


def warm_up(variant, clock, exchange, seconds=0.3, most=500):
    """Runs a variant until it is warm; returns the largest rank's estimate of seconds per call."""
    done, estimate = 0, None
    batch = 5
    while done < most:
        start = clock.mark()
        for i in range(batch):
            variant.call(done + i)
        end = clock.mark()
        clock.synchronize()
        done += batch
        estimate = clock.between(start, end) / batch / variant.calls_per_item
        total = exchange.largest(estimate * variant.calls_per_item) * done
        if total >= seconds:
            break
        batch = int(min(max(batch, (seconds - total) / max(total / done, 1e-9)), 100, most - done))
        if batch < 1:
            break
    return exchange.largest(estimate)


def measure(variants, clock, exchange, device_barrier, rounds=None, step=lambda name: None):
    """Times variants in alternating rounds (forwards, then backwards, and so on).

    rounds: how many, for all; else by `rounds_for`.
    Returns {key: {"us": median over rounds of the largest rank's mean, "low", "high": the extremes over rounds, "runs": [...],
    "calls": items of one run}} or {"error": message}, where key is (name, way). A variant that raises on any rank is left out from
    then on and reported; the others go on. Units: microseconds per call.
    """
    results, live, counts, takes = {}, [], {}, {}
    for v in variants:
        step(f"warming up {v.name} ({v.way})")
        estimate, error = attempt(exchange, lambda v=v: warm_up(v, clock, exchange))
        if error is None:
            counts[v] = calls_for(estimate, v.calls_per_item)
            takes[v] = rounds or rounds_for(estimate, counts[v] * v.calls_per_item)
            live.append(v)
        else:
            results[(v.name, v.way)] = {"error": error}
    runs = {v: [] for v in live}
    for r in range(max(takes.values(), default=0)):
        for v in [v for v in (live if r % 2 == 0 else reversed(live)) if r < takes[v]]:
            step(f"timing {v.name} ({v.way}), round {r + 1}")
            run, error = attempt(exchange, lambda v=v: _timed_and_checked(v, counts[v], clock, device_barrier))
            if error is not None:
                results[(v.name, v.way)] = {"error": error}
                live.remove(v)
                continue
            runs[v].append(exchange.allgather(run))
    for v in live:
        results[(v.name, v.way)] = summary(runs[v], counts[v] * v.calls_per_item)
    return results


def _timed_and_checked(variant, count, clock, barrier):
    if hasattr(variant, "reserve"):
        variant.reserve(count + LEAD_IN)
        clock.synchronize()
    run = timed_run(variant, count, clock, barrier)
    if hasattr(variant, "check_kept"):
        variant.check_kept()
    return run


def summary(rounds, calls):
    """Statistics of rounds, each a list over ranks of what timed_run gives."""
    means = [max(rank["mean"] for rank in ranks) * 1e6 for ranks in rounds]
    return {
        "us": statistics.median(means),
        "low": min(means),
        "high": max(means),
        "runs": [round(m, 3) for m in means],
        "calls": calls,
    }
