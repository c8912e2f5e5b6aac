// RUN: pkb-opt %s | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --mlir-print-op-generic | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --emit=bytecode | pkb-opt | FileCheck %s
// RUN: pkb-opt %s -pkb-verify-xfer -o /dev/null

// One number per row is exchanged: the rows are reduced, a line per row is put to all ranks and this one, and the total is spread over the row.
// CHECK: xfer.kernel @rows group(<{{.*}}>) schedule(<{{.*}}>) implements all_reduce fused {
// CHECK: %[[T:.*]] = xfer.load %{{.*}} chunk %{{.*}} : memref<4x64xbf16> -> <vector<64xbf16>>
// CHECK: %[[WIDE:.*]] = xfer.map %[[T]] {
// CHECK: } : (!xfer.tile<vector<64xbf16>>) -> !xfer.tile<vector<64xf32>>
// CHECK: %[[SUM:.*]] = xfer.row_reduce sum %[[WIDE]] : <vector<64xf32>> -> <f32>
// CHECK: %[[LINE:.*]] = xfer.line %[[SUM]] : (!xfer.tile<f32>) -> !xfer.tile<vector<4xf32>>
// CHECK: xfer.put %[[LINE]] into %{{.*}} self chunk
// CHECK: %[[ALL:.*]]:2 = xfer.contributions %{{.*}} chunk %{{.*}} after %{{.*}} staged> -> !xfer.tile<vector<4xf32>>, !xfer.tile<vector<4xf32>>
// CHECK: xfer.part 0 of %[[ALL]]#0 : <vector<4xf32>> -> <f32>
// CHECK: xfer.load %{{.*}} : memref<4x64xf32, strided<[0, 1]>> -> <vector<64xf32>>
// CHECK: xfer.broadcast %{{.*}} : <f32> -> <vector<64xf32>>
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
