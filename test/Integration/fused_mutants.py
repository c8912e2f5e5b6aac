# RUN: %python %s
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""As mutants.py, for kernels that compute their messages: one over rows, which exchanges a line per row, and an element-wise one.

    fused_mutants.py [--ranks N] [--seeds N]

What is right is what the program computes without a mutant; that this is what the original computes is seen by fused_rows.py and fused_elements.py.
"""
import argparse
import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "Inputs")]
import executions  # noqa: E402
import mutants  # noqa: E402
import ranks as emulated  # noqa: E402
import torch  # noqa: E402

# File, function, its inputs.
PROGRAMS = (("problems/018-tp-rms-norm/reference.py", "solution", "inputs_tiny"), ("test/Integration/Inputs/elementwise.py", "residual", "residual_inputs"))
CALLS = mutants.CALLS
TO_SCHEDULES = "pkb-elide-clones,canonicalize,cse,pkb-fuse-collectives,pkb-select-mechanism{{target=h200x{ranks} mechanism={mechanism}}}"
TO_CUDA = "pkb-convert-comm-to-xfer,pkb-verify-xfer,pkb-convert-xfer-to-cuda,canonicalize,cse,pkb-verify-cuda-emittable"


class Fused:
    """A fused program: the tensors of each rank and call, and what comes out without a mutant."""

    def __init__(self, file, function, inputs, ranks, mechanism, folder):
        self.label, self.ranks = f"{function} of {file} by {mechanism}", ranks
        path = os.path.join(emulated.SOURCE, file)
        base = os.path.join(folder, f"{function}_{mechanism}")
        job = {"function": f"{path}:{function}", "inputs": f"{path}:{inputs}", "world-size": ranks, "output": base + ".pkb"}
        with open(base + ".json", "w", encoding="utf-8") as f:
            json.dump([job], f)
        done = subprocess.run([executions.tool("pkb-export"), "--batch", base + ".json"], capture_output=True, text=True)
        self.error = "" if '"ok": true' in done.stdout else done.stdout + done.stderr
        self.error = self.error or self.compile(base, mechanism)
        self.path = base + ".cu"
        spec = importlib.util.spec_from_file_location(function, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        arguments = [[getattr(module, inputs)(rank, ranks, "cpu", call) for rank in range(ranks)] for call in range(CALLS)]
        self.given = [[[a for a in own if torch.is_tensor(a)] for own in call] for call in arguments]
        self.right = None

    def compile(self, base, mechanism):
        """By ldst with several chunks per block in a ring; where a block has one chunk, its flags may count one more and nobody can tell."""
        passes = lambda names: f"--pass-pipeline=builtin.module({names})"  # noqa: E731
        error = executions.tool_run(executions.tool("pkb-opt"), base + ".pkb", "-o", base + ".mlir", passes(TO_SCHEDULES.format(ranks=self.ranks, mechanism=mechanism)))
        if error:
            return error
        with open(base + ".mlir", encoding="utf-8") as f:
            text = re.sub(r"#xfer\.schedule<mechanism = ldst[^>]*>", mutants.SCHEDULE, f.read())
        with open(base + ".mlir", "w", encoding="utf-8") as f:
            f.write(text)
        return executions.tool_run(executions.tool("pkb-opt"), base + ".mlir", "-o", base + ".cu", passes(TO_CUDA))

    def run(self, manifest, seed, mutant=None):
        """What a run shows: "" if nothing."""
        result = emulated.Run(self.path, self.ranks, lambda call, rank: self.given[call][rank], manifest["region_bytes"], calls=CALLS, seed=seed,
                              mode=emulated.PROOF, mutant=mutant, idle=0.3).go()  # fmt: skip
        if result.finding != "ok" or result.error:
            return result.finding if result.finding != "ok" else f"error: {result.error}"
        found = [[[emulated.raw_bytes(t) for t in own] for own in call] for call in result.outputs]
        self.right = self.right or found
        return "" if found == self.right else "wrong value"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=16)
    options = parser.parse_args()
    tally = mutants.Tally(options.seeds)
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            for mechanism in ("ldst", "ll"):
                fused = Fused(*program, options.ranks, mechanism, folder)
                if fused.error:
                    tally.fault(fused.label, fused.error)
                    continue
                manifest = executions.manifest_of(fused.path)
                sites, steps = manifest["sites"], [step["kind"] for step in manifest["steps"]]
                if steps != ["launch"]:
                    tally.fault(fused.label, f"not one kernel: {steps}")
                    continue
                tally.count(fused.label, sites, lambda index, sites=sites: mutants.KINDS[sites[index]["primitive"]], functools.partial(fused.run, manifest))
    return tally.status()


if __name__ == "__main__":
    sys.exit(main())
