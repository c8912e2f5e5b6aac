// RUN: pkb-opt %s -split-input-file --canonicalize --cse | FileCheck %s

// Calls are values: equal ones are one, unused ones none. What draws numbers, or returns nothing, is called for more.
// CHECK-LABEL: func.func @merges_calls
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[N:.*]] = aten.call "aten::neg"(%[[X]])
// CHECK-NEXT: aten.call "aten::rand"() {{.*}} rng
// CHECK-NEXT: aten.call "aten::rand"() {{.*}} rng
// CHECK-NEXT: aten.call "aten::_assert_async"
// CHECK-NEXT: return %[[N]], %[[N]]
func.func @merges_calls(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = aten.call "aten::neg" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %1 = aten.call "aten::neg" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %2 = aten.call "aten::add_" (%x) args [#aten.operand<0>] returns [#aten.operand<0>] mutates [0] : (tensor<8xf32>) -> tensor<8xf32>
  %3 = aten.call "aten::rand" () args [array<i64: 8>] returns [#aten.result<0>] rng : () -> tensor<8xf32>
  %4 = aten.call "aten::rand" () args [array<i64: 8>] returns [#aten.result<0>] rng : () -> tensor<8xf32>
  aten.call "aten::_assert_async" (%x) args [#aten.operand<0>] returns [] : (tensor<8xf32>) -> ()
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Tensors of undefined contents are filled one by one, so two calls stay two; an unused one goes.
// CHECK-LABEL: func.func @keeps_empty
// CHECK-COUNT-2: aten.call "aten::empty"
// CHECK-NOT: aten.call
func.func @keeps_empty() -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = aten.call "aten::empty" () args [array<i64: 8>] returns [#aten.result<0>] : () -> tensor<8xf32>
  %1 = aten.call "aten::empty" () args [array<i64: 8>] returns [#aten.result<0>] : () -> tensor<8xf32>
  %2 = aten.call "aten::empty" () args [array<i64: 8>] returns [#aten.result<0>] : () -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// On memory they read and write: none is merged or dropped.
// CHECK-LABEL: func.func @keeps_bufferized
// CHECK-COUNT-2: aten.call "aten::neg"
// CHECK: aten.call "aten::_assert_async"
func.func @keeps_bufferized(%a: memref<8xf32>, %b: memref<8xf32>) {
  aten.call "aten::neg" (%a) outs(%b) args [#aten.operand<0>] returns [#aten.result<0>] : (memref<8xf32>, memref<8xf32>) -> ()
  aten.call "aten::neg" (%a) outs(%b) args [#aten.operand<0>] returns [#aten.result<0>] : (memref<8xf32>, memref<8xf32>) -> ()
  aten.call "aten::_assert_async" (%a) args [#aten.operand<0>] returns [] : (memref<8xf32>) -> ()
  return
}

// -----

// A view of a view is a view of the storage; the same window is the value itself.
// CHECK-LABEL: func.func @folds_views
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[V:.*]] = aten.as_strided %[[X]] : tensor<4x8xf32> -> tensor<2xf32, #aten.strided<[1], 18>>
// CHECK-NEXT: return %[[X]], %[[V]], %[[X]]
func.func @folds_views(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2xf32, #aten.strided<[1], 18>>, tensor<4x8xf32>) {
  %0 = aten.as_strided %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = aten.as_strided %x : tensor<4x8xf32> -> tensor<8xf32, #aten.strided<[1], 16>>
  %2 = aten.as_strided %1 : tensor<8xf32, #aten.strided<[1], 16>> -> tensor<2xf32, #aten.strided<[1], 18>>
  %3 = aten.as_strided %x : tensor<4x8xf32> -> tensor<32xf32>
  %4 = aten.as_strided %3 : tensor<32xf32> -> tensor<4x8xf32>
  return %0, %2, %4 : tensor<4x8xf32>, tensor<2xf32, #aten.strided<[1], 18>>, tensor<4x8xf32>
}

// -----

// A read of what was written is the piece, one elsewhere is of the version before, one of both stays.
// CHECK-LABEL: func.func @forwards_reads
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[P:.*]]: tensor<8xf32, #aten.strided<[1], 16>>)
// CHECK-DAG: %[[W:.*]] = aten.view_write %[[X]], %[[P]]
// CHECK-DAG: %[[FIRST:.*]] = aten.as_strided %[[X]] : tensor<4x8xf32> -> tensor<8xf32>
// CHECK-DAG: %[[PART:.*]] = aten.as_strided %[[P]] : tensor<8xf32, #aten.strided<[1], 16>> -> tensor<4xf32, #aten.strided<[2], 16>>
// CHECK-DAG: %[[BOTH:.*]] = aten.as_strided %[[W]] : tensor<4x8xf32> -> tensor<4xf32, #aten.strided<[8], 0>>
// CHECK: return %[[P]], %[[FIRST]], %[[PART]], %[[BOTH]]
func.func @forwards_reads(%x: tensor<4x8xf32>, %p: tensor<8xf32, #aten.strided<[1], 16>>)
    -> (tensor<8xf32, #aten.strided<[1], 16>>, tensor<8xf32>, tensor<4xf32, #aten.strided<[2], 16>>, tensor<4xf32, #aten.strided<[8], 0>>) {
  %0 = aten.view_write %x, %p : tensor<4x8xf32>, tensor<8xf32, #aten.strided<[1], 16>>
  %1 = aten.as_strided %0 : tensor<4x8xf32> -> tensor<8xf32, #aten.strided<[1], 16>>
  %2 = aten.as_strided %0 : tensor<4x8xf32> -> tensor<8xf32>
  %3 = aten.as_strided %0 : tensor<4x8xf32> -> tensor<4xf32, #aten.strided<[2], 16>>
  %4 = aten.as_strided %0 : tensor<4x8xf32> -> tensor<4xf32, #aten.strided<[8], 0>>
  return %1, %2, %3, %4 : tensor<8xf32, #aten.strided<[1], 16>>, tensor<8xf32>, tensor<4xf32, #aten.strided<[2], 16>>, tensor<4xf32, #aten.strided<[8], 0>>
}

// -----

// A write of everything is the piece; in another shape, a view of it. Writing back what is there, or nothing, is nothing.
// CHECK-LABEL: func.func @folds_writes
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>, %[[L:.*]]: tensor<32xf32>, %[[E:.*]]: tensor<0xf32>)
// CHECK-NEXT: %[[V:.*]] = aten.as_strided %[[L]] : tensor<32xf32> -> tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]], %[[V]], %[[X]], %[[X]]
func.func @folds_writes(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %l: tensor<32xf32>, %e: tensor<0xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = aten.view_write %x, %y : tensor<4x8xf32>, tensor<4x8xf32>
  %1 = aten.view_write %x, %l : tensor<4x8xf32>, tensor<32xf32>
  %r = aten.as_strided %x : tensor<4x8xf32> -> tensor<8xf32, #aten.strided<[1], 16>>
  %2 = aten.view_write %x, %r : tensor<4x8xf32>, tensor<8xf32, #aten.strided<[1], 16>>
  %3 = aten.view_write %x, %e : tensor<4x8xf32>, tensor<0xf32>
  return %0, %1, %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A write that the next one covers is not made; one that it does not cover is.
// CHECK-LABEL: func.func @drops_covered_write
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[P:.*]]: tensor<4xf32>, %[[Q:.*]]: tensor<2xf32>)
// CHECK-NEXT: %[[ONE:.*]] = aten.view_write %[[X]], %[[P]]
// CHECK-NEXT: %[[TWO:.*]] = aten.view_write %[[ONE]], %[[Q]]
// CHECK-NEXT: return %[[ONE]], %[[TWO]]
func.func @drops_covered_write(%x: tensor<8xf32>, %p: tensor<4xf32>, %q: tensor<2xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = aten.view_write %x, %q : tensor<8xf32>, tensor<2xf32>
  %1 = aten.view_write %0, %p : tensor<8xf32>, tensor<4xf32>
  %2 = aten.view_write %1, %q : tensor<8xf32>, tensor<2xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A window with gaps covers nothing between them.
// CHECK-LABEL: func.func @keeps_gaps
// CHECK-COUNT-2: aten.view_write
func.func @keeps_gaps(%x: tensor<8xf32>, %p: tensor<4xf32>) -> tensor<8xf32> {
  %0 = aten.view_write %x, %p window <[2], 1> : tensor<8xf32>, tensor<4xf32>
  %1 = aten.view_write %0, %p window <[2], 0> : tensor<8xf32>, tensor<4xf32>
  return %1 : tensor<8xf32>
}
