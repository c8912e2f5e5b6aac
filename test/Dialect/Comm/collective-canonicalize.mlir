// RUN: pkb-opt %s -split-input-file --canonicalize --cse | FileCheck %s

// Collectives are ordered: none is dropped or merged, though nobody uses their results. Reading the rank is pure.
// CHECK-LABEL: func.func @keeps_collectives
// CHECK-COUNT-2: comm.all_reduce sum
// CHECK-COUNT-2: comm.barrier
// CHECK-NOT: comm.rank
func.func @keeps_collectives(%x: tensor<8xf32>) {
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8xf32>
  %1 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8xf32>
  comm.barrier in <[[0, 1]]>
  comm.barrier in <[[0, 1]]>
  %2 = comm.rank : index
  return
}

// -----

// Where the mesh is known, the world size is a constant.
module attributes {comm.mesh = #comm.mesh<size = 6>} {
  // CHECK-LABEL: func.func @folds_world_size
  // CHECK: %[[C:.*]] = arith.constant 6 : index
  // CHECK: return %[[C]]
  func.func @folds_world_size() -> index {
    %0 = comm.world_size : index
    return %0 : index
  }
}

// -----

// CHECK-LABEL: func.func @keeps_world_size
// CHECK: comm.world_size
func.func @keeps_world_size() -> index {
  %0 = comm.world_size : index
  return %0 : index
}
