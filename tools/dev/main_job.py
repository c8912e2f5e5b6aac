#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main job on the problems of problems/: export, optimise and prove, emit, run, check; one row per problem.

    tools/dev/main_job.py --build build [--problem 001-allreduce ...] [--ranks W] [--out FOLDER]

On W GPUs if there are two or more, else on 4 emulated ranks. Every command is printed as it is run; its output goes into the
output folder. Ends with a table, commands to try next, and the files made; the exit status is 0 if every problem is right.
"""
import argparse
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "runtime", "torch"))
from pkb.bench.counts import human_bytes, manifest_of, original_work, sent_bytes  # noqa: E402


class StepFailed(Exception):
    """A step that did not end with 0; the message is its last line of error."""


def count_gpus():
    """GPUs that a program can see: nvidia-smi, else the device files."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
        if listed.returncode == 0:
            return len(re.findall(r"^GPU \d+:", listed.stdout, re.M))
    except (OSError, subprocess.TimeoutExpired):
        pass
    return len(glob.glob("/dev/nvidia[0-9]*"))


def load_problems(names):
    """(folder name, problem.toml) of each problem asked for, or of all."""
    folder = os.path.join(ROOT, "problems")
    found = sorted(n for n in os.listdir(folder) if os.path.exists(os.path.join(folder, n, "problem.toml")))
    for name in names:
        if name not in found:
            sys.exit(f"main_job: error: no problem named {name}; there are: {', '.join(found)}")
    problems = []
    for name in names or found:
        with open(os.path.join(folder, name, "problem.toml"), "rb") as f:
            problems.append((name, tomllib.load(f)))
    return problems


def run_step(argv, log, timeout, ok=(0,)):
    """Runs a command with its output in `log`; prints it and how long it took. Returns its exit status."""
    shown = " ".join(shlex.quote(os.path.relpath(a, ROOT) if a.startswith(ROOT + "/") else a) for a in argv)
    print(f"  $ {shown}", end="", flush=True)
    started = time.monotonic()
    with open(log, "w", encoding="utf-8") as f:
        try:
            done = subprocess.run(argv, stdout=f, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=timeout)
            status = done.returncode
        except subprocess.TimeoutExpired:
            status = None
    print(f"   {time.monotonic() - started:.1f} s", flush=True)
    if status in ok:
        return status
    with open(log, encoding="utf-8", errors="replace") as f:
        lines = [line.strip() for line in f if line.strip()]
    errors = [line for line in lines if "error" in line] or lines[-1:] or ["no output"]
    reason = f"took more than {timeout} s" if status is None else errors[0]
    raise StepFailed(f"{os.path.basename(argv[0])}: {reason} (all of it: {log})")


def result_row(name, results, manifest, original):
    """One row of the table from the JSON lines of pkb-run."""
    check = next(r for r in results if r["kind"] == "check")
    times = [r for r in results if r["kind"] == "time"]
    errors = ["exact" if all(t["rule"] != "bound" and t["right"] for t in check["tensors"]) else
              f"{max(t['error_over_bound'] for t in check['tensors']):.3g}"] if check["tensors"] else []
    ours = human_bytes(sent_bytes(manifest))
    theirs_bytes, theirs = original
    ours_launches, timed = check.get("launches", "?"), "not timed"
    if times:
        table = times[0]
        counted = table.get("counted", {}).get("eager")
        theirs = counted if isinstance(counted, (int, float)) else theirs
        theirs_bytes = table.get("link_bytes") or theirs_bytes
        mine, best = table.get("ours_us"), table.get("best_us")
        if mine and best:
            timed = f"{mine:.1f} / {best:.1f}"
    verdict = check["verdict"] if check.get("checked") else "ran, not checked"
    device = "emulated" if "emulated" in check["device"] else re.sub(r"^\d+ (x )?|\s*\(.*$", "", check["device"])
    return [name, device, str(check.get("world_size", "?")), errors[0] if errors else "-",
            f"{ours} / {human_bytes(theirs_bytes)}", f"{ours_launches} / {theirs}", timed, verdict]


