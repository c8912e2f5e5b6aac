# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports, compiles and runs programs on emulated ranks, in one batch of each tool, and says which are right."""
import json
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["PKB_SOURCE_DIR"], os.environ["PKB_BUILD_DIR"]


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def tool(name):
    return os.path.join(BUILD, "bin", name)


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def steps_of(program):
    """The steps of the host plan of an emitted program; of rank 0 where the ranks' differ."""
    with open(program) as f:
        text = f.read()
    manifest = json.JSONDecoder().raw_decode(text[text.index("{"):])[0]
    return manifest.get("programs", [manifest])[0]["steps"]


def check(jobs, trials=3, mode="value", options="", flags=(), steps=None):
    """jobs: {name: export job, as of `pkb-export --batch`, without output}. options: more of them for the pipeline. flags: more of them for pkb-opt. steps: {name: kinds of the steps of
    the host plan that are expected}. Returns {name: what is wrong}, empty if all is right."""
    wrong = {}
    with tempfile.TemporaryDirectory() as folder:
        place = lambda name, suffix: os.path.join(folder, name + suffix)  # noqa: E731
        exports = [dict(job, output=place(name, ".pkb")) for name, job in jobs.items()]
        with open(place("export", ".json"), "w") as f:
            json.dump(exports, f)
        status, out, err = run(tool("pkb-export"), "--batch", place("export", ".json"))
        answers = json_lines(out)
        if len(answers) != len(jobs):
            return {"export": f"status {status}, {len(answers)} answers for {len(jobs)} jobs: {err.strip()}"}
        runs = []
        for (name, job), answer in zip(jobs.items(), answers):
            if not answer["ok"]:
                wrong[name] = f"export: {answer}"
                continue
            status, _, err = run(tool("pkb-opt"), place(name, ".pkb"), f"--pkb-pipeline=target=h200x{job['world-size']} {options}".rstrip(), *flags, "-o",
                                 place(name, ".cu"))
            if status:
                wrong[name] = f"opt: {err.strip()}"
                continue
            kinds = [step["kind"] for step in steps_of(place(name, ".cu"))]
            if steps and kinds != steps.get(name, kinds):
                wrong[name] = f"opt: the steps are {kinds}, expected {steps[name]}"
                continue
            runs.append({"name": name, "program": place(name, ".cu"), "check": place(name, ".pkb"), "ranks": job["world-size"],
                         "trials": trials})
        if not runs:
            return wrong
        with open(place("run", ".json"), "w") as f:
            json.dump(runs, f)
        _, out, err = run(tool("pkb-run"), "--batch", place("run", ".json"), "--device=emulated", f"--mode={mode}", "--json=-")
        results = {r["name"]: r for r in json_lines(out) if r["kind"] == "check"}
        for job in runs:
            result = results.get(job["name"])
            if result is None:
                wrong[job["name"]] = f"run: no result: {err.strip()}"
            elif result["verdict"] != "right" or not result["checked"] or not result["tensors"]:
                wrong[job["name"]] = f"run: {result['verdict']}: {result['message']} {result['tensors']}"
            elif "emulated" not in result["device"] or result["trials"] != trials:
                wrong[job["name"]] = f"run: ran something else: {result['device']}, {result['trials']} trials"
    return wrong


def main(jobs, refused=(), **options):
    """Exit status and report of a test. refused: names of jobs that pkb-opt must refuse with a message of one line."""
    wrong = check(jobs, **options)
    for name in refused:
        reason = wrong.pop(name, "right, though listed as refused; take it off the list")
        if not reason.startswith("opt: ") or "error: " not in reason or len(reason.splitlines()) > 1:
            wrong[name] = reason
    for name, reason in wrong.items():
        print(f"{name}: {reason}")
    print(f"{len(jobs) - len(wrong)} of {len(jobs)} right{f', {len(refused)} of them refused' if refused else ''}")
    sys.exit(1 if wrong or not jobs else 0)
