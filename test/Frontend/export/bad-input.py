# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One clear message per bad input, a status that is not zero, nothing left behind."""

import contextlib
import io
import json
import os
import re
import resource
import stat
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from harness import INPUTS, ExportTest, command, run_cli
from pkb.export import cli

GOOD = """
def solution(x):
    dist.all_reduce(x)
    return x
"""


class BadInputTest(ExportTest):
    def fails(self, *argv, status=2):
        """Run the command line: exactly one line of error, which is returned without its prefix."""
        before = set(os.listdir(self.folder))
        got, out, err = run_cli(*argv)
        self.assertEqual(got, status, err)
        self.assertEqual(out, "")
        self.assertRegex(err, r"\Apkb-export: error: [^A-Z\n][^\n]*\n\Z")
        self.assertEqual(set(os.listdir(self.folder)) - before, set())
        return err.removeprefix("pkb-export: error: ").strip()

    def args(self, text=GOOD, **change):
        path = self.write(text)
        flags = {"--inputs": f"{path}:inputs", "--world-size": "2", "-o": os.path.join(self.folder, "x.pkb"), **change}
        return [change.pop("function", f"{path}:solution"), *[w for k, v in flags.items() if k != "function" and v is not None for w in (k, v)]]

    def test_command_line(self):
        self.assertIn("name the function to export", self.fails("--world-size", "2", "-o", "x.pkb"))
        self.assertIn("--world-size is missing", self.fails(*self.args(**{"--world-size": None})))
        self.assertIn("-o is missing", self.fails(*self.args(**{"-o": None})))
        self.assertIn("--inputs is missing", self.fails(*self.args(**{"--inputs": None})))
        self.assertIn("--world-size must be 1 to 64, got: 0", self.fails(*self.args(**{"--world-size": "0"})))
        self.assertIn("--world-size must be 1 to 64, got: 1000", self.fails(*self.args(**{"--world-size": "1000"})))
        for option, values, text in (
            ("--trials", ("-1", "1001", "9" * 30), "0 to 1000"),
            ("--seed", ("-1", "4294967296"), "0 to 4294967295"),
            ("--timeout", ("0", "-1", "nan", "inf", "1e300"), "0.001 to 1000000"),
        ):
            for value in values:
                self.assertIn(f"{option} must be {text}, got: ", self.fails(*self.args(**{option: value})))

    def test_numbers_of_a_batch(self):
        path, jobs = self.write(GOOD), os.path.join(self.folder, "jobs.json")
        common = {"function": f"{path}:solution", "inputs": f"{path}:inputs", "world_size": 2, "output": os.path.join(self.folder, "x.pkb")}
        wrong = ({"world_size": "2"}, {"world_size": True}, {"trials": 1.5}, {"timeout": None}, {"seed": 1e300})
        with open(jobs, "w") as f:
            json.dump([{**common, **more} for more in wrong], f)
        got, out, _ = run_cli("--batch", jobs)
        answers = [json.loads(line) for line in out.splitlines()]
        self.assertEqual((got, [a["ok"] for a in answers]), (2, [False] * len(wrong)))
        for more, answer in zip(wrong, answers):
            self.assertRegex(answer["error"], f"^--{next(iter(more)).replace('_', '-')} must be .* got: ")

    def test_files_and_functions(self):
        path = self.write(GOOD)
        self.assertIn("function: no such file: nowhere.py", self.fails(*self.args(function="nowhere.py:solution")))
        self.assertIn("must be FILE.py:FUNCTION, got: solution", self.fails(*self.args(function="solution")))
        self.assertIn(f"function: {path} has no function absent", self.fails(*self.args(function=f"{path}:absent")))
        self.assertIn("dist of", self.fails(*self.args(function=f"{path}:dist")))
        self.assertIn("--inputs: no such file", self.fails(*self.args(**{"--inputs": "nowhere.py:inputs"})))
        self.assertRegex(self.fails(*self.args("def solution(x:\n")), r"function: .*program.py:\d+: ")
        self.assertIn("cannot be imported: No module named 'no_such_module'", self.fails(*self.args("import no_such_module\n" + GOOD)))

    def test_inputs_function(self):
        def program(body):
            return self.args(GOOD + f"\ndef inputs(rank, world_size, device, trial=0):\n    {body}\n")

        self.assertIn("inputs must return the tuple of arguments, got: Tensor", self.fails(*program("return torch.ones(2)")))
        self.assertIn("got: NoneType", self.fails(*program("pass")))
        message = self.fails(*program("return (object(),)"), status=1)
        self.assertIn("argument[0] is a builtins.object, which a record cannot hold", message)
        no_trial = self.args(GOOD + "\ndef inputs(rank, world_size, device):\n    return (torch.ones(2),)\n")
        self.assertIn("inputs takes no trial", self.fails(*no_trial))
        too_many = self.fails(*program("return torch.ones(2), 3"), status=1)
        self.assertRegex(too_many, "rank 0 raised TypeError: .*takes 1 positional argument but 2 were given")

    def test_one_rank_raises(self):
        """The error and its line are those of the rank that raised, its peers are killed."""
        start = time.monotonic()
        message = self.fails(
            *self.args("""
            def solution(x):
                if dist.get_rank() == 1:
                    raise ValueError("bad shard")  # here
                dist.all_reduce(x)
                return x
            """),
            status=1,
        )
        self.assertEqual(message, f"rank 1 raised ValueError: bad shard at {self.line_of('# here')}")
        self.assertLess(time.monotonic() - start, 30)

    def test_exit_and_death(self):
        message = self.fails(*self.args("def solution(x):\n    raise SystemExit(3)\n"), status=1)
        self.assertIn("rank 0 raised SystemExit: 3", message)
        text = "import os, signal\ndef solution(x):\n    if dist.get_rank(): os.kill(os.getpid(), signal.SIGKILL)\n    dist.all_reduce(x)\n    return x\n"
        self.assertIn("rank 1 died (signal 9)", self.fails(*self.args(text), status=4))

    def test_hang(self):
        text = """
            def solution(x):
                while dist.get_rank() == 1:
                    pass  # here
                dist.all_reduce(x)
                return x
            """
        message = self.fails(*self.args(text, **{"--timeout": "3"}), status=4)
        self.assertIn("did not finish in 3 s: rank 1 is at ", message)
        path, line = re.search(r"rank 1 is at (\S+):(\d+)", message).groups()
        self.assertIn(int(line), (int(self.line_of("# here").rsplit(":")[-1]) - 1, int(self.line_of("# here").rsplit(":")[-1])))
        self.assertIn("raise --timeout", message)

    def test_sigterm(self):
        """A terminated export ends its ranks and leaves no file."""
        import signal
        import subprocess

        from harness import LAUNCHER

        marker = os.path.join(self.folder, "pids")
        text = f"""
            import os, time

            def solution(x):
                with open({marker!r}, "a") as f:
                    f.write(f"{{os.getpid()}}\\n")
                time.sleep(600)
            """
        env = {**os.environ, "PKB_PYTHON": sys.executable, "TMPDIR": self.folder}
        process = subprocess.Popen([LAUNCHER, *self.args(text)], env=env)
        end = time.monotonic() + 60
        pids = []
        while len(pids) < 2 and time.monotonic() < end:
            time.sleep(0.1)
            if os.path.exists(marker):
                with open(marker) as f:
                    pids = [int(line) for line in f if line.endswith("\n")]
        self.assertEqual(len(pids), 2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 143)
        self.assertEqual(sorted(os.listdir(self.folder)), ["pids", "program.py"])
        for pid in pids:
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)

    def test_no_rank_survives(self):
        """After a failure no forked rank is left running."""
        marker = os.path.join(self.folder, "pids")
        text = f"""
            import os, time

            def solution(x):
                with open({marker!r}, "a") as f:
                    f.write(f"{{os.getpid()}}\\n")
                time.sleep(0.5)
                if dist.get_rank() == 0:
                    raise RuntimeError("stop")
                time.sleep(600)
            """
        got, _, err = run_cli(*self.args(text))
        self.assertEqual(got, 1, err)
        with open(marker) as f:
            pids = [int(line) for line in f]
        self.assertEqual(len(pids), 2)
        for pid in pids:
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)

    def test_unknown_option(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err), self.assertRaises(SystemExit) as ended:
            cli.main(["--colour"])
        self.assertEqual((ended.exception.code, err.getvalue()), (2, "pkb-export: error: unrecognized arguments: --colour; see pkb-export --help\n"))

    def test_output(self):
        missing = os.path.join(self.folder, "no", "x.pkb")
        self.assertIn("no such directory", self.fails(*self.args(**{"-o": missing})))
        self.assertIn("-o must name a bundle, X.pkb, got: x.cu", self.fails(*self.args(**{"-o": "x.cu"})))
        self.assertIn("it is a directory", self.fails(*self.args(**{"-o": self.folder})))
        if os.geteuid() != 0:
            closed = os.path.join(self.folder, "closed")
            os.mkdir(closed, stat.S_IRUSR | stat.S_IXUSR)
            self.assertIn("cannot write", self.fails(*self.args(**{"-o": os.path.join(closed, "x.pkb")})))
        self.assertIn("cannot write", self.fails(*self.args(**{"-o": "/proc/x.pkb"})))

    def test_failed_write_leaves_the_old_file(self):
        """A bundle that cannot be completed does not replace the one that is there."""
        from pkb.export import InputError, bundle

        path = os.path.join(self.folder, "x.pkb")
        with open(path, "w") as f:
            f.write("old")

        class Full(dict):
            def items(self):
                raise OSError(28, "No space left on device")

        with self.assertRaisesRegex(InputError, "cannot write .*x.pkb: No space left on device"):
            real, bundle.zipfile.ZipFile.writestr = bundle.zipfile.ZipFile.writestr, lambda *a, **k: Full().items()
            try:
                bundle.write(path, {}, [{}], {}, {})
            finally:
                bundle.zipfile.ZipFile.writestr = real
        self.assertEqual(os.listdir(self.folder), ["x.pkb"])
        with open(path) as f:
            self.assertEqual(f.read(), "old")

    def test_full_disk(self):
        """A limit on file sizes is one; a device is written as it is, and stays."""
        from pkb.export import InputError, bundle

        path = os.path.join(self.folder, "x.pkb")
        with open(path, "w") as f:
            f.write("old")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        try:
            with self.assertRaisesRegex(InputError, "cannot write .*x.pkb: File too large"):
                bundle.write(path, {}, [{}], {"tensors/0.bin": bytes(2000)}, {})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        self.assertEqual(os.listdir(self.folder), ["x.pkb"])
        with open(path) as f:
            self.assertEqual(f.read(), "old")
        if os.path.exists("/dev/full") and stat.S_ISCHR(os.stat("/dev/full").st_mode):
            with self.assertRaisesRegex(InputError, "cannot write /dev/full: No space left on device"):
                bundle.write("/dev/full", {}, [{}], {}, {})
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))
            jobs = os.path.join(self.folder, "jobs.json")
            with open(jobs, "w") as f:
                f.write("[{}]")
            with open("/dev/full", "w") as full:
                done = subprocess.run([sys.executable, "-m", "pkb.export", "--batch", jobs], stdout=full, stderr=subprocess.PIPE, text=True, timeout=200)
            self.assertEqual((done.returncode, done.stderr), (2, "pkb-export: error: standard output: No space left on device\n"))

    def test_unsupported_data(self):
        message = self.fails(*self.args("def solution(x):\n    return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)\n"), status=1)
        self.assertRegex(message, "dtype qint8 is not supported; use one of .*bfloat16")
        message = self.fails(*self.args("def solution(x):\n    return x.to('meta')\n"), status=1)
        self.assertIn("a tensor on device meta cannot be captured", message)

    def test_torch_version(self):
        import torch

        real, torch.__version__ = torch.__version__, "2.10.0+cu130"
        try:
            message = self.fails(*self.args())
        finally:
            torch.__version__ = real
        self.assertRegex(message, r"torch 2.11.0 is needed, .* has 2.10.0\+cu130; set PKB_PYTHON")

    def test_launcher(self):
        done = command("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--world-size", done.stdout)
        done = command("--help", env={"PKB_PYTHON": "/no/python"})
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "pkb-export: error: PKB_PYTHON is not a program: /no/python\n")
        done = command(*self.args())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 ranks, 1 events, 1 collectives", done.stdout)

    def test_functions_instead_of_names(self):
        """The Python API takes functions that live in files, and says so about others."""
        import importlib.util

        from pkb import export

        path = self.write(GOOD)
        spec = importlib.util.spec_from_file_location("program", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        out = os.path.join(self.folder, "x.pkb")
        summary = export.export(module.solution, module.inputs, 2, out)
        self.assertEqual((summary["out"], summary["world_size"], summary["collectives"]), (out, 2, 1))
        for bad in (lambda x: x, len, 3):
            with self.assertRaisesRegex(export.InputError, "^fn must be a function "):
                export.export(bad, module.inputs, 2, out)

    def test_checkout(self):
        flags = ("--world-size", "2", "-o", os.path.join(self.folder, "x.pkb"))
        self.assertIn("is not a checkout of ParallelKernelBench", self.fails("--pkb", "/no/checkout", "--problem", "1", *flags))
        os.makedirs(os.path.join(self.folder, "c", "reference"))
        checkout = os.path.join(self.folder, "c")
        self.assertIn("--problem is missing", self.fails("--pkb", checkout, *flags))
        self.assertIn("has no problem 5", self.fails("--pkb", checkout, "--problem", "5", *flags))
        with open(os.path.join(checkout, "reference", "5_x.py"), "w") as f:
            f.write("def solution(x): return x\n")
        self.assertIn("--dtype must be one of", self.fails("--pkb", checkout, "--problem", "5", "--dtype", "int3", *flags))
        self.assertIn("--m must be 1 to 2147483647, got: 0", self.fails("--pkb", checkout, "--problem", "5", "--m", "0", *flags))
        self.assertIn("has no utils/input_output_tensors.py", self.fails("--pkb", checkout, "--problem", "5", *flags))
        self.assertIn("drop the function", self.fails(*self.args(), "--pkb", checkout, "--problem", "5"))

    def test_batch(self):
        """Jobs run in forks of one process: good ones succeed beside bad ones, one JSON line each, worst status."""
        import json

        path = self.write(GOOD, inputs=INPUTS)
        jobs = os.path.join(self.folder, "jobs.json")
        good = {"function": f"{path}:solution", "inputs": f"{path}:inputs", "world-size": 2}
        with open(path, "a") as f:
            f.write("\nprint('noise')\n")
        entries = [
            {**good, "output": os.path.join(self.folder, "a.pkb")},
            {**good, "output": os.path.join(self.folder, "b.pkb"), "function": f"{path}:absent"},
            {**good, "output": os.path.join(self.folder, "c.pkb"), "colour": "red"},
            {**good, "output": os.path.join(self.folder, "d.pkb")},
        ]
        with open(jobs, "w") as f:
            json.dump(entries, f)
        done = command("--batch", jobs)
        self.assertEqual(done.returncode, 2, done.stderr)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([a["ok"] for a in answers], [True, False, False, True])
        self.assertIn("has no function absent", answers[1]["error"])
        self.assertIn("job 2: unknown key colour; known: function, inputs, world-size, output, random, ", answers[2]["error"])
        self.assertEqual(sorted(n for n in os.listdir(self.folder) if n.endswith(".pkb")), ["a.pkb", "d.pkb"])
        for text, message in (("{", "is not JSON"), ('{"a": 1}', "must hold a list of objects")):
            with open(jobs, "w") as f:
                f.write(text)
            self.assertIn(message, self.fails("--batch", jobs))
        self.assertIn("cannot read", self.fails("--batch", "/no/jobs.json"))


if __name__ == "__main__":
    unittest.main()
