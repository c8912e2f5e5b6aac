// RUN: pkb-opt %s -split-input-file --pkb-elide-clones --canonicalize --cse | FileCheck %s
// Running it again changes nothing.
// RUN: pkb-opt %s -split-input-file --pkb-elide-clones --canonicalize --cse -o %t.once.mlir
// RUN: pkb-opt %t.once.mlir -split-input-file --pkb-elide-clones --canonicalize --cse | diff - %t.once.mlir

// A copy that keeps a value from being overwritten is not needed between values.
// CHECK-LABEL: func.func @elides_clone
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[SUM:.*]] = comm.all_reduce sum %[[X]]
// CHECK-NEXT: return %[[SUM]]
func.func @elides_clone(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = aten.call "aten::clone" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// A contiguous copy in another shape is a reshape.
// CHECK-LABEL: func.func @reshapes_copy
// CHECK: aten.as_strided %{{.*}} : tensor<2x4xf32> -> tensor<8xf32>
// CHECK-NOT: aten.call
func.func @reshapes_copy(%x: tensor<2x4xf32>) -> tensor<8xf32> {
  %0 = aten.call "aten::_unsafe_view" (%x) args [#aten.operand<0>, array<i64: 8>] returns [#aten.result<0>] : (tensor<2x4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A change of layout, of element type or of device is no mere copy; nor is another operator, or one that draws numbers.
// CHECK-LABEL: func.func @keeps_conversions
// CHECK: aten.call "aten::clone"
// CHECK: aten.call "aten::_to_copy"{{.*}} -> tensor<2x4xbf16>
// CHECK: aten.call "aten::_to_copy"{{.*}}device = #aten.device<cpu>
// CHECK: aten.call "aten::neg"
// CHECK: aten.call "aten::clone"{{.*}} rng
func.func @keeps_conversions(%x: tensor<2x4xf32, #aten.strided<[1, 2], 0>>, %y: tensor<2x4xf32>)
    -> (tensor<2x4xf32>, tensor<2x4xbf16>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = aten.call "aten::clone" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<2x4xf32, #aten.strided<[1, 2], 0>>) -> tensor<2x4xf32>
  %1 = aten.call "aten::_to_copy" (%y) args [#aten.operand<0>] kwargs {dtype = #aten.dtype<bfloat16>} returns [#aten.result<0>] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  %2 = aten.call "aten::_to_copy" (%y) args [#aten.operand<0>] kwargs {device = #aten.device<cpu>} returns [#aten.result<0>] {aten.host} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = aten.call "aten::neg" (%y) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = aten.call "aten::clone" (%y) args [#aten.operand<0>] returns [#aten.result<0>] rng : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0, %1, %2, %3, %4 : tensor<2x4xf32>, tensor<2x4xbf16>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// copy_ of the same type is its source; of another layout it is a write. The fresh tensor it filled is gone.
// CHECK-LABEL: func.func @elides_copy_into
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<2x8xf32>)
// CHECK-NEXT: %[[W:.*]] = aten.view_write %[[B]], %[[X]] window <[1], 8> : tensor<2x8xf32>, tensor<8xf32>
// CHECK-NEXT: return %[[X]], %[[W]]
func.func @elides_copy_into(%x: tensor<8xf32>, %b: tensor<2x8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) {
  %e = aten.call "aten::empty_like" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %0 = aten.call "aten::copy_" (%e, %x) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %row = aten.as_strided %b : tensor<2x8xf32> -> tensor<8xf32, #aten.strided<[1], 8>>
  %1 = aten.call "aten::copy_" (%row, %x) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<8xf32, #aten.strided<[1], 8>>, tensor<8xf32>) -> tensor<8xf32, #aten.strided<[1], 8>>
  %2 = aten.view_write %b, %1 : tensor<2x8xf32>, tensor<8xf32, #aten.strided<[1], 8>>
  return %0, %2 : tensor<8xf32>, tensor<2x8xf32>
}

// -----

// copy_ that converts, broadcasts or moves between host and device stays.
// CHECK-LABEL: func.func @keeps_copy_into
// CHECK-COUNT-3: aten.call "aten::copy_"
func.func @keeps_copy_into(%x: tensor<2x8xf32>, %h: tensor<2x8xbf16>, %r: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = aten.call "aten::copy_" (%x, %h) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<2x8xf32>, tensor<2x8xbf16>) -> tensor<2x8xf32>
  %1 = aten.call "aten::copy_" (%x, %r) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %c = aten.call "aten::ones" () args [array<i64: 2, 8>] kwargs {device = #aten.device<cpu>} returns [#aten.result<0>] {aten.host} : () -> tensor<2x8xf32>
  %2 = aten.call "aten::copy_" (%x, %c) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %0, %1, %2 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// dist.all_gather(list(out.chunk(2)), x): the writes into the caller's tensor are one gather, and the tensor is not made.
// CHECK-LABEL: func.func @joins_gathered_chunks
// CHECK-SAME: (%[[X:.*]]: tensor<4x3xf32>)
// CHECK-NEXT: %[[G:.*]] = comm.all_gather %[[X]] in <{{.*}}> : (tensor<4x3xf32>) -> tensor<8x3xf32>
// CHECK-NEXT: return %[[G]]
func.func @joins_gathered_chunks(%x: tensor<4x3xf32>) -> tensor<8x3xf32> {
  %e = aten.call "aten::empty" () args [array<i64: 8, 3>] returns [#aten.result<0>] : () -> tensor<8x3xf32>
  %g:2 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %0 = aten.view_write %e, %g#0 : tensor<8x3xf32>, tensor<4x3xf32>
  %1 = aten.view_write %0, %g#1 window <[3, 1], 12> : tensor<8x3xf32>, tensor<4x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// torch.cat of a gathered list is the gather.
// CHECK-LABEL: func.func @joins_cat
// CHECK-NEXT: comm.all_gather %{{.*}} -> tensor<8x3xf32>
// CHECK-NEXT: return
func.func @joins_cat(%x: tensor<4x3xf32>) -> tensor<8x3xf32> {
  %g:2 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %0 = aten.call "aten::cat" (%g#0, %g#1) args [#aten.operands<[0, 1]>] returns [#aten.result<0>] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

// Another order, another dimension, or a part that is used alone: the list stays.
// CHECK-LABEL: func.func @keeps_list
// CHECK-COUNT-3: comm.all_gather {{.*}} -> (tensor<4x3xf32>, tensor<4x3xf32>)
func.func @keeps_list(%x: tensor<4x3xf32>) -> (tensor<8x3xf32>, tensor<4x6xf32>, tensor<8x3xf32>, tensor<4x3xf32>) {
  %a:2 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %0 = aten.call "aten::cat" (%a#1, %a#0) args [#aten.operands<[0, 1]>] returns [#aten.result<0>] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %b:2 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %1 = aten.call "aten::cat" (%b#0, %b#1) args [#aten.operands<[0, 1]>, 1] returns [#aten.result<0>] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %c:2 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %2 = aten.call "aten::cat" (%c#0, %c#1) args [#aten.operands<[0, 1]>] returns [#aten.result<0>] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %0, %1, %2, %c#1 : tensor<8x3xf32>, tensor<4x6xf32>, tensor<8x3xf32>, tensor<4x3xf32>
}

// -----

// dist.all_to_all(list(out.chunk(2)), list(x.chunk(2))): pieces in, pieces out.
// CHECK-LABEL: func.func @joins_exchanged_chunks
// CHECK-SAME: (%[[X:.*]]: tensor<8x3xf32>)
// CHECK-NEXT: %[[A:.*]] = comm.all_to_all %[[X]] in <{{.*}}> : (tensor<8x3xf32>) -> tensor<8x3xf32>
// CHECK-NEXT: return %[[A]]
func.func @joins_exchanged_chunks(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %e = aten.call "aten::empty_like" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8x3xf32>) -> tensor<8x3xf32>
  %i0 = aten.as_strided %x : tensor<8x3xf32> -> tensor<4x3xf32>
  %i1 = aten.as_strided %x : tensor<8x3xf32> -> tensor<4x3xf32, #aten.strided<[3, 1], 12>>
  %a:2 = comm.all_to_all %i0, %i1 in <[[0, 1]]> : (tensor<4x3xf32>, tensor<4x3xf32, #aten.strided<[3, 1], 12>>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %0 = aten.view_write %e, %a#0 : tensor<8x3xf32>, tensor<4x3xf32>
  %1 = aten.view_write %0, %a#1 window <[3, 1], 12> : tensor<8x3xf32>, tensor<4x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// Pieces that begin inside of their storage: the exchange begins there.
// CHECK-LABEL: func.func @joins_chunks_of_a_part
// CHECK-NEXT: %[[I:.*]] = aten.as_strided %{{.*}} : tensor<12xf32> -> tensor<2x4xf32, #aten.strided<[4, 1], 3>>
// CHECK-NEXT: comm.all_to_all %[[I]] in <{{.*}}> : (tensor<2x4xf32, #aten.strided<[4, 1], 3>>) -> tensor<8xf32>
// CHECK-NEXT: return
func.func @joins_chunks_of_a_part(%x: tensor<12xf32>) -> tensor<8xf32> {
  %i0 = aten.as_strided %x : tensor<12xf32> -> tensor<4xf32, #aten.strided<[1], 3>>
  %i1 = aten.as_strided %x : tensor<12xf32> -> tensor<4xf32, #aten.strided<[1], 7>>
  %a:2 = comm.all_to_all %i0, %i1 in <[[0, 1]]> : (tensor<4xf32, #aten.strided<[1], 3>>, tensor<4xf32, #aten.strided<[1], 7>>) -> (tensor<4xf32>, tensor<4xf32>)
  %0 = aten.call "aten::cat" (%a#0, %a#1) args [#aten.operands<[0, 1]>] returns [#aten.result<0>] : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// dist.gather on a root that stacks what it got: all ranks gather into one tensor.
// CHECK-LABEL: module @gathers
module @gathers attributes {comm.mesh = #comm.mesh<size = 2>} {
  // CHECK: func.func @main_0
  // CHECK-NEXT: %[[G:.*]] = comm.gather %{{.*}} to [0] {comm.exchange = 0 : i64} : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
  // CHECK-NEXT: return %[[G]]
  func.func @main_0(%x: tensor<4x3xf32>) -> tensor<2x4x3xf32> attributes {comm.ranks = array<i64: 0>} {
    %g:2 = comm.gather %x in <[[0, 1]]> to [0] {comm.exchange = 0 : i64} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    %0 = aten.call "aten::stack" (%g#0, %g#1) args [#aten.operands<[0, 1]>] returns [#aten.result<0>] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<2x4x3xf32>
    return %0 : tensor<2x4x3xf32>
  }
  // CHECK: func.func @main_1
  // CHECK-NEXT: comm.gather %{{.*}} to [0] {comm.exchange = 0 : i64} : (tensor<12xf32>) -> tensor<2x12xf32>
  func.func @main_1(%x: tensor<12xf32>) attributes {comm.ranks = array<i64: 1>} {
    %g:2 = comm.gather %x in <[[0, 1]]> to [0] {comm.exchange = 0 : i64} : (tensor<12xf32>) -> (tensor<12xf32>, tensor<12xf32>)
    return
  }
}

// -----

// One of the ranks that get something uses a part alone: the list stays on all.
// CHECK-LABEL: module @keeps_gathers
// CHECK-COUNT-2: comm.gather {{.*}} -> (tensor<4xf32>, tensor<4xf32>)
module @keeps_gathers attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @main_0(%x: tensor<4xf32>) -> tensor<2x4xf32> attributes {comm.ranks = array<i64: 0, 1>} {
    %g:2 = comm.gather %x in <[[0, 1], [2, 3]]> to [0, 2] {comm.exchange = 0 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %0 = aten.call "aten::stack" (%g#0, %g#1) args [#aten.operands<[0, 1]>] returns [#aten.result<0>] : (tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
  func.func @main_2(%x: tensor<4xf32>) -> tensor<4xf32> attributes {comm.ranks = array<i64: 2, 3>} {
    %g:2 = comm.gather %x in <[[0, 1], [2, 3]]> to [0, 2] {comm.exchange = 0 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %g#1 : tensor<4xf32>
  }
}

// -----

// Inputs in another order stay a list.
// CHECK-LABEL: func.func @keeps_swapped_inputs
// CHECK: comm.all_to_all {{.*}} -> (tensor<4xf32>, tensor<4xf32>)
func.func @keeps_swapped_inputs(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %a:2 = comm.all_to_all %x, %y in <[[0, 1]]> : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %0 = aten.call "aten::cat" (%a#0, %a#1) args [#aten.operands<[0, 1]>] returns [#aten.result<0>] : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Reshapes around an exchange are taken into it.
// CHECK-LABEL: func.func @reshapes_exchange
// CHECK-NEXT: comm.all_to_all %{{.*}} : (tensor<4x6xf32>) -> tensor<2x12xf32>
// CHECK-NEXT: return
func.func @reshapes_exchange(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
  %v = aten.as_strided %x : tensor<4x6xf32> -> tensor<2x2x6xf32>
  %a = comm.all_to_all %v in <[[0, 1]]> : (tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %r = aten.as_strided %a : tensor<2x2x6xf32> -> tensor<2x12xf32>
  return %r : tensor<2x12xf32>
}
