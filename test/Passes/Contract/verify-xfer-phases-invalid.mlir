// RUN: pkb-opt %s -split-input-file -pkb-verify-xfer -verify-diagnostics

// A kernel of two phases with one mistake each.

// XV508: nothing orders what the first phase has left before the second one.
xfer.kernel @no_sync group(<[[0, 1]]>)
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
    // expected-note @+1 {{the store}}
    xfer.store %sum to %left chunk %k : <f32>, memref<8xf32>
  }
  %d = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  xfer.pipeline 8 by 4 implements all_gather produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.load' op XV508: what an earlier phase has written is read without a sync of the blocks that have written it: argument 1 is written in phase 0 and read in phase 1, with no xfer.sync in between}}
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

// -----

// XV508: other blocks have written what a block reads, by a window that turns it.
xfer.kernel @own_block_only group(<[[0, 1]]>)
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
    // expected-note @+1 {{the store}}
    xfer.store %sum to %turned chunk %k : <f32>, memref<2x4xf32, strided<[1, 2]>>
  }
  %d = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  xfer.sync block
  xfer.pipeline 8 by 4 implements all_gather produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.load' op XV508: what an earlier phase has written is read without a sync of the blocks that have written it: argument 1 is written in phase 0 and read in phase 1 by other blocks, so the xfer.sync in between must be of scope grid}}
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

// -----

// XV508: other blocks have written what a block reads, by a window as long as what is left, of its second half twice.
xfer.kernel @further_on group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) fused {
^bb0(%x: memref<16xf32>, %left: memref<8xf32>, %y: memref<16xf32>):
  %further = memref.reinterpret_cast %left to offset: [4], sizes: [2, 4], strides: [0, 1] : memref<8xf32> to memref<2x4xf32, strided<[0, 1], offset: 4>>
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
    // expected-note @+1 {{the store}}
    xfer.store %sum to %left chunk %k : <f32>, memref<8xf32>
  }
  %d = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  xfer.sync block
  xfer.pipeline 8 by 4 implements all_gather produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.load' op XV508: what an earlier phase has written is read without a sync of the blocks that have written it: argument 1 is written in phase 0 and read in phase 1 by other blocks, so the xfer.sync in between must be of scope grid}}
    %t = xfer.load %further chunk %k : memref<2x4xf32, strided<[0, 1], offset: 4>> -> <f32>
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

// -----

// XV508: the second phase cuts other chunks.
xfer.kernel @other_chunks group(<[[0, 1]]>)
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
    // expected-note @+1 {{the store}}
    xfer.store %sum to %left chunk %k : <f32>, memref<8xf32>
  }
  %d = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  xfer.sync block
  // expected-error @+1 {{'xfer.pipeline' op XV406: a chunk does not fit the buffer that it goes through: a chunk of 2 elements of 4 bytes is no multiple of 16 bytes}}
  xfer.pipeline 8 by 2 implements all_gather produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.load' op XV508: what an earlier phase has written is read without a sync of the blocks that have written it: argument 1 is written in phase 0 and read in phase 1 by other blocks, so the xfer.sync in between must be of scope grid}}
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

// -----

// XV003: read in the phase that writes.
xfer.kernel @too_early group(<[[0, 1]]>)
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
    // expected-error @+1 {{'xfer.load' op XV003: a tensor of the kernel is both read and written: argument 1 is a result, which other blocks and threads write}}
    %again = xfer.load %left chunk %k : memref<8xf32> -> <f32>
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

// -----

// XV003, XV102: left by two phases.
xfer.kernel @written_twice group(<[[0, 1]]>)
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
    // expected-error @+1 {{'xfer.load' op XV003: a tensor of the kernel is both read and written: argument 1 is a result, which other blocks and threads write}}
    %t = xfer.load %left chunk %k : memref<8xf32> -> <f32>
    %p = xfer.put %t into %d chunk %k by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.store %t to %y part %me chunk %k : <f32>, memref<16xf32>
    // expected-error @+2 {{'xfer.store' op XV003: a tensor of the kernel is both read and written: argument 1 is written in two phases and read}}
    // expected-error @+1 {{'xfer.store' op XV102: a part of a result is written more than once: rank 0 writes argument 1 again}}
    xfer.store %t to %left chunk %k : <f32>, memref<8xf32>
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

