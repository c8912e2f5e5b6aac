// RUN: mlir-pdll %src/docs/Examples/patterns/all-reduce.pdll -x=mlir -o %t.pdl.mlir
// RUN: pkb-opt %s --pkb-apply-patterns=file=%t.pdl.mlir -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// A second run changes nothing.
// RUN: pkb-opt %t.mlir --pkb-apply-patterns=file=%t.pdl.mlir | diff %t.mlir -
// RUN: pkb-interpret %s --against=%t.mlir

// The pattern of a file puts the two halves of an all-reduce together, where the same ranks take part, no rank has a factor, and nobody needs a part.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  %[[X:.+]]: tensor<8x4xf32>
// CHECK-NEXT:  %[[SUM:.+]] = comm.all_reduce sum %[[X]] in <{{\[\[}}0, 1]]> accumulate f32 deterministic
// CHECK:       %[[PART:.+]] = comm.reduce_scatter premul_sum %[[X]]
// CHECK:       %[[SCALED:.+]] = comm.all_gather %[[PART]]
// CHECK:       %[[ALONE:.+]] = comm.reduce_scatter sum %[[X]] in <{{\[\[}}0], [1]]>
// CHECK:       %[[OTHERS:.+]] = comm.all_gather %[[ALONE]] in <{{\[\[}}0, 1]]>
// CHECK:       %[[KEPT:.+]] = comm.reduce_scatter sum %[[X]]
// CHECK:       %[[BOTH:.+]] = comm.all_gather %[[KEPT]]
// CHECK:       return %[[SUM]], %[[SCALED]], %[[OTHERS]], %[[KEPT]], %[[BOTH]]
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<16x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>) {
    %0 = comm.reduce_scatter sum %x in <[[0, 1]]> accumulate f32 deterministic : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %1 = comm.all_gather %0 in <[[0, 1]]> : (tensor<4x4xf32>) -> tensor<8x4xf32>
    %2 = comm.reduce_scatter premul_sum %x in <[[0, 1]]> factors [0.5, 0.25] accumulate f32 deterministic : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %3 = comm.all_gather %2 in <[[0, 1]]> : (tensor<4x4xf32>) -> tensor<8x4xf32>
    %4 = comm.reduce_scatter sum %x in <[[0], [1]]> accumulate f32 deterministic : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %5 = comm.all_gather %4 in <[[0, 1]]> : (tensor<8x4xf32>) -> tensor<16x4xf32>
    %6 = comm.reduce_scatter sum %x in <[[0, 1]]> accumulate f32 deterministic : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %7 = comm.all_gather %6 in <[[0, 1]]> : (tensor<4x4xf32>) -> tensor<8x4xf32>
    return %1, %3, %5, %6, %7 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<16x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>
  }
}
