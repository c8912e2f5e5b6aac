# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Files of torch.export that are damaged, of another version, or say what cannot be imported: one line each.
#
# RUN: %python %s %t
# RUN: pkb-opt %t.good.pt2 | FileCheck %s --check-prefix=GOOD
# GOOD: comm.all_gather {{.*}} : (tensor<4xf32>) -> tensor<8xf32>
# RUN: not pkb-opt %t.version.pt2 2>&1 | FileCheck %s --check-prefix=VERSION
# VERSION: {{^}}pkb-opt: error: bundle '{{.*}}': has version 7 of torch.export's schema, this pkb-opt reads 8; save it with torch 2.11{{$}}
# RUN: not pkb-opt %t.older.pt2 2>&1 | FileCheck %s --check-prefix=OLDER
# OLDER: is an archive of an older torch; save the program with torch 2.11
# RUN: not pkb-opt %t.two.pt2 2>&1 | FileCheck %s --check-prefix=TWO
# TWO: must hold one program, got: 2
# RUN: not pkb-opt %t.big.pt2 2>&1 | FileCheck %s --check-prefix=BIG
# BIG: must be little-endian, got: big
# RUN: not pkb-opt %t.graphless.pt2 2>&1 | FileCheck %s --check-prefix=GRAPHLESS
# GRAPHLESS: has no graph or no signature
# RUN: not pkb-opt %t.undescribed.pt2 2>&1 | FileCheck %s --check-prefix=UNDESCRIBED
# UNDESCRIBED: model.py:7: torch.ops._c10d_functional.all_gather_into_tensor.default: tensor 'g' is used but not described
# RUN: not pkb-opt %t.unmade.pt2 2>&1 | FileCheck %s --check-prefix=UNMADE
# UNMADE: model.py:7: torch.ops._c10d_functional.all_gather_into_tensor.default: tensor 'q' is used before anything makes it
# RUN: not pkb-opt %t.dtype.pt2 2>&1 | FileCheck %s --check-prefix=DTYPE
# DTYPE: tensor 'x' has a dtype that is not supported
# RUN: not pkb-opt %t.sparse.pt2 2>&1 | FileCheck %s --check-prefix=SPARSE
# SPARSE: tensor 'x' must be dense
# RUN: not pkb-opt %t.operator.pt2 2>&1 | FileCheck %s --check-prefix=OPERATOR
# OPERATOR: model.py:7: torch.ops.higher_order.cond: calls torch.ops.higher_order.cond, which is not supported
# RUN: not pkb-opt %t.inplace.pt2 2>&1 | FileCheck %s --check-prefix=INPLACE
# INPLACE: model.py:7: torch.ops.c10d.send.default: calls torch.ops.c10d.send.default, which is not supported in a .pt2 file; make a bundle with pkb-export
# RUN: not pkb-opt %t.unknown.pt2 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# UNKNOWN: model.py:7: torch.ops._c10d_functional.rotate.default: is not a collective that is known
# RUN: not pkb-opt %t.argument.pt2 2>&1 | FileCheck %s --check-prefix=ARGUMENT
# ARGUMENT: model.py:7: torch.ops.aten.f.default: argument 'a': argument {"as_graph":{}} is not supported
# RUN: not pkb-opt %t.sizes.pt2 2>&1 | FileCheck %s --check-prefix=SIZES
# SIZES: model.py:7: torch.ops._c10d_functional.all_gather_into_tensor.default: group '0' has 3 ranks here and 2 elsewhere
# RUN: not pkb-opt %t.kind.pt2 2>&1 | FileCheck %s --check-prefix=KIND
# KIND: takes an input of kind 'custom_obj', which is not supported
# RUN: not pkb-opt %t.output.pt2 2>&1 | FileCheck %s --check-prefix=OUTPUT
# OUTPUT: gives an output of kind 'buffer_mutation', which is not supported; return a tensor
# RUN: not pkb-opt %t.leaf.pt2 2>&1 | FileCheck %s --check-prefix=LEAF
# LEAF: argument or result {"as_custom_obj":{}} is not supported; use tensors and plain numbers
# RUN: not pkb-opt %t.tree.pt2 2>&1 | FileCheck %s --check-prefix=TREE
# TREE: an argument or result of type collections.deque is not supported; use tuples, lists and dictionaries
# RUN: not pkb-opt %t.few.pt2 2>&1 | FileCheck %s --check-prefix=FEW
# FEW: has fewer arguments or results than its tree
# RUN: not pkb-opt %t.many.pt2 2>&1 | FileCheck %s --check-prefix=MANY
# MANY: has more arguments than its tree
# RUN: not pkb-opt %t.weightless.pt2 2>&1 | FileCheck %s --check-prefix=WEIGHTLESS
# WEIGHTLESS: lacks the member 'm/data/weights/model_weights_config.json'
# RUN: not pkb-opt %t.pickled.pt2 2>&1 | FileCheck %s --check-prefix=PICKLED
# PICKLED: constant 'weight' is pickled, which cannot be read; make it a plain tensor on the CPU
# RUN: not pkb-opt %t.short.pt2 2>&1 | FileCheck %s --check-prefix=SHORT
# SHORT: constant 'w' needs 16 bytes, its member has 8
#
# RUN: not pkb-opt --world-size=2 %s 2>&1 | FileCheck %s --check-prefix=FLAG
# FLAG: --world-size is for a .pt2 file, got: '{{.*}}exported-program-invalid.py'
# RUN: not pkb-opt --world-size=0 %t.good.pt2 2>&1 | FileCheck %s --check-prefix=ZERO
# ZERO: --world-size must be at least 1, got: 0
# RUN: rm -rf %t.dir && mkdir %t.dir && not pkb-opt %t.dir 2>&1 | FileCheck %s --check-prefix=FOLDER
# FOLDER: folder '{{.*}}' must hold rank0.pt2, rank1.pt2, ...
# RUN: cp %t.good.pt2 %t.dir/rank0.pt2 && cp %t.version.pt2 %t.dir/rank1.pt2 && not pkb-opt %t.dir 2>&1 | FileCheck %s --check-prefix=SECOND
# SECOND: rank 1: has version 7 of torch.export's schema
# RUN: cp %t.good.pt2 %t.dir/rank1.pt2 && cp %t.good.pt2 %t.dir/rank2.pt2 && not pkb-opt %t.dir 2>&1 | FileCheck %s --check-prefix=THREE
# THREE: has collectives of 2 ranks on rank 0, but there are 3
import copy
import json
import sys
import zipfile

