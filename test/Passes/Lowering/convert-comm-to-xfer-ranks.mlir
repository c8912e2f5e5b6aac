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

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// The root sends parts of its tensor from where they are, one of them by the shape that the kernel knows; who gets nothing of a gather has no memory for it.
// CHECK-LABEL: module @rooted
module @rooted attributes {comm.mesh = #comm.mesh<size = 2>} {
  // CHECK: func.func @main_0(%[[X:.*]]: memref<20xf32>)
  // CHECK-DAG: %[[A:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], {{.*}} : memref<20xf32> to memref<8xf32>
  // CHECK-DAG: %[[B:.*]] = memref.reinterpret_cast %[[X]] to offset: [9], {{.*}} to memref<8xf32, strided<[1], offset: 9>>
  // CHECK-NOT: memref.copy
  // CHECK: xfer.launch @scatter_0(%[[A]], %[[B]], %{{.*}}) : memref<8xf32>, memref<8xf32, strided<[1], offset: 9>>, memref<8xf32>
  // CHECK: xfer.launch @gather_1(%{{.*}}, %{{.*}}) : memref<8xf32>, memref<2x8xf32>
  func.func @main_0(%x: tensor<20xf32>) -> tensor<2x8xf32> attributes {comm.ranks = array<i64: 0>} {
    %a = aten.as_strided %x : tensor<20xf32> -> tensor<8xf32>
    %b = aten.as_strided %x : tensor<20xf32> -> tensor<8xf32, #aten.strided<[1], 9>>
    %s = comm.scatter %a, %b in <[[0, 1]]> from [0] {comm.exchange = 0 : i64, xfer.schedule = #ldst} : (tensor<8xf32>, tensor<8xf32, #aten.strided<[1], 9>>) -> tensor<8xf32>
    %g = comm.gather %s in <[[0, 1]]> to [0] {comm.exchange = 1 : i64, xfer.schedule = #ldst} : (tensor<8xf32>) -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
  // CHECK: func.func @main_1(%[[Y:.*]]: memref<9xf32>)
  // CHECK: xfer.launch @scatter_0(
  // CHECK: %[[PART:.*]] = memref.reinterpret_cast %[[Y]] to offset: [1], sizes: [8], strides: [1] : memref<9xf32> to memref<8xf32, strided<[1], offset: 1>>
  // CHECK: %[[FLAT:.*]] = xfer.absent : memref<2x8xf32>
  // CHECK: xfer.launch @gather_1(%[[PART]], %[[FLAT]])
  // CHECK-NOT: memref.alloc
  func.func @main_1(%x: tensor<9xf32>) attributes {comm.ranks = array<i64: 1>} {
    %n = comm.absent : tensor<8xf32>
    %s = comm.scatter %n, %n in <[[0, 1]]> from [0] {comm.exchange = 0 : i64, xfer.schedule = #ldst} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %p = aten.as_strided %x : tensor<9xf32> -> tensor<2x4xf32, #aten.strided<[4, 1], 1>>
    %g = comm.gather %p in <[[0, 1]]> to [0] {comm.exchange = 1 : i64, xfer.schedule = #ldst} : (tensor<2x4xf32, #aten.strided<[4, 1], 1>>) -> tensor<2x2x4xf32>
    return
  }
}
