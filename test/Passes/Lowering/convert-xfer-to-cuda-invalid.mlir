// RUN: pkb-opt %s -split-input-file -pkb-convert-xfer-to-cuda -verify-diagnostics

// What the gate before it would have rejected, too: the pass says so and does not crash.

// A tile that would have to live in registers across a signal.
xfer.kernel @tile_across_signal group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    xfer.signal %flags chunk %c
    // expected-error @+1 {{'xfer.store' op must use tiles of its own chunk, made on the same side of every signal and wait}}
    xfer.store %tile to %out chunk %c : <f32>, memref<8xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

xfer.kernel @outside group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) {
  // expected-error @+1 {{'xfer.own_rank' op must not stand at the top of a kernel}}
  %me = xfer.own_rank
}

// -----

xfer.kernel @foreign group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) {
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    // expected-error @+1 {{'arith.constant' op must not stand in a pipeline}}
    %zero = arith.constant 0 : index
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

xfer.kernel @not_element_wise group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %mapped = xfer.map %tile {
    ^bb0(%x: f32):
      // expected-error @+1 {{'vector.broadcast' op must be element-wise to run inside xfer.map}}
      %v = vector.broadcast %x : f32 to vector<4xf32>
      %y = vector.extract %v[0] : f32 from vector<4xf32>
      xfer.yield %y : f32
    } : (!xfer.tile<f32>) -> !xfer.tile<f32>
    xfer.store %mapped to %out chunk %c : <f32>, memref<8xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// A row belongs to a whole warp.
// expected-error @+1 {{'xfer.kernel' op must have whole warps of 32 threads to work on rows, got: 48 threads}}
xfer.kernel @rows group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 48, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>, %y: memref<4xf32>):
  %b = xfer.symm_buffer : <vector<4xf32>, chunk = 1, slots = 1, parities = 2, staged>
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce sum %t : <vector<64xf32>> -> <f32>
    xfer.store %s to %y chunk %k : <f32>, memref<4xf32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}
