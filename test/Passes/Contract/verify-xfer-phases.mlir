// RUN: pkb-opt %s -pkb-verify-xfer -verify-diagnostics

// The last phase may overwrite what the first has read: the same chunks in the same block, or behind a meeting of all blocks.
func.func @main(%x: memref<16xf32>, %left: memref<8xf32>) {
  xfer.launch @of_the_same_block(%x, %left, %x) : memref<16xf32>, memref<8xf32>, memref<16xf32>
  xfer.launch @of_any_block(%x, %left, %x) : memref<16xf32>, memref<8xf32>, memref<16xf32>
  return
}

// What a phase leaves for the next: the same block reads it, or all blocks meet before.
xfer.kernel @of_the_same_block group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) fused {
^bb0(%x: memref<16xf32>, %left: memref<8xf32>, %y: memref<16xf32>):
  %turned = memref.reinterpret_cast %left to offset: [0], sizes: [2, 4], strides: [1, 2] : memref<8xf32> to memref<2x4xf32, strided<[1, 2]>>
  %b = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 implements reduce_scatter produce {
  ^bb0(%k: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %t = xfer.load %x part %peer chunk %k : memref<16xf32> -> <f32>
      %p = xfer.put %t into %b peer %peer chunk %k by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    }
    xfer.signal %f chunk %k
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k
    %me = xfer.own_rank
    %own = xfer.load %x part %me chunk %k : memref<16xf32> -> <f32>
    %all:2 = xfer.contributions %b own %own chunk %k after %here : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f32>
    %sum = xfer.map %all#0, %all#1 {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.addf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    xfer.store %sum to %left chunk %k : <f32>, memref<8xf32>
  }
  %d = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  xfer.sync block
  xfer.pipeline 8 by 4 implements all_gather produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    %t = xfer.load %left chunk %k : memref<8xf32> -> <f32>
    %p = xfer.put %t into %d chunk %k by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.store %t to %y part %me chunk %k : <f32>, memref<16xf32>
    xfer.signal %f chunk %k after %p
  } consume {
  ^bb0(%k: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %f peer %peer chunk %k
      %t = xfer.consume %d peer %peer chunk %k after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %t to %y part %peer chunk %k : <f32>, memref<16xf32>
    }
  }
}

xfer.kernel @of_any_block group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) fused {
^bb0(%x: memref<16xf32>, %left: memref<8xf32>, %y: memref<16xf32>):
  %turned = memref.reinterpret_cast %left to offset: [0], sizes: [2, 4], strides: [1, 2] : memref<8xf32> to memref<2x4xf32, strided<[1, 2]>>
  %b = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 implements reduce_scatter produce {
  ^bb0(%k: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %t = xfer.load %x part %peer chunk %k : memref<16xf32> -> <f32>
      %p = xfer.put %t into %b peer %peer chunk %k by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    }
    xfer.signal %f chunk %k
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k
    %me = xfer.own_rank
    %own = xfer.load %x part %me chunk %k : memref<16xf32> -> <f32>
    %all:2 = xfer.contributions %b own %own chunk %k after %here : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f32>
    %sum = xfer.map %all#0, %all#1 {
    ^bb0(%a: f32, %c: f32):
      %0 = arith.addf %a, %c : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    xfer.store %sum to %turned chunk %k : <f32>, memref<2x4xf32, strided<[1, 2]>>
  }
  %d = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  xfer.sync grid
  xfer.pipeline 8 by 4 implements all_gather produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    %t = xfer.load %left chunk %k : memref<8xf32> -> <f32>
    %p = xfer.put %t into %d chunk %k by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.store %t to %y part %me chunk %k : <f32>, memref<16xf32>
    xfer.signal %f chunk %k after %p
  } consume {
  ^bb0(%k: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %f peer %peer chunk %k
      %t = xfer.consume %d peer %peer chunk %k after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %t to %y part %peer chunk %k : <f32>, memref<16xf32>
    }
  }
}
