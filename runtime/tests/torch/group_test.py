# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pkb.load in real process groups (gloo), one process per rank, on the fake driver (PKB_DEVICE=emulated).

Each test runs one function of this file, `rank_*`, in two processes.
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import torch
import torch.distributed as dist
from artefact_test import files  # beside this file
from binding_test import program_text, write_artefact

import pkb
from pkb import context as contexts


def tensor(rank, *sizes):
    return torch.arange(float(torch.Size(sizes).numel())).reshape(sizes) * (rank + 1)


def expect_sum(program, rank, *sizes):
    torch.testing.assert_close(program(tensor(rank, *sizes))[0], tensor(2, *sizes), rtol=0, atol=0)


def rank_falls_back(path, rank):
    program = pkb.load(path)
    expect_sum(program, rank, 3, 5)
    expect_sum(program, rank, 4, 4)  # the original, over gloo
    expect_sum(program, rank, 3, 5)
    assert (program.fallbacks, "must have sizes" in program.last_reason) == (1, True), program.last_reason


def rank_leaves_no_folder(path, rank):
    met, meet = [], contexts._meet_through_store
    contexts._meet_through_store = lambda *who: met.append(meet(*who)) or met[-1]
    for group in (None, dist.new_group([0, 1]), dist.new_group([1, 0])):
        expect_sum(pkb.load(path, group), rank, 3, 5)
    dist.barrier()
    assert len(met) == 3 and not any(map(os.path.exists, met)), met


def rank_ends_and_begins_again(path, rank):
    for _ in range(2):  # groups of the same ranks, and of others
        groups = [dist.new_group([0, 1]), dist.new_group([1, 0])]
        programs = [pkb.load(path), *(pkb.load(path, group) for group in groups)]
        for program in programs:
            expect_sum(program, rank, 3, 5)
        assert len({id(program._context) for program in programs}) == 3
        pkb.shutdown()
        expect_sum(pkb.load(path), rank, 3, 5)  # the group is the same, its context is new
        # Without a word to pkb: the context of a group that is gone is closed when the next program is loaded.
        store = dist.distributed_c10d._get_default_store()
        dist.destroy_process_group()
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
        expect_sum(pkb.load(path), rank, 3, 5)


def rank_forks(path, rank):
    program = pkb.load(path)
    expect_sum(program, rank, 3, 5)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            program(tensor(rank, 3, 5))
        except pkb.PkbError as error:
            code = 0 if "forked child" in str(error) else 2
        program.unload()
        pkb.shutdown()  # as at exit; must do no harm to the parent
        os._exit(code)  # gloo does not survive an orderly end of a child
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, code
    expect_sum(program, rank, 3, 5)


def rank_dies(path, rank):
    program = pkb.load(path)
    expect_sum(program, rank, 3, 5)
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    try:
        program(tensor(rank, 3, 5))
    except pkb.PkbError as error:
        assert "rank 1 is gone" in str(error), error
        assert time.monotonic() - begin < 5
        os._exit(0)
    sys.exit(5)


def rank_compiles(path, rank):
    import example_model

    program = pkb.compile(example_model.solution, example_model.inputs, cache_dir=pathlib.Path(path).parent / "cache")
    torch.testing.assert_close(program(torch.full((4, 8), rank + 1.0)), torch.full((4, 8), 6.0), rtol=0, atol=0)
    torch.testing.assert_close(program(torch.full((2, 2), rank + 1.0)), torch.full((2, 2), 6.0), rtol=0, atol=0)
    assert program.fallbacks == 1


class Groups(unittest.TestCase):
    def setUp(self):
        os.environ["PKB_NVCC"] = "none"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        write_artefact(self.folder / "p.pkx", program_text(), files())

    def run_ranks(self, function, expected=(0, 0)):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        here = pathlib.Path(__file__).resolve().parent
        environment = {
            **os.environ, "PKB_DEVICE": "emulated", "PKB_ARENA_MIB": "32", "PKB_TIMEOUT_S": "60", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            "WORLD_SIZE": "2", "PYTHONPATH": os.pathsep.join([str(self.folder), str(here), os.environ.get("PYTHONPATH", "")]),
        }
        command = [sys.executable, str(here / "group_test.py"), "--rank", function.__name__, str(self.folder / "p.pkx")]
        ranks = [
            subprocess.Popen(command, env={**environment, "RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(2)
        ]
        try:
            outputs = [rank.communicate(timeout=150)[0] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
        self.assertEqual(tuple(rank.returncode for rank in ranks), expected, "\n".join(outputs))

    def test_what_does_not_fit_goes_to_the_original(self):
        self.run_ranks(rank_falls_back)

    def test_the_folder_in_which_ranks_meet_is_removed(self):
        self.run_ranks(rank_leaves_no_folder)

    def test_groups_end_and_begin_again(self):
        self.run_ranks(rank_ends_and_begins_again)

    def test_a_forked_child_is_refused(self):
        self.run_ranks(rank_forks)

    def test_a_rank_that_is_killed_is_reported(self):
        self.run_ranks(rank_dies, (0, -signal.SIGKILL))

    @unittest.skipUnless(os.access(os.environ.get("PKB_OPT", ""), os.X_OK), "PKB_OPT names no pkb-opt")
    def test_rank_0_compiles_for_all(self):
        model = (pathlib.Path(__file__).resolve().parent / "compile_test.py").read_text().split('MODEL = """')[1].split('"""')[0]
        (self.folder / "example_model.py").write_text(model)
        (self.folder / "pkb_test_factor.py").write_text("FACTOR = 2\n")
        self.run_ranks(rank_compiles)


if __name__ == "__main__":
    os.environ.setdefault("PKB_CACHE_DIR", "/tmp/pkb-test-cache")
    if sys.argv[1:2] == ["--rank"]:
        dist.init_process_group("gloo")
        globals()[sys.argv[2]](sys.argv[3], dist.get_rank())
    else:
        unittest.main()
