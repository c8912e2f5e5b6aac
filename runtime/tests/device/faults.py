# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults injected into two ranks on GPUs, with a process per rank: what rank 0 was told, and after how many seconds.

    faults.py make FOLDER    compiles the programs (needs pkb-opt: PKB_OPT, or build/bin/pkb-opt; nvcc)
    faults.py run FOLDER     on a machine with two GPUs, torch and the libraries of the run time (PKB_LIBRARY_DIR); no compiler

With PKB_DEVICE=emulated it runs on the fake driver, without the faults that need a GPU. Prints a table like that of docs/Rationale/Faults.md and, last,
"faults: N injected, all reported"; exit status 1 otherwise. No rank outlives its fault: each is killed after LIMIT seconds, and before that with its parent.
"""

import argparse
import ctypes
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve()
LIMIT = 40  # seconds for one fault, with the start of its processes
EMULATED = os.environ.get("PKB_DEVICE") == "emulated"
N = 16384  # elements of the small programs
SIZES = {"sum": N, "other": N, "large": 1 << 23}
PROGRAM = """module attributes {{comm.mesh = #comm.mesh<size = 2>}} {{
  func.func @main(%x: tensor<{n}xbf16>) -> tensor<{n}xbf16> {{
    %y = comm.all_reduce {kind} %x in <[[0, 1]]> accumulate f32 deterministic : tensor<{n}xbf16>
    return %y : tensor<{n}xbf16>
  }}
}}
"""


def make(folder):
    opt = os.environ.get("PKB_OPT", str(HERE.parents[3] / "build" / "bin" / "pkb-opt"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, n in SIZES.items():
        source = folder / f"{name}.mlir"
        source.write_text(PROGRAM.format(n=n, kind="max" if name == "other" else "sum"))
        command = [opt, source, "--pkb-pipeline=target=h200x2 mechanism=ldst", "-o", folder / f"{name}.pkx"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
    without_gpu(folder / "sum.pkx", folder / "elsewhere.pkx")


def without_gpu(path, out):
    """A copy of an artefact that is meant for Blackwell alone."""
    with zipfile.ZipFile(path) as file:
        files = {name: file.read(name) for name in file.namelist()}
    text = files["artefact.json"].decode().replace('"sm_90a",', "", 1).replace('"sm_90a", ', "", 1)
    index = json.loads(text)
    assert "sm_90a" not in index["architectures"], text
    files["artefact.json"] = text.encode()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file:
        for name, data in files.items():
            file.writestr(zipfile.ZipInfo(name), data)
        file.comment = b"pkb-artefact " + hashlib.sha256(files["artefact.json"]).hexdigest().encode()


class Rank:
    """One rank of a fault, in a process of its own."""

    def __init__(self, folder, rank):
        import torch

        import pkb

        self.torch, self.pkb, self.folder, self.rank = torch, pkb, folder, rank
        self.device = torch.device("cpu") if EMULATED else torch.device("cuda", rank)
        if not EMULATED:
            torch.cuda.set_device(rank)
        self.programs = {}
        self.begin = time.monotonic()

    def start(self):
        """What is reported from here on counts."""
        self.begin = time.monotonic()

    def load(self, name="sum"):
        self.start()
        self.programs[name] = self.pkb.load(str(self.folder / f"{name}.pkx"), fallback=None)

    def call(self, name="sum", n=N):
        """One call whose result is checked; waits for its end."""
        x = self.torch.full((n,), self.rank + 1.0, dtype=self.torch.bfloat16, device=self.device)
        y = self.programs[name](x)
        self.pkb.context_for().synchronize()
        want = 2.0 if name == "other" else 3.0
        if not bool((y == want).all()):
            raise AssertionError(f"wrong result of '{name}'")

    def ready(self, *names):
        """The programs are loaded, and each has been called rightly."""
        for name in names or ("sum",):
            self.load(name)
            self.call(name)
        self.start()


def killed(r):
    r.ready()
    if r.rank:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    r.call()


def never(r):
    r.ready()
    if r.rank:
        time.sleep(LIMIT)
    r.call()


def late(r):
    r.ready()
    if r.rank:
        time.sleep(3)
    r.call()
    seconds = time.monotonic() - r.begin
    if seconds < 2.5 and r.rank == 0:
        raise AssertionError(f"did not wait for the late rank ({seconds:.2f} s)")


def raises(r):
    r.ready()
    if r.rank:
        time.sleep(0.5)
        raise ValueError("from the user's function")  # reaches the top of this process
    r.call()


def refuses(r):
    r.ready()
    r.call(n=N if r.rank == 0 else N - 1)


def another_order(r):
    for name in ("sum", "other"):
        r.load(name)
    r.start()
    for name in ("other", "sum") if r.rank else ("sum", "other"):
        r.call(name)


def different(r):
    r.load("other" if r.rank else "sum")


def large(r):
    r.load("large")


def elsewhere(r):
    r.load("elsewhere")


def no_peer(r):
    """The driver says that the devices cannot reach each other: a copy of its table with one entry changed."""
    text = (HERE.parents[2] / "include" / "pkb_rt" / "driver.h").read_text()
    entries = re.findall(r"\(\*(\w+)\)\(", text)
    head = 24  # name, emulated, impl
    from pkb import native

    if EMULATED:
        from pkb import emulator

        machine = r.pkb.Emulator(2)
        source = emulator._library().pkb_emu_driver(machine.pointer)
    else:
        why = ctypes.c_char_p()
        runtime = native.runtime()
        runtime.pkb_driver_real.restype = ctypes.c_void_p
        source = runtime.pkb_driver_real(ctypes.byref(why))
        if not source:
            raise AssertionError(why.value.decode())
    table = ctypes.create_string_buffer(ctypes.string_at(source, head + 8 * len(entries) + 8))
    deny = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_int)(lambda can, a, b: can.__setitem__(0, 0) or 0)
    ctypes.c_void_p.from_buffer(table, head + 8 * entries.index("can_access_peer")).value = ctypes.cast(deny, ctypes.c_void_p).value
    r.start()
    r.pkb.Context(r.rank, 2, r.rank, os.environ["PKB_RENDEZVOUS"], driver=ctypes.addressof(table))


@dataclasses.dataclass
class Fault:
    name: str
    body: object
    expected: str  # part of what rank 0 is told; "" for right results
    limit: float  # seconds until it is told
    environment: dict = dataclasses.field(default_factory=dict)
    gpu: bool = False  # needs a real one


FAULTS = [
    Fault("a peer is killed in the middle of a call", killed, "rank 1 is gone (its socket was closed)", 5),
    Fault("a rank never calls (PKB_TIMEOUT_S = 2)", never, "a call has not ended within 2 s (PKB_TIMEOUT_S)", 5, {"PKB_TIMEOUT_S": "2"}),
    Fault("a rank is 3 s late", late, "", 8),
    Fault("a peer's function raises", raises, "rank 1 has left: ValueError: from the user's function", 5),
    Fault("another rank's arguments do not fit", refuses, f"rank 1 refused call 2, which rank 0 accepted: input 0 of 'main' must have sizes [{N}], got: [{N - 1}]", 5),
    Fault("two programs in another order on another rank's stream", another_order, " makes its first call of '", 5),
    Fault("a program that needs a larger arena", large, "set PKB_ARENA_MIB=", 5, {"PKB_ARENA_MIB": "7"}),
    Fault("the arena does not fit into the device", large, "allocating an arena of 4194304 MiB", 20, {"PKB_ARENA_MIB": str(4 << 20)}, True),
    Fault("the ranks load different artefacts", different, "the ranks load different programs: ", 5),
    Fault("an artefact for another GPU", elsewhere, "has kernels for sm_100a, but device 0 (", 5, {}, True),
    Fault("no peer access between the devices (as the driver's answer)", no_peer, "has no peer access to device", 5),
]


def one_rank(folder, number, rank):
    """Body of a rank's process: prints [seconds, what it was told]."""
    import pkb

    r = Rank(folder, rank)
    told = ""
    try:
        FAULTS[number].body(r)
    except pkb.PkbError as error:
        told = str(error)
    except AssertionError as error:
        told = f"wrong: {error}"
    print(json.dumps([time.monotonic() - r.begin, told]), flush=True)
    time.sleep(1 if rank else 0)  # a peer that leaves at once would be another fault
    os._exit(0)


