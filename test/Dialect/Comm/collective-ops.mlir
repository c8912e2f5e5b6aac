// RUN: pkb-opt %s | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --emit=bytecode | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --mlir-print-op-generic | pkb-opt | FileCheck %s

// CHECK: module attributes {comm.mesh = #comm.mesh<size = 4, link = nvlink, multicast = true, copy_engines = 3>}
module attributes {comm.mesh = #comm.mesh<size = 4, link = nvlink, multicast = true, copy_engines = 3>} {
  // CHECK-LABEL: func.func @all_reduce
  // CHECK-SAME: (%[[X:.*]]: tensor<8xbf16>, %[[I:.*]]: tensor<i32>, %[[C:.*]]: tensor<0xcomplex<f32>>)
  func.func @all_reduce(%x: tensor<8xbf16>, %i: tensor<i32>, %c: tensor<0xcomplex<f32>>) {
    // CHECK: comm.all_reduce sum %[[X]] in <{{\[}}[0, 1], [2, 3]]> accumulate f32 deterministic : tensor<8xbf16>
    %0 = comm.all_reduce sum %x in <[[0, 1], [2, 3]]> accumulate f32 deterministic : tensor<8xbf16>
    // CHECK: comm.all_reduce avg %[[X]] in <{{\[}}[0]]> accumulate bf16 : tensor<8xbf16>
    %1 = comm.all_reduce avg %x in <[[0]]> accumulate bf16 : tensor<8xbf16>
    // CHECK: comm.all_reduce bxor %[[I]] in <{{\[}}[1, 0, 2]]> accumulate i64 : tensor<i32>
    %2 = comm.all_reduce bxor %i in <[[1, 0, 2]]> accumulate i64 : tensor<i32>
    // CHECK: comm.all_reduce premul_sum %[[C]] in <{{\[}}[0, 1]]> accumulate complex<f64> : tensor<0xcomplex<f32>>
    %3 = comm.all_reduce premul_sum %c in <[[0, 1]]> accumulate complex<f64> : tensor<0xcomplex<f32>>
    return
  }

  // CHECK-LABEL: func.func @all_gather
  // CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[S:.*]]: tensor<f8E4M3FN>)
  func.func @all_gather(%x: tensor<4x8xf32>, %s: tensor<f8E4M3FN>) {
    // CHECK: comm.all_gather %[[X]] in <{{\[}}[0, 1]]> : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    %0 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    // CHECK: comm.all_gather %[[X]] in <{{\[}}[0, 1]]> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %1 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    // CHECK: comm.all_gather %[[X]] in <{{\[}}[0, 1]]> : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %2:2 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    // CHECK: comm.all_gather %[[S]] in <{{\[}}[0, 1, 3]]> : (tensor<f8E4M3FN>) -> tensor<3xf8E4M3FN>
    %3 = comm.all_gather %s in <[[0, 1, 3]]> : (tensor<f8E4M3FN>) -> tensor<3xf8E4M3FN>
    return
  }

  // CHECK-LABEL: func.func @all_to_all
  // CHECK-SAME: (%[[X:.*]]: tensor<4x8xui8>, %[[S:.*]]: tensor<i1>)
  func.func @all_to_all(%x: tensor<4x8xui8>, %s: tensor<i1>) {
    // CHECK: comm.all_to_all %[[X]] in <{{\[}}[0, 1]]> : (tensor<4x8xui8>) -> tensor<2x16xui8>
    %0 = comm.all_to_all %x in <[[0, 1]]> : (tensor<4x8xui8>) -> tensor<2x16xui8>
    // CHECK: comm.all_to_all %[[S]], %[[S]] in <{{\[}}[0, 1]]> : (tensor<i1>, tensor<i1>) -> (tensor<i1>, tensor<i1>)
    %1:2 = comm.all_to_all %s, %s in <[[0, 1]]> : (tensor<i1>, tensor<i1>) -> (tensor<i1>, tensor<i1>)
    return
  }

  // CHECK-LABEL: func.func @ranks
  func.func @ranks() {
    // CHECK: comm.barrier in <{{\[}}[0, 3]]>
    comm.barrier in <[[0, 3]]>
    // CHECK: comm.rank : index
    %0 = comm.rank : index
    // CHECK: comm.rank in <{{\[}}[0, 1], [2, 3]]> : index
    %1 = comm.rank in <[[0, 1], [2, 3]]> : index
    // CHECK: comm.world_size : index
    %2 = comm.world_size : index
    return
  }
}
