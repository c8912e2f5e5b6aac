# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the manifest of an emitted program and checks its id.

usage: manifest.py X.cu
"""
import hashlib
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    text = f.read()
head, tail = "/* pkb-manifest\n", "\n*/\n"
assert text.startswith(head), "no manifest at the start"
manifest = json.loads(text[len(head):text.index(tail)])
identity = manifest["program"]
zeroed = text.replace(identity, "0" * 64, 1)
right = hashlib.sha256(zeroed.encode()).hexdigest() == identity
print(f"schema {manifest['schema']}, program id {'right' if right else 'WRONG'}")
