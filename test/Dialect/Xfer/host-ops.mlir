// RUN: pkb-opt %s | pkb-opt | FileCheck %s

// A collective of the whole group keeps its operands, its reduction and its factors.
// CHECK-LABEL: @collective
// CHECK: xfer.library_call nccl(%{{.*}}, %{{.*}}) in <{{\[\[}}0, 1]]> reduce sum calls [#xfer.call<function = all_reduce, count = 8, to = 1>] : memref<8xf32>, memref<8xf32>
// CHECK: xfer.library_call nccl(%{{.*}}, %{{.*}}) in <{{\[\[}}0, 1]]> reduce premul_sum factors [5.000000e-01, 2.000000e+00] calls
func.func @collective(%a: memref<8xf32>, %b: memref<8xf32>) {
  xfer.library_call nccl(%a, %b) in <[[0, 1]]> reduce sum calls [#xfer.call<function = all_reduce, count = 8, to = 1>] : memref<8xf32>, memref<8xf32>
  xfer.library_call nccl(%a, %b) in <[[0, 1]]> reduce premul_sum factors [0.5, 2.0] calls [#xfer.call<function = all_reduce, count = 8, to = 1>] : memref<8xf32>, memref<8xf32>
  return
}

// Messages name places, and a row where rows differ.
// CHECK-LABEL: @messages
// CHECK: calls [#xfer.call<function = message, count = 3, from_offset = 1, to = 1, to_offset = 5, dest = 1, row = 0>, #xfer.call<function = message, count = 2, to = 1, source = 1, row = 1>]
func.func @messages(%a: memref<8xf32>, %b: memref<8xf32>) {
  xfer.library_call nccl(%a, %b) in <[[0, 1], [2, 3]]> calls [#xfer.call<function = message, count = 3, from_offset = 1, to = 1, to_offset = 5, dest = 1, row = 0>,
    #xfer.call<function = message, count = 2, to = 1, source = 1, row = 1>] : memref<8xf32>, memref<8xf32>
  return
}

// A function that only some ranks run has the sizes of those ranks; what the others send lies elsewhere.
// CHECK-LABEL: @of_rank_0
func.func @of_rank_0(%a: memref<2xf32>, %b: memref<5xf32>) attributes {comm.ranks = array<i64: 0>} {
  xfer.library_call nccl(%a, %b) in <[[0, 1]]> calls [#xfer.call<function = message, count = 2, to = 1, dest = 1>,
    #xfer.call<function = message, count = 5, to = 1, source = 1>] : memref<2xf32>, memref<5xf32>
  return
}
