# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cells of the value matrix executed: as an emitted program on emulated ranks, and by the rank interpreter on levels L1 and L2."""
import json
import os
import subprocess

# Of the emitted text for the host: what is compared are values, and the compiler takes ten times as long with -O2.
os.environ.setdefault("PKB_COMPILE_OPTIONS", "-O0")
import cells  # noqa: E402
import ranks as emulated  # noqa: E402
import torch  # noqa: E402

NOT_RUN = "not run"


def tool(name):
    return os.path.join(emulated.BUILD, "bin", name)


def manifest_of(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return json.loads(text[text.index("/* pkb-manifest") + len("/* pkb-manifest") : text.index("*/")])


def tool_run(*command):
    """What went wrong with a command; "" if nothing."""
    done = subprocess.run(command, capture_output=True, text=True)
    return f"{os.path.basename(command[0])}: status {done.returncode}: {done.stderr.strip()}" if done.returncode else ""


def compile_program(source, target, ranks, mechanism=""):
    """What pkb-opt said, if it failed."""
    options = f"target=h200x{ranks}" + (f" mechanism={mechanism}" if mechanism else "")
    return tool_run(tool("pkb-opt"), source, f"--pkb-pipeline={options}", "-o", target)


def compare(chosen, ranks, given, output):
    """For each cell what is wrong, "" if nothing. given[number][rank]: inputs; output(rank, k): result number k of the whole program."""
    wrong, at = [], 0
    for number, cell in enumerate(chosen):
        wrong.append("")
        for rank in range(ranks):
            for k, want in enumerate(cell.expected(given[number], rank)):
                got = None if want is None else output(rank, at + k)
                if want is not None and not cell.agrees(got, want):
                    wrong[-1] = f"rank {rank}, result {k}: got {got.flatten()[:6].tolist()}, expected {want.flatten()[:6].tolist()}"
        at += len(cell.totals()[1])
    return wrong


def on_emulated_ranks(chosen, ranks, program, given, seed):
    """`given`: by call, cell and rank."""
    result = emulated.Run(program, ranks, lambda call, rank: [t for cell in given[call] for t in cell[rank]],
                          manifest_of(program)["region_bytes"], calls=len(given), seed=seed, idle=20.0).go()  # fmt: skip
    if result.finding != "ok" or result.error:
        return [f"{result.finding}: {result.text} {result.error}".strip()] + [NOT_RUN] * (len(chosen) - 1)
    calls = [compare(chosen, ranks, given[call], lambda rank, k, call=call: result.outputs[call][rank][k]) for call in range(len(given))]
    return [next((reason for reason in reasons if reason), "") for reasons in zip(*calls)]


def interpreted(chosen, ranks, program, given, folder, seed):
    """A module of level L1 or L2, called as often with the same inputs; the last call's results count."""
    inputs, outputs = os.path.join(folder, "inputs"), program + ".outputs"
    if not os.path.isdir(inputs):
        os.mkdir(inputs)
        for rank in range(ranks):
            exact = [tensor[:n] for cell, tensors in zip(chosen, given[0]) for tensor, n in zip(tensors[rank], cell.totals(rank)[0])]
            for k, tensor in enumerate(exact):
                with open(f"{inputs}/rank{rank}.{k}.bin", "wb") as f:
                    f.write(emulated.raw_bytes(tensor))
    error = tool_run(tool("pkb-interpret"), program, f"--inputs={inputs}", f"--outputs={outputs}", f"--calls={len(given)}", f"--seed={seed}", "--print=0")
    if error:
        return [error] + [NOT_RUN] * (len(chosen) - 1)
    dtypes = [cell.dtype for cell in chosen for _ in cell.totals()[1]]

    def output(rank, k):
        with open(f"{outputs}/rank{rank}.result{k}.bin", "rb") as f:
            raw = bytearray(f.read())
        return torch.frombuffer(raw, dtype=dtypes[k]) if raw else torch.empty(0, dtype=dtypes[k])

    return compare(chosen, ranks, given[0], output)


def run(chosen, ranks, mechanism, folder, calls, seed):
    """{execution: for each cell what is wrong}."""
    base = os.path.join(folder, f"{mechanism}_{ranks}")
    for path, exact in ((".mlir", False), (".exact.mlir", True)):
        with open(base + path, "w", encoding="utf-8") as f:
            f.write(cells.module(chosen, ranks, exact))
    given = [[[cell.inputs(rank, call) for rank in range(ranks)] for cell in chosen] for call in range(calls)]
    failed = lambda error: [error] + [NOT_RUN] * (len(chosen) - 1)  # noqa: E731
    found = {"level L1": interpreted(chosen, ranks, base + ".exact.mlir", given, folder, seed)}
    error = tool_run(tool("pkb-opt"), base + ".exact.mlir", f"--pkb-select-mechanism=target=h200x{ranks} mechanism={mechanism}", "--pkb-convert-comm-to-xfer", "-o",
                     base + ".xfer.mlir")  # fmt: skip
    found["level L2"] = failed(error) if error else interpreted(chosen, ranks, base + ".xfer.mlir", given, folder, seed)
    error = compile_program(base + ".mlir", base + ".cu", ranks, mechanism)
    found["emulated ranks"] = failed(error) if error else on_emulated_ranks(chosen, ranks, base + ".cu", given, seed)
    return found