// -----

// XV506: the second phase reads the slots of the first.
xfer.kernel @other_buffer group(<[[0, 1]]>)
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
      // expected-error @+1 {{'xfer.consume' op XV502: a read of a symmetric buffer is not ordered after the write that it reads: rank 0 reads chunk 0 of rank 1 in staged buffer 0 without a wait for what rank 1 signals after writing it}}
      %t = xfer.consume %b peer %peer chunk %k after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %t to %y part %peer chunk %k : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV503: both phases push into one ring, which nobody has emptied.
xfer.kernel @same_buffer group(<[[0, 1]]>)
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
    // expected-note @+1 {{the read that is not ordered before it}}
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
    // expected-error @+1 {{'xfer.put' op XV503: a slot is written again before it has been read: rank 1 writes chunk 0 into slot 0 of buffer 0 on rank 0, which may still read chunk 0 there}}
    %p = xfer.put %t into %b chunk %k by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.store %t to %y part %me chunk %k : <f32>, memref<16xf32>
    xfer.signal %f chunk %k after %p
  } consume {
  ^bb0(%k: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %f peer %peer chunk %k
      %t = xfer.consume %b peer %peer chunk %k after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %t to %y part %peer chunk %k : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV202, XV501: the second phase does not wait.
xfer.kernel @no_wait group(<[[0, 1]]>)
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
    // expected-error @+1 {{'xfer.signal' op XV202: nobody waits for a signal: rank 1 never waits for chunk 0 of rank 0}}
    xfer.signal %f chunk %k after %p
  } consume {
  ^bb0(%k: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      // expected-error @+2 {{'xfer.consume' op XV501: a read of a symmetric buffer does not name the wait that makes it legal: `after` must name a wait of this band for this chunk of the same peer, or of all peers}}
      // expected-error @+1 {{'xfer.consume' op XV502: a read of a symmetric buffer is not ordered after the write that it reads: rank 1 reads chunk 0 of rank 0 in staged buffer 1 without a wait for what rank 0 signals after writing it}}
      %t = xfer.consume %d peer %peer chunk %k : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %t to %y part %peer chunk %k : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV201: what rank 0 waits for in its first phase, rank 1 signals in its second one.
// expected-remark @+1 {{contributions were not checked, for the kernel does not say which collective it implements}}
xfer.kernel @signals_later group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0:
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 0 by 4 produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
  ^bb0(%k: !xfer.chunk):
    xfer.on_ranks [0] {
      // expected-error @+1 {{'xfer.wait' op XV201: no signal satisfies a wait: rank 0 waits in phase 0 for chunk 0 of rank 1, which signals it in phase 1 only}}
      %here = xfer.wait %f chunk %k
    }
  }
  xfer.sync grid
  xfer.pipeline 0 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    xfer.signal %f chunk %k
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k
  }
}

// -----

