# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs by hand, in the emitted style, for the tests of pkb-run: independent of the compiler.

    python handmade.py KIND BUNDLE OUT.cu [--mistake M] [--in-place]

KIND is all_reduce (sum), all_gather (into [W, ...]) or all_to_all (equal parts of dimension 0); the bundle gives world size and the
shape and dtype (bfloat16 or float32) of the one argument; in place the result is the argument. Mistakes: constant (a wrong factor), unwritten (the last vector of the
result is not stored), peer (one rank's block lands in another's place), wait (nobody waits, so a peer's data may be missed),
hang (waits for a signal that never comes).
"""

import argparse
import hashlib
import json
import sys
import zipfile

TYPES = {"bfloat16": ("pkb::bf16", 2), "float32": ("float", 4)}

PUSH = """\
  for (int64_t hop = 1; hop < {w}; ++hop) {{
    const int64_t peer = (me + hop) % {w};
    char *to = pkb::region(args, peer, base + me * {slot});
    pkb::for_each<4>({vectors}, [&](int64_t i) {{ return pkb::load<{t}, {n}>(src{part}, i, {length}); }},
                     [&](int64_t i, const auto &v) {{ pkb::store_peer(to, i, v); }});
  }}
  pkb::block_barrier<2>(args);
  for (int64_t hop = 1; hop < {w}; ++hop) {{
    pkb::signal<3>(args, (me + hop) % {w}, block, pkb::flag_value(epoch, 1));
  }}
"""

WAIT = """\
  for (int64_t hop = 1; hop < {w}; ++hop) {{
    pkb::wait<4>(args, (me + hop) % {w}, block, pkb::flag_value(epoch, {chunks}));
  }}
  pkb::block_barrier<5>(args);
"""

REDUCE = """\
  const char *stage = pkb::region(args, me, base);
  pkb::for_each<2>(
      {stored},
      [&](int64_t i) {{
        pkb::vec<float, {n}> acc = pkb::splat<float, {n}>(0.0f);
        for (int64_t source = 0; source < {w}; ++source) {{
          acc = acc + (source == me ? pkb::convert<float>(pkb::load<{t}, {n}>(src, i, {length}))
                                    : pkb::convert<float>(pkb::load_staged<{t}, {n}>(stage + source * {slot}, i)));
        }}
        return pkb::convert<{t}>(acc * pkb::splat<float, {n}>({factor}f));
      }},
      [&](int64_t i, const auto &v) {{ pkb::store(dst, i, {length}, v); }});
"""

COLLECT = """\
  const char *stage = pkb::region(args, me, base);
  for (int64_t source = 0; source < {w}; ++source) {{
    char *to = dst + ((source + {shift}) % {w}) * {bytes};
    pkb::for_each<2>({stored},
                     [&](int64_t i) {{
                       return source == me ? pkb::load<{t}, {n}>(src{own}, i, {length})
                                           : pkb::load_staged<{t}, {n}>(stage + source * {slot}, i);
                     }},
                     [&](int64_t i, const auto &v) {{ pkb::store(to, i, {length}, v); }});
  }}
"""


def body(kind, w, dtype, length, mistake):
    """The kernel's text; `length` elements travel to each peer."""
    t, size = TYPES[dtype]
    n = 16 // size
    vectors = (length + n - 1) // n
    values = {
        "w": w, "t": t, "n": n, "length": length, "vectors": vectors, "slot": vectors * 16, "bytes": length * size,
        "stored": vectors - 1 if mistake == "unwritten" else vectors, "factor": "1.5" if mistake == "constant" else "1.0",
        "shift": 1 if mistake == "peer" else 0, "chunks": 2 if mistake == "hang" else 1,
        "part": f" + peer * {length * size}" if kind == "all_to_all" else "",
        "own": f" + me * {length * size}" if kind == "all_to_all" else "",
    }  # fmt: skip
    text = f"PKB_KERNEL({kind}_0, 256, 1, {w}, 2) {{\n" + """\
  const uint64_t epoch = pkb::epoch(pkb::epoch_begin<1>(args));
  const int64_t me = pkb::rank(args);
  const int64_t block = pkb::block_index();
  const char *src = pkb::pointer(args, 0);
  char *dst = pkb::pointer(args, 1);
  const int64_t base = pkb::staging(args, int64_t(epoch & 1));
"""
    text += PUSH.format(**values)
    text += "" if mistake == "wait" else WAIT.format(**values)
    text += (REDUCE if kind == "all_reduce" else COLLECT).format(**values)
    return text + "  pkb::epoch_end<6>(args, epoch);\n}\n"


def contiguous(sizes):
    strides, step = [], 1
    for s in reversed(sizes):
        strides.append(step)
        step *= s
    return strides[::-1]


def region_bytes(w, half):
    """Control page, flags, LL lines (pkb_rt/layout.h) and two halves of staging."""
    return 4096 + w * 256 * 128 + 2 * w * (1 << 20) + 2 * (half + 128)


def program(kind, bundle, mistake=None, in_place=False):
    """The text of the `.cu`."""
    with open(bundle, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    with zipfile.ZipFile(bundle) as z:
        w = json.loads(z.read("bundle.json"))["world_size"]
        record = json.loads(z.read("rank0.json"))
    ids = {"inputs": record["inputs"]["items"][0], "outputs": record["outputs"]}
    spec, out = ({k: record["tensors"][node["id"]][k] for k in ("dtype", "sizes", "strides")} for node in ids.values())
    count = 1
    for s in spec["sizes"]:
        count *= s
    length = count // w if kind == "all_to_all" else count
    out["strides"] = contiguous(out["sizes"])
    manifest = {
        "schema": "pkb-manifest", "version": [1, 0], "name": "solution", "program": "0" * 64, "world_size": w, "target": f"h200x{w}",
        "bundle": digest, "data": None, "groups": [{"id": 0, "partition": [list(range(w))]}], "arguments": [spec],
        "outputs": [{"slot": 0 if in_place else 1, "alias_of": 0 if in_place else None, **out}],
        "input_tree": {"kind": "tuple", "items": [{"kind": "tensor", "id": 0}]}, "output_tree": {"kind": "tensor", "id": 0},
        "slots": [{"id": 0, "kind": "argument", "index": 0, **spec}] + [{"id": 1, "kind": "output", "index": 0, **out}][: not in_place],
        "steps": [{
            "kind": "launch", "kernel": f"{kind}_0", "group": 0, "grid": 1, "block": 256, "source": "by hand",
            "pointers": [{"slot": 0, "offset": 0}, {"slot": 0 if in_place else 1, "offset": 0, "written": True}],
        }],
        "kernels": [{
            "name": f"{kind}_0", "block": 256, "min_blocks": 1, "grid": [1, 1], "ranks": w, "pointers": 2, "mechanism": "ldst",
        }],
        "region_bytes": region_bytes(w, w * (length * TYPES[spec["dtype"]][1] + 16)), "workspace_bytes": 0, "guards": [], "remarks": [],
        "sites": [{"id": 4, "kernel": f"{kind}_0", "primitive": "wait", "source": "by hand"}],
    }  # fmt: skip
    head = "/* pkb-manifest\n" + json.dumps(manifest, indent=1) + "\n*/\n"
    text = head + '#include "pkb_rt/device.h"\n\n' + body(kind, w, spec["dtype"], length, mistake)
    return text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest(), 1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=["all_reduce", "all_gather", "all_to_all"])
    p.add_argument("bundle")
    p.add_argument("out")
    p.add_argument("--mistake", choices=["constant", "unwritten", "peer", "wait", "hang"])
    p.add_argument("--in-place", action="store_true")
    options = p.parse_args()
    with open(options.out, "w") as f:
        f.write(program(options.kind, options.bundle, options.mistake, options.in_place))
    return 0


if __name__ == "__main__":
    sys.exit(main())
