// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives | FileCheck %s
// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// A second run changes nothing.
// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives -pkb-fuse-collectives | FileCheck %s
// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-fuse-collectives,pkb-select-mechanism{mechanism=ldst},pkb-convert-comm-to-xfer,pkb-verify-xfer)' | FileCheck %s --check-prefix=XFER

// The norm of what is reduced, with the residual: the sum with it stays with the collective, whose phase leaves no more than that; its conversion, the square and
// all else are computed row by row behind it.
// CHECK-LABEL: func.func @norm_behind
// CHECK-SAME: (%[[X:.*]]: tensor<8x64xbf16>, %[[RES:.*]]: tensor<8x64xbf16>, %[[W:.*]]: tensor<64xf32>)
// CHECK-NEXT: %[[R:.*]]:2 = comm.fused(%[[X]], %[[RES]], %[[W]])
// CHECK: %[[H:.*]] = comm.fused(%{{.*}}, %{{.*}}) : (tensor<8x64xbf16>, tensor<8x64xbf16>) -> tensor<8x64xbf16> {
// CHECK: comm.all_reduce
// CHECK-NEXT: %[[SUM:.*]] = aten.call "aten::add"
// CHECK-NEXT: comm.yield %[[SUM]]
// CHECK: %[[N:.*]] = comm.fused(%[[H]], %{{.*}}) : (tensor<8x64xbf16>, tensor<64xf32>) -> tensor<8x64xf32> {
// CHECK: aten.call "aten::_to_copy"
// CHECK-NEXT: aten.call "aten::pow"
// CHECK-NEXT: aten.call "aten::mean"
// CHECK: comm.yield %[[H]], %[[N]]
// CHECK: return %[[R]]#0, %[[R]]#1
// REMARK: remark: [Passed] fused | {{.*}}all_reduce is one kernel with add, _to_copy, pow, mean, rsqrt, mul, mul after it
// The one chunk holds whole rows, so a block needs what it has stored itself; weights are read as they lie.
// XFER-LABEL: func.func @norm_behind
// XFER: xfer.kernel @fused_0
// XFER: xfer.pipeline 512 by 512 implements all_reduce
// XFER: xfer.store %{{.*}} to %[[LEFT:.*]] chunk
// XFER: xfer.sync block
// XFER-NEXT: xfer.pipeline 8 by 8 produce {
// XFER: xfer.load %[[LEFT]] chunk %{{.*}} : memref<512xbf16> -> <vector<64xbf16>>
// XFER: xfer.row_reduce sum
// XFER-NOT: xfer.put
// XFER: } consume {
// XFER-NEXT: ^bb0
// XFER-NEXT: }
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @norm_behind(%x: tensor<8x64xbf16>, %residual: tensor<8x64xbf16>, %weight: tensor<64xf32>) -> (tensor<8x64xbf16>, tensor<8x64xf32>) {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8x64xbf16>
    %1 = aten.call "aten::add" overload "Tensor"(%0, %residual) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x64xbf16>, tensor<8x64xbf16>) -> tensor<8x64xbf16>
    %2 = aten.call "aten::_to_copy"(%1) args [#aten.operand<0>] kwargs {dtype = #aten.dtype<float32>} returns [#aten.result<0>] : (tensor<8x64xbf16>) -> tensor<8x64xf32>
    %3 = aten.call "aten::pow" overload "Tensor_Scalar"(%2) args [#aten.operand<0>, 2] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %4 = aten.call "aten::mean" overload "dim"(%3) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %5 = aten.call "aten::rsqrt"(%4) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %6 = aten.call "aten::mul" overload "Tensor"(%2, %5) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    %7 = aten.call "aten::mul" overload "Tensor"(%6, %weight) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    return %1, %7 : tensor<8x64xbf16>, tensor<8x64xf32>
  }
}

// -----

// What is gathered is stored by part, so all blocks meet before the rows of a view of it are reduced; the view goes with the rows.
// CHECK-LABEL: func.func @gathered
// CHECK: comm.fused
// CHECK: %[[G:.*]] = comm.fused
// CHECK: comm.all_gather
// CHECK-NEXT: comm.yield
// CHECK: comm.fused(%[[G]])
// CHECK: aten.as_strided
// CHECK-NEXT: aten.call "aten::amax"
// REMARK: remark: [Passed] fused | {{.*}}all_gather is one kernel with amax, sub after it
// XFER-LABEL: func.func @gathered
// XFER: xfer.kernel @fused_0
// XFER: xfer.sync grid
// XFER-NEXT: xfer.pipeline 6 by
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @gathered(%x: tensor<6x20xf32>) -> tensor<6x40xf32> {
    %0 = comm.all_gather %x in <[[0, 1]]> : (tensor<6x20xf32>) -> tensor<2x6x20xf32>
    %1 = aten.as_strided %0 : tensor<2x6x20xf32> -> tensor<6x40xf32>
    %2 = aten.call "aten::amax"(%1) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<6x40xf32>) -> tensor<6x1xf32>
    %3 = aten.call "aten::sub" overload "Tensor"(%1, %2) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<6x40xf32>, tensor<6x1xf32>) -> tensor<6x40xf32>
    return %3 : tensor<6x40xf32>
  }
}

// -----