def inject(folder, number):
    """(seconds, text) of rank 0, or None if it said nothing in time."""
    fault = FAULTS[number]
    with tempfile.TemporaryDirectory(prefix="pkb-f-", dir="/tmp") as meet:
        environment = {"PKB_TIMEOUT_S": "20", "PKB_ARENA_MIB": "64", **os.environ, **fault.environment, "WORLD_SIZE": "2", "PKB_RENDEZVOUS": meet}
        package = str(HERE.parents[2] / "torch")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package, environment.get("PYTHONPATH")]))
        ranks = []
        try:
            for rank in (0, 1):
                command = ["timeout", "-s", "KILL", str(LIMIT + 5), sys.executable, str(HERE), "rank", str(folder), str(number), str(rank)]
                ranks.append(
                    subprocess.Popen(
                        command, env={**environment, "RANK": str(rank)}, start_new_session=True, text=True,
                        stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL, stderr=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                    )
                )  # fmt: skip
            out, errors = ranks[0].communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return None
        finally:
            for process in ranks:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
    lines = out.splitlines()
    if not lines:
        return 0.0, f"rank 0 failed: {errors.strip()[-300:]}"
    return tuple(json.loads(lines[-1]))


def run(folder, part):
    missed, injected = 0, 0
    print("| injected | seconds | rank 0 was told |\n|---|---|---|", flush=True)
    for number, fault in enumerate(FAULTS):
        if (fault.gpu and EMULATED) or part not in fault.name:
            continue
        injected += 1
        seconds, text = inject(folder, number) or (LIMIT, "nothing")
        right = seconds <= fault.limit and (fault.expected in text if fault.expected else not text)
        missed += not right
        print(f"| {fault.name} | {seconds:.2f} | {'' if right else 'MISSED: '}{(text or 'right results').replace(str(folder) + '/', '')} |", flush=True)
    print(f"faults: {injected} injected, {f'{missed} NOT REPORTED' if missed else 'all reported'}")
    return 1 if missed or not injected else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("make", "run", "rank"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("numbers", type=int, nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--part", default="", help="run: only faults with this in their name")
    options = parser.parse_args()
    if options.action == "make":
        return make(options.folder)
    if options.action == "rank":
        return one_rank(options.folder, *options.numbers)
    return run(options.folder.resolve(), options.part)


if __name__ == "__main__":
    sys.exit(main())
