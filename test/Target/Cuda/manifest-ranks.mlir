// RUN: rm -rf %t && mkdir %t
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 -o %t/p.cu
// RUN: FileCheck %s < %t/p.cu
// RUN: %python %S/Inputs/manifest.py %t/p.cu | FileCheck %s --check-prefix=JSON
// JSON: schema pkb-manifest, program id right

// Ranks that run different functions have a program each; kernels and groups are common.
// CHECK: "name": "solution"
// CHECK: "groups": [
// CHECK-NEXT: {"id":0,"partition":[{{\[}}0,1]]}],
// CHECK-NOT: "steps": [
// CHECK: "kernels": [
// CHECK-NEXT: "name":"all_reduce_0"
// CHECK-NOT: "name":"all_reduce_1"
// CHECK: "programs": [
// The workspace is that of the program.
// CHECK-NEXT: {"arguments":[{"dtype":"float32","sizes":[4],"strides":[1]}],"input_tree":{{.*}},"output_tree":{"items":[{"id":0,"kind":"tensor"},{"kind":"int","value":7}],"kind":"tuple"},"outputs":[{{.*}}"slot":1{{.*}}],"ranks":[0],{{.*}}"kernel":"all_reduce_0"{{.*}}"workspace_bytes":0},
// CHECK-NEXT: {"arguments":[{"dtype":"float32","sizes":[2,2],"strides":[2,1]}],{{.*}}"output_tree":{"kind":"none"},"outputs":[],"ranks":[1],{{.*}}"kernel":"all_reduce_0"{{.*}}"workspace_bytes":256}]
#in = #aten.tree<tuple items [<tensor at 0>]>
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {comm.ranks = array<i64: 0>,
      aten.program = #aten.program<function = "solution", bundle = "ab", capture = "cd", torch = "2.11.0", inputs = #in,
                                   outputs = <tuple items [<tensor at 0>, <int value 7 : i64>]>>} {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main_1(%x: tensor<2x2xf32>) attributes {comm.ranks = array<i64: 1>,
      aten.program = #aten.program<function = "solution", bundle = "ab", capture = "cd", torch = "2.11.0", inputs = #in, outputs = <none>>} {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<2x2xf32>
    return
  }
}