def solve(name, problem, args):
    """All steps of one problem; its row, and whether it is right."""
    folder, out = os.path.join(ROOT, "problems", name), args.out
    tool = lambda t: os.path.join(args.build, "bin", t)  # noqa: E731
    inputs = problem["inputs"]["gpu" if args.gpu else "emulated"]
    reference = os.path.join(folder, "reference.py")
    bundle, cu, report = (os.path.join(out, name + s) for s in (".pkb", ".cu", ".json"))
    log = lambda step: os.path.join(out, f"{name}.{step}.log")  # noqa: E731
    run_step([tool("pkb-export"), f"{reference}:solution", "--inputs", f"{reference}:{inputs}", "--world-size", str(args.ranks),
              "-o", bundle], log("export"), 300)
    run_step([tool("pkb-opt"), bundle, f"--pkb-pipeline=target=h200x{args.ranks}", "-o", cu], log("opt"), 300)
    command = [tool("pkb-run"), cu, "--ranks", str(args.ranks), "--check", bundle, f"--json={report}"]
    command += ["--time"] if args.gpu else ["--device=emulated"]
    if os.path.exists(report):
        os.remove(report)
    status = run_step(command, log("run"), 900, ok=(0, 1))
    with open(report, encoding="utf-8") as f:
        results = [json.loads(line) for line in f if line.strip()]
    return result_row(name, results, manifest_of(cu), original_work(bundle)), status == 0


def shorten(path):
    """A path as one would type it here."""
    relative = os.path.relpath(path, os.getcwd())
    return path if relative.startswith("..") else relative


def print_table(rows):
    head = ["problem", "device", "W", "max error / bound", "bytes: our kernels / NCCL", "launches: ours / theirs",
            "µs: ours / best baseline", "verdict"]
    widths = [max(len(r[c]) for r in [head, *rows]) for c in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build tree")
    parser.add_argument("--problem", action="append", default=[], help="folder below problems/ (may be repeated; default: all)")
    parser.add_argument("--ranks", type=int, help="number of ranks (default: the number of GPUs, or 4 emulated)")
    parser.add_argument("--out", help="folder for the files made (default: BUILD/quickstart)")
    args = parser.parse_args(argv)
    args.build = os.path.abspath(args.build)
    args.out = os.path.abspath(args.out or os.path.join(args.build, "quickstart"))
    gpus = count_gpus()
    args.ranks = args.ranks or (min(gpus, 8) if gpus >= 2 else 4)
    args.gpu = gpus >= args.ranks
    for tool in ("pkb-export", "pkb-opt", "pkb-run"):
        if not os.path.exists(os.path.join(args.build, "bin", tool)):
            sys.exit(f"main_job: error: {tool} is not in {args.build}/bin: build it first (tools/quickstart does)")
    os.makedirs(args.out, exist_ok=True)
    problems = load_problems(args.problem)
    print(f"device: {f'{args.ranks} GPUs' if args.gpu else f'{args.ranks} emulated ranks ({gpus} GPUs here)'}")
    rows, good, failures = [], True, []
    for name, problem in problems:
        print(f"{name}:")
        try:
            row, right = solve(name, problem, args)
        except StepFailed as failure:
            failures.append(f"{name}: {failure}")
            print(f"  {failure}")
            row, right = [name, "gpu" if args.gpu else "emulated", str(args.ranks), "-", "-", "-", "-", "failed"], False
        rows.append(row)
        good = good and right
    print()
    print_table(rows)
    if not args.gpu:
        print("(bytes are per rank and call; NCCL's and the launches of the original are counted from its record)")
    right = [row[0] for row in rows if row[-1] == "right"]
    first = (right or [problems[0][0]])[0]
    here, bin_folder = shorten(args.out), shorten(os.path.join(args.build, "bin"))
    print("\nTry next:")
    print(f"  {bin_folder}/pkb-opt {here}/{first}.pkb                # the program at level L1: collectives on tensors")
    print(f"  {bin_folder}/pkb-opt {here}/{first}.pkb --pkb-pipeline=target=h200x{args.ranks} --mlir-print-ir-after-all -o {here}/x.cu   "
          "# every level")
    print(f"  {bin_folder}/pkb-run {here}/{first}.cu --ranks {args.ranks} --check {here}/{first}.pkb --device=emulated --mode=proof "
          "--trials 1   # under the memory model")
    print("\nFiles:")
    for name, _ in problems:
        made = [n for n in (name + ".pkb", name + ".cu", name + ".json") if os.path.exists(os.path.join(args.out, n))]
        print("  " + "  ".join(os.path.join(here, n) for n in made))
    for failure in failures:
        print(f"main_job: error: {failure}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
