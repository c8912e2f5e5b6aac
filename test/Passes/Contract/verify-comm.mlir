// RUN: pkb-opt %s --pkb-verify-comm | FileCheck %s

// The gate changes nothing.
// CHECK: module attributes {comm.mesh = #comm.mesh<size = 4>}
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  // CHECK: func.func @main
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    // CHECK-NEXT: comm.all_reduce sum {{.*}} in <{{\[}}[0, 3]]>
    %0 = comm.all_reduce sum %x in <[[0, 3]]> accumulate f32 : tensor<8xf32>
    // CHECK-NEXT: arith.addf
    %1 = arith.addf %0, %x : tensor<8xf32>
    // CHECK-NEXT: aten.call "aten::neg"
    %2 = aten.call "aten::neg" (%1) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: %[[A:.*]] = comm.absent
    %3 = comm.absent : tensor<8xf32>
    // CHECK-NEXT: comm.broadcast %[[A]]
    %4 = comm.broadcast %3 in <[[0, 3]]> from [0] : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
