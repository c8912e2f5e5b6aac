// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives -pkb-chain-collectives | FileCheck %s
// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives -pkb-chain-collectives --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// A second run changes nothing.
// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives -pkb-chain-collectives -pkb-chain-collectives | FileCheck %s

// An exchange, a scale and a change of layout, and a reduce_scatter: two phases; what is between them is computed in the first.
// CHECK-LABEL: func.func @exchange_scatter
// CHECK-SAME: (%[[X:.*]]: tensor<4x6x16xf32>)
// CHECK-NEXT: %[[R:.*]] = comm.fused(%[[X]]) : (tensor<4x6x16xf32>) -> tensor<8x6x4xf32> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x6x16xf32>):
// CHECK-NEXT: %[[Z:.*]] = comm.fused(%[[A]]) : (tensor<4x6x16xf32>) -> tensor<16x6x4xf32> {
// CHECK: comm.all_to_all
// CHECK-NEXT: aten.call "aten::mul"
// CHECK-NEXT: aten.as_strided
// CHECK-NEXT: aten.call "aten::clone"
// CHECK: %[[S:.*]] = comm.fused(%[[Z]]) : (tensor<16x6x4xf32>) -> tensor<8x6x4xf32> {
// CHECK: comm.reduce_scatter
// CHECK: comm.yield %[[S]]
// CHECK: return %[[R]]
// REMARK: remark: [Passed] chained | {{.*}}reduce_scatter goes on in the kernel of all_to_all (line [[#@LINE + 3]])
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @exchange_scatter(%x: tensor<4x6x16xf32>) -> tensor<8x6x4xf32> {
    %0 = comm.all_to_all %x in <[[0, 1]]> : (tensor<4x6x16xf32>) -> tensor<4x6x16xf32>
    %1 = aten.call "aten::mul" overload "Scalar"(%0) args [#aten.operand<0>, 2.0] returns [#aten.result<0>] : (tensor<4x6x16xf32>) -> tensor<4x6x16xf32>
    %2 = aten.as_strided %1 : tensor<4x6x16xf32> -> tensor<16x6x4xf32, #aten.strided<[1, 16, 96], 0>>
    %3 = aten.call "aten::clone"(%2) args [#aten.operand<0>] kwargs {memory_format = #aten.memory_format<contiguous>} returns [#aten.result<0>] : (tensor<16x6x4xf32, #aten.strided<[1, 16, 96], 0>>) -> tensor<16x6x4xf32>
    %4 = comm.reduce_scatter sum %3 in <[[0, 1]]> accumulate f32 : (tensor<16x6x4xf32>) -> tensor<8x6x4xf32>
    return %4 : tensor<8x6x4xf32>
  }
}

// -----

// Three collectives; the first one's result is needed outside, too; a view between two goes with the one that reads it.
// CHECK-LABEL: func.func @three
// CHECK: %[[R:.*]]:2 = comm.fused(%{{.*}}) : (tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>) {
// CHECK: %[[A:.*]] = comm.fused
// CHECK: comm.reduce_scatter
// CHECK: %[[B:.*]] = comm.fused(%[[A]]) : (tensor<4x4xf32>) -> tensor<2x16xf32> {
// CHECK: %[[V:.*]] = aten.as_strided
// CHECK-NEXT: comm.all_gather %[[V]]
// CHECK: %[[C:.*]] = comm.fused(%[[B]]) : (tensor<2x16xf32>) -> tensor<8x4xf32> {
// CHECK: aten.as_strided
// CHECK-NEXT: comm.all_to_all
// CHECK: comm.yield %[[A]], %[[C]]
// CHECK: return %[[R]]#0, %[[R]]#1
// REMARK: all_gather goes on in the kernel of reduce_scatter (line [[#@LINE + 4]])
// REMARK: all_to_all goes on in the kernel of reduce_scatter (line [[#@LINE + 3]]), all_gather (line [[#@LINE + 5]])
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @three(%x: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>) {
    %0 = comm.reduce_scatter sum %x in <[[0, 1]]> accumulate f32 : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %1 = aten.as_strided %0 : tensor<4x4xf32> -> tensor<16xf32>
    %2 = comm.all_gather %1 in <[[0, 1]]> : (tensor<16xf32>) -> tensor<2x16xf32>
    %3 = aten.as_strided %2 : tensor<2x16xf32> -> tensor<8x4xf32>
    %4 = comm.all_to_all %3 in <[[0, 1]]> : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0, %4 : tensor<4x4xf32>, tensor<8x4xf32>
  }
}

// -----

// An operator that no kernel computes stands between the two.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: comm.fused
// CHECK: comm.all_reduce
// CHECK-NEXT: aten.call "aten::cumsum"
// CHECK-NEXT: comm.all_reduce
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @apart(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
    %1 = aten.call "aten::cumsum"(%0) args [#aten.operand<0>, 1] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %2 = comm.all_reduce sum %1 in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
    return %2 : tensor<8x64xf32>
  }
}

// -----

