# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is timed. Each variant has a name, a way (`loop` or `graph step`), `calls_per_item`, and `call(i)`, which enqueues item number i.

loop        calls from Python back to back; the first tensor argument rotates. A CUDA graph pays one copy of that tensor in.
graph step  one CUDA graph of STEP_CALLS calls that read as many resident argument sets; nobody copies.
"""

import torch

from ..export import tree
from . import clones

STEP_CALLS = 20
MAX_KEPT = 128
KEEP_BYTES = 8 << 30  # at most this much of results is held for the check after a timed run


class WrongResult(Exception):
    """A timed call gave another result than the checked call on the same arguments."""


class Loop:
    """`function(args)` on rotating argument sets.

    Results of timed calls are held until the run is over (as many as KEEP_BYTES allow, the last ones), for every variant
    alike. expected: for each of the sets that rotate, the flat list of checked results with which they are then compared bit for
    bit on the device, or None.
    """

    way, calls_per_item = "loop", 1

    def __init__(self, name, function, groups, expected=None):
        self.name, self.function, self.groups, self.expected = name, function, groups, expected
        self.checked_calls = 0
        self._kept = []
        self.most_kept = MAX_KEPT

    def call(self, i):
        return self.function(self.groups[i % len(self.groups)])

    def reserve(self, count):
        """Makes the allocator own the memory of `count` results, so that a timed run allocates nothing from the driver."""
        results = [self.call(0)]
        size = sum(t.numel() * t.element_size() for t in tree.tensors(results[0]))
        self.most_kept = min(MAX_KEPT, max(1, KEEP_BYTES // size)) if size else MAX_KEPT
        for i in range(1, min(count, self.most_kept + 1)):
            results.append(self.call(i))

    def keep(self, i, result):
        self._kept.append((i, result))

    def check_kept(self):
        kept, self._kept = self._kept, []
        if not self.expected:
            return
        check_results(self.name, ((i, self.expected[i % len(self.groups) % len(self.expected)], r) for i, r in kept))
        self.checked_calls += len(kept)


class Step:
    """A CUDA graph of STEP_CALLS calls; one item is one replay."""

    way, calls_per_item = "graph step", STEP_CALLS

    def __init__(self, name, function, sets, stream, expected=None):
        """sets: STEP_CALLS argument tuples. stream: the side stream to capture on. expected: as in Loop, by set number."""
        self.name, self.expected, self._sets = name, expected, sets
        self.graph, self.results = capture(lambda: [function(args) for args in sets], stream, lambda: function(sets[0]))
        self.checked_calls = 0

    def call(self, i):
        self.graph.replay()
        return None

    def check_kept(self):
        """The results in memory are those of the last replay."""
        if self.expected:
            check_results(self.name, ((j, self.expected[j % len(self.expected)], r) for j, r in enumerate(self.results)))
            self.checked_calls += len(self.results)


class GraphLoop:
    """A CUDA graph of one call of the original, as loop times it: the rotating tensor is copied in, then the graph runs."""

    way, calls_per_item = "loop", 1

    def __init__(self, name, function, groups, stream):
        self.name = name
        path = clones.first_tensor_path(groups[0])
        self._static = None if path is None else clones.at_path(groups[0], path).detach().clone()
        args = groups[0] if path is None else clones.with_tensor(groups[0], path, self._static)
        self._sources = [] if path is None else [clones.at_path(g, path) for g in groups]
        self.graph, self._results = capture(lambda: function(args), stream, lambda: function(args))

    def call(self, i):
        if self._static is not None:
            self._static.copy_(self._sources[i % len(self._sources)])
        self.graph.replay()


def capture(action, stream, warm, times=3, graph=None):
    """(graph, result) of `action` captured on `stream`, in `graph` if one is given, after `times` warm-up calls there."""
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(times):
            warm()
    stream.synchronize()
    graph = graph or torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        result = action()
    torch.cuda.current_stream().wait_stream(stream)
    return graph, result


def check_results(name, triples):
    """Compares (number, expected tensors, result) bit for bit on the device; one transfer for all. Raises WrongResult."""
    numbers, differs = [], []
    for i, expected, result in triples:
        found = tree.tensors(result)
        if len(found) != len(expected):
            raise WrongResult(f"timed call {i} of {name} gives {len(found)} tensors, not {len(expected)}")
        for j, (a, b) in enumerate(zip(found, expected)):
            numbers.append((i, j))
            differs.append(_differs(a, b))
    if not differs:
        return
    bad = torch.stack(differs).nonzero().flatten().tolist()
    if bad:
        i, j = numbers[bad[0]]
        raise WrongResult(f"timed call {i} of {name} gives another output {j} than the checked call ({len(bad)} of {len(differs)} differ)")


def _differs(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return torch.ones((), dtype=torch.bool, device=a.device)
    if a.numel() == 0:
        return torch.zeros((), dtype=torch.bool, device=a.device)
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}[a.element_size()]
    a, b = (t.detach().contiguous().reshape(-1).view(words) for t in (a, b))
    return (a != b).any()
