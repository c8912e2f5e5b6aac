// RUN: pkb-opt %s -pkb-convert-xfer-to-cuda | FileCheck %s

// Windows of an argument begin where their offset says, in bytes of their elements: 3 x bf16 where the elements follow each other, 10 x bf16 where they do
// not, 9 x f32 where they are stored to. The argument itself, and a window from its first element on, need nothing.
// CHECK-LABEL: cuda.kernel @elements
// CHECK: %[[ALL:.*]] = cuda.pointer %{{.*}}
// CHECK-NEXT: %[[AWAY:.*]] = arith.constant 6 : index
// CHECK-NEXT: %[[FIRST:.*]] = cuda.advance %[[ALL]], %[[AWAY]]
// CHECK-NEXT: %[[EACH:.*]] = arith.constant 2 : index
// CHECK-NEXT: %[[CHUNK:.*]] = arith.muli %{{.*}}, %[[EACH]]
// CHECK-NEXT: %[[FLAT:.*]] = cuda.advance %[[FIRST]], %[[CHUNK]]
// CHECK: cuda.pointer
// CHECK-NEXT: %[[AWAY_TOO:.*]] = arith.constant 20 : index
// CHECK-NEXT: %[[COLUMNS:.*]] = cuda.advance %{{.*}}, %[[AWAY_TOO]]
// CHECK: cuda.load %[[FLAT]][
// CHECK: cuda.load_strided %[[COLUMNS]][
// CHECK: %[[TO:.*]] = arith.constant 36 : index
// CHECK-NEXT: %[[INTO:.*]] = cuda.advance %{{.*}}, %[[TO]]
// CHECK-NEXT: arith.constant 4 : index
// CHECK-NEXT: arith.muli
// CHECK-NEXT: %[[PLACE:.*]] = cuda.advance %[[INTO]],
// CHECK: cuda.pointer
// CHECK-NEXT: arith.constant 4 : index
// CHECK-NEXT: arith.muli
// CHECK: cuda.store %{{.*}} to %[[PLACE]][
xfer.kernel @elements group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<40xbf16>, %y: memref<17xf32>, %z: memref<8xf32>):
  %flat = memref.reinterpret_cast %x to offset: [3], sizes: [8], strides: [1] : memref<40xbf16> to memref<8xbf16, strided<[1], offset: 3>>
  %columns = memref.reinterpret_cast %x to offset: [10], sizes: [2, 4], strides: [7, 1] : memref<40xbf16> to memref<2x4xbf16, strided<[7, 1], offset: 10>>
  %into = memref.reinterpret_cast %y to offset: [9], sizes: [8], strides: [1] : memref<17xf32> to memref<8xf32, strided<[1], offset: 9>>
  %start = memref.reinterpret_cast %z to offset: [0], sizes: [8], strides: [1] : memref<8xf32> to memref<8xf32, strided<[1]>>
  %b = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %flat chunk %k : memref<8xbf16, strided<[1], offset: 3>> -> <bf16>
    %u = xfer.load %columns chunk %k : memref<2x4xbf16, strided<[7, 1], offset: 10>> -> <bf16>
    %v = xfer.map %t, %u {
    ^bb0(%a: bf16, %c: bf16):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.addf %0, %1 : f32
      xfer.yield %2 : f32
    } : (!xfer.tile<bf16>, !xfer.tile<bf16>) -> !xfer.tile<f32>
    %p = xfer.put %v into %b self chunk %k by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %f chunk %k after %p
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k
    %t = xfer.load %flat chunk %k : memref<8xbf16, strided<[1], offset: 3>> -> <bf16>
    %u = xfer.load %columns chunk %k : memref<2x4xbf16, strided<[7, 1], offset: 10>> -> <bf16>
    %own = xfer.map %t, %u {
    ^bb0(%a: bf16, %c: bf16):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.addf %0, %1 : f32
      xfer.yield %2 : f32
    } : (!xfer.tile<bf16>, !xfer.tile<bf16>) -> !xfer.tile<f32>
    %all:2 = xfer.contributions %b own %own chunk %k after %here : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f32>
    %sum = xfer.map %all#0, %all#1 {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.addf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    xfer.store %sum to %into chunk %k : <f32>, memref<8xf32, strided<[1], offset: 9>>
    xfer.store %sum to %start chunk %k : <f32>, memref<8xf32, strided<[1]>>
  }
}

// Rows as well: the window's first row is 64 x bf16 into the argument.
// CHECK-LABEL: cuda.kernel @rows
// CHECK: cuda.for_each_row
// CHECK: cuda.pointer
// CHECK-NEXT: %[[BEHIND:.*]] = arith.constant 128 : index
// CHECK-NEXT: %[[ROWS:.*]] = cuda.advance %{{.*}}, %[[BEHIND]]
// CHECK-NEXT: %[[ROW:.*]] = cuda.advance %[[ROWS]],
// CHECK: cuda.load %[[ROW]][
xfer.kernel @rows group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 0, slots = 1, unroll = 2>) implements all_reduce fused {
^bb0(%x: memref<320xbf16>, %s: memref<4xf32>):
  %window = memref.reinterpret_cast %x to offset: [64], sizes: [4, 64], strides: [64, 1] : memref<320xbf16> to memref<4x64xbf16, strided<[64, 1], offset: 64>>
  %b = xfer.symm_buffer : <vector<4xf32>, chunk = 2, slots = 1, parities = 2, staged>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 4 by 2 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %window chunk %k : memref<4x64xbf16, strided<[64, 1], offset: 64>> -> <vector<64xbf16>>
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
    xfer.store %total to %s chunk %k : <f32>, memref<4xf32>
  }
}
