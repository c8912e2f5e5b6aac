// RUN: pkb-opt %s -split-input-file -verify-diagnostics

// row_reduce_c1
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.row_reduce' op kind must be sum, prod, min or max, got: avg}}
    %r = xfer.row_reduce avg %t : <vector<64xf32>> -> <f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// row_reduce_c2: not a tile of rows.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.row_reduce' op must reduce a tile of vectors of f32 or f64, got: '!xfer.tile<f32>'}}
    %r = xfer.row_reduce sum %s : <f32> -> <f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// row_reduce_c2: another result.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.row_reduce' op must have a result of 'f32', got: 'f64'}}
    %r = xfer.row_reduce sum %t : <vector<64xf32>> -> <f64>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// broadcast_c1
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.broadcast' op must have a result of vectors of 'f32', got: '!xfer.tile<vector<64xbf16>>'}}
    %r = xfer.broadcast %s : <f32> -> <vector<64xbf16>>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// line_c1: not 16 bytes.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.line' op must make a tile of vectors of 16 bytes, got: '!xfer.tile<vector<2xf32>>'}}
    %r = xfer.line %s : (!xfer.tile<f32>) -> !xfer.tile<vector<2xf32>>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// line_c1: more than fit.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.line' op must have 1 to 4 operands, got: 5}}
    %r = xfer.line %s, %s, %s, %s, %s : (!xfer.tile<f32>, !xfer.tile<f32>, !xfer.tile<f32>, !xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<vector<4xf32>>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// line_c1: other elements.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.line' op must have operands of 'i32', got: '!xfer.tile<f32>'}}
    %r = xfer.line %s : (!xfer.tile<f32>) -> !xfer.tile<vector<4xi32>>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// part_c1: no line.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.part' op must have a tile of vectors of 16 bytes, got: '!xfer.tile<vector<64xf32>>'}}
    %r = xfer.part 0 of %t : <vector<64xf32>> -> <f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// part_c1: no such element.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    %l = xfer.line %s : (!xfer.tile<f32>) -> !xfer.tile<vector<4xf32>>
    // expected-error @+1 {{'xfer.part' op number must be from 0 to 3, got: 4}}
    %r = xfer.part 4 of %l : <vector<4xf32>> -> <f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// map_c2: a row and a number.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.map' op must map tiles of elements like the result's 'vector<64xf32>', got: 'f32'}}
    %r = xfer.map %t, %s {
    ^bb0(%a: f32, %c: f32):
      xfer.yield %a : f32
    } : (!xfer.tile<vector<64xf32>>, !xfer.tile<f32>) -> !xfer.tile<vector<64xf32>>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// load_c1: rows of another length.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce fused {
^bb0(%x: memref<4x64xf32>):
  xfer.pipeline 4 by 1 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<64xf32>>
    %s = xfer.row_reduce max %t : <vector<64xf32>> -> <f32>
    // expected-error @+1 {{'xfer.load' op must access a tensor of 128 elements, got: 256}}
    %r = xfer.load %x chunk %k : memref<4x64xf32> -> <vector<32xf32>>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// kernel_c1: only a fused kernel has tensors with gaps.
// expected-error @+1 {{'xfer.kernel' op argument 0 must be a contiguous memref of static shape or of one unknown dimension, got: 'memref<4x64xf32, strided<[128, 1]>>'}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%x: memref<4x64xf32, strided<[128, 1]>>):
}
