// RUN: rm -rf %t && mkdir %t
// RUN: pkb-opt %s --pkb-pipeline="target=h200x2 fuse=false" -o %t/p.cu
// RUN: FileCheck %s < %t/p.cu
// The constants lie beside the program, each at a multiple of 256 bytes.
// RUN: %python -c "import sys; d = open(sys.argv[1], 'rb').read(); print(len(d), d[:8].hex(), d[256:].hex())" %t/p.cu.data | FileCheck %s --check-prefix=DATA
// DATA: 264 0000803f00000040 0000404000004040
// The manifest is JSON, and `program` is the hash of the file with zeros in its place.
// RUN: %python %S/Inputs/manifest.py %t/p.cu | FileCheck %s --check-prefix=JSON
// JSON: schema pkb-manifest, program id right
// Equal programs have equal text.
// RUN: pkb-opt %s --pkb-pipeline="target=h200x2 fuse=false" -o %t/q.cu
// RUN: cmp %t/p.cu %t/q.cu
// Without a file there is no place for constants.
// RUN: not pkb-opt %s --pkb-pipeline="target=h200x2 fuse=false" --emit=cuda 2>&1 | FileCheck %s --check-prefix=STDOUT
// STDOUT: error: the program has constants, which need a file beside it; name an output file with -o X.cu

