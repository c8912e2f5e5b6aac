# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long pkb.compile takes for a problem of a ParallelKernelBench checkout on two ranks: with an empty cache, with a full one, and in new processes.

    compile_time.py CHECKOUT [--problem N] [--m M] [--n N] [--dtype T]

Needs torch, pkb-opt (PKB_OPT, or beside the libraries) and the libraries of the run time (PKB_LIBRARY_DIR); kernels are compiled by the nvcc or NVRTC that is
there. With PKB_DEVICE=emulated the ranks run on the fake driver, and the problem's own inputs are on the CPU. Prints the seconds of each part (the slower
rank's), checks that the program gives what the problem's own function gives, and ends with "compile: cold N s, warm N s, new processes N s".
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
LIMIT = 300  # seconds for all processes of a round
EMULATED = os.environ.get("PKB_DEVICE") == "emulated"

INPUTS = """import torch
from utils.input_output_tensors import create_input_tensor


def inputs(rank, world_size, device, trial=0):
    x = create_input_tensor(rank, world_size, {problem}, ({m}, {n}), torch.{dtype}, trial, device)
    return x if isinstance(x, tuple) else (x,)
"""


def one_rank(folder, functions, rounds):
    """Body of a rank's process: times `rounds` compiles in one process, and compares one result with the original's."""
    import torch
    import torch.distributed as dist

    import pkb

    rank = int(os.environ["RANK"])
    device = torch.device("cpu") if EMULATED else torch.device("cuda", rank)
    if not EMULATED:
        torch.cuda.set_device(rank)
    dist.init_process_group("gloo" if EMULATED else "nccl", **({} if EMULATED else {"device_id": device}))
    seconds = []
    for _ in range(rounds):
        dist.barrier()
        begin = time.monotonic()
        program = pkb.compile(*functions, cache_dir=folder / "cache")
        spent = torch.tensor([time.monotonic() - begin], device=device)
        dist.all_reduce(spent, op=dist.ReduceOp.MAX)
        seconds.append(float(spent))
    original, inputs = (_function(name) for name in functions)
    with torch.no_grad():
        arguments = inputs(rank, 2, device)
        got, want = program(*arguments), original(*inputs(rank, 2, device))
    error = float((got.float() - want.float()).abs().max() / want.float().abs().max().clamp_min(1e-30))
    dist.barrier()
    if rank == 0:
        print(json.dumps({"seconds": seconds, "error": error, "fallbacks": program.fallbacks}), flush=True)
    pkb.shutdown()
    dist.destroy_process_group()


def _function(name):
    import importlib.util

    file, _, function = name.rpartition(":")
    spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem.replace(".", "_"), file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)


def on_ranks(folder, functions, rounds, environment):
    """What rank 0 printed. All processes are killed after LIMIT seconds."""
    command = ["timeout", "-s", "KILL", str(LIMIT), sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0", "--standalone"]
    command += [str(HERE), "--rank", str(folder), *functions, str(rounds)]
    process = subprocess.Popen(command, env=environment, start_new_session=True, text=True, stdout=subprocess.PIPE)
    try:
        out = process.communicate(timeout=LIMIT + 5)[0]
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        sys.exit(f"the ranks failed (exit status {process.returncode}); see above")
    return json.loads(lines[-1])


def main():
    if sys.argv[1:2] == ["--rank"]:
        folder, function, inputs, rounds = sys.argv[2:]
        return one_rank(pathlib.Path(folder), (function, inputs), int(rounds))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--problem", type=int, default=18)
    parser.add_argument("--m", type=int, default=1024)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--dtype", default="bfloat16")
    options = parser.parse_args()
    found = sorted(options.checkout.resolve().glob(f"reference/{options.problem}_*.py"))
    if not found:
        sys.exit(f"'{options.checkout}' has no reference/{options.problem}_*.py")
    with tempfile.TemporaryDirectory(prefix="pkb-time-") as name:
        folder = pathlib.Path(name)
        (folder / "arguments.py").write_text(INPUTS.format(problem=options.problem, m=options.m, n=options.n, dtype=options.dtype))
        functions = (f"{found[0]}:solution", f"{folder / 'arguments.py'}:inputs")
        paths = [str(HERE.parents[2] / "torch"), str(options.checkout.resolve()), os.environ.get("PYTHONPATH", "")]
        # The kernels of a .cu are cached there, too: all of it is new.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PKB_CACHE_DIR": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
        first = on_ranks(folder, functions, 2, environment)
        print(f"cold: {first['seconds'][0]:.2f} s; warm, same processes: {first['seconds'][1]:.3f} s; largest relative error {first['error']:.2g}", flush=True)
        again = on_ranks(folder, functions, 1, environment)
        print(f"warm, new processes: {again['seconds'][0]:.2f} s")
        if first["fallbacks"] or again["fallbacks"] or not max(first["error"], again["error"]) <= 0.02:
            sys.exit("WRONG: the program did not run, or its result differs from the original's")
        print(f"compile: cold {first['seconds'][0]:.2f} s, warm {first['seconds'][1]:.3f} s, new processes {again['seconds'][0]:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
