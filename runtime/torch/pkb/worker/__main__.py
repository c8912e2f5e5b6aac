# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One GPU rank: `python -m pkb.worker`, started by pkb-run with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT in the environment.

Jobs come on file descriptor 3, events leave on 4. Multicast stays off: the variables below are set before torch is imported.
"""

import os
import sys

for _name, _value in (("NCCL_NVLS_ENABLE", "0"), ("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1"), ("NVSHMEM_DISABLE_NVLS", "1")):
    os.environ[_name] = _value

from .protocol import Channel, Exchange  # noqa: E402


def _keep_to_own_cores(rank, world_size):
    """Each rank gets its share of the cores, so that the host threads of one do not move those of another about."""
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // world_size
    if share >= 2:
        os.sched_setaffinity(0, cores[rank * share : (rank + 1) * share])


class Ranks:
    """This process as one rank on one GPU."""

    def __init__(self, channel):
        _keep_to_own_cores(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
        import torch
        import torch.distributed as dist

        self.channel = channel
        self.rank, self.world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        if torch.cuda.device_count() < self.world_size:
            raise SystemExit(f"{self.world_size} ranks need as many GPUs, torch sees {torch.cuda.device_count()}")
        self.device = torch.device("cuda", self.rank)
        torch.cuda.set_device(self.device)
        channel.step("making the process group")
        from datetime import timedelta

        timeout = float(os.environ.get("PKB_WORKER_TIMEOUT_S", "600"))
        self.store = dist.TCPStore(
            os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), self.world_size, self.rank == 0, timedelta(seconds=timeout)
        )
        self.timeout_s = timeout
        self.exchange = Exchange(dist.PrefixStore("worker", self.store), self.rank, self.world_size, timeout)
        dist.init_process_group(
            "nccl", store=dist.PrefixStore("group", self.store), rank=self.rank, world_size=self.world_size, device_id=self.device
        )
        self._flag = torch.zeros(1, device=self.device)
        self.stream = torch.cuda.Stream(self.device)
        dist.all_reduce(self._flag)
        torch.cuda.synchronize()
        self.link_rate = 0.0

    @staticmethod
    def side_stream():
        """A fresh stream for one capture."""
        import torch

        return torch.cuda.Stream()

    def measure_link(self):
        """Once per process: what a copy to the next GPU reaches when all ranks copy."""
        from .counts import link_rate

        if not self.link_rate:
            self.channel.step("measuring the link")
            self.device_barrier()
            self.link_rate = min(self.exchange.allgather(link_rate(self.device, self.world_size)))

    def device_barrier(self):
        """Starts the ranks' streams together: hosts meet, then a collective on the stream aligns the devices."""
        import torch
        import torch.distributed as dist

        torch.cuda.synchronize(self.device)
        self.exchange.barrier()
        dist.all_reduce(self._flag)

    def file_exchange(self, folder, name):
        """An exchange for the oracle; `name` is unique within a job, `folder` belongs to it."""
        import torch.distributed as dist

        from .oracle import FileExchange

        store = dist.PrefixStore(f"oracle/{self.channel.job}/{name}", self.store)
        return FileExchange(store, self.rank, self.world_size, folder, name, self.timeout_s)


def main():
    channel = Channel()
    channel.step("importing torch")
    import torch

    from .job import run_job

    ranks = Ranks(channel)
    channel.send("ready", device=torch.cuda.get_device_name(ranks.device), torch=torch.__version__, cuda=torch.version.cuda)
    for spec in channel.jobs():
        channel.job = spec["id"]
        if spec.get("time"):
            ranks.measure_link()
        with torch.cuda.stream(ranks.stream):
            run_job(spec, ranks)
    import pkb

    pkb.shutdown()  # pkb-run closed our end: all ranks leave together
    sys.stdout.flush()
    os._exit(0)  # a communicator whose peers have gone would wait in its destructor


if __name__ == "__main__":
    main()
