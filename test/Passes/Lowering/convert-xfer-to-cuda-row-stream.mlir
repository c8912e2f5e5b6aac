// RUN: pkb-opt %s -pkb-convert-xfer-to-cuda -pkb-verify-cuda-emittable | FileCheck %s
// RUN: pkb-opt %s -pkb-convert-xfer-to-cuda -o %t.cu && FileCheck %s --check-prefix=TEXT < %t.cu

// Two rows of a chunk, a warp each, eight chunks of which a block has two: what is read before the exchange is kept, the next chunk's rows are fetched while
// the lines of this one are on their way, and this rank's own line stays in registers, too. A line carries the one value that is sent.
// CHECK-LABEL: cuda.kernel @rows
// CHECK: %[[ALIGNED:.*]] = cuda.aligned %{{.*}} lanes 8 of %{{.*}}, %{{.*}}
// CHECK: cuda.stream_rows %{{.*}} step %{{.*}} below %{{.*}} aligned %[[ALIGNED]] rows 2 by 32 ahead 1 steps 2 full 2 fetch {
// CHECK: %[[ROW:.*]] = cuda.keep_row %{{.*}} : <1 of vector<8xbf16>>
// CHECK: cuda.yield %[[ROW]]
// CHECK: } produce {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[KEPT:.*]]: !cuda.row<1 of vector<8xbf16>>):
// CHECK: %[[SUM:.*]] = cuda.row_reduce sum %{{.*}} unroll 1 per_lane 1 : vector<1xf32> load {
// CHECK-NOT: cuda.load
// CHECK: cuda.kept %[[KEPT]]
// CHECK: %[[LINE:.*]] = cuda.line %[[SUM]] : (vector<1xf32>) -> vector<1xf32>
// The other rank alone.
// CHECK-COUNT-1: cuda.store_ll %[[LINE]]
// CHECK-NOT: cuda.store_ll
// CHECK: cuda.yield %[[LINE]]
// CHECK: } consume {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[KEPT:.*]]: !cuda.row<1 of vector<8xbf16>>, %[[OWN:.*]]: vector<1xf32>):
// CHECK: %[[ALL:.*]]:2 = cuda.gather_ll %{{.*}} own %[[OWN]]
// CHECK: cuda.part 0 of %[[ALL]]#0
// CHECK: cuda.part 0 of %[[ALL]]#1
// CHECK: cuda.for_each row %{{.*}} unroll 1 per_lane 1 load {
// CHECK: cuda.kept %[[KEPT]]
// TEXT: pkb::stream_rows<32, 2, 1, 2, 2>(n{{.*}}, 8, 16, n{{.*}}, [&](int64_t chunk, int64_t i, auto how) {
// TEXT: const auto row = pkb::keep_row<pkb::bf16, 8, 1, 32>(at, 64, how);
// TEXT: return row;
// TEXT: }, [&](int64_t chunk_1, int64_t i_1, const auto &kept, auto how) {
// TEXT: const auto whole = pkb::row_reduce_once<pkb::Reduce::sum, 1, 1, 32>(64, how.value, [&](int64_t i_2, auto) {
// TEXT: pkb::kept(kept, i_2);
// TEXT: const auto [[LINE:.*]] = pkb::line<1>(whole);
// TEXT: return [[LINE]];
// TEXT: }, [&](int64_t chunk_2, int64_t i_3, const auto &kept_1, const auto &sent, auto how) {
// TEXT: const auto all = pkb::gather_ll<float, 1, {{[0-9]+}}, 32>(args, slot_1, i_3, epoch_{{[0-9]+}}, sent);
// TEXT: pkb::part<0>(all.of[0]);
// TEXT: pkb::for_each_in_row_once<1, 1, 32>(8, how.value, [&](int64_t i_4, auto) {
func.func @main(%x: memref<16x64xbf16>, %y: memref<16x64xbf16>) {
  xfer.launch @rows(%x, %y) : memref<16x64xbf16>, memref<16x64xbf16>
  xfer.launch @many(%x, %y) : memref<16x64xbf16>, memref<16x64xbf16>
  return
}
xfer.kernel @rows group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 4, threads = 64, chunk = 32, depth = 1, slots = 2, unroll = 4>) implements all_reduce fused {
^bb0(%x: memref<16x64xbf16>, %y: memref<16x64xbf16>):
  %b = xfer.symm_buffer : <vector<4xf32>, chunk = 2, slots = 2, parities = 2, lines>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 16 by 2 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<16x64xbf16> -> <vector<64xbf16>>
    %wide = xfer.map %t {
    ^bb0(%e: bf16):
      %0 = arith.extf %e : bf16 to f32
      xfer.yield %0 : f32
    } : (!xfer.tile<vector<64xbf16>>) -> !xfer.tile<vector<64xf32>>
    %sum = xfer.row_reduce sum %wide : <vector<64xf32>> -> <f32>
    %line = xfer.line %sum : (!xfer.tile<f32>) -> !xfer.tile<vector<4xf32>>
    %p = xfer.put %line into %b self chunk %k by ll : <vector<4xf32>>, <vector<4xf32>, chunk = 2, slots = 2, parities = 2, lines>
    xfer.signal %f chunk %k after %p in_band
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k in_band
    %all:2 = xfer.contributions %b chunk %k after %here : <vector<4xf32>, chunk = 2, slots = 2, parities = 2, lines> -> !xfer.tile<vector<4xf32>>, !xfer.tile<vector<4xf32>>
    %p0 = xfer.part 0 of %all#0 : <vector<4xf32>> -> <f32>
    %p1 = xfer.part 0 of %all#1 : <vector<4xf32>> -> <f32>
    %total = xfer.map %p0, %p1 {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.addf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    %v = xfer.load %x chunk %k : memref<16x64xbf16> -> <vector<64xbf16>>
    %r = xfer.broadcast %total : <f32> -> <vector<64xf32>>
    %o = xfer.map %v, %r {
    ^bb0(%a: bf16, %c: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.mulf %0, %c : f32
      %2 = arith.truncf %1 : f32 to bf16
      xfer.yield %2 : bf16
    } : (!xfer.tile<vector<64xbf16>>, !xfer.tile<vector<64xf32>>) -> !xfer.tile<vector<64xbf16>>
    xfer.store %o to %y chunk %k : <vector<64xbf16>>, memref<16x64xbf16>
  }
}

// A team has more than one row of a chunk: nothing is kept.
// CHECK-LABEL: cuda.kernel @many
// CHECK-NOT: cuda.stream_rows
// CHECK: cuda.for_each_row
xfer.kernel @many group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 2, threads = 64, chunk = 128, depth = 0, slots = 1, unroll = 4>) implements all_reduce fused {
^bb0(%x: memref<16x64xbf16>, %y: memref<16x64xbf16>):
  %b = xfer.symm_buffer : <vector<4xf32>, chunk = 8, slots = 1, parities = 2, lines>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 16 by 8 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<16x64xbf16> -> <vector<64xbf16>>
    %wide = xfer.map %t {
    ^bb0(%e: bf16):
      %0 = arith.extf %e : bf16 to f32
      xfer.yield %0 : f32
    } : (!xfer.tile<vector<64xbf16>>) -> !xfer.tile<vector<64xf32>>
    %sum = xfer.row_reduce sum %wide : <vector<64xf32>> -> <f32>
    %line = xfer.line %sum : (!xfer.tile<f32>) -> !xfer.tile<vector<4xf32>>
    %p = xfer.put %line into %b self chunk %k by ll : <vector<4xf32>>, <vector<4xf32>, chunk = 8, slots = 1, parities = 2, lines>
    xfer.signal %f chunk %k after %p in_band
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k in_band
    %all:2 = xfer.contributions %b chunk %k after %here : <vector<4xf32>, chunk = 8, slots = 1, parities = 2, lines> -> !xfer.tile<vector<4xf32>>, !xfer.tile<vector<4xf32>>
    %v = xfer.load %x chunk %k : memref<16x64xbf16> -> <vector<64xbf16>>
    xfer.store %v to %y chunk %k : <vector<64xbf16>>, memref<16x64xbf16>
  }
}
