// REQUIRES: plugins
// RUN: pkb-opt %s --load-pass-plugin=%build/lib/DropLonely%shlibext \
// RUN:   --pass-pipeline='builtin.module(drop-lonely)' | FileCheck %s

// A pass in a shared library finds our dialects, their interfaces and the rewrite driver in pkb-opt.
// CHECK-LABEL: func.func @lonely
// CHECK-SAME:  %[[X:.+]]: tensor<8xf32>
// CHECK-NEXT:  return %[[X]]
func.func @lonely(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = comm.all_reduce sum %x in <[[0], [1]]> accumulate f32 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @in_pairs
// CHECK:       comm.all_reduce
func.func @in_pairs(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
