// RUN: pkb-opt %s -split-input-file -pkb-verify-xfer -verify-diagnostics

// The kernel of test/Dialect/Xfer/row-ops.mlir with one mistake each.

// XV103: the own contribution twice.
xfer.kernel @twice group(<[[0, 1]]>)
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
    %total = xfer.map %p0, %p0 {
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
    // expected-error @+1 {{'xfer.store' op XV103: a part of a result holds something else than its collective defines: on rank 0 the result has the message of rank 0 as contribution 1}}
    xfer.store %o to %y chunk %k : <vector<64xf32>>, memref<4x64xf32>
    // expected-error @+1 {{on rank 0 the result has the message of rank 0 as contribution 1}}
    xfer.store %total to %s chunk %k : <f32>, memref<4xf32>
  }
}

// -----

// XV103: in another order than that of the ranks.
xfer.kernel @order group(<[[0, 1]]>)
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
    %total = xfer.map %p1, %p0 {
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
    // expected-error @+1 {{on rank 0 the result has the message of rank 1 as contribution 0}}
    xfer.store %o to %y chunk %k : <vector<64xf32>>, memref<4x64xf32>
    // expected-error @+1 {{on rank 0 the result has the message of rank 1 as contribution 0}}
    xfer.store %total to %s chunk %k : <f32>, memref<4xf32>
  }
}

// -----

// XV103: the message of one rank by itself.
xfer.kernel @raw group(<[[0, 1]]>)
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
    %r = xfer.broadcast %p1 : <f32> -> <vector<64xf32>>
    %o = xfer.map %v, %r {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.mulf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<vector<64xf32>>, !xfer.tile<vector<64xf32>>) -> !xfer.tile<vector<64xf32>>
    // expected-error @+1 {{on rank 0 the result holds the message of rank 1 by itself}}
    xfer.store %o to %y chunk %k : <vector<64xf32>>, memref<4x64xf32>
    xfer.store %total to %s chunk %k : <f32>, memref<4xf32>
  }
}

// -----

// XV103: a product instead of a sum.
xfer.kernel @product group(<[[0, 1]]>)
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
      %0 = arith.mulf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    %v = xfer.load %w chunk %k : memref<4x64xf32, strided<[0, 1]>> -> <vector<64xf32>>
    %r = xfer.broadcast %total : <f32> -> <vector<64xf32>>
    %o = xfer.map %v, %r {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.mulf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<vector<64xf32>>, !xfer.tile<vector<64xf32>>) -> !xfer.tile<vector<64xf32>>
    // expected-error @+1 {{on rank 0 the result is no sum of the messages of 2 ranks}}
    xfer.store %o to %y chunk %k : <vector<64xf32>>, memref<4x64xf32>
    // expected-error @+1 {{on rank 0 the result is no sum of the messages of 2 ranks}}
    xfer.store %total to %s chunk %k : <f32>, memref<4xf32>
  }
}

// -----

// XV103: the exchange is for nothing.
// expected-error @+1 {{'xfer.kernel' op XV103: a part of a result holds something else than its collective defines: on rank 0 no result holds what the collective gives}}
xfer.kernel @unused group(<[[0, 1]]>)
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
    %mine = xfer.load %x chunk %k : memref<4x64xbf16> -> <vector<64xbf16>>
    %v = xfer.load %w chunk %k : memref<4x64xf32, strided<[0, 1]>> -> <vector<64xf32>>
    %total = xfer.row_reduce sum %v : <vector<64xf32>> -> <f32>
    xfer.store %v to %y chunk %k : <vector<64xf32>>, memref<4x64xf32>
    xfer.store %total to %s chunk %k : <f32>, memref<4xf32>
  }
}

// -----

// XV506: nothing is put to this rank itself.
xfer.kernel @not_to_self group(<[[0, 1]]>)
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
    %p = xfer.put %line into %b chunk %k by ldst : <vector<4xf32>>, <vector<4xf32>, chunk = 2, slots = 1, parities = 2, staged>
    xfer.signal %f chunk %k after %p
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k
    // expected-error @+1 {{XV506: a read of a slot that nobody writes: rank 1 reads chunk 0 of rank 1 in staged buffer 0, which rank 1 never writes there}}
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
    // expected-error @+1 {{XV103: a part of a result holds something else than its collective defines: on rank 0 the result reads a slot that rank 0 never writes}}
    xfer.store %o to %y chunk %k : <vector<64xf32>>, memref<4x64xf32>
    // expected-error @+1 {{on rank 0 the result reads a slot that rank 0 never writes}}
    xfer.store %total to %s chunk %k : <f32>, memref<4xf32>
  }
}

// -----

// XV104: a collective that is not understood when fused.
// expected-error @+1 {{'xfer.kernel' op XV104: the tensors of a kernel do not fit its collective: a fused barrier is not understood}}
xfer.kernel @barrier group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 0, slots = 1, unroll = 2>) implements barrier fused {
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
