# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused kernels at level L2 compute what their programs compute at level L1, on the same random inputs: element-wise ones, and those that exchange a number per
row. A device, and the interpreter at level L2, add up a row in another order than libtorch, and math functions may round another way, so the last places may differ."""
import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["PKB_SOURCE_DIR"], os.environ["PKB_BUILD_DIR"]
INPUTS = os.path.join(SOURCE, "test", "Integration", "Inputs")
sys.path.insert(0, INPUTS)
import elementwise  # noqa: E402
import row_statistics  # noqa: E402

ULPS = 4096 # of a result that is the difference of two close numbers
NORM = os.path.join(SOURCE, "problems", "018-tp-rms-norm", "reference.py")


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def tool(name):
    return os.path.join(BUILD, "bin", name)


def check(bundle, ranks, mechanism, rows):
    """What is wrong; "" if nothing."""
    passes = ["pkb-elide-clones", "canonicalize", "cse", "pkb-fuse-collectives", f"pkb-select-mechanism{{target=h200x{ranks} mechanism={mechanism}}}",
              "pkb-convert-comm-to-xfer"]  # fmt: skip
    lowered = run(tool("pkb-opt"), bundle, "--emit=mlir", "-o", "-", "--pass-pipeline=builtin.module(" + ",".join(passes) + ")")
    if lowered.returncode:
        return lowered.stderr.strip()[:300]
    if " fused " not in lowered.stdout or rows != ("xfer.row_reduce" in lowered.stdout):
        return f"is not {'one kernel over rows' if rows else 'an element-wise kernel'} at level L2"
    done = run(tool("pkb-interpret"), bundle, f"--lower={','.join(passes)}", "--calls=3", f"--ulps={ULPS}")
    return "" if done.returncode == 0 and re.search(r": equal, [1-9]\d* elements", done.stdout) else done.stderr.strip()[:300]


def main():
    programs = [(f"{INPUTS}/elementwise.py", n, f"{n}_inputs", False) for n in elementwise.PROGRAMS]
    programs += [(f"{INPUTS}/row_statistics.py", n, f"{n}_inputs", True) for n in row_statistics.PROGRAMS] + [(NORM, "solution", "inputs_tiny", True)]
    with tempfile.TemporaryDirectory() as folder:
        jobs = [{"function": f"{path}:{name}", "inputs": f"{path}:{inputs}", "world-size": 2 + number % 3, "output": f"{folder}/{number}.pkb"}
                for number, (path, name, inputs, _) in enumerate(programs)]  # fmt: skip
        with open(f"{folder}/jobs.json", "w", encoding="utf-8") as f:
            json.dump(jobs, f)
        answers = [json.loads(line) for line in run(tool("pkb-export"), "--batch", f"{folder}/jobs.json").stdout.splitlines() if line.startswith("{")]
        wrong, tried = [], 0
        for (_, name, _, rows), job, answer in zip(programs, jobs, answers):
            for mechanism in ("ldst", "ll"):
                reason = check(job["output"], job["world-size"], mechanism, rows) if answer["ok"] else json.dumps(answer)
                tried += 1
                if reason:
                    wrong.append(f"{name} on {job['world-size']} ranks by {mechanism}: {reason}")
    print("\n".join(wrong))
    print(f"{tried - len(wrong)} of {tried} fused kernels are right")
    return 1 if wrong or len(answers) != len(jobs) or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