// XV103: the first phase sums, the second promises a sum, too.
// expected-error @+1 {{'xfer.kernel' op XV103: a part of a result holds something else than its collective defines: on rank 0 no result holds what the collective gives}}
xfer.kernel @other_promise group(<[[0, 1]]>)
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
  xfer.pipeline 8 by 4 implements all_reduce produce {
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
      // expected-error @+1 {{'xfer.store' op XV103: a part of a result holds something else than its collective defines: on rank 0 the result holds the message of rank 1 by itself}}
      xfer.store %t to %y part %peer chunk %k : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV101: a part of what the second phase reads is not written.
// expected-error @+1 {{'xfer.kernel' op XV101: a part of a result is never written: rank 0 never writes part 1 of argument 1}}
xfer.kernel @not_all_left group(<[[0, 1]]>)
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
    %small = xfer.own_rank
    %less = xfer.table [4, 4] at %small
    %clip = xfer.clip %k to %less
    xfer.store %sum to %left chunk %clip : <f32>, memref<8xf32>
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

// -----

// XV103: what is left is one contribution only.
// expected-error @+1 {{'xfer.kernel' op XV103: a part of a result holds something else than its collective defines: on rank 0 no result holds what the collective gives}}
xfer.kernel @raw_message group(<[[0, 1]]>)
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
    // expected-error @+1 {{'xfer.store' op XV103: a part of a result holds something else than its collective defines: on rank 0 the result holds the message of rank 1 by itself}}
    xfer.store %all#1 to %left chunk %k : <f32>, memref<8xf32>
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

// -----

// XV508: a phase that only computes deals out rows of 24 elements, two to a block, where chunks of one have been stored.
xfer.kernel @other_rows group(<[[0]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 32, chunk = 96, depth = 0, slots = 2, unroll = 1>) fused {
^bb0(%x: memref<96xf32>, %left: memref<96xf32>, %y: memref<4xf32>):
  %b = xfer.symm_buffer : <f32, chunk = 24, slots = 2, parities = 2, staged>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 96 by 24 implements all_reduce produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<96xf32> -> <f32>
    %p = xfer.put %t into %b chunk %k by ldst : <f32>, <f32, chunk = 24, slots = 2, parities = 2, staged>
    xfer.signal %f chunk %k after %p
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k
    %own = xfer.load %x chunk %k : memref<96xf32> -> <f32>
    // expected-note @+1 {{the store}}
    xfer.store %own to %left chunk %k : <f32>, memref<96xf32>
  }
  xfer.sync block
  xfer.pipeline 4 by 2 produce {
  ^bb0(%k: !xfer.chunk):
    // expected-error @+1 {{'xfer.load' op XV508: what an earlier phase has written is read without a sync of the blocks that have written it: argument 1 is written in phase 0 and read in phase 1 by other blocks, so the xfer.sync in between must be of scope grid}}
    %r = xfer.load %left chunk %k : memref<96xf32> -> <vector<24xf32>>
    %s = xfer.row_reduce max %r : <vector<24xf32>> -> <f32>
    xfer.store %s to %y chunk %k : <f32>, memref<4xf32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// XV104: a phase that does not say what it implements waits for what others send.
// expected-error @+2 {{'xfer.kernel' op XV104: the tensors of a kernel do not fit its collective: a fused none is not understood}}
// expected-remark @+1 {{contributions were not checked, for the kernel does not say which collective it implements}}
xfer.kernel @waits_for_nothing group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 96, depth = 0, slots = 1, unroll = 1>) fused {
^bb0(%x: memref<24xf32>, %y: memref<24xf32>):
  %b = xfer.symm_buffer : <f32, chunk = 24, slots = 1, parities = 2, staged>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 24 by 24 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %x chunk %k : memref<24xf32> -> <f32>
    %p = xfer.put %t into %b chunk %k by ldst : <f32>, <f32, chunk = 24, slots = 1, parities = 2, staged>
    xfer.signal %f chunk %k after %p
  } consume {
  ^bb0(%k: !xfer.chunk):
    %here = xfer.wait %f chunk %k
    %own = xfer.load %x chunk %k : memref<24xf32> -> <f32>
    xfer.store %own to %y chunk %k : <f32>, memref<24xf32>
  }
}

// -----

// XV106: what the last phase overwrites another block may not yet have read.
func.func @shifted(%memory: memref<20xf32>, %left: memref<8xf32>) {
  %x = memref.reinterpret_cast %memory to offset: [0], sizes: [16], strides: [1] : memref<20xf32> to memref<16xf32>
  %y = memref.reinterpret_cast %memory to offset: [4], sizes: [16], strides: [1] : memref<20xf32> to memref<16xf32, strided<[1], offset: 4>>
  // expected-error @+1 {{'xfer.launch' op XV106: a launch writes memory that another operand of it covers: operand 2 is written and overlaps operand 0}}
  xfer.launch @of_other_chunks(%x, %left, %y) : memref<16xf32>, memref<8xf32>, memref<16xf32, strided<[1], offset: 4>>
  return
}
xfer.kernel @of_other_chunks group(<[[0, 1]]>)
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