// The second collective is of another group.
// CHECK-LABEL: func.func @groups
// CHECK-NOT: comm.fused
// REMARK: all_reduce does not go on in the kernel of all_reduce (line [[#@LINE + 3]]): the one before it is of another group
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @groups(%x: tensor<64xf32>) -> tensor<64xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1], [2, 3]]> accumulate f32 : tensor<64xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 2], [1, 3]]> accumulate f32 : tensor<64xf32>
    return %1 : tensor<64xf32>
  }
}

// -----

// What is computed outside from the first collective is needed by the second.
// CHECK-LABEL: func.func @through_outside
// CHECK: %[[A:.*]] = comm.all_reduce
// CHECK: aten.call "aten::cumsum"
// CHECK: comm.fused
// REMARK: all_reduce does not go on in the kernel of all_reduce (line [[#@LINE + 3]]): something between the two collectives depends on the first
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @through_outside(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
    %1 = aten.call "aten::cumsum"(%0) args [#aten.operand<0>, 1] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %2 = aten.call "aten::mul" overload "Tensor"(%0, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %3 = comm.all_reduce sum %2 in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
    return %3 : tensor<8x64xf32>
  }
}

// -----

// A number for each row and elements are not exchanged in one kernel.
// CHECK-LABEL: func.func @rows
// CHECK: comm.fused
// CHECK: comm.all_reduce
// CHECK: comm.all_reduce
// REMARK: all_reduce does not go on in the kernel of all_reduce (line [[#@LINE + 4]]): an exchange of one number for each row does not share a kernel with one of elements
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @rows(%x: tensor<8x64xf32>) -> tensor<8x1xf32> {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
    %2 = comm.all_reduce sum %1 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
    return %2 : tensor<8x1xf32>
  }
}

// -----

// A schedule that somebody gave is for the collective as it is.
// CHECK-LABEL: @scheduled
// CHECK-NOT: comm.fused
// CHECK: comm.all_gather
// REMARK: remark: [Missed] not-chained | {{.*}}all_gather does not go on in the kernel of reduce_scatter (line [[#@LINE + 3]]): it came with a schedule of its own
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @scheduled(%x: tensor<64xf32>) -> tensor<64xf32> {
    %0 = comm.reduce_scatter sum %x in <[[0, 1]]> accumulate f32 {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 64, chunk = 128, depth = 0, slots = 1, unroll = 1>} : (tensor<64xf32>) -> tensor<32xf32>
    %1 = comm.all_gather %0 in <[[0, 1]]> : (tensor<32xf32>) -> tensor<64xf32>
    return %1 : tensor<64xf32>
  }
}

// -----

// The maximum of each row over all ranks, then the sum of what is computed with it: two exchanges of a number for each row.
// CHECK-LABEL: func.func @statistics
// CHECK: %[[R:.*]] = comm.fused(%{{.*}}) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
// CHECK: %[[E:.*]] = comm.fused
// CHECK: aten.call "aten::amax"
// CHECK-NEXT: comm.all_reduce max
// CHECK: %[[N:.*]] = comm.fused(%[[E]])
// CHECK: aten.call "aten::sum"
// CHECK-NEXT: comm.all_reduce sum
// CHECK-NEXT: aten.call "aten::div"
// CHECK: comm.yield %[[N]]
// CHECK: return %[[R]]
// REMARK: remark: [Passed] chained | {{.*}}all_reduce goes on in the kernel of all_reduce (line [[#@LINE + 4]])
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @statistics(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %0 = aten.call "aten::amax"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %1 = comm.all_reduce max %0 in <[[0, 1]]> accumulate f32 : tensor<8x1xf32>
    %2 = aten.call "aten::sub" overload "Tensor"(%x, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    %3 = aten.call "aten::exp"(%2) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %4 = aten.call "aten::sum" overload "dim_IntList"(%3) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %5 = comm.all_reduce sum %4 in <[[0, 1]]> accumulate f32 : tensor<8x1xf32>
    %6 = aten.call "aten::div" overload "Tensor"(%3, %5) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    return %6 : tensor<8x64xf32>
  }
}

// -----

// The second collective has rows reduced behind it: its phases follow the first one.
// CHECK-LABEL: func.func @norm_at_the_end
// CHECK: comm.fused
// CHECK: %[[A:.*]] = comm.fused
// CHECK: comm.all_to_all
// CHECK: %[[B:.*]] = comm.fused(%[[A]])
// CHECK: comm.all_reduce
// CHECK: comm.fused(%[[B]])
// CHECK: aten.call "aten::_softmax"
// REMARK: remark: [Passed] chained | {{.*}}all_reduce goes on in the kernel of all_to_all (line [[#@LINE + 3]])
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @norm_at_the_end(%x: tensor<8x64xf32>) -> tensor<4x128xf32> {
    %0 = comm.all_to_all %x in <[[0, 1]]> : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %1 = aten.as_strided %0 : tensor<8x64xf32> -> tensor<4x128xf32>
    %2 = comm.all_reduce sum %1 in <[[0, 1]]> accumulate f32 : tensor<4x128xf32>
    %3 = aten.call "aten::_softmax"(%2) args [#aten.operand<0>, 1, false] returns [#aten.result<0>] : (tensor<4x128xf32>) -> tensor<4x128xf32>
    return %3 : tensor<4x128xf32>
  }
}