LEAF = {"type": None, "context": None, "children_spec": []}


def node(kind, *children, context="null"):
    return {"type": kind, "context": context, "children_spec": list(children)}


def tensor(*sizes, dtype=7, layout=7):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, {"as_int": step})
        step *= size
    return {"dtype": dtype, "sizes": [{"as_int": s} for s in sizes], "strides": strides, "storage_offset": {"as_int": 0},
            "layout": layout}


def call(target, arguments, results):
    return {"target": "torch.ops." + target, "outputs": results, "metadata": {"stack_trace": '  File "model.py", line 7, in forward'},
            "inputs": [{"name": name, "arg": argument, "kind": 1} for name, argument in arguments]}


def named(name):
    return {"as_tensor": {"name": name}}


def gather(of="x", size=2):
    return call("_c10d_functional.all_gather_into_tensor.default",
                [("input", named(of)), ("group_size", {"as_int": size}), ("group_name", {"as_string": "0"})], [named("g")])


def good():
    """all_gather of one tensor; returns the parts of the archive."""
    tree = {"in_spec": json.dumps([1, node("builtins.tuple", node("builtins.tuple", LEAF), node("builtins.dict", context="[]"))]),
            "out_spec": json.dumps([1, LEAF])}
    module = {"graph": {"nodes": [gather()], "tensor_values": {"x": tensor(4), "g": tensor(8)}},
              "signature": {"input_specs": [{"user_input": {"arg": named("x")}}], "output_specs": [{"user_output": {"arg": named("g")}}]},
              "module_call_graph": [{"fqn": "", "signature": tree}]}
    model = {"graph_module": module, "schema_version": {"major": 8, "minor": 17}, "torch_version": "2.11.0"}
    return model, {"m/archive_format": "pt2", "m/byteorder": "little"}


def case(name, edit=lambda model, graph, signature, members: None):
    model, members = copy.deepcopy(good())
    module = model["graph_module"]
    edit(model, module["graph"], module["signature"], members)
    with zipfile.ZipFile(f"{sys.argv[1]}.{name}.pt2", "w") as archive:
        archive.writestr("m/models/model.json", json.dumps(model))
        for member, text in members.items():
            archive.writestr(member, text)


def weight(config, data):
    def edit(model, graph, signature, members):
        signature["input_specs"].append({"parameter": {"arg": {"name": "w"}, "parameter_name": "weight"}})
        graph["tensor_values"]["w"] = tensor(4)
        if config is not None:
            members["m/data/weights/model_weights_config.json"] = json.dumps({"config": {"weight": config}})
            members["m/data/weights/weight_0"] = data
    return edit


def spec(key, tree):
    def edit(model, graph, signature, members):
        model["graph_module"]["module_call_graph"][0]["signature"][key] = json.dumps([1, tree])
    return edit


case("good")
case("version", lambda m, g, s, f: m["schema_version"].update(major=7))
case("older", lambda m, g, s, f: f.update({"serialized_exported_program.json": "{}"}))
case("two", lambda m, g, s, f: f.update({"m/models/other.json": "{}"}))
case("big", lambda m, g, s, f: f.update({"m/byteorder": "big"}))
case("graphless", lambda m, g, s, f: m["graph_module"].pop("graph"))
case("undescribed", lambda m, g, s, f: g["tensor_values"].pop("g"))
case("unmade", lambda m, g, s, f: g.update(nodes=[gather("q")]))
case("dtype", lambda m, g, s, f: g["tensor_values"].update(x=tensor(4, dtype=28)))
case("sparse", lambda m, g, s, f: g["tensor_values"].update(x=tensor(4, layout=1)))
case("operator", lambda m, g, s, f: g["nodes"].append(call("higher_order.cond", [], [])))
case("inplace", lambda m, g, s, f: g["nodes"].append(call("c10d.send.default", [], [])))
case("unknown", lambda m, g, s, f: g["nodes"].append(call("_c10d_functional.rotate.default", [], [])))
case("argument", lambda m, g, s, f: g["nodes"].append(call("aten.f.default", [("a", {"as_graph": {}})], [])))
case("sizes", lambda m, g, s, f: g["nodes"].append(gather(size=3)))
case("kind", lambda m, g, s, f: s["input_specs"].append({"custom_obj": {}}))
case("output", lambda m, g, s, f: s["output_specs"].append({"buffer_mutation": {}}))
case("leaf", lambda m, g, s, f: s["output_specs"].append({"user_output": {"arg": {"as_custom_obj": {}}}}))
case("tree", spec("out_spec", node("collections.deque", LEAF)))
case("few", spec("out_spec", node("builtins.tuple", LEAF, LEAF)))
case("many", spec("in_spec", node("builtins.tuple", node("builtins.tuple"), node("builtins.dict", context="[]"))))
case("weightless", weight(None, b""))
case("pickled", weight({"path_name": "weight_0", "use_pickle": True}, bytes(16)))
case("short", weight({"path_name": "weight_0", "use_pickle": False}, bytes(8)))
