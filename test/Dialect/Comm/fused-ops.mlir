// RUN: pkb-opt %s | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --mlir-print-op-generic | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --emit=bytecode | pkb-opt | FileCheck %s
// A region whose collective matters is not dropped, though nobody uses its result.
// RUN: pkb-opt %s --canonicalize --cse | FileCheck %s --check-prefix=KEPT

// CHECK-LABEL: func.func @fused
// CHECK-SAME: (%[[X:.*]]: tensor<8x64xf32>)
// CHECK: %[[R:.*]]:2 = comm.fused(%[[X]]) : (tensor<8x64xf32>) -> (tensor<8x1xf32>, tensor<8x64xf32>) {
// CHECK: ^bb0(%[[A:.*]]: tensor<8x64xf32>):
// CHECK: %[[S:.*]] = aten.call "aten::sum"
// CHECK: %[[T:.*]] = comm.all_reduce sum %[[S]]
// CHECK: comm.yield %[[T]], %[[A]] : tensor<8x1xf32>, tensor<8x64xf32>
// CHECK: return %[[R]]#1
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @fused(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r:2 = comm.fused(%x) : (tensor<8x64xf32>) -> (tensor<8x1xf32>, tensor<8x64xf32>) {
    ^bb0(%a: tensor<8x64xf32>):
      %0 = aten.call "aten::sum" overload "dim_IntList"(%a) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
      %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
      comm.yield %1, %a : tensor<8x1xf32>, tensor<8x64xf32>
    }
    return %r#1 : tensor<8x64xf32>
  }

  // KEPT-LABEL: func.func @unused
  // KEPT: comm.fused
  // KEPT: comm.all_reduce
  func.func @unused(%x: tensor<8xf32>) {
    %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %1 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
      comm.yield %1 : tensor<8xf32>
    }
    return
  }
}
