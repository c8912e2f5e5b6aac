# RUN: %python %s 1 2 3
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that torch.export saved runs right on emulated ranks. Arguments: numbers of ranks."""
import os
import subprocess
import sys
import tempfile
import threading
import warnings

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
from torch.testing._internal.distributed.fake_pg import FakeStore

import pkb

warnings.simplefilter("ignore")
BUILD = os.environ["PKB_BUILD_DIR"]
os.environ.setdefault("PKB_LIBRARY_DIR", os.path.join(BUILD, "lib"))


class Block(torch.nn.Module):
    """A row-parallel linear layer whose input is gathered, with writes through views and a constant."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = torch.nn.Parameter(torch.randn(4, 6))

    def forward(self, x, scale):
        everyone = fc.all_gather_tensor(x, 0, dist.group.WORLD)
        y = torch.nn.functional.linear(everyone, self.weight).contiguous()
        dist.all_reduce(y)
        y.t()[1].mul_(2)
        return {"sum": y * scale, "mine": x[1:], "part": y.reshape(-1)[:3]}


def expected(model, inputs):
    everyone = torch.cat([x for x, _ in inputs])
    y = torch.nn.functional.linear(everyone, model.weight)
    y = sum([y] * (len(inputs) - 1), y)
    y[:, 1] *= 2
    return [{"sum": y * scale, "mine": x[1:], "part": y.reshape(-1)[:3]} for x, scale in inputs]


def on_ranks(path, world_size, inputs):
    results = [None] * world_size

    def main(rank):
        context = machine.context(rank, arena_bytes=32 << 20, timeout_s=60)
        try:
            program = pkb.load(path, context=context)
            for _ in range(2):
                results[rank] = {key: value.clone() for key, value in program(*inputs[rank]).items()}
        except BaseException as error:
            context.abort(str(error))
            results[rank] = error
        finally:
            context.close()

    with pkb.Emulator(world_size) as machine:
        threads = [threading.Thread(target=main, args=(rank,)) for rank in range(world_size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return results


def check(world_size, folder):
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world_size)
    model = Block()
    with torch.no_grad():
        program = torch.export.export(model, (torch.randn(3, 6), torch.randn(1)))
    torch.export.save(program, f"{folder}/block.pt2")
    dist.destroy_process_group()
    subprocess.run([f"{BUILD}/bin/pkb-opt", f"{folder}/block.pt2", f"--pkb-pipeline=target=h200x{world_size}", "-o",
                    f"{folder}/block.cu"], check=True, stdin=subprocess.DEVNULL)
    inputs = [(torch.randn(3, 6), torch.full((1,), float(rank + 1))) for rank in range(world_size)]
    for rank, (got, want) in enumerate(zip(on_ranks(f"{folder}/block.cu", world_size, inputs), expected(model, inputs))):
        if isinstance(got, BaseException):
            raise got
        assert list(got) == list(want), (list(got), list(want))
        for key in want:
            torch.testing.assert_close(got[key], want[key], msg=lambda m: f"rank {rank} of {world_size}, {key}: {m}")  # noqa: B023


for world_size in map(int, sys.argv[1:]):
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        check(world_size, folder)
