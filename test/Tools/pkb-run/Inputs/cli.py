# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pkb-run as a user calls it: right and wrong programs on emulated ranks, bad input, batches, time limits, GPU ranks by script.

    python cli.py [unittest arguments]     needs pkb-run on the PATH and the pinned torch
"""

import glob
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import handmade

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {"reduce": "all_reduce", "reduce_in_place": "all_reduce", "gather": "all_gather", "exchange": "all_to_all"}
PKB_RUN = shutil.which("pkb-run")
FOLDER = None


def path(name):
    return os.path.join(FOLDER, name)


def setUpModule():
    global FOLDER
    FOLDER = tempfile.mkdtemp(prefix="pkb-cli-test-")
    model = os.path.join(HERE, "model.py")
    jobs = [(f, "inputs", w) for f in KINDS for w in (2, 4)]
    jobs += [("reduce", name, 2) for name in ("slow_inputs", "large_inputs", "growing_inputs")]
    batch = []
    for function, inputs, w in jobs:
        out = path(bundle_name(function, w, inputs))
        batch.append({"trials": 0 if inputs == "growing_inputs" else 2, "function": f"{model}:{function}", "inputs": f"{model}:{inputs}", "world_size": w, "output": out})
    with open(path("exports.json"), "w") as f:
        json.dump(batch, f)
    subprocess.run([sys.executable, "-m", "pkb.export", "--batch", path("exports.json")], check=True, capture_output=True, timeout=300)


def tearDownModule():
    shutil.rmtree(FOLDER, ignore_errors=True)


def bundle_name(function, w, inputs="inputs"):
    return f"{function}.{inputs}.{w}.pkb"


def make(function, w=2, mistake=None, inputs="inputs"):
    """(program, bundle) by hand."""
    bundle = path(bundle_name(function, w, inputs))
    program = path(f"{function}.{inputs}.{w}.{mistake}.cu")
    with open(program, "w") as f:
        f.write(handmade.program(KINDS[function], bundle, mistake, function == "reduce_in_place"))
    return program, bundle


def run(*arguments, env=None, timeout=120):
    return subprocess.run(
        [PKB_RUN, *arguments], capture_output=True, text=True, timeout=timeout, env={**os.environ, "TMPDIR": FOLDER, **(env or {})}, cwd=FOLDER
    )


def batch(jobs, *arguments, env=None):
    """The process and its JSON rows."""
    with open(path("jobs.json"), "w") as f:
        json.dump(jobs, f)
    done = run("--batch", path("jobs.json"), "--json", *arguments, env=env)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


class Case(unittest.TestCase):
    maxDiff = None

    def refused(self, done, code, message):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(message, done.stderr)

    def nothing_left(self):
        """No temporary folder and no Python of ours that still runs."""
        self.assertEqual(glob.glob(path("pkb-*")), [])


class RightPrograms(Case):
    def test_table(self):
        program, bundle = make("reduce_in_place", 4)
        done = run(program, "--ranks", "4", "--device=emulated", "--check", bundle, "--seed", "3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "device: 4 emulated ranks (threads of this machine, value mode, seed 3)")
        self.assertRegex(lines[3], r"^output 0 +bfloat16 +32x24 +bound +0\.\d+ +0\.\d+ +right \(worst: rank \d, trial \d, element \[\d+,\d+\]\)$")
        self.assertRegex(lines[4], r"^argument 0 +bfloat16 +32x24 +bound")
        self.assertIn("verdict: right, 3 trials on 4 ranks", lines[-1])
        self.nothing_left()

    def test_each_collective_on_two_and_four_ranks(self):
        jobs = [(f, w, *make(f, w)) for f in KINDS for w in (2, 4)]
        rows = batch([{"name": f"{f} {w}", "program": p, "check": b, "seed": 3} for f, w, p, b in jobs])[1]
        self.assertEqual({r["name"]: r["verdict"] for r in rows}, {f"{f} {w}": "right" for f, w, _, _ in jobs})
        for row in rows:
            output, argument = row["tensors"]
            self.assertEqual(output["rule"], "bound" if "reduce" in row["name"] else "bitwise")
            self.assertEqual(argument["rule"], "bound" if "in_place" in row["name"] else "bitwise")
        self.nothing_left()

    def test_time_on_emulated_ranks_is_not_timed(self):
        program, bundle = make("gather")
        self.assertIn("times: not timed (emulated ranks)", run(program, "--check", bundle, "--time").stdout)

    def test_proof_mode(self):
        program, bundle = make("exchange")
        done = run(program, "--check", bundle, "--mode=proof", "--trials=2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("proof mode", done.stdout)

    def test_without_a_bundle_nothing_is_compared(self):
        done = run(make("reduce")[0])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("verdict: ran, not checked", done.stdout)

    def test_infinities_and_nans_as_the_original_has_them(self):
        program, bundle = make("reduce", 2, inputs="large_inputs")
        done = run(program, "--check", bundle)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        program, bundle = make("reduce", 2, "constant", inputs="large_inputs")
        done = run(program, "--check", bundle)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("inf where the original gives", done.stdout)

    def test_auto_says_what_keeps_the_gpus_out(self):
        program, bundle = make("gather")
        for gpus, text in ((0, "no GPU; "), (1, "1 GPU for 2 ranks; ")):
            done = run(program, "--check", bundle, f"--assume-gpus={gpus}")
            self.assertEqual(done.stdout.splitlines()[0], f"device: 2 emulated ranks ({text}threads of this machine, value mode, seed 0)")

    def test_arguments_outside_of_what_was_compiled(self):
        program, bundle = make("reduce", 2, inputs="growing_inputs")
        self.refused(run(program, "--check", bundle), 3, "input 0 of 'solution' must have sizes [16, 24], got: [32, 24]")
        self.assertEqual(run(program, "--check", bundle, "--trials=1").returncode, 0)

    def test_json_lines(self):
        program, bundle = make("reduce", 4)
        done = run(program, "--check", bundle, "--trials=2", "--json")
        (row,) = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual((row["schema"], row["version"], row["kind"], row["verdict"], row["exit"]), ("pkb-result", [1, 0], "check", "right", 0))
        self.assertEqual((row["world_size"], row["dtype"], row["shapes"], row["trials"]), (4, "bfloat16", [[32, 24]], 2))
        self.assertEqual((row["oracle"], row["checked"], row["launches"], row["library_calls"]), ("float64", True, 1, 0))
        self.assertEqual({len(row["text"]), len(row["program"]), len(row["bundle"]), len(row["runtime_headers"])}, {64})
        output, argument = row["tensors"]
        self.assertEqual((output["what"], output["rule"], output["elements"]), ("output 0", "bound", 2 * 4 * 32 * 24))
        self.assertTrue(0 < output["error_over_bound"] <= 1 and output["replicated"])
        self.assertEqual((argument["what"], argument["rule"], argument["right"]), ("argument 0", "bitwise", True))

    def test_json_file(self):
        program, bundle = make("gather")
        done = run(program, "--check", bundle, f"--json={path('out.json')}")
        self.assertIn("verdict: right", done.stdout)
        with open(path("out.json")) as f:
            self.assertEqual(json.loads(f.readline())["verdict"], "right")

    def test_places_that_cannot_be_written_are_found_before_the_run(self):
        program, bundle = make("gather", 2, "hang")
        for more in (f"--json={path('no/such/out')}", f"--pkb-solution={path('no/such/out')}"):
            self.refused(run(program, "--check", bundle, more), 2, f"cannot write '{path('no/such/out')}': No such file or directory")
        self.refused(run(program, "--check", bundle, f"--json={FOLDER}"), 2, f"cannot write '{FOLDER}': Is a directory")

    def test_results_that_cannot_be_written(self):
        program, _ = make("gather")
        with open(path("out.json"), "w") as f:
            f.write("old")
        self.assertEqual(run(program).returncode, 0)  # compiles the kernels
        limited = f"ulimit -f 0; exec {PKB_RUN} {program} --json={path('out.json')}"
        done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (2, f"pkb-run: error: cannot write '{path('out.json')}': File too large"))
        with open(path("out.json")) as f:
            self.assertEqual(f.read(), "old")

    @unittest.skipUnless(os.path.exists("/dev/full") and stat.S_ISCHR(os.stat("/dev/full").st_mode), "no /dev/full here")
    def test_full_devices(self):
        program, bundle = make("gather")
        done = run(program, "--check", bundle, "--json=/dev/full")
        self.assertEqual((done.returncode, done.stderr), (2, "pkb-run: error: cannot write '/dev/full': No space left on device\n"))
        self.assertIn("verdict: right", done.stdout)
        for more in ((), ("--json",)):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PKB_RUN, program, *more], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
            self.assertEqual(done.returncode, 2)
            self.assertIn("cannot write to standard output", done.stderr)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_seeds_change_the_data(self):
        program, bundle = make("reduce")
        rows = [json.loads(run(program, "--check", bundle, "--json", f"--seed={s}").stdout) for s in (1, 1, 2)]
        worst = [r["tensors"][0]["max_error"] for r in rows]
        self.assertEqual(worst[0], worst[1])


class WrongPrograms(Case):
    def test_each_mistake_is_named(self):
        cases = {
            "a changed constant": ("reduce", "constant", 0, "elements are past the bound, worst at rank"),
            "an argument left otherwise": ("reduce_in_place", "constant", 1, "elements are past the bound, worst at rank"),
            "a part not written": ("gather", "unwritten", 0, "elements were never written, first at rank 0, trial 0, element [0,31,16]"),
            "a block in another place": ("exchange", "peer", 0, "elements differ in bits, first at rank 0, trial 0, element [0,0]"),
        }
        made = {name: make(f, 4, mistake) for name, (f, mistake, _, _) in cases.items()}
        rows = batch([{"name": n, "program": p, "check": b} for n, (p, b) in made.items()])[1]
        self.assertEqual([r["name"] for r in rows], list(cases))
        for row in rows:
            _, _, tensor, text = cases[row["name"]]
            self.assertEqual((row["verdict"], row["exit"]), ("wrong", 1))
            self.assertFalse(row["tensors"][tensor]["right"])
            self.assertIn(text, row["tensors"][tensor]["reason"])

    def test_a_missing_wait(self):
        program, bundle = make("gather", 4, "wait")
        done = run(program, "--check", bundle, "--mode=proof")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "(race|uninitialised): read by device")

    def test_a_wait_that_never_ends(self):
        program, bundle = make("reduce", 2, "hang")
        start = time.monotonic()
        done = run(program, "--check", bundle, "--timeout=30")
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        self.assertIn("deadlock", done.stderr)
        self.assertLess(time.monotonic() - start, 30)
        self.nothing_left()


class BadInput(Case):
    def test_command_line(self):
        self.refused(run(), 2, "no program given")
        self.refused(run("a.cu", "--batch", "b.json"), 2, "give either a program or --batch, not both")
        self.refused(run("a.cu", "--device=tpu"), 2, "--device")
        for option, values, text in (
            ("--trials", ("0", "-1", "1e300", "nan", "x"), "1 to 1000"),
            ("--ranks", ("0", "65", "99999999999999999999", "nan"), "1 to 64"),
            ("--seed", ("-1", "4294967296", "1e300", "nan", "-inf"), "0 to 4294967295"),
            ("--timeout", ("nan", "0", "-1", "inf", "1e300"), "0.001 to 1000000"),
            ("--atol", ("-1", "nan", "inf", "1e300"), "0 to 1e+30"),
        ):
            for value in values:
                self.refused(run("a.cu", f"{option}={value}"), 2, f"{option}: must be {text}, got: {value}\n")
        self.refused(run("a.cu", "--trials=1.5"), 2, "--trials")
        self.refused(run("a.cu", "--atol=1"), 2, "--atol and --rtol must be given together")
        self.assertEqual(run("--help").returncode, 0)

    def test_program_files(self):
        self.refused(run("none.cu"), 2, "program 'none.cu' does not exist")
        self.refused(run(FOLDER), 2, "is a folder, not a file")
        self.refused(run(bundle_name("reduce", 2)), 2, "is a bundle; compile it first: pkb-opt")
        self.refused(run(__file__), 2, "has no manifest")
        program, _ = make("reduce")
        with open(program) as f:
            text = f.read()
        cases = {
            "no manifest": (text.replace("pkb-manifest", "other", 1), "has no manifest"),
            "truncated": (text[:300], "is truncated: its manifest does not end"),
            "json": (text.replace('"schema"', '"schema', 1), "is not JSON: the file is damaged"),
            "version": (text.replace('1,\n  0', '9,\n  0', 1), "has version 9.0, this pkb-run reads 1.0 to 1.1"),
            "field": (text.replace('"world_size"', '"size"', 1), "lacks 'world_size'"),
            "type": (text.replace('"world_size": 2', '"world_size": "two"', 1), "'world_size' has the wrong type"),
            "edited": (text.replace("epoch_end<6>", "epoch_end<7>"), "was changed after it was emitted"),
            "kernel": (text[: len(text) - 200], "was changed after it was emitted"),
        }
        for name, (changed, message) in cases.items():
            with self.subTest(name):
                self.assertNotEqual(changed, text)
                with open(path("changed.cu"), "w") as f:
                    f.write(changed)
                self.refused(run("changed.cu", "--device=emulated"), 2, message)
        with open(path("x.pkx"), "w"):
            self.refused(run("x.pkx"), 2, "'x.pkx' is cut off (0 bytes, and no directory at the end)")
        self.nothing_left()

    def test_world_size(self):
        self.refused(run(make("reduce", 4)[0], "--ranks=2"), 2, "is for 4 ranks, --ranks asks for 2")

    def test_another_bundle(self):
        program, _ = make("reduce")
        self.refused(run(program, "--check", path(bundle_name("gather", 2))), 2, "was made from bundle")
        self.refused(run(program, "--check", "none.pkb"), 2, "bundle 'none.pkb' does not exist")
        self.refused(run(program, "--check", program), 2, "is not a .pkb")

    def test_source_folder(self):
        program, bundle = make("reduce")
        self.refused(run(program, "--check", bundle, "--source=none"), 2, "--source 'none' is not a folder")
        os.makedirs(path("empty"), exist_ok=True)
        self.refused(run(program, "--check", bundle, "--source=empty"), 2, "has no file model.py")

    def test_python(self):
        program, bundle = make("reduce")
        self.refused(run(program, "--check", bundle, env={"PKB_PYTHON": "/no/python"}), 2, "Python '/no/python' has no torch 2.11.0")
        with open(path("old-python"), "w") as f:
            f.write("#!/bin/sh\necho 1.13.1\n")
        os.chmod(path("old-python"), 0o755)
        old = {"PKB_PYTHON": path("old-python")}
        self.refused(run(program, "--check", bundle, env=old), 2, "has torch 1.13.1, but torch 2.11.0 is needed")

    def test_too_few_gpus(self):
        program, bundle = make("reduce", 4)
        done = run(program, "--device=gpu", "--check", bundle, "--assume-gpus=2")
        self.refused(done, 2, "the program needs 4 GPUs, this machine has 2; use --device=emulated")

    def test_the_function_hangs(self):
        program, bundle = make("reduce", 2, inputs="slow_inputs")
        start = time.monotonic()
        done = run(program, "--check", bundle, "--timeout=8", env={"PKB_TEST_HANG": "1"})
        self.refused(done, 4, "running the original function" if "running" in done.stderr else "did not end within 8 s")
        self.assertLess(time.monotonic() - start, 25)
        self.nothing_left()

    def test_interrupt_leaves_nothing(self):
        program, bundle = make("reduce", 2, inputs="slow_inputs")
        env = {**os.environ, "TMPDIR": FOLDER, "PKB_TEST_HANG": "1", "PKB_TEST_MARK": f"mark-{os.getpid()}"}
        child = subprocess.Popen([PKB_RUN, program, "--check", bundle], env=env, stderr=subprocess.PIPE, text=True)
        time.sleep(4)
        self.assertTrue(marked(env["PKB_TEST_MARK"]), "the reference should be running by now")
        child.send_signal(signal.SIGINT)
        self.assertIn("interrupted", child.communicate(timeout=20)[1])
        self.assertEqual(child.returncode, 130)
        deadline = time.monotonic() + 5
        while marked(env["PKB_TEST_MARK"]) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(marked(env["PKB_TEST_MARK"]), [])
        self.nothing_left()


def marked(mark):
    """Processes that carry PKB_TEST_MARK=mark in their environment."""
    found = []
    for name in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(name, "rb") as f:
                if f"PKB_TEST_MARK={mark}".encode() in f.read().split(b"\0"):
                    found.append(name)
        except OSError:
            pass
    return found


class Batches(Case):
    def test_one_bad_job_costs_only_itself(self):
        right, wrong = make("reduce"), make("gather", 2, "peer")
        jobs = [
            {"name": "a", "program": right[0], "check": right[1]},
            {"name": "b", "program": "none.cu"},
            {"name": "c", "program": wrong[0], "check": wrong[1], "trials": 2},
            {"name": "d", "program": right[0], "check": wrong[1]},
            {"name": "e", "program": make("reduce", 2, "hang")[0], "check": right[1]},
            {"name": "f", "program": right[0], "check": right[1], "seed": 5},
        ]
        done, rows = batch(jobs, "--timeout=20")
        verdicts = {r["name"]: r["verdict"] for r in rows}
        self.assertEqual(verdicts, {"a": "right", "b": "bad input", "c": "wrong", "d": "bad input", "e": "hang", "f": "right"})
        self.assertEqual(done.returncode, 4)
        self.nothing_left()

    def test_bad_batch_files(self):
        with open(path("bad.json"), "w") as f:
            f.write("{}")
        self.refused(run("--batch", path("bad.json")), 2, "is not a JSON list of jobs")
        self.refused(batch([])[0], 2, f"batch file '{path('jobs.json')}' has no jobs: its list is empty")
        self.refused(run("--batch", "none.json"), 2, "batch file 'none.json' does not exist")
        for entry, message in (
            ({"check": "x"}, "job 0: key 'program' is missing: the .cu or .pkx file to run"),
            ({"program": "p.cu", "chek": "x"}, "job 0: unknown key 'chek'; known: program, check, source"),
            (3, "job 0: is no object, got: 3"),
            ({"program": "p.cu", "trials": 0}, "job 0: trials must be a whole number from 1 to 1000, got: 0"),
            ({"program": "p.cu", "ranks": 1e300}, "job 0: ranks must be a whole number from 1 to 64, got: 1e+300"),
            ({"program": "p.cu", "ranks": 2.5}, "job 0: ranks must be a whole number from 1 to 64, got: 2.5"),
            ({"program": "p.cu", "ranks": True}, "job 0: ranks must be a whole number from 1 to 64, got: true"),
            ({"program": "p.cu", "seed": -1}, "job 0: seed must be a whole number from 0 to 4294967295, got: -1"),
            ({"program": "p.cu", "seed": 10**60}, "job 0: seed must be a whole number from 0 to 4294967295, got: 1e+60"),
            ({"program": "p.cu", "atol": "x" * 1000, "rtol": 0}, 'job 0: atol must be 0 to 1e+30, got: "' + "x" * 39 + "\n"),
            ({"program": "p.cu", "atol": -1, "rtol": 0}, "job 0: atol must be 0 to 1e+30, got: -1"),
            ({"program": "p.cu", "atol": 1}, "job 0: atol and rtol must be given together"),
            ({"program": 3}, "job 0: "),
        ):
            done, _ = batch([entry])
            self.refused(done, 2, message)


class GpuRanks(Case):
    """How pkb-run drives its rank processes, with ranks that follow a script."""

    def gpu(self, script, *arguments):
        program, bundle = make("reduce")
        env = {"PKB_PYTHONPATH": os.path.join(HERE, "scripted"), "SCRIPT": script}
        return run(program, "--device=gpu", "--assume-gpus=2", "--check", bundle, *arguments, env=env)

    def test_tables(self):
        done = self.gpu("", "--time")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        text = done.stdout
        self.assertEqual(text.splitlines()[0], "device: 2 x Scripted GPU")
        self.assertIn("right (worst: rank 1, trial 0, element [1])", text)
        self.assertIn("best baseline compile (15.00 µs): ours is 1.50x", text)
        self.assertIn("roofline 5.00 µs (1000000 bytes a rank over the link at 200 GB/s): ours reaches 50 %", text)
        self.assertIn("rank 1: RuntimeError: out of memory", text)
        self.assertIn("9.50 µs a call from Python, 7.25 with outputs passed in", text)
        self.assertIn("launches: ours 1, original 2 (1 NCCL)", text)
        self.assertIn("500 timed calls checked bit for bit", text)
        self.nothing_left()

    def test_json_of_times(self):
        done = self.gpu("", "--time", "--json", "--way=loop", "--no-compile")
        check, loop = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual((check["kind"], loop["kind"], loop["way"], loop["best"]), ("check", "time", "loop", "graph"))
        self.assertEqual((loop["ours_us"], loop["best_us"], loop["speedup"], loop["roofline_us"]), (10, 20, 2, 5))
        self.assertEqual((loop["device"], loop["world_size"], loop["verdict"]), ("2 x Scripted GPU", 2, "right"))
        self.assertIsNone(loop["kernel_bytes"])

    def test_a_wrong_rank(self):
        done = self.gpu("wrong@1", "--time")
        self.assertEqual(done.returncode, 1)
        self.assertIn("wrong: 3 of 10 elements are past the bound, worst at rank 1", done.stdout)
        self.assertNotIn("best baseline", done.stdout)

    def test_a_rank_that_hangs(self):
        done = self.gpu("hang@1", "--timeout=2")
        self.refused(done, 4, "rank 1 does not answer at 'running the program'")
        self.nothing_left()

    def test_a_rank_that_dies(self):
        self.refused(self.gpu("die@1"), 4, "rank 1 ended (status 1) at 'running the program': MemoryError: no memory left")

    def test_a_baseline_that_hangs_loses_only_itself(self):
        done = self.gpu("compile@0", "--time", "--timeout=2", "--way=loop")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("running again without compile", done.stderr)
        self.assertIn("best baseline graph (20.00 µs): ours is 2.00x", done.stdout)

    def test_arguments_outside_of_what_was_compiled(self):
        self.refused(self.gpu("fall@0,fall@1"), 3, "guard: argument 0 has size 3, compiled for 4")

    def test_the_function_raises_on_one_rank(self):
        self.refused(self.gpu("raise@0"), 2, "rank 0: ValueError: no such head")

    def test_a_batch_goes_on_after_a_lost_rank(self):
        program, bundle = make("reduce")
        jobs = [{"name": n, "program": program, "check": bundle} for n in "ab"]
        env = {"PKB_PYTHONPATH": os.path.join(HERE, "scripted"), "SCRIPT": "die@1"}
        _, rows = batch(jobs, "--device=gpu", "--assume-gpus=2", env=env)
        self.assertEqual([(r["name"], r["verdict"]) for r in rows], [("a", "hang"), ("b", "hang")])
        _, rows = batch(jobs, "--device=gpu", "--assume-gpus=2", env={**env, "SCRIPT": ""})
        self.assertEqual([r["verdict"] for r in rows], ["right", "right"])

    def test_a_bundle_is_needed(self):
        self.refused(run(make("reduce")[0], "--device=gpu", "--assume-gpus=2"), 2, "a run on GPUs needs --check")


if __name__ == "__main__":
    if not PKB_RUN:
        sys.exit("pkb-run is not on the PATH")
    unittest.main(verbosity=1)
