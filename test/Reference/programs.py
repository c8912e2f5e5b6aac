# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported programs at level L1 and after the lowering to L2, on the same random inputs: operators, views, writes in place, arguments that are
written, and collectives between them. What the tools refuse as of now is skipped by name; the counts at the end say how many ran."""
import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["PKB_SOURCE_DIR"], os.environ["PKB_BUILD_DIR"]
FOLDER = os.path.join(SOURCE, "test", "Integration", "programs")
PROBLEMS = os.path.join(SOURCE, "problems")
LEAST = 5 # programs that must be equal: a run in which all are refused shows nothing


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def tool(name):
    return os.path.join(BUILD, "bin", name)


def check(bundle, ranks):
    """(equal, refused or wrong; what was said)."""
    lower = f"pkb-elide-clones,canonicalize,cse,pkb-select-mechanism{{target=h200x{ranks}}},pkb-convert-comm-to-xfer"
    done = run(tool("pkb-interpret"), bundle, f"--lower={lower}", "--calls=2", "--int-limit=2")
    if done.returncode == 0 and re.search(r": equal, [1-9]\d* elements", done.stdout):
        return "equal", done.stdout.strip()
    said = done.stderr.strip().splitlines()
    refused = done.returncode == 2 and any("error" in line for line in said)
    return "refused" if refused else "wrong", " | ".join(said[:3])


def main():
    paths = [os.path.join(FOLDER, n) for n in sorted(os.listdir(FOLDER)) if n.endswith(".py")]
    paths += [os.path.join(PROBLEMS, n, "reference.py") for n in sorted(os.listdir(PROBLEMS)) if n[:3].isdigit()]
    outcomes = {"equal": [], "refused": [], "wrong": []}
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for number, path in enumerate(paths):
            inputs = "inputs" if path.startswith(FOLDER) else "inputs_tiny"
            jobs.append({"function": f"{path}:solution", "inputs": f"{path}:{inputs}", "world-size": 2 + 2 * (number % 2),
                         "output": os.path.join(folder, f"{number}.pkb")})  # fmt: skip
        batch = os.path.join(folder, "jobs.json")
        with open(batch, "w") as f:
            json.dump(jobs, f)
        answers = [json.loads(line) for line in run(tool("pkb-export"), "--batch", batch).stdout.splitlines() if line.startswith("{")]
        for job, answer in zip(jobs, answers):
            name = os.path.relpath(job["function"].split(":")[0], SOURCE) + f" on {job['world-size']} ranks"
            if answer["ok"]:
                outcome, said = check(job["output"], job["world-size"])
            else:
                outcome, said = "refused", json.dumps(answer)
            outcomes[outcome].append(name)
            print(f"{outcome:8} {name}" + ("" if outcome == "equal" else f": {said[:300]}"))
    print(", ".join(f"{len(names)} {outcome}" for outcome, names in outcomes.items()))
    sys.exit(1 if outcomes["wrong"] or len(answers) != len(jobs) or len(outcomes["equal"]) < LEAST else 0)


main()
