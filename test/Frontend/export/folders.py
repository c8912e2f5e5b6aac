# RUN: %python %s
# REQUIRES: torch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the ranks of an export share: gone after SIGTERM, also in a batch, and after SIGKILL gone with the next export; never while it is used."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from harness import ExportTest
from pkb import processes
from pkb.export import folders

SLOW = """
    import os
    import time
    def solution(x):
        links = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        with open({out!r} + ".part", "w") as f:
            f.write(next(t for t in (os.readlink(link) for link in links if os.path.lexists(link)) if "/pkb-ranks-" in t))
        os.rename({out!r} + ".part", {out!r})
        time.sleep(100)
        return x
    """


class FoldersTest(ExportTest):
    def slow_export(self, *, batch=False):
        """A running exporter whose rank sleeps, and the folder that its ranks share."""
        told = os.path.join(self.folder, "told")
        path = self.write(SLOW.format(out=told))
        job = {"function": f"{path}:solution", "inputs": f"{path}:inputs", "world-size": 1, "output": os.path.join(self.folder, "x.pkb")}
        command = [sys.executable, "-m", "pkb.export"]
        if batch:
            jobs = os.path.join(self.folder, "jobs.json")
            with open(jobs, "w") as f:
                json.dump([job], f)
            command += ["--batch", jobs]
        else:
            command += [job["function"], "--inputs", job["inputs"], "--world-size", "1", "-o", job["output"]]
        child = processes.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(processes.end, child, 0)
        deadline = time.monotonic() + 60
        while not os.path.exists(told):
            self.assertIsNone(child.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        with open(told) as f:
            shared = f.read()
        os.unlink(told)
        self.assertTrue(os.path.isdir(shared), shared)
        return child, shared

    def test_sigterm(self):
        for batch in (False, True):
            with self.subTest(batch=batch):
                child, shared = self.slow_export(batch=batch)
                begin = time.monotonic()
                processes.end(child)
                self.assertLess(time.monotonic() - begin, processes.GRACE_S)
                self.assertEqual(child.returncode, 128 + signal.SIGTERM)
                self.assertFalse(os.path.exists(shared))

    def test_sigkill(self):
        child, shared = self.slow_export()
        folders.sweep(os.path.dirname(shared))
        self.assertTrue(os.path.isdir(shared))  # in use
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        deadline = time.monotonic() + 20  # the ranks end with it
        while os.path.exists(shared):
            self.assertLess(time.monotonic(), deadline)
            with folders.shared_folder():
                time.sleep(0.05)

    def test_only_what_nobody_owns_is_removed(self):
        with tempfile.TemporaryDirectory() as base:
            used, lock = folders._make_in(base)
            self.addCleanup(os.close, lock)
            elsewhere = os.path.join(base, "other-folder")
            dead = os.path.join(base, "pkb-ranks-dead")
            for path in (elsewhere, dead, os.path.join(base, "pkb-other")):
                os.mkdir(path)
                open(os.path.join(path, "payload"), "w").close()
            os.symlink(elsewhere, os.path.join(base, "pkb-ranks-link"))
            open(os.path.join(base, "pkb-ranks-file"), "w").close()
            kept = {"other-folder", "pkb-other", "pkb-ranks-link", "pkb-ranks-file", os.path.basename(used)}
            if os.geteuid() == 0:
                kept.add("pkb-ranks-foreign")
                os.mkdir(os.path.join(base, "pkb-ranks-foreign"))
                os.chown(os.path.join(base, "pkb-ranks-foreign"), 12345, 12345)
            folders.sweep(base)
            self.assertEqual(set(os.listdir(base)), kept)
            self.assertEqual(os.listdir(elsewhere), ["payload"])

    def test_a_tool_that_does_not_end_is_killed(self):
        command = [sys.executable, "-c", "import signal, subprocess, time; signal.signal(15, signal.SIG_IGN); print(subprocess.Popen(['sleep', '100']).pid, flush=True); time.sleep(100)"]
        child = processes.start(command, stdout=subprocess.PIPE, text=True)
        below = int(child.stdout.readline())
        processes.end(child, 0.5)
        child.stdout.close()
        self.assertEqual(child.returncode, -signal.SIGKILL)
        deadline = time.monotonic() + 10
        while os.path.exists(f"/proc/{below}") and " Z " not in open(f"/proc/{below}/stat").read():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        with self.assertRaises(subprocess.TimeoutExpired):
            processes.run(["sleep", "100"], 0.2)
        self.assertEqual(processes.run(["sh", "-c", "echo out; echo err >&2; exit 3"], 10).__dict__,
                         {"args": ["sh", "-c", "echo out; echo err >&2; exit 3"], "returncode": 3, "stdout": "out\n", "stderr": "err\n"})  # fmt: skip


if __name__ == "__main__":
    unittest.main()