// A reduction that makes the message of another collective belongs to that one's kernel.
// CHECK-LABEL: func.func @for_the_next
// CHECK: comm.fused(%{{.*}}) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
// CHECK: comm.all_reduce sum
// CHECK-NEXT: aten.call "aten::exp"
// CHECK-NEXT: comm.yield
// CHECK: comm.fused
// CHECK: aten.call "aten::sum"
// CHECK-NEXT: comm.all_reduce sum
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @for_the_next(%x: tensor<8x64xf32>) -> tensor<8x1xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
    %1 = aten.call "aten::exp"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %2 = aten.call "aten::sum" overload "dim_IntList"(%1) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %3 = comm.all_reduce sum %2 in <[[0, 1]]> accumulate f32 : tensor<8x1xf32>
    return %3 : tensor<8x1xf32>
  }
}

// -----

// Rows of two lengths do not share a phase, and columns are no rows.
// CHECK-LABEL: func.func @other_rows
// CHECK: comm.fused
// CHECK: aten.call "aten::mean"
// CHECK-NEXT: comm.yield
// CHECK: aten.call "aten::amax"(%{{.*}}#0)
// CHECK: {{^ *}}return
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @other_rows(%x: tensor<4x8x64xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<4x8x64xf32>
    %1 = aten.call "aten::mean" overload "dim"(%0) args [#aten.operand<0>, array<i64: -1>] returns [#aten.result<0>] : (tensor<4x8x64xf32>) -> tensor<4x8xf32>
    %2 = aten.call "aten::amax"(%0) args [#aten.operand<0>, array<i64: -1, -2>] returns [#aten.result<0>] : (tensor<4x8x64xf32>) -> tensor<4xf32>
    return %1, %2 : tensor<4x8xf32>, tensor<4xf32>
  }
}

// -----

// Rows of so few elements are not worth a warp each.
// CHECK-LABEL: func.func @short_rows
// CHECK-NOT: comm.fused
// CHECK: comm.all_reduce
// REMARK: remark: [Missed] not-fused | {{.*}}all_reduce is a kernel of its own: rows of 8 elements are too short for a warp each
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @short_rows(%x: tensor<64x8xf32>) -> tensor<64xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<64x8xf32>
    %1 = aten.call "aten::mean" overload "dim"(%0) args [#aten.operand<0>, array<i64: -1>] returns [#aten.result<0>] : (tensor<64x8xf32>) -> tensor<64xf32>
    return %1 : tensor<64xf32>
  }
}

// -----

// Operators of the library that reduce rows and compute from that are read for what they do; results that nobody reads are not computed.
// CHECK-LABEL: func.func @library_operators
// CHECK: %[[L:.*]] = comm.fused(%{{.*}}) : (tensor<16x64xbf16>) -> tensor<8x64xbf16> {
// CHECK: comm.reduce_scatter
// CHECK: comm.fused(%[[L]], %{{.*}}) : (tensor<8x64xbf16>, tensor<64xbf16>) -> (tensor<8x64xbf16>, tensor<8x64xf32>) {
// CHECK: aten.call "aten::native_layer_norm"
// CHECK: aten.call "aten::_log_softmax"
// REMARK: remark: [Passed] fused | {{.*}}reduce_scatter is one kernel with native_layer_norm, _to_copy, _log_softmax after it
// XFER-LABEL: func.func @library_operators
// XFER: xfer.kernel @fused_0
// XFER: xfer.sync block
// XFER-COUNT-4: xfer.row_reduce
// XFER-NOT: xfer.row_reduce
// XFER: } consume {
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @library_operators(%x: tensor<16x64xbf16>, %w: tensor<64xbf16>) -> (tensor<8x64xbf16>, tensor<8x64xf32>) {
    %0 = comm.reduce_scatter sum %x in <[[0, 1]]> accumulate f32 : (tensor<16x64xbf16>) -> tensor<8x64xbf16>
    %1:3 = aten.call "aten::native_layer_norm"(%0, %w) args [#aten.operand<0>, array<i64: 64>, #aten.operand<1>, unit, 1.000000e-05] returns [#aten.result<0>, #aten.result<1>, #aten.result<2>] : (tensor<8x64xbf16>, tensor<64xbf16>) -> (tensor<8x64xbf16>, tensor<8x1xf32>, tensor<8x1xf32>)
    %2 = aten.call "aten::_to_copy"(%0) args [#aten.operand<0>] kwargs {dtype = #aten.dtype<float32>} returns [#aten.result<0>] : (tensor<8x64xbf16>) -> tensor<8x64xf32>
    %3 = aten.call "aten::_log_softmax"(%2) args [#aten.operand<0>, -1, false] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    return %1#0, %3 : tensor<8x64xbf16>, tensor<8x64xf32>
  }
}

// -----

// A softmax over another dimension than the last one reduces no rows.
// CHECK-LABEL: func.func @over_columns
// CHECK-NOT: comm.fused
// CHECK: aten.call "aten::_softmax"
// REMARK: remark: [Missed] not-fused | {{.*}}all_reduce is a kernel of its own: _softmax after it has no form in a kernel with these types, dimensions or options
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @over_columns(%x: tensor<64x80xf32>) -> tensor<64x80xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<64x80xf32>
    %1 = aten.call "aten::_softmax"(%0) args [#aten.operand<0>, 0, false] returns [#aten.result<0>] : (tensor<64x80xf32>) -> tensor<64x80xf32>
    return %1 : tensor<64x80xf32>
  }
}
