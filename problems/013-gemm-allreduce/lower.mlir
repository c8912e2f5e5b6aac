// RUN: split-file %s %t
// RUN: pkb-opt %t/small.mlir --pkb-pipeline=target=h200x4 --emit=cuda | FileCheck %t/small.mlir
// RUN: pkb-opt %t/large.mlir --pkb-pipeline=target=h200x4 --emit=cuda | FileCheck %t/large.mlir

//--- small.mlir
// A small message is one launch of a kernel whose data carries its own epochs: no flag, no barrier between blocks.
// CHECK:      "world_size": 4
// CHECK:      "steps": [
// CHECK-NEXT: {{.*}}"kind":"aten"
// CHECK-NEXT: "kernel":"all_reduce_0","kind":"launch"
// CHECK-NEXT: "kernels": [
// CHECK-NEXT: "mechanism":"ll"
// CHECK-NOT:  pkb::signal
// CHECK:      PKB_KERNEL(all_reduce_0,
// CHECK:      pkb::store_ll
// CHECK:      pkb::load_ll
// CHECK-NOT:  pkb::wait
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @main(%a: tensor<9x5xbf16>, %b: tensor<5x9xbf16>) -> tensor<9x9xbf16> {
    %0 = aten.call "aten::mm"(%a, %b) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<9x5xbf16>, tensor<5x9xbf16>) -> tensor<9x9xbf16>
    %1 = comm.all_reduce sum %0 in <[[0, 1, 2, 3]]> accumulate f32 deterministic : tensor<9x9xbf16>
    return %1 : tensor<9x9xbf16>
  }
}

//--- large.mlir
// A large one is one launch of two shots: each rank sums its part of every chunk, then pushes the sum. What is pushed is signalled after its stores and
// waited for before it is read.
// CHECK:      "steps": [
// CHECK-NEXT: {{.*}}"kind":"aten"
// CHECK-NEXT: {{.*}}"kernel":"fused_0","kind":"launch"
// CHECK-NEXT: "kernels": [
// CHECK-NEXT: "mechanism":"ldst"
// CHECK:      PKB_KERNEL(fused_0,
// CHECK:      pkb::store_peer
// CHECK:      pkb::block_barrier
// CHECK:      pkb::signal
// CHECK:      pkb::wait
// CHECK:      pkb::block_barrier
// CHECK:      pkb::load_staged
// CHECK:      pkb::block_barrier
// CHECK:      pkb::store_peer
// CHECK:      pkb::signal
// CHECK:      pkb::wait
// CHECK:      pkb::load_staged
// CHECK-NOT:  PKB_KERNEL
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @main(%a: tensor<2048x512xbf16>, %b: tensor<512x2048xbf16>) -> tensor<2048x2048xbf16> {
    %0 = aten.call "aten::mm"(%a, %b) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<2048x512xbf16>, tensor<512x2048xbf16>) -> tensor<2048x2048xbf16>
    %1 = comm.all_reduce sum %0 in <[[0, 1, 2, 3]]> accumulate f32 deterministic : tensor<2048x2048xbf16>
    return %1 : tensor<2048x2048xbf16>
  }
}
