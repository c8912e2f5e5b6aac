# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every code of pkb-verify-xfer has a program that it rejects and a row in its page; prints the count.

usage: codes.py ROOT     ROOT: the repository
"""
import re
import sys

root = sys.argv[1]


def text(path):
    with open(f"{root}/{path}", encoding="utf-8") as f:
        return f.read()


rows = re.findall(r'^PKB_TRANSFER_CODE\(\w+, "(\w+)", "([^"]+)"\)', text("include/pkb/Analysis/TransferCodes.def"), re.M)
page = text("docs/Rationale/VerifyXfer.md")
FILES = ("verify-xfer-invalid.mlir", "verify-xfer-phases-invalid.mlir")
tests = "".join(text(f"test/Passes/Contract/{name}") for name in FILES)
bad = []
for code, title in rows:
    if f"op {code}: {title}: " not in tests:
        bad.append(f"{code} rejects no program in {' or '.join(FILES)}")
    if f"| {code} | {title} |" not in page:
        bad.append(f"{code} has no row with its title in docs/Rationale/VerifyXfer.md")
known = {code for code, _ in rows}
for code in sorted(set(re.findall(r"\bXV\d+\b", page + tests)) - known):
    bad.append(f"{code} is not in TransferCodes.def")
if len(known) != len(rows):
    bad.append("a code is used twice in TransferCodes.def")
print("\n".join(bad) or f"{len(rows)} codes, each with a program and a row")
sys.exit(bool(bad))
