# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t
# REQUIRES: torch, aten, plugins
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of docs/GettingStarted.md, from the capture to the change of a lowering, do what the page says: each ends with 0. They are run in a folder
that has the tree's docs, problems, run time and tools beside it."""
import os
import re
import subprocess
import sys

SOURCE, BUILD = os.environ["PKB_SOURCE_DIR"], os.environ["PKB_BUILD_DIR"]
LEFT_OUT = ("Install and build", "On a machine with GPUs but without MLIR")
folder = sys.argv[1]
for name in ("docs", "problems", "runtime", "tools"):
    os.symlink(os.path.join(SOURCE, name), os.path.join(folder, name))
with open(os.path.join(SOURCE, "docs", "GettingStarted.md"), encoding="utf-8") as f:
    sections = re.split(r"^## \d+\. (.*)$", f.read(), flags=re.M)[1:]
environment = dict(os.environ, PATH=os.path.join(BUILD, "bin") + os.pathsep + os.environ["PATH"], PKB_BUILD=BUILD, PKB_LIBRARY_DIR=os.path.join(BUILD, "lib"))
failed = count = 0
for title, text in zip(sections[::2], sections[1::2]):
    if title in LEFT_OUT:
        continue
    for block in [b for kind, b in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S) if not kind]:
        for command in re.sub(r"\\\n\s*", "", block).splitlines():
            if command.startswith("export ") or "--time" in command:  # the path is set here, and there are no GPUs to time
                continue
            count += 1
            line = command.replace("pkb-run ", "pkb-run --device=emulated ", "--device" not in command)
            line = re.sub("^python ", sys.executable + " ", line)
            done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode:
                failed += 1
                print(f"{title}: {command}\n{done.stdout}{done.stderr}")
print(f"{count - failed} of {count} commands right")
sys.exit(1 if failed or count < 8 or not os.listdir(os.path.join(folder, "ir")) else 0)