// CHECK: "name": "solution",
// CHECK: "world_size": 2,
// CHECK-NEXT: "target": "h200x2",
// CHECK-NEXT: "bundle": "ab",
// CHECK-NEXT: "capture": "cd",
// CHECK-NEXT: "torch": "2.11.0",
// CHECK-NEXT: "data": {"bytes":264,
// CHECK-NEXT: "groups": [
// CHECK-NEXT: {"id":0,"partition":[{{\[}}0,1]]}],
// CHECK-NEXT: "arguments": [
// CHECK-NEXT: {"dtype":"float32","sizes":[2],"strides":[1],"written":true},
// CHECK-NEXT: {"dtype":"float32","sizes":[2,4],"strides":[1,2]}],
// An output is memory of its own, (a view of) an argument, or (a view of) another output.
// CHECK-NEXT: "outputs": [
// CHECK-NEXT: {"alias_of":null,"dtype":"float32","sizes":[2],"slot":[[MUL:[0-9]+]],
// CHECK-NEXT: {"alias_of":1,"dtype":"float32","sizes":[4],"slot":[[VIEW:[0-9]+]],
// CHECK-NEXT: {"alias_of":null,"dtype":"float32","sizes":[8],"slot":[[SUM:[0-9]+]],
// CHECK-NEXT: {"alias_of":null,"dtype":"float32","sizes":[4],"slot":[[PART:[0-9]+]],
// What the caller may not have is copied at the end: a constant, an argument.
// CHECK-NEXT: {"alias_of":null,"dtype":"float32","sizes":[2],"slot":[[COPY:[0-9]+]],
// CHECK-NEXT: {"alias_of":null,"dtype":"float32","sizes":[2,4],"slot":[[CLONE:[0-9]+]],
// CHECK-NEXT: "slots": [
// CHECK-DAG: {"dtype":"float32","id":0,"index":0,"kind":"argument","sizes":[2],"strides":[1]}
// CHECK-DAG: {"dtype":"float32","id":1,"index":1,"kind":"argument","sizes":[2,4],"strides":[1,2]}
// CHECK-DAG: "id":[[CONSTANT:[0-9]+]],"kind":"constant","offset":0,"sizes":[2]
// CHECK-DAG: "kind":"constant","offset":256,"sizes":[2]
// CHECK-DAG: "id":[[TEMPORARY:[0-9]+]],"kind":"temporary","sizes":[2],"strides":[1],"workspace":0
// CHECK-DAG: "id":[[ATEN:[0-9]+]],"kind":"aten","sizes":[8]
// CHECK-DAG: "id":[[MUL]],"index":0,"kind":"output"
// CHECK-DAG: "id":[[VIEW]],"kind":"view","of":1,"offset":4,"sizes":[4]
// CHECK-DAG: "id":[[SUM]],"index":2,"kind":"output"
// CHECK-DAG: "id":[[PART]],"kind":"view","of":[[SUM]],"offset":4,"sizes":[4]
// CHECK-DAG: "id":[[COPY]],"index":4,"kind":"output"
// CHECK-DAG: "id":[[CLONE]],"index":5,"kind":"output"
// CHECK: "steps": [
// CHECK: {"args":[{"t":0},{"t":[[CONSTANT]]}],"kind":"aten","kwargs":{{\[\[}}"alpha",{"i":2}]],"mutates":[0],"op":"aten::add_","overload":"Tensor","results":[{"t":0}],
// CHECK-NEXT: {"block":32,"grid":1,"group":0,"kernel":"all_reduce_0","kind":"launch","pointers":[{"offset":0,"slot":0},{"offset":0,"slot":[[TEMPORARY]]}],"predicted_us":{{[0-9.]+}},"sent_bytes":64,"source":"{{.*}}manifest.mlir:
// CHECK-NEXT: "op":"aten::mul",{{.*}}"results":[{"t":[[MUL]]}]
// CHECK-NEXT: "op":"aten::exp",{{.*}}"results":[{"t":[[ATEN]]}]
// CHECK-NEXT: "kernel":"all_reduce_1",{{.*}}"pointers":[{"offset":0,"slot":[[ATEN]]},{"offset":0,"slot":[[SUM]]}]
// CHECK-DAG: {"from":{{[0-9]+}},"kind":"copy","to":[[COPY]]}
// CHECK-DAG: {"from":1,"kind":"copy"{{.*}}"to":[[CLONE]]}
// CHECK: "kernels": [
// CHECK-NEXT: {"block":32,"grid":[1,1],"mechanism":"ll","min_blocks":1,"name":"all_reduce_0","pointers":2,"ranks":2},
// CHECK-NEXT: {"block":32,"grid":[1,1],"mechanism":"ll","min_blocks":1,"name":"all_reduce_1","pointers":2,"ranks":2}],
// CHECK-NEXT: "region_bytes": {{[1-9][0-9]+}},
// CHECK-NEXT: "workspace_bytes": 256,
// CHECK-NEXT: "sites": [
// CHECK-NEXT: {"id":1,"kernel":"all_reduce_0","primitive":"epoch_begin","source":"{{.*}}manifest.mlir:
// CHECK-NEXT: {"id":2,"kernel":"all_reduce_0","primitive":"store_ll",
// CHECK-NEXT: {"id":3,"kernel":"all_reduce_0","primitive":"load_ll",
// CHECK-NEXT: {"id":4,"kernel":"all_reduce_0","primitive":"epoch_end",
// CHECK-NEXT: {"id":5,"kernel":"all_reduce_1","primitive":"epoch_begin",
// CHECK: "guards": [],
// CHECK-NEXT: "remarks": [],
// CHECK-NEXT: "input_tree": {"items":[{"id":0,"kind":"tensor"},{"id":1,"kind":"tensor"}],"kind":"tuple"},
// CHECK-NEXT: "output_tree": {"items":[{"id":0,"kind":"tensor"}],"keys":["a"],"kind":"dict"}
// CHECK-NEXT: }
// CHECK-NEXT: */
module attributes {comm.mesh = #comm.mesh<size = 2>,
    aten.program = #aten.program<function = "solution", bundle = "ab", capture = "cd", torch = "2.11.0",
      inputs = <tuple items [<tensor at 0>, <tensor at 1>]>, outputs = <dict items [<tensor at 0>] keys ["a"]>>} {
func.func @main(%x: tensor<2xf32>, %y: tensor<2x4xf32, #aten.strided<[1, 2], 0>>) -> (tensor<2xf32> {aten.mutation_of = 0 : i64}, tensor<2xf32>,
    tensor<4xf32, #aten.strided<[1], 4>> {aten.alias_of = #aten.alias<argument, 1>}, tensor<8xf32>,
    tensor<4xf32, #aten.strided<[1], 4>> {aten.alias_of = #aten.alias<result, 3>}, tensor<2xf32>, tensor<2x4xf32, #aten.strided<[1, 2], 0>>) {
  %0 = aten.literal dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = aten.literal dense<3.0> : tensor<2xf32>
  %2 = aten.call "aten::add_" overload "Tensor" (%x, %0) args [#aten.operand<0>, #aten.operand<1>] kwargs {alpha = 2} returns [#aten.operand<0>] mutates [0] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = comm.all_reduce sum %2 in <[[0, 1]]> accumulate f32 deterministic : tensor<2xf32>
  %4 = aten.call "aten::mul" overload "Tensor" (%3, %0) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %5 = aten.as_strided %y : tensor<2x4xf32, #aten.strided<[1, 2], 0>> -> tensor<4xf32, #aten.strided<[1], 4>>
  %6 = aten.call "aten::exp" (%y) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<2x4xf32, #aten.strided<[1, 2], 0>>) -> tensor<8xf32>
  %7 = comm.all_reduce sum %6 in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
  %8 = aten.as_strided %7 : tensor<8xf32> -> tensor<4xf32, #aten.strided<[1], 4>>
  return %2, %4, %5, %7, %8, %1, %y : tensor<2xf32>, tensor<2xf32>, tensor<4xf32, #aten.strided<[1], 4>>, tensor<8xf32>, tensor<4xf32, #aten.strided<[1], 4>>, tensor<2xf32>, tensor<2x4xf32, #aten.strided<[1, 2], 0>>
}
}
