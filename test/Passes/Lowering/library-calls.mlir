// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{mechanism=nccl},pkb-convert-comm-to-xfer)' | FileCheck %s
// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{mechanism=nccl},pkb-convert-comm-to-xfer,pkb-convert-xfer-to-cuda)' | FileCheck %s --check-prefix=SENT

// What lies in one piece is a function of the library; no kernel is made.
// CHECK-LABEL: @whole
// CHECK-NOT: xfer.launch
// CHECK: xfer.library_call nccl(%arg0, %[[SUM:.*]]) in <{{.*}}> reduce max calls [#xfer.call<function = all_reduce, count = 8, to = 1>] {predicted_us = {{.*}}}
// CHECK: calls [#xfer.call<function = all_gather, count = 8, to = 1>]
// CHECK: reduce sum calls [#xfer.call<function = reduce_scatter, count = 4, to = 1>]
// CHECK: calls [#xfer.call<function = broadcast, count = 8, to = 1, root = 1>]
// What the rank that sends most sends at least: a ring's share.
// SENT-LABEL: @whole
// SENT: function = all_reduce, {{.*}}sent_bytes = 32
// SENT: function = all_gather, {{.*}}sent_bytes = 32
// SENT: function = reduce_scatter, {{.*}}sent_bytes = 16
// SENT: function = broadcast, {{.*}}sent_bytes = 32
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @whole(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<4xf32>, tensor<8xf32>) {
    %0 = comm.all_reduce max %a in <[[0, 1]]> accumulate f32 : tensor<8xf32>
    %1 = comm.all_gather %a in <[[0, 1]]> : (tensor<8xf32>) -> tensor<16xf32>
    %2 = comm.reduce_scatter sum %a in <[[0, 1]]> accumulate f32 : (tensor<8xf32>) -> tensor<4xf32>
    %3 = comm.broadcast %a in <[[0, 1]]> from [1] : tensor<8xf32>
    return %0, %1, %2, %3 : tensor<8xf32>, tensor<16xf32>, tensor<4xf32>, tensor<8xf32>
  }
}

// -----

// Lists, parts and roots are messages, or reductions to one rank each, that are made together.
// CHECK-LABEL: @pieces
// CHECK: calls [#xfer.call<function = message, count = 4, to = 1>, #xfer.call<function = message, count = 4, from_offset = 4, to = 1, dest = 1>,
// CHECK-SAME: #xfer.call<function = message, count = 4, to = 1, to_offset = 4, source = 1>, #xfer.call<function = message, count = 4, from_offset = 4, to = 1, to_offset = 4, source = 1, dest = 1>]
// CHECK: calls [#xfer.call<function = message, count = 8, to = 1>, #xfer.call<function = message, count = 8, to = 1, dest = 1>, #xfer.call<function = message, count = 8, to = 2, source = 1>,
// CHECK: reduce sum calls [#xfer.call<function = reduce, count = 4, to = 2>, #xfer.call<function = reduce, count = 4, from = 1, to = 2, root = 1>]
// CHECK: reduce min calls [#xfer.call<function = reduce, count = 8, to = 1, root = 1>, #xfer.call<function = message, count = 8, to = 1>]
// CHECK: calls [#xfer.call<function = message, count = 4, to = 1, source = 1>, #xfer.call<function = message, count = 4, from_offset = 4, to = 1, source = 1, dest = 1>]
// CHECK: calls [#xfer.call<function = message, count = 4, to = 1>, #xfer.call<function = message, count = 4, to = 1, to_offset = 4, source = 1>]
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @pieces(%a: tensor<8xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) {
    %0 = comm.all_to_all %a in <[[0, 1]]> : (tensor<8xf32>) -> tensor<8xf32>
    %1:2 = comm.all_gather %a in <[[0, 1]]> : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %2 = comm.reduce_scatter sum %b, %c in <[[0, 1]]> accumulate f32 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = comm.reduce min %a in <[[0, 1]]> to [1] accumulate f32 : tensor<8xf32>
    %4 = comm.scatter %a in <[[0, 1]]> from [1] : (tensor<8xf32>) -> tensor<4xf32>
    %5 = comm.gather %b in <[[0, 1]]> to [0] : (tensor<4xf32>) -> tensor<8xf32>
    return %0, %1#1, %2, %3, %4, %5 : tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>
  }
}

// -----

// Rows that differ say which row makes a call.
// CHECK-LABEL: @rows
// CHECK: calls [#xfer.call<function = broadcast, count = 4, to = 1, row = 0>, #xfer.call<function = broadcast, count = 4, to = 1, root = 1, row = 1>]
// CHECK: calls [#xfer.call<function = message, count = 4, to = 1, dest = 1, row = 0>, #xfer.call<function = message, count = 4, to = 1, source = 1, row = 1>]
// SENT-LABEL: @rows
// SENT: function = broadcast, {{.*}}sent_bytes = 16
// SENT: function = message, {{.*}}sent_bytes = 16
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @rows(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = comm.broadcast %a in <[[0, 1], [2, 3]]> from [0, 3] : tensor<4xf32>
    %1 = comm.permute %a in <[[0, 1], [2, 3]]> pairs [[0, 1], [3, 2]] : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Uneven parts begin where the earlier ones end.
// CHECK-LABEL: @uneven
// CHECK: calls [#xfer.call<function = message, count = 3, to = 1>, #xfer.call<function = message, count = 3, to = 1, dest = 1>,
// CHECK-SAME: #xfer.call<function = message, count = 5, to = 1, to_offset = 3, source = 1>, #xfer.call<function = message, count = 5, to = 1, to_offset = 3, source = 1, dest = 1>]
// SENT-LABEL: @uneven
// SENT: sent_bytes = 20
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @uneven(%a: tensor<3xf32>) -> tensor<8xf32> attributes {comm.ranks = array<i64: 0>} {
    %0 = comm.all_gather_v %a in <[[0, 1]]> counts [3, 5] : (tensor<3xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Parts without elements are no calls, so nothing is reduced.
// CHECK-LABEL: @empty_parts
// CHECK-NOT: xfer.library_call
// CHECK: return
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @empty_parts(%x: tensor<0xf32>, %y: tensor<0xf32>) -> tensor<0xf32> {
    %0 = comm.reduce_scatter sum %x, %y in <[[0, 1]]> accumulate f32 : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
    return %0 : tensor<0xf32>
  }
}

// -----

// A barrier adds up something that nobody needs.
// CHECK-LABEL: @meet
// CHECK: %[[A:.*]] = memref.alloc() : memref<1xi8>
// CHECK: %[[B:.*]] = memref.alloc() : memref<1xi8>
// CHECK: xfer.library_call nccl(%[[A]], %[[B]]) in <{{.*}}> reduce sum calls [#xfer.call<function = all_reduce, count = 1, to = 1>]
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @meet() {
    comm.barrier in <[[0, 1]]>
    return
  }
}
