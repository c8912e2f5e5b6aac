// RUN: pkb-opt %s -split-input-file --pkb-verify-comm | FileCheck %s

// Ranks that run different functions agree on what they exchange; the shapes of the same elements may differ.
// CHECK-LABEL: module @matched
module @matched attributes {comm.mesh = #comm.mesh<size = 3>} {
  // CHECK: func.func @main_0({{.*}}) -> tensor<4xf32> attributes {comm.ranks = array<i64: 0, 1>}
  func.func @main_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {comm.ranks = array<i64: 0, 1>} {
    // CHECK: comm.all_reduce sum {{.*}} {comm.exchange = 0 : i64}
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<4xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1, 2]]> accumulate f32 deterministic {comm.exchange = 1 : i64} : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @main_2(%x: tensor<2x2xf32>) attributes {comm.difference = "rank 2 has ended", comm.ranks = array<i64: 2>} {
    %0 = comm.all_reduce sum %x in <[[0, 1, 2]]> accumulate f32 deterministic {comm.exchange = 1 : i64} : tensor<2x2xf32>
    return
  }
}

// -----

// A rank may communicate with nobody.
// CHECK-LABEL: module @silent
module @silent attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0() attributes {comm.ranks = array<i64: 0>} { return }
  func.func @main_1() attributes {comm.ranks = array<i64: 1>} { return }
}
