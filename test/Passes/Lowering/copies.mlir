// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{mechanism=copy_engine},pkb-convert-comm-to-xfer,pkb-verify-xfer)' | FileCheck %s
// RUN: pkb-opt %s -split-input-file --pkb-pipeline=mechanism=copy_engine | FileCheck %s --check-prefix=CUDA

// Copies stand between a barrier and the kernel that signals; another barrier stands behind that. Each message goes to the slot of its source.
// CHECK-LABEL: func.func @main
// CHECK: xfer.launch @all_gather_0_barrier()
// CHECK-NEXT: xfer.transfer @all_gather_0(%arg0) in <{{.*}}> calls [#xfer.call<function = message, count = 8, dest = 1>, #xfer.call<function = message, count = 8, to_offset = 128, source = 1>]
// CHECK-NEXT: xfer.launch @all_gather_0(%arg0, %{{.*}})
// CHECK-NEXT: xfer.launch @all_gather_0_barrier()
// CHECK: xfer.kernel @all_gather_0 {{.*}}mechanism = copy_engine
// CHECK: xfer.symm_buffer : <f32, chunk = 128, slots = 1, parities = 1, staged>
// CHECK: xfer.put {{.*}} by copy_engine
// CUDA: cuda.transfer(%arg0) in <{{.*}}> calls
// CUDA: cuda.kernel @all_gather_0 attributes
// CUDA-NOT: cuda.store_peer
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%a: tensor<8xf32>) -> tensor<16xf32> {
    %0 = comm.all_gather %a in <[[0, 1]]> : (tensor<8xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// Parts are copied from where they lie.
// CHECK-LABEL: func.func @main
// CHECK: calls [#xfer.call<function = message, count = 2, from_offset = 2, dest = 1>, #xfer.call<function = message, count = 2, from_offset = 4, dest = 2>,
// CHECK-SAME: #xfer.call<function = message, count = 2, to_offset = 64, source = 1>, #xfer.call<function = message, count = 2, from_offset = 4, to_offset = 64, source = 1, dest = 2>
module attributes {comm.mesh = #comm.mesh<size = 3>} {
  func.func @main(%a: tensor<6xf64>) -> tensor<6xf64> {
    %0 = comm.all_to_all %a in <[[0, 1, 2]]> : (tensor<6xf64>) -> tensor<6xf64>
    return %0 : tensor<6xf64>
  }
}

// -----

// A reduction adds up what has been copied. An element of two halves is one element of the copies and two of the kernel. The root alone is sent to.
// CHECK-LABEL: func.func @main
// CHECK: xfer.transfer @reduce_0(%arg0) in <{{.*}}> calls [#xfer.call<function = message, count = 4, dest = 1>, #xfer.call<function = message, count = 4, to_offset = 128, source = 2, dest = 1>]
// CHECK: xfer.kernel @reduce_0
// CHECK: xfer.put {{.*}} by copy_engine
// CHECK: xfer.contributions
module attributes {comm.mesh = #comm.mesh<size = 3>} {
  func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
    %0 = comm.reduce sum %a in <[[0, 1, 2]]> to [1] accumulate complex<f32> deterministic : tensor<4xcomplex<f32>>
    return %0 : tensor<4xcomplex<f32>>
  }
}

// -----

// Rows with other roots have kernels, transfers and barriers of their own. Parts without elements are not copied.
// CHECK-LABEL: func.func @main
// CHECK: xfer.launch @broadcast_0_barrier()
// CHECK-NEXT: xfer.transfer @broadcast_0(%arg0) in <{{\[}}[0, 2]]> calls [#xfer.call<function = message, count = 4, dest = 1>]
// CHECK-NEXT: xfer.launch @broadcast_0(
// CHECK-NEXT: xfer.launch @broadcast_0_barrier()
// CHECK-NEXT: xfer.launch @broadcast_0_1_barrier()
// CHECK-NEXT: xfer.transfer @broadcast_0_1(%arg0) in <{{\[}}[1, 3]]> calls [#xfer.call<function = message, count = 4, to_offset = 128, source = 1>]
// CHECK-NEXT: xfer.launch @broadcast_0_1(
// CHECK-NEXT: xfer.launch @broadcast_0_1_barrier()
// CHECK: xfer.transfer @all_gather_v_1(%arg1) in <{{.*}}> calls [#xfer.call<function = message, count = 8, dest = 1>, #xfer.call<function = message, count = 8, dest = 2>, #xfer.call<function = message, count = 8, dest = 3>]
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @main(%a: tensor<4xf32>, %b: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
    %0 = comm.broadcast %a in <[[0, 2], [1, 3]]> from [0, 3] : tensor<4xf32>
    %1 = comm.all_gather_v %b in <[[0, 1, 2, 3]]> counts [8, 0, 0, 0] : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<4xf32>, tensor<8xf32>
  }
}
