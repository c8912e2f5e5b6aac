# RUN: %python %s 2 4
# REQUIRES: torch, aten
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs written after real training and serving code, with the library's own classes where real code has them (DDP, fully_shard,
DTensor), on emulated ranks. Arguments: numbers of ranks; the programs are dealt out to them in turn, `all` runs each on every number."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import emulated  # noqa: E402

FOLDER = os.path.join(emulated.SOURCE, "test", "Integration", "programs")
EVEN = {"ulysses_attention", "dtensor_block", "subgroup_pairs"}  # need an even number of ranks
# What pkb-opt refuses as of now.
REFUSED = set()


def main(arguments):
    # Files with a `solution`; the others serve tests of their own.
    names = sorted(n[:-3] for n in os.listdir(FOLDER) if n.endswith(".py") and "\ndef solution(" in open(os.path.join(FOLDER, n), encoding="utf-8").read())
    sizes = [int(a) for a in arguments if a != "all"]
    jobs, refused = {}, []
    for number, name in enumerate(names):
        mine = [w for w in sizes if w % 2 == 0 or name not in EVEN]
        for w in mine if "all" in arguments else [mine[number % len(mine)]]:
            key, path = f"{name}.w{w}", os.path.join(FOLDER, name + ".py")
            jobs[key] = {"function": f"{path}:solution", "inputs": f"{path}:inputs", "world-size": w}
            refused += [key] if name in REFUSED else []
    emulated.main(jobs, refused)


if __name__ == "__main__":
    main(sys.argv[1:])
