// RUN: split-file %s %t
// RUN: pkb-opt %t/in-place.mlir --pkb-pipeline=target=h200x2 | FileCheck %s --check-prefix=INPLACE
// RUN: pkb-opt %t/weight.mlir --pkb-pipeline=target=h200x2 | FileCheck %s --check-prefix=WEIGHT
// RUN: pkb-opt %t/many.mlir --pkb-pipeline=target=h200x48 | FileCheck %s --check-prefix=MANY

// What a row has one of is loaded by all lanes of its team and stored by one of them, so the new values go to other memory first.
// INPLACE: cuda.launch @fused_0(%arg0, %[[NEW:.*]], %arg1, %{{.*}})
// INPLACE: memref.copy %[[NEW]], %arg1
// INPLACE: cuda.stream_rows %{{.*}} by 128

// The weight comes first, but it is one row for all: what is kept is what changes. The weight lies in the first argument.
// WEIGHT: cuda.launch @fused_0(%reinterpret_cast, %arg1, %
// WEIGHT: %[[X:.*]] = cuda.pointer %c1
// WEIGHT: cuda.stream_rows
// WEIGHT: %[[ROW:.*]] = cuda.advance %[[X]]
// WEIGHT: cuda.keep_row %[[ROW]] length
// WEIGHT-NOT: cuda.keep_row

// More ranks than lanes that could look for their lines.
// MANY-NOT: cuda.stream_rows
// MANY: cuda.for_each_row

//--- in-place.mlir
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<1030x2048xbf16>, %s: tensor<1030x1xbf16>) -> (tensor<1030x2048xbf16>, tensor<1030x1xbf16> {aten.mutation_of = 1 : i64}) {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<1030x2048xbf16>) -> tensor<1030x1xbf16>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 : tensor<1030x1xbf16>
    %2 = aten.call "aten::add" overload "Tensor"(%1, %s) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<1030x1xbf16>, tensor<1030x1xbf16>) -> tensor<1030x1xbf16>
    %3 = aten.call "aten::mul" overload "Tensor"(%x, %2) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<1030x2048xbf16>, tensor<1030x1xbf16>) -> tensor<1030x2048xbf16>
    return %3, %2 : tensor<1030x2048xbf16>, tensor<1030x1xbf16>
  }
}

//--- weight.mlir
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%w: tensor<4096xbf16>, %x: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %0 = aten.call "aten::mul" overload "Tensor"(%w, %x) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    %1 = aten.call "aten::sum" overload "dim_IntList"(%0) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<4096x4096xbf16>) -> tensor<4096x1xbf16>
    %2 = comm.all_reduce sum %1 in <[[0, 1]]> accumulate f32 : tensor<4096x1xbf16>
    %3 = aten.call "aten::mul" overload "Tensor"(%x, %2) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<4096x4096xbf16>, tensor<4096x1xbf16>) -> tensor<4096x4096xbf16>
    return %3 : tensor<4096x4096xbf16>
  }
}

//--- many.mlir
module attributes {comm.mesh = #comm.mesh<size = 48>} {
  func.func @main(%x: tensor<64x1024xbf16>) -> tensor<64x1024xbf16> {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<64x1024xbf16>) -> tensor<64x1xbf16>
    %1 = comm.all_reduce sum %0 in <[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47]]> accumulate f32 : tensor<64x1xbf16>
    %2 = aten.call "aten::mul" overload "Tensor"(%x, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<64x1024xbf16>, tensor<64x1xbf16>) -> tensor<64x1024xbf16>
    return %2 : tensor<64x1024xbf16>
  }
}
