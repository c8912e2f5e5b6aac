// RUN: pkb-opt %s -split-input-file -pkb-convert-comm-to-xfer -pkb-verify-xfer | FileCheck %s

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// One exchange is one kernel, launched by the functions of all its ranks; another has another kernel.
// CHECK-LABEL: module @ranks
module @ranks attributes {comm.mesh = #comm.mesh<size = 3>} {
  // CHECK: func.func @main_0(%[[X:.*]]: memref<40xbf16>) -> memref<40xbf16> attributes {comm.ranks = array<i64: 0, 1>}
  // CHECK: %[[A:.*]] = memref.alloc() : memref<40xbf16>
  // CHECK: xfer.launch @all_reduce_0(%[[X]], %[[A]])
  // CHECK: xfer.launch @all_reduce_1(%[[A]], %{{.*}})
  func.func @main_0(%x: tensor<40xbf16>) -> tensor<40xbf16> attributes {comm.ranks = array<i64: 0, 1>} {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64, xfer.schedule = #ldst} : tensor<40xbf16>
    %1 = comm.all_reduce sum %0 in <[[0, 1, 2]]> accumulate f32 deterministic {comm.exchange = 1 : i64, xfer.schedule = #ldst} : tensor<40xbf16>
    return %1 : tensor<40xbf16>
  }
  // CHECK: xfer.kernel @all_reduce_0 group(<{{\[\[}}0, 1]]>)
  // CHECK: xfer.kernel @all_reduce_1 group(<{{\[\[}}0, 1, 2]]>)
  // CHECK-NOT: xfer.kernel
  // The same memory by the shape that the kernel knows it by.
  // CHECK: func.func @main_2(%[[Y:.*]]: memref<5x8xbf16>)
  // CHECK: %[[B:.*]] = memref.alloc() : memref<5x8xbf16>
  // CHECK: %[[FLAT_Y:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [40], strides: [1] : memref<5x8xbf16> to memref<40xbf16>
  // CHECK: %[[FLAT_B:.*]] = memref.reinterpret_cast %[[B]] to offset: [0], sizes: [40], strides: [1] : memref<5x8xbf16> to memref<40xbf16>
  // CHECK: xfer.launch @all_reduce_1(%[[FLAT_Y]], %[[FLAT_B]])
  // CHECK: return %[[B]]
  func.func @main_2(%x: tensor<5x8xbf16>) -> tensor<5x8xbf16> attributes {comm.ranks = array<i64: 2>} {
    %0 = comm.all_reduce sum %x in <[[0, 1, 2]]> accumulate f32 deterministic {comm.exchange = 1 : i64, xfer.schedule = #ldst} : tensor<5x8xbf16>
    return %0 : tensor<5x8xbf16>
  }
}
