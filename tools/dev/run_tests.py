#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every test of a build tree and counts them together.

lit roots (test/, problems/, tools/dev/tests, ...) and ctest (the GoogleTest binaries of runtime/) are run one after
the other, with lit's own progress lines. What was skipped is listed with its reason. The last line is
`N passed, N failed, N skipped`; the exit status is 0 exactly when nothing failed and at least one test passed.
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

LIT_ROOTS = ("tools-dev-tests", "test", "problems", "runtime-lit")
# Roots and folders that only look at text: no execution of programs, no torch.
FAST = ("tools-dev-tests", "test/Dialect", "test/Passes", "test/Target")
PASSED = {"PASS", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED", "XFAIL"}

Result = collections.namedtuple("Result", "name outcome reason")


def parse_lit(path):
    """Results of a lit JSON report (`lit -o`)."""
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    results = []
    for test in report["tests"]:
        code, output = test["code"], test.get("output") or ""
        if code in PASSED:
            results.append(Result(test["name"], "passed", ""))
        elif code in SKIPPED:
            wanted = re.search(r"unavailable features: ?(.*)", output, re.I)
            if code == "XFAIL":
                reason = "expected failure (see the test)"
            elif wanted:
                reason = "needs " + wanted.group(1).strip()
            else:
                reason = (output.strip().splitlines() or ["unsupported here"])[0]
            results.append(Result(test["name"], "skipped", reason))
        else:
            results.append(Result(test["name"], "failed", code))
    return results


def parse_junit(path):
    """Results of ctest's JUnit report."""
    results = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, skipped = "ctest :: " + case.get("name"), case.find("skipped")
        if case.find("failure") is not None or case.get("status") == "fail":
            results.append(Result(name, "failed", "ctest"))
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            text = (case.findtext("system-out") or "").strip().splitlines()
            said = [line.strip() for line in text if "kipped" in line or "needs" in line]
            message = said[0] if said else (skipped.get("message") if skipped is not None else "not run")
            failed = message and ("unable to find" in message.lower() or "not found" in message.lower())
            results.append(Result(name, "failed" if failed else "skipped", message or "skipped by the test"))
        else:
            results.append(Result(name, "passed", ""))
    return results


def find_lit():
    folder = os.environ.get("PKB_LLVM_BIN", "/usr/lib/llvm-22/bin")
    for path in (os.path.join(folder, "lit"), shutil.which("lit"), shutil.which("llvm-lit")):
        if path and os.access(path, os.X_OK):
            return path
    sys.exit("run_tests: lit not found: install llvm-22-tools, or set PKB_LLVM_BIN to its folder")


def find_python():
    """An interpreter with psutil, without which lit cannot stop a test that hangs; (path, whether it has it)."""
    for path in (sys.executable, "/usr/bin/python3"):
        try:
            done = subprocess.run([path, "-c", "import psutil"], capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return path, True
    print("note: python3-psutil is not installed: a lit test that hangs is not stopped", flush=True)
    return sys.executable, False


def lit_paths(build, fast, only):
    """Folders for lit: as asked, the fast ones, or every root that CMake configured."""
    if only:
        return only
    paths = [os.path.join(build, p) for p in (FAST if fast else LIT_ROOTS)]
    kept = []
    for path in paths:
        root = path
        while root != build and not os.path.exists(os.path.join(root, "lit.site.cfg.py")):
            root = os.path.dirname(root)
        if root == build:
            continue
        with open(os.path.join(root, "lit.site.cfg.py"), encoding="utf-8") as f:
            source = re.search(r'test_source_root = "(.*)"', f.read()).group(1)
        if os.path.isdir(os.path.join(source, os.path.relpath(path, root))):
            kept.append(path)
    return kept


def run_lit(args, report):
    paths = lit_paths(args.build, args.fast, args.paths)
    if not paths:
        return []
    python, can_stop = find_python()
    command = [python, find_lit(), "-v", f"-j{args.jobs}", "-o", report]
    if can_stop:
        command += ["--timeout", str(args.timeout)]
    if args.full:
        command += ["-D", "full=1"]
    if args.filter:
        command += ["--filter", args.filter]
    done = subprocess.run(command + paths, stdin=subprocess.DEVNULL)
    if not os.path.exists(report):
        return [Result("lit", "failed", f"lit ended with status {done.returncode} and no report")]
    return parse_lit(report)


def run_ctest(args, report):
    if args.fast or args.paths or not os.path.exists(os.path.join(args.build, "CTestTestfile.cmake")):
        return []
    listed = subprocess.run(["ctest", "--test-dir", args.build, "-N"], capture_output=True, text=True)
    if re.search(r"Total Tests: 0\b", listed.stdout):
        return []
    command = ["ctest", "--test-dir", args.build, f"-j{args.jobs}", "--output-on-failure", "--output-junit", report,
               "--timeout", str(args.timeout)]
    if args.filter:
        command += ["-R", args.filter]
    done = subprocess.run(command, stdin=subprocess.DEVNULL)
    if not os.path.exists(report):
        return [Result("ctest", "failed", f"ctest ended with status {done.returncode} and no report")]
    return parse_junit(report)


def summary(results):
    """The lines to print at the end, and whether all is well."""
    count = collections.Counter(r.outcome for r in results)
    lines = []
    reasons = collections.defaultdict(list)
    for r in results:
        if r.outcome == "skipped":
            reasons[r.reason].append(r.name)
    for reason, names in sorted(reasons.items()):
        lines.append(f"skipped, {reason}: {len(names)}")
        lines += [f"    {name}" for name in sorted(names)]
    failed = [r for r in results if r.outcome == "failed"]
    if failed:
        lines.append("failed:")
        lines += [f"    {r.name} ({r.reason})" for r in failed]
    lines.append(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return lines, not failed and count["passed"] > 0


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build tree made by CMake")
    parser.add_argument("--fast", action="store_true", help="only the tests that look at text")
    parser.add_argument("--full", action="store_true", help="the long tests too")
    parser.add_argument("--filter", help="only tests whose name matches this regular expression")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one test (default 600)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("paths", nargs="*", help="lit paths below the build tree (default: all roots, then ctest)")
    args = parser.parse_args(argv)
    args.build = os.path.abspath(args.build)
    if not os.path.isdir(args.build):
        sys.exit(f"run_tests: no such build tree: {args.build}; run tools/check")
    with tempfile.TemporaryDirectory() as folder:
        results = run_lit(args, os.path.join(folder, "lit.json"))
        results += run_ctest(args, os.path.join(folder, "ctest.xml"))
    lines, good = summary(results)
    print("\n".join(lines), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
