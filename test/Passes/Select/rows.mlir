// RUN: pkb-opt %s --pass-pipeline='builtin.module(pkb-fuse-collectives,pkb-select-mechanism{target=h200x2})' | FileCheck %s
// RUN: pkb-opt %s --pass-pipeline='builtin.module(pkb-fuse-collectives,pkb-select-mechanism{target=h200x2 mechanism=ldst})' | FileCheck %s --check-prefix=STAGED

// Kernels over rows. Where a block has more rows than teams that can keep theirs in registers, a chunk is a row for each team and the lines of some chunks
// are on their way; else all rows of a block are one chunk. Staged statistics have a barrier for each chunk, so they have one.
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  // Four rows of a block, a warp each.
  // CHECK-LABEL: @one_chunk
  // CHECK: mechanism = ll, blocks = 256, threads = 128, chunk = 64, depth = 0, slots = 1, unroll = 4, per_sm = 2>
  // STAGED-LABEL: @one_chunk
  // STAGED: mechanism = ldst, blocks = 256, threads = 128, chunk = 64, depth = 0, slots = 1, unroll = 4, per_sm = 2>
  func.func @one_chunk(%x: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1xbf16>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 : tensor<1024x1xbf16>
    %2 = aten.call "aten::mul" overload "Tensor"(%x, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>, tensor<1024x1xbf16>) -> tensor<1024x1024xbf16>
    return %2 : tensor<1024x1024xbf16>
  }

  // Four warps for a row, four vectors of it in each lane: two rows are held.
  // CHECK-LABEL: @four_warps
  // CHECK: mechanism = ll, blocks = 256, threads = 512, chunk = 64, depth = 1, slots = 4, unroll = 4, per_sm = 2>
  // STAGED-LABEL: @four_warps
  // STAGED: mechanism = ldst, blocks = 256, threads = 512, chunk = 256, depth = 0, slots = 1, unroll = 4, per_sm = 2>
  func.func @four_warps(%x: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<4096x4096xbf16>) -> tensor<4096x1xbf16>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 : tensor<4096x1xbf16>
    %2 = aten.call "aten::mul" overload "Tensor"(%x, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<4096x4096xbf16>, tensor<4096x1xbf16>) -> tensor<4096x4096xbf16>
    return %2 : tensor<4096x4096xbf16>
  }

  // A warp for a row, two vectors in each lane: four rows are held.
  // CHECK-LABEL: @short_rows
  // CHECK: mechanism = ll, blocks = 256, threads = 512, chunk = 256, depth = 3, slots = 2, unroll = 4, per_sm = 2>
  // STAGED-LABEL: @short_rows
  // STAGED: mechanism = ldst, blocks = 256, threads = 512, chunk = 512, depth = 0, slots = 1, unroll = 4, per_sm = 2>
  func.func @short_rows(%x: tensor<8192x512xbf16>) -> tensor<8192x512xbf16> {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8192x512xbf16>) -> tensor<8192x1xbf16>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 : tensor<8192x1xbf16>
    %2 = aten.call "aten::mul" overload "Tensor"(%x, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8192x512xbf16>, tensor<8192x1xbf16>) -> tensor<8192x512xbf16>
    return %2 : tensor<8192x512xbf16>
  }

  // No block holds such rows.
  // CHECK-LABEL: @too_long
  // CHECK: mechanism = ll, blocks = 256, threads = 512, chunk = 256, depth = 0, slots = 1, unroll = 4, per_sm = 2>
  // STAGED-LABEL: @too_long
  // STAGED: mechanism = ldst, blocks = 256, threads = 512, chunk = 256, depth = 0, slots = 1, unroll = 4, per_sm = 2>
  func.func @too_long(%x: tensor<4096x32768xbf16>) -> tensor<4096x32768xbf16> {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<4096x32768xbf16>) -> tensor<4096x1xbf16>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 : tensor<4096x1xbf16>
    %2 = aten.call "aten::mul" overload "Tensor"(%x, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<4096x32768xbf16>, tensor<4096x1xbf16>) -> tensor<4096x32768xbf16>
    return %2 : tensor<4096x32768xbf16>
  }
}
