// RUN: pkb-opt %s -pkb-convert-xfer-to-cuda -pkb-verify-cuda-emittable | FileCheck %s

// A warp takes a row. Its elements are loaded and reduced in one loop, one lane stores the line; after the wait all lanes read the lines of all ranks and
// run over the row a second time.
// CHECK: func.func @main
// CHECK: cuda.kernel @rows
// CHECK: cuda.for_each_row %{{.*}} by 32 {
// CHECK: %[[SUM:.*]] = cuda.row_reduce sum %{{.*}} unroll 1 : vector<1xf32> load {
// CHECK: %[[V:.*]] = cuda.load %{{.*}} : vector<8xbf16>
// CHECK: cuda.yield %[[V]]
// CHECK: } map {
// CHECK: arith.extf %{{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK: }
// CHECK: %[[LINE:.*]] = cuda.line %[[SUM]] : (vector<1xf32>) -> vector<4xf32>
// CHECK: %[[LEADER:.*]] = cuda.row_leader
// CHECK: scf.if %[[LEADER]] {
// The other rank, and this one.
// CHECK-COUNT-2: cuda.store_peer %[[LINE]]
// CHECK: cuda.block_barrier
// CHECK: cuda.signal
// CHECK: cuda.wait
// CHECK: cuda.block_barrier
// CHECK: cuda.for_each_row %{{.*}} by 32 {
// CHECK: %[[L0:.*]] = cuda.load_staged
// CHECK: %[[L1:.*]] = cuda.load_staged
// CHECK: %[[P0:.*]] = cuda.part 0 of %[[L0]]
// CHECK: %[[P1:.*]] = cuda.part 0 of %[[L1]]
// CHECK: %[[TOTAL:.*]] = arith.addf %[[P0]], %[[P1]] : vector<1xf32>
// One number per row is stored by one lane.
// CHECK: scf.if
// CHECK: cuda.store %[[TOTAL]]
// CHECK: cuda.for_each row %{{.*}} unroll 1 load {
// CHECK: cuda.load %{{.*}} : vector<4xf32>
// CHECK: } store {
// CHECK: %[[WIDE:.*]] = cuda.widen %[[TOTAL]] : vector<1xf32> -> vector<4xf32>
// CHECK: %[[R:.*]] = arith.mulf %{{.*}}, %[[WIDE]]
// CHECK: cuda.store %[[R]]
func.func @main(%x: memref<4x64xbf16>, %w: memref<4x64xf32, strided<[0, 1]>>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  xfer.launch @rows(%x, %w, %y, %s) : memref<4x64xbf16>, memref<4x64xf32, strided<[0, 1]>>, memref<4x64xf32>, memref<4xf32>
  return
}
xfer.kernel @rows group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 0, slots = 1, unroll = 2>) implements all_reduce fused {
^bb0(%x: memref<4x64xbf16>, %w: memref<4x64xf32, strided<[0, 1]>>, %y: memref<4x64xf32>, %s: memref<4xf32>):
  %b = xfer.symm_buffer : <vector<4xf32>, chunk = 2, slots = 1, parities = 2, staged>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 4 by 2 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xbf16> -> <vector<64xbf16>>
    %wide = xfer.map %t {
    ^bb0(%e: bf16):
      %0 = arith.extf %e : bf16 to f32
      xfer.yield %0 : f32
    } : (!xfer.tile<vector<64xbf16>>) -> !xfer.tile<vector<64xf32>>
    %sum = xfer.row_reduce sum %wide : <vector<64xf32>> -> <f32>
    %line = xfer.line %sum : (!xfer.tile<f32>) -> !xfer.tile<vector<4xf32>>
    %p = xfer.put %line into %b self chunk %k by ldst : <vector<4xf32>>, <vector<4xf32>, chunk = 2, slots = 1, parities = 2, staged>
    xfer.signal %f chunk %k after %p
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k
    %all:2 = xfer.contributions %b chunk %k after %here : <vector<4xf32>, chunk = 2, slots = 1, parities = 2, staged> -> !xfer.tile<vector<4xf32>>, !xfer.tile<vector<4xf32>>
    %p0 = xfer.part 0 of %all#0 : <vector<4xf32>> -> <f32>
    %p1 = xfer.part 0 of %all#1 : <vector<4xf32>> -> <f32>
    %total = xfer.map %p0, %p1 {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.addf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    %v = xfer.load %w chunk %k : memref<4x64xf32, strided<[0, 1]>> -> <vector<64xf32>>
    %r = xfer.broadcast %total : <f32> -> <vector<64xf32>>
    %o = xfer.map %v, %r {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.mulf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<vector<64xf32>>, !xfer.tile<vector<64xf32>>) -> !xfer.tile<vector<64xf32>>
    xfer.store %o to %y chunk %k : <vector<64xf32>>, memref<4x64xf32>
    xfer.store %total to %s chunk %k : <f32>, memref<4xf32>
  }
}

// Rows that are few and long have more lanes than a warp: here all threads of the block, which have two vectors each.
// CHECK: cuda.kernel @long_rows
// CHECK: cuda.for_each_row %{{.*}} by 256 {
// CHECK: cuda.row_reduce max %{{.*}} unroll 2 : vector<1xf32> load {
// CHECK: cuda.for_each row %{{.*}} unroll 2 load {
xfer.kernel @long_rows group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 256, chunk = 32, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<2x2048xf32>, %y: memref<2x2048xf32>):
  xfer.pipeline 2 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<2x2048xf32> -> <vector<2048xf32>>
    %most = xfer.row_reduce max %t : <vector<2048xf32>> -> <f32>
    %wide = xfer.broadcast %most : <f32> -> <vector<2048xf32>>
    %r = xfer.map %t, %wide {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.subf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<vector<2048xf32>>, !xfer.tile<vector<2048xf32>>) -> !xfer.tile<vector<2048xf32>>
    xfer.store %r to %y chunk %k : <vector<2048xf32>>, memref<2x2048xf32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}
