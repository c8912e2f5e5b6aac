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
    // Factors are printed with all their digits.
    // CHECK: comm.all_reduce premul_sum %[[X]] in <{{\[}}[0, 1, 2]]> factors [0.33333333333333331, 1.000000e-01, 4.940660e-324] accumulate f32 : tensor<8xbf16>
    %4 = comm.all_reduce premul_sum %x in <[[0, 1, 2]]> factors [0.3333333333333333, 0.1, 0x0000000000000001] accumulate f32 : tensor<8xbf16>
    // CHECK: comm.all_reduce premul_sum %[[C]] in <{{\[}}[0, 1]]> factors [5.000000e-01, -2.000000e+00] accumulate complex<f64> : tensor<0xcomplex<f32>>
    %3 = comm.all_reduce premul_sum %c in <[[0, 1]]> factors [0.5, -2.0] accumulate complex<f64> : tensor<0xcomplex<f32>>
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

  // CHECK-LABEL: func.func @reduce
  // CHECK-SAME: (%[[X:.*]]: tensor<8xbf16>)
  func.func @reduce(%x: tensor<8xbf16>) {
    // CHECK: comm.reduce max %[[X]] in <{{\[}}[0, 1], [2, 3]]> to [1, 2] accumulate bf16 : tensor<8xbf16>
    %0 = comm.reduce max %x in <[[0, 1], [2, 3]]> to [1, 2] accumulate bf16 : tensor<8xbf16>
    // CHECK: comm.reduce premul_sum %[[X]] in <{{\[}}[0]]> to [0] factors [3.000000e+00] accumulate f32 deterministic : tensor<8xbf16>
    %1 = comm.reduce premul_sum %x in <[[0]]> to [0] factors [3.0] accumulate f32 deterministic : tensor<8xbf16>
    return
  }

  // CHECK-LABEL: func.func @reduce_scatter
  // CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<2x3xi8>, %[[S:.*]]: tensor<i1>)
  func.func @reduce_scatter(%x: tensor<4x8xf32>, %y: tensor<2x3xi8>, %s: tensor<i1>) {
    // CHECK: comm.reduce_scatter avg %[[X]] in <{{\[}}[0, 1]]> accumulate f64 deterministic : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %0 = comm.reduce_scatter avg %x in <[[0, 1]]> accumulate f64 deterministic : (tensor<4x8xf32>) -> tensor<2x8xf32>
    // CHECK: comm.reduce_scatter prod %[[Y]] in <{{\[}}[0, 1]]> accumulate i8 : (tensor<2x3xi8>) -> tensor<3xi8>
    %1 = comm.reduce_scatter prod %y in <[[0, 1]]> accumulate i8 : (tensor<2x3xi8>) -> tensor<3xi8>
    // CHECK: comm.reduce_scatter sum %[[S]], %[[S]] in <{{\[}}[0, 1]]> accumulate i1 : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %2 = comm.reduce_scatter sum %s, %s in <[[0, 1]]> accumulate i1 : (tensor<i1>, tensor<i1>) -> tensor<i1>
    // CHECK: comm.reduce_scatter premul_sum %[[X]] in <{{\[}}[2, 3]]> factors [1.000000e+00, 2.000000e+00] accumulate f32 : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %3 = comm.reduce_scatter premul_sum %x in <[[2, 3]]> factors [1.0, 2.0] accumulate f32 : (tensor<4x8xf32>) -> tensor<2x8xf32>
    return
  }

  // CHECK-LABEL: func.func @uneven
  // CHECK-SAME: (%[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<5xf32>, %[[Z:.*]]: tensor<0x7xf32>)
  func.func @uneven(%x: tensor<3xf32>, %y: tensor<5xf32>, %z: tensor<0x7xf32>) {
    // CHECK: comm.all_gather_v %[[X]] in <{{\[}}[0, 1]]> counts [3, 5] : (tensor<3xf32>) -> (tensor<3xf32>, tensor<5xf32>)
    %0:2 = comm.all_gather_v %x in <[[0, 1]]> counts [3, 5] : (tensor<3xf32>) -> (tensor<3xf32>, tensor<5xf32>)
    // CHECK: comm.all_gather_v %[[Y]] in <{{\[}}[0, 1], [2, 3]]> counts [1, 1, 0, 5] : (tensor<5xf32>) -> tensor<1x5xf32>
    %1 = comm.all_gather_v %y in <[[0, 1], [2, 3]]> counts [1, 1, 0, 5] : (tensor<5xf32>) -> tensor<1x5xf32>
    // CHECK: comm.reduce_scatter_v sum %[[X]], %[[Y]] in <{{\[}}[0, 1]]> counts [3, 5] accumulate f32 deterministic : (tensor<3xf32>, tensor<5xf32>) -> tensor<5xf32>
    %2 = comm.reduce_scatter_v sum %x, %y in <[[0, 1]]> counts [3, 5] accumulate f32 deterministic : (tensor<3xf32>, tensor<5xf32>) -> tensor<5xf32>
    // CHECK: comm.reduce_scatter_v premul_sum %[[Y]] in <{{\[}}[0, 1]]> counts [5, 0] factors [1.000000e+00, 2.000000e+00] accumulate f32 : (tensor<5xf32>) -> tensor<0xf32>
    %3 = comm.reduce_scatter_v premul_sum %y in <[[0, 1]]> counts [5, 0] factors [1.0, 2.0] accumulate f32 : (tensor<5xf32>) -> tensor<0xf32>
    // CHECK: comm.all_to_all_v %[[X]] in <{{\[}}[0, 1]]> counts {{\[}}[1, 2], [3, 0]] : (tensor<3xf32>) -> tensor<2x2xf32>
    %4 = comm.all_to_all_v %x in <[[0, 1]]> counts [[1, 2], [3, 0]] : (tensor<3xf32>) -> tensor<2x2xf32>
    // CHECK: comm.all_to_all_v %[[X]], %[[Z]] in <{{\[}}[2, 3]]> counts {{\[}}[0, 0], [3, 0]] : (tensor<3xf32>, tensor<0x7xf32>) -> (tensor<0xf32>, tensor<0xf32>)
    %5:2 = comm.all_to_all_v %x, %z in <[[2, 3]]> counts [[0, 0], [3, 0]] : (tensor<3xf32>, tensor<0x7xf32>) -> (tensor<0xf32>, tensor<0xf32>)
    return
  }

  // CHECK-LABEL: func.func @rooted
  // CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
  func.func @rooted(%x: tensor<4x8xf32>) {
    // CHECK: comm.broadcast %[[X]] in <{{\[}}[0, 1], [2, 3]]> from [0, 3] : tensor<4x8xf32>
    %0 = comm.broadcast %x in <[[0, 1], [2, 3]]> from [0, 3] : tensor<4x8xf32>
    // CHECK: comm.gather %[[X]] in <{{\[}}[0, 1]]> to [1] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    %1 = comm.gather %x in <[[0, 1]]> to [1] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    // CHECK: comm.gather %[[X]] in <{{\[}}[0, 1]]> to [0] : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %2:2 = comm.gather %x in <[[0, 1]]> to [0] : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    // CHECK: comm.scatter %[[X]] in <{{\[}}[0, 1]]> from [0] : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %3 = comm.scatter %x in <[[0, 1]]> from [0] : (tensor<4x8xf32>) -> tensor<2x8xf32>
    // CHECK: %[[A:.*]] = comm.absent : tensor<4x8xf32>
    %4 = comm.absent : tensor<4x8xf32>
    // CHECK: comm.scatter %[[A]], %[[A]] in <{{\[}}[0, 1]]> from [0] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %5 = comm.scatter %4, %4 in <[[0, 1]]> from [0] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return
  }

  // CHECK-LABEL: func.func @permute
  // CHECK-SAME: (%[[X:.*]]: tensor<4x2xf32>)
  func.func @permute(%x: tensor<4x2xf32>) {
    // CHECK: comm.permute %[[X]] in <{{\[}}[0, 1], [2, 3]]> pairs {{\[}}[1, 0], [3, 3]] : (tensor<4x2xf32>) -> tensor<8xf32>
    %0 = comm.permute %x in <[[0, 1], [2, 3]]> pairs [[1, 0], [3, 3]] : (tensor<4x2xf32>) -> tensor<8xf32>
    // CHECK: comm.permute %[[X]] in <{{\[}}[0, 1]]> pairs [] : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %1 = comm.permute %x in <[[0, 1]]> pairs [] : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return
  }

  // CHECK-LABEL: func.func @host_read
  // CHECK-SAME: (%[[X:.*]]: tensor<1x1xi64>)
  func.func @host_read(%x: tensor<1x1xi64>) -> i64 {
    // CHECK: comm.host_read %[[X]] : tensor<1x1xi64>
    %0 = comm.host_read %x : tensor<1x1xi64>
    return %0 : i64
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
