// RUN: pkb-opt %s -split-input-file -pkb-verify-xfer -verify-diagnostics

// One program per code of include/pkb/Analysis/TransferCodes.def. Each is a right kernel with one mistake: the all-gather, all-reduce or
// all-to-all of test/Passes/Contract/verify-xfer.mlir on two ranks, unless said otherwise.

// XV001: a rank that is a number, not one of the group's ranks seen from this one.
xfer.kernel @rank_is_a_number group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    // expected-error @+1 {{'arith.constant' op XV001: an operation or a rank that the proof does not understand: it must not stand in a pipeline}}
    %me = arith.constant 0 : index
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV001: a launch that a rank may leave out.
func.func @main(%in: memref<8xf32>, %out: memref<16xf32>, %maybe: i1) {
  scf.if %maybe {
    // expected-error @+1 {{'xfer.launch' op XV001: an operation or a rank that the proof does not understand: all ranks must come to it: it must stand in the one block of a function}}
    xfer.launch @sometimes(%in, %out) : memref<8xf32>, memref<16xf32>
  }
  return
}
xfer.kernel @sometimes group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV001: nothing happens outside pipelines.
xfer.kernel @outside group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  // expected-error @+1 {{'builtin.unrealized_conversion_cast' op XV001: an operation or a rank that the proof does not understand: it must not stand at the top of a kernel}}
  %c, %tile = builtin.unrealized_conversion_cast to !xfer.chunk, !xfer.tile<f32>
  // expected-error @+1 {{'xfer.put' op XV001: an operation or a rank that the proof does not understand: it must not stand at the top of a kernel}}
  %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
}

// -----

// XV001: a map is not a place to hide a push.
xfer.kernel @hidden_put group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %same = xfer.map %tile {
    ^bb0(%x: f32):
      // expected-error @+1 {{'xfer.put' op XV001: an operation or a rank that the proof does not understand: it must not stand in a map, which works element by element}}
      %hidden = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
      xfer.yield %x : f32
    } : (!xfer.tile<f32>) -> !xfer.tile<f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV002: a push that runs so far ahead that what 64 ranks do repeats only after millions of events.
xfer.kernel @far_ahead group(<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 600, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8000xf32>, %out: memref<512000xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8000 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8000xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<512000xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      // expected-error @+1 {{'xfer.wait' op XV002: the proof is larger than its budget: rank 0 does more than 65536 things before its behaviour repeats; take fewer slots or a smaller depth}}
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<512000xf32>
    }
  }
}

// -----

// XV003: a result is read back.
// expected-remark @+1 {{contributions were not checked, for the kernel does not say which collective it implements}}
xfer.kernel @reads_result group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
     {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.load' op XV003: a tensor of the kernel is both read and written: argument 1 is a result, which other blocks and threads write}}
    %back = xfer.load %out part %me chunk %c : memref<16xf32> -> <f32>
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV004: vectors are made for one element type.
// expected-remark @+1 {{contributions were not checked, for the kernel does not say which collective it implements}}
xfer.kernel @two_element_types group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
     {
^bb0(%in: memref<8xf32>, %half: memref<8xf16>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %other = xfer.load %half chunk %c : memref<8xf16> -> <f16>
    // expected-error @+1 {{'xfer.load' op XV004: tiles of several element types in one kernel: here f32, before f16}}
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV101: the own part is left out.
// expected-error @+1 {{'xfer.kernel' op XV101: a part of a result is never written: rank 0 never writes part 0 of argument 1}}
xfer.kernel @own_part_missing group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV102: the own part is written in both regions.
xfer.kernel @own_part_twice group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.store' op XV102: a part of a result is written more than once: rank 0 writes part 0 of argument 1 again}}
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV103: what comes from a peer is written to the place of the own part, and the other way round.
xfer.kernel @parts_exchanged group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.for_peers {
    ^bb0(%peer: index):
      // expected-error @+1 {{'xfer.store' op XV103: a part of a result holds something else than its collective defines: on rank 0 part 1 of argument 1 gets argument 0 of rank 0, expected argument 0 of rank 1}}
      xfer.store %tile to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  } consume {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      // expected-error @+1 {{'xfer.store' op XV103: a part of a result holds something else than its collective defines: on rank 0 part 0 of argument 1 gets argument 0 of rank 1, expected argument 0 of rank 0}}
      xfer.store %got to %out part %me chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV103: the contributions are added in the wrong order, so ranks would round differently from the definition.
xfer.kernel @sum_out_of_order group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_reduce {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
    %own = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %all:2 = xfer.contributions %buffer own %own chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f32>
    %sum = xfer.map %all#0, %all#1 {
    ^bb0(%v0: f32, %v1: f32):
      %s = arith.addf %v1, %v0 : f32
      xfer.yield %s : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    // expected-error @+1 {{'xfer.store' op XV103: a part of a result holds something else than its collective defines: on rank 0 the result has argument 0 of rank 0 as addend 1, expected argument 0 of rank 1}}
    xfer.store %sum to %out chunk %c : <f32>, memref<8xf32>
  }
}

// -----

// XV103: one contribution is left out.
xfer.kernel @addend_missing group(<[[0, 1, 2]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_reduce {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
    %own = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %all:3 = xfer.contributions %buffer own %own chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f32>, !xfer.tile<f32>
    %sum = xfer.map %all#0, %all#1, %all#2 {
    ^bb0(%v0: f32, %v1: f32, %v2: f32):
      %s = arith.addf %v0, %v1 : f32
      xfer.yield %s : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    // expected-error @+1 {{'xfer.store' op XV103: a part of a result holds something else than its collective defines: on rank 0 the result has argument 0 of rank 1 as addend 2, expected argument 0 of rank 2}}
    xfer.store %sum to %out chunk %c : <f32>, memref<8xf32>
  }
}

// -----

// XV103: not a sum.
xfer.kernel @product group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_reduce {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
    %own = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %all:2 = xfer.contributions %buffer own %own chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f32>
    %sum = xfer.map %all#0, %all#1 {
    ^bb0(%v0: f32, %v1: f32):
      %s = arith.mulf %v0, %v1 : f32
      xfer.yield %s : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    // expected-error @+1 {{'xfer.store' op XV103: a part of a result holds something else than its collective defines: on rank 0 the result adds 1 contributions by sum, expected 2}}
    xfer.store %sum to %out chunk %c : <f32>, memref<8xf32>
  }
}

// -----

// XV104: an all-gather kernel that says it is an all-reduce.
// expected-error @+1 {{'xfer.kernel' op XV104: the tensors of a kernel do not fit its collective: all_reduce on 2 ranks moves messages of 8 elements, so argument 1 has 8, this one has 16}}
xfer.kernel @wrong_collective group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_reduce {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV105: a result that nobody touches.
// expected-error @+1 {{'xfer.kernel' op XV105: a tensor of a kernel is neither read nor written: argument 2}}
xfer.kernel @unused_tensor group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>, %more: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV106: the result overlaps the input.
func.func @main(%memory: memref<24xf32>) {
  %in = memref.reinterpret_cast %memory to offset: [0], sizes: [8], strides: [1] : memref<24xf32> to memref<8xf32>
  %out = memref.reinterpret_cast %memory to offset: [0], sizes: [16], strides: [1] : memref<24xf32> to memref<16xf32>
  // expected-error @+1 {{'xfer.launch' op XV106: a launch writes memory that another operand of it covers: operand 1 is written and overlaps operand 0}}
  xfer.launch @overlap(%in, %out) : memref<8xf32>, memref<16xf32>
  return
}
xfer.kernel @overlap group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV106: in place, but shifted by one element.
func.func @main(%memory: memref<9xf32>) {
  %in = memref.reinterpret_cast %memory to offset: [0], sizes: [8], strides: [1] : memref<9xf32> to memref<8xf32>
  %out = memref.reinterpret_cast %memory to offset: [1], sizes: [8], strides: [1] : memref<9xf32> to memref<8xf32, strided<[1], offset: 1>>
  // expected-error @+1 {{'xfer.launch' op XV106: a launch writes memory that another operand of it covers: operand 1 is written and overlaps operand 0}}
  xfer.launch @shifted(%in, %out) : memref<8xf32>, memref<8xf32, strided<[1], offset: 1>>
  return
}
xfer.kernel @shifted group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_reduce by sum {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
    %own = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %all:2 = xfer.contributions %buffer own %own chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f32>
    %sum = xfer.map %all#0, %all#1 {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    xfer.store %sum to %out chunk %c : <f32>, memref<8xf32>
  }
}

// -----

// XV106: in place, but what one thread stores of a peer another may not yet have sent to it.
func.func @main(%x: memref<8xf32>) {
  // expected-error @+1 {{'xfer.launch' op XV106: a launch writes memory that another operand of it covers: operand 1 is written and overlaps operand 0}}
  xfer.launch @exchanges(%x, %x) : memref<8xf32>, memref<8xf32>
  return
}
xfer.kernel @exchanges group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_to_all {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %tile = xfer.load %in part %peer chunk %c : memref<8xf32> -> <f32>
      %sent = xfer.put %tile into %buffer peer %peer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    }
    xfer.signal %flags chunk %c
    %me = xfer.own_rank
    %own = xfer.load %in part %me chunk %c : memref<8xf32> -> <f32>
    xfer.store %own to %out part %me chunk %c : <f32>, memref<8xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<8xf32>
    }
  }
}

// -----

// XV106: in place, but what was there is read again behind the store.
func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @+1 {{'xfer.launch' op XV106: a launch writes memory that another operand of it covers: operand 1 is written and overlaps operand 0}}
  xfer.launch @reads_behind(%x, %x, %y) : memref<8xf32>, memref<8xf32>, memref<8xf32>
  return
}
xfer.kernel @reads_behind group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_reduce fused {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>, %more: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
    %own = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %all:2 = xfer.contributions %buffer own %own chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f32>
    %sum = xfer.map %all#0, %all#1 {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      xfer.yield %0 : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    xfer.store %sum to %out chunk %c : <f32>, memref<8xf32>
    %again = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    xfer.store %again to %more chunk %c : <f32>, memref<8xf32>
  }
}

// -----

// XV201: a rank signals itself, so the waits for the others have no signal (and all that follows from it).
// expected-error @+1 {{'xfer.kernel' op XV504: a call can end on a rank before another rank has begun it: rank 0 waits for nothing of rank 1, so it can be two calls ahead and overwrite what rank 1 still reads}}
xfer.kernel @no_signal group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    // expected-error @+1 {{'xfer.signal' op XV202: nobody waits for a signal: rank 0 never waits for chunk 1 of rank 0}}
    xfer.signal %flags peer %me chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      // expected-error @+1 {{'xfer.wait' op XV201: no signal satisfies a wait: rank 0 waits for chunk 0 of rank 1, which never signals rank 0}}
      %here = xfer.wait %flags peer %peer chunk %c
      // expected-error @+1 {{'xfer.consume' op XV502: a read of a symmetric buffer is not ordered after the write that it reads: rank 0 reads chunk 0 of rank 1 in staged buffer 0 without a wait for what rank 1 signals after writing it}}
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV202: the last signal is never waited for: a second one, to oneself.
xfer.kernel @signal_to_oneself group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
    // expected-error @+1 {{'xfer.signal' op XV202: nobody waits for a signal: rank 0 never waits for chunk 1 of rank 0}}
    xfer.signal %flags peer %me chunk %c
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV203: staged data carry no signal.
xfer.kernel @flag_for_lines group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %second = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ll : <f32>, <f32, chunk = 4, slots = 2, parities = 2, lines>
    xfer.signal %flags chunk %c after %sent in_band
    // expected-note @+1 {{the put}}
    %again = xfer.put %tile into %second chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    // expected-error @+1 {{'xfer.signal' op XV203: a signal is in band exactly where its data are LL lines, and this one is not: it is in band, but what is put before it goes to a staged buffer}}
    xfer.signal %flags chunk %c after %again in_band
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, lines> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV203: a signal in band without data.
xfer.kernel @nothing_in_band group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ll : <f32>, <f32, chunk = 4, slots = 2, parities = 2, lines>
    xfer.signal %flags chunk %c after %sent in_band
    // expected-error @+1 {{'xfer.signal' op XV203: a signal is in band exactly where its data are LL lines, and this one is not: it is in band, but nothing is put before it}}
    xfer.signal %flags chunk %c in_band
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, lines> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV204: staged data are waited for in band.
xfer.kernel @waits_in_band group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %flag = xfer.wait %flags peer %peer chunk %c
      // expected-error @+2 {{'xfer.wait' op XV204: a wait is in band exactly where LL lines are read after it, and this one is not: it is in band, but its token guards a staged buffer}}
      // expected-error @+1 {{'xfer.wait' op XV201: no signal satisfies a wait: rank 1 waits for chunk 0 of rank 0, which never signals rank 1 in band}}
      %here = xfer.wait %flags peer %peer chunk %c in_band
      // expected-note @+1 {{the read}}
      %got = xfer.consume %buffer peer %peer chunk %c after %flag, %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV204: a wait in band after which nothing is read.
xfer.kernel @waits_for_no_lines group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ll : <f32>, <f32, chunk = 4, slots = 2, parities = 2, lines>
    xfer.signal %flags chunk %c after %sent in_band
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      // expected-error @+1 {{'xfer.wait' op XV204: a wait is in band exactly where LL lines are read after it, and this one is not: it is in band, but nothing is read after it}}
      %more = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, lines> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV205: a signal for a chunk that lies behind one that has been signalled.
xfer.kernel @signals_backwards group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 1, slots = 4, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 4, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 4, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    // expected-error @+1 {{'xfer.signal' op XV205: a flag gets a smaller value than it had: rank 0 sets its flag on rank 1 to 1 chunks after 2}}
    xfer.signal %flags chunk %c
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 4, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV206: the signal does not name the put.
xfer.kernel @put_not_named group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    // expected-note @+1 {{the put}}
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    // expected-error @+1 {{'xfer.signal' op XV206: a signal does not name the token of a put that it publishes: its operands after `after` must include the token of each put before it}}
    xfer.signal %flags chunk %c
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV206: a signal to each peer does not name the put to all of them.
xfer.kernel @put_not_named_in_loop group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    // expected-note @+1 {{the put}}
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.for_peers {
    ^bb0(%peer: index):
      // expected-error @+1 {{'xfer.signal' op XV206: a signal does not name the token of a put that it publishes: its operands after `after` must include the token of each put before it}}
      xfer.signal %flags peer %peer chunk %c
    }
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV207: pushed after the signal.
xfer.kernel @put_after_signal group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    xfer.signal %flags chunk %c
    // expected-error @+1 {{'xfer.put' op XV207: no signal publishes a put: no xfer.signal comes after it in its region}}
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      // expected-error @+1 {{'xfer.consume' op XV502: a read of a symmetric buffer is not ordered after the write that it reads: rank 1 reads chunk 0 of rank 0 in staged buffer 0 without a wait for what rank 0 signals after writing it}}
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV301: each rank waits for the others before it pushes.
xfer.kernel @wait_before_push group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      // expected-error @+1 {{'xfer.wait' op XV301: ranks wait for each other: rank 0 waits for chunk 0 of rank 1, rank 1 waits for chunk 0 of rank 0}}
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  } consume {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  }
}

// -----

// XV301 on three ranks: each signals the next one only when the one before it has signalled, in rotated order.
xfer.kernel @wait_before_push_3 group(<[[0, 1, 2]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<24xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      // expected-error @+1 {{'xfer.wait' op XV301: ranks wait for each other: rank 0 waits for chunk 0 of rank 1, rank 1 waits for chunk 0 of rank 2, rank 2 waits for chunk 0 of rank 0}}
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<24xf32>
    }
  } consume {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<24xf32>
  }
}

// -----

// XV401: a grid that cannot be resident while it waits.
// expected-error @+1 {{'xfer.kernel' op XV401: more blocks wait than can be resident at once: 133 blocks of 32 threads wait, 132 are certain to be resident (1 on each of 132 multiprocessors)}}
xfer.kernel @too_many_waiting group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 133, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV401: the target has fewer multiprocessors.
module attributes {xfer.sms = 16 : i64} {
// expected-error @+1 {{'xfer.kernel' op XV401: more blocks wait than can be resident at once: 33 blocks of 1024 threads wait, 32 are certain to be resident (2 on each of 16 multiprocessors)}}
xfer.kernel @small_device group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 33, threads = 1024, chunk = 16, depth = 0, slots = 2, unroll = 1, per_sm = 2>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}
}

// -----

// A target without multiprocessors.
// expected-error @+1 {{attribute xfer.sms must be positive, got: 0}}
module attributes {xfer.sms = 0 : i64} {
}

// -----

// XV402: more blocks than flags.
// expected-error @+2 {{'xfer.kernel' op XV401: more blocks wait than can be resident at once: 257 blocks of 32 threads wait, 132 are certain to be resident (1 on each of 132 multiprocessors)}}
// expected-error @+1 {{'xfer.kernel' op XV402: more blocks than a channel has flags for: it has 257, there are 256}}
xfer.kernel @too_many_blocks group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 257, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV403: lines that are not packed hold half as many bytes of data.
xfer.kernel @lines_too_long group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 32, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<196612xf32>, %out: memref<393224xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %flags = xfer.flags : !xfer.flags
  // expected-error @+1 {{'xfer.pipeline' op XV403: a message does not fit its LL lines: 196612 elements of 4 bytes need 1572896 bytes of lines per rank, there are 1572864}}
  xfer.pipeline 196612 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<196612xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ll : <f32>, <f32, chunk = 4, slots = 2, parities = 2, lines>
    xfer.signal %flags chunk %c after %sent in_band
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<393224xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, lines> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<393224xf32>
    }
  }
}

// -----

// XV406: chunks of packed lines are whole groups of 32 vectors of 48 bytes.
xfer.kernel @group_cut group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 32, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<768xf32>, %out: memref<1536xf32>):
  // expected-note @+1 {{the buffer}}
  %buffer = xfer.symm_buffer : <f32, chunk = 384, slots = 2, parities = 2, lines>
  %flags = xfer.flags : !xfer.flags
  // expected-error @+1 {{'xfer.pipeline' op XV406: a chunk does not fit the buffer that it goes through: a chunk of 16 bytes cuts a group of packed lines, which carries 1536 bytes: it must be a multiple of that}}
  xfer.pipeline 768 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<768xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ll : <f32>, <f32, chunk = 384, slots = 2, parities = 2, lines>
    xfer.signal %flags chunk %c after %sent in_band
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<1536xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 384, slots = 2, parities = 2, lines> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<1536xf32>
    }
  }
}

// -----

// XV404: staging that no arena holds.
// expected-error @+1 {{'xfer.kernel' op XV404: the staging buffers do not fit the arena: they need 268435456 bytes per parity, an arena of 268435456 has 131037184}}
xfer.kernel @staging_too_large group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 16777216, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 16777216, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 16777216, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV404: numbers that do not fit 64 bits are as large as they can be.
// expected-error @+1 {{'xfer.kernel' op XV404: the staging buffers do not fit the arena: they need 9223372036854775807 bytes per parity, an arena of 268435456 has 131037184}}
xfer.kernel @staging_overflows group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4611686018427387904, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4611686018427387904, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4611686018427387904, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV405: 2^24 chunks in one block.
xfer.kernel @too_many_chunks group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<67108864xf32>, %out: memref<134217728xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  // expected-error @+1 {{'xfer.pipeline' op XV405: more chunks than a flag can count: block 0 has 16777216 chunks, a flag counts to 16777215}}
  xfer.pipeline 67108864 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<67108864xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<134217728xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<134217728xf32>
    }
  }
}

// -----

// XV406: a chunk larger than its slot.
xfer.kernel @chunk_too_large group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  // expected-note @+1 {{the buffer}}
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  // expected-error @+1 {{'xfer.pipeline' op XV406: a chunk does not fit the buffer that it goes through: a chunk of 8 elements does not fit a slot of 4}}
  xfer.pipeline 8 by 8 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV406: a chunk of 12 bytes.
xfer.kernel @chunk_of_12_bytes group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  // expected-error @+1 {{'xfer.pipeline' op XV406: a chunk does not fit the buffer that it goes through: a chunk of 3 elements of 4 bytes is no multiple of 16 bytes}}
  xfer.pipeline 8 by 3 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV406: a schedule that uses more slots than there are.
xfer.kernel @too_few_slots group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 3, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<16xf32>, %out: memref<32xf32>):
  // expected-note @+1 {{the buffer}}
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  // expected-error @+1 {{'xfer.pipeline' op XV406: a chunk does not fit the buffer that it goes through: the schedule uses 3 slots, the buffer has 2}}
  xfer.pipeline 16 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<16xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<32xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<32xf32>
    }
  }
}

// -----

// XV407: the messages of two phases do not fit together.
// expected-error @+1 {{'xfer.kernel' op XV407: several buffers do not fit the LL lines of a channel together: 2 need 2097152 bytes of lines per rank, there are 1572864}}
xfer.kernel @two_line_buffers group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) fused {
^bb0(%in: memref<131072xf32>, %out: memref<262144xf32>, %more: memref<262144xf32>):
  %other = xfer.symm_buffer : <f32, chunk = 4, slots = 1, parities = 2, lines>
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 1, parities = 2, lines>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 131072 by 4 implements all_gather produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<131072xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ll : <f32>, <f32, chunk = 4, slots = 1, parities = 2, lines>
    xfer.signal %flags chunk %c after %sent in_band
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<262144xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 1, parities = 2, lines> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<262144xf32>
    }
  }
  xfer.pipeline 131072 by 4 implements all_gather produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<131072xf32> -> <f32>
    %sent = xfer.put %tile into %other chunk %c by ll : <f32>, <f32, chunk = 4, slots = 1, parities = 2, lines>
    xfer.signal %flags chunk %c after %sent in_band
    xfer.store %tile to %more part %me chunk %c : <f32>, memref<262144xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %other peer %peer chunk %c after %here : <f32, chunk = 4, slots = 1, parities = 2, lines> -> <f32>
      xfer.store %got to %more part %peer chunk %c : <f32>, memref<262144xf32>
    }
  }
}

// -----

// XV408: a group larger than a channel.
// expected-error @+1 {{'xfer.kernel' op XV408: more ranks than a channel has room for: its group has 65, there is room for 64}}
xfer.kernel @too_many_ranks group(<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<520xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<520xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<520xf32>
    }
  }
}

// -----

// XV501: the read does not name the wait.
xfer.kernel @no_token group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      // expected-error @+1 {{'xfer.consume' op XV501: a read of a symmetric buffer does not name the wait that makes it legal: `after` must name a wait of this band for this chunk of the same peer, or of all peers}}
      %got = xfer.consume %buffer peer %peer chunk %c : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV501: the read names a wait for the own rank only (and the signal to oneself is there).
xfer.kernel @token_of_other_rank group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
    xfer.signal %flags peer %me chunk %c
  } consume {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %mine = xfer.wait %flags peer %me chunk %c
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      // expected-error @+1 {{'xfer.consume' op XV501: a read of a symmetric buffer does not name the wait that makes it legal: `after` must name a wait of this band for this chunk of the same peer, or of all peers}}
      %got = xfer.consume %buffer peer %peer chunk %c after %mine : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV502: the first of two signals satisfies the wait, the second one publishes the data.
xfer.kernel @signalled_too_early group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    xfer.signal %flags chunk %c
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      // expected-error @+1 {{'xfer.consume' op XV502: a read of a symmetric buffer is not ordered after the write that it reads: rank 1 reads chunk 0 of rank 0 in staged buffer 0 without a wait for what rank 0 signals after writing it}}
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV503: a ring of 2 * depth + 1 slots is one too short.
xfer.kernel @ring_too_short group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 1, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.put' op XV503: a slot is written again before it has been read: rank 1 writes chunk 1 into slot 0 of buffer 0 on rank 0, which may still read chunk 0 there}}
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 1, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      // expected-note @+1 {{the read that is not ordered before it}}
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 1, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV503 with a push that runs one chunk ahead.
xfer.kernel @ring_too_short_ahead group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 1, slots = 3, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<16xf32>, %out: memref<32xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 3, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 16 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<16xf32> -> <f32>
    // expected-error @+1 {{'xfer.put' op XV503: a slot is written again before it has been read: rank 1 writes chunk 3 into slot 0 of buffer 0 on rank 0, which may still read chunk 0 there}}
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 3, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<32xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      // expected-note @+1 {{the read that is not ordered before it}}
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 3, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<32xf32>
    }
  }
}

// -----

// XV504: an empty message has no LL lines, so nobody waits for anybody.
// expected-error @+1 {{'xfer.kernel' op XV504: a call can end on a rank before another rank has begun it: rank 0 waits for nothing of rank 1, so it can be two calls ahead and overwrite what rank 1 still reads}}
xfer.kernel @empty_lines group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<0xf32>, %out: memref<0xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 0 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<0xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ll : <f32>, <f32, chunk = 4, slots = 2, parities = 2, lines>
    xfer.signal %flags chunk %c after %sent in_band
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<0xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, lines> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<0xf32>
    }
  }
}

// -----

// XV505: with one parity the next call may begin while a peer still reads.
xfer.kernel @one_parity group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  // expected-error @+1 {{'xfer.symm_buffer' op XV505: the next call can overwrite a buffer of one parity while it is read: rank 0 can begin its next call while rank 1 reads chunk 1 of rank 0 in buffer 0}}
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 1, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 1, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      // expected-note @+1 {{the read}}
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 1, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV506: a second buffer that is read but not written.
xfer.kernel @reads_other_buffer group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %other = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      // expected-error @+1 {{'xfer.consume' op XV506: a read of a slot that nobody writes: rank 1 reads chunk 0 of rank 0 in staged buffer 0, which rank 0 never writes there}}
      %got = xfer.consume %other peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      // expected-error @+1 {{'xfer.store' op XV103: a part of a result holds something else than its collective defines: on rank 0 part 1 of argument 1 gets an unwritten slot of rank 1, expected argument 0 of rank 1}}
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV507: a chunk is pushed twice.
xfer.kernel @pushed_twice group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    // expected-error @+1 {{'xfer.put' op XV507: a chunk is pushed more than once into the same slot: rank 0 writes chunk 0 in buffer 0 on rank 1 again in the same call}}
    %again = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent, %again
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<16xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// XV107: a message that begins behind its tensor's last elements.
// expected-remark @+1 {{contributions were not checked}}
xfer.kernel @outside group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %at = xfer.table [0, 5] at %me
    // expected-error @+1 {{'xfer.load' op XV107: a message does not lie in its tensor: on rank 1 it accesses elements 5 to 9 of argument 0, which has 8}}
    %tile = xfer.load %in at %at chunk %c : memref<8xf32> -> <f32>
    %put = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %put
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %at = xfer.table [0, 4] at %peer
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out at %at chunk %c : <f32>, memref<8xf32>
    }
  }
}

// -----

// XV108: a message that is longer than what the chunks cover.
// expected-remark @+1 {{contributions were not checked}}
xfer.kernel @too_long group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %count = xfer.table [4, 8] at %me
    // expected-error @+1 {{'xfer.clip' op XV108: a message is longer than the chunks of its pipeline: on rank 1 it has 8 elements, the chunks of the pipeline cover 4}}
    %piece = xfer.clip %c to %count
    %tile = xfer.load %in chunk %piece : memref<8xf32> -> <f32>
    xfer.store %tile to %out chunk %piece : <f32>, memref<8xf32>
    xfer.signal %flags chunk %c
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
  }
}

// -----

// XV109: rank 1 sends 8 elements of a tensor of 4.
func.func @main(%small: memref<4xf32>, %all: memref<12xf32>) {
  // expected-error @+1 {{'xfer.launch' op XV109: a launch gives a tensor that is smaller than what the kernel accesses: on rank 1 the kernel accesses elements 0 to 8 of operand 0, which has 4}}
  xfer.launch @uneven(%small, %all) : memref<4xf32>, memref<12xf32>
  return
}
xfer.kernel @uneven group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 32, depth = 0, slots = 2, unroll = 1>)
    implements all_gather counts [4, 8] {
^bb0(%in: memref<?xf32>, %out: memref<?xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 8, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 8 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %count = xfer.table [4, 8] at %me
    %offset = xfer.table [0, 4] at %me
    %piece = xfer.clip %c to %count
    %tile = xfer.load %in chunk %piece : memref<?xf32> -> <f32>
    %put = xfer.put %tile into %buffer chunk %piece by ldst : <f32>, <f32, chunk = 8, slots = 2, parities = 2, staged>
    xfer.store %tile to %out at %offset chunk %piece : <f32>, memref<?xf32>
    xfer.signal %flags chunk %c after %put
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %count = xfer.table [4, 8] at %peer
      %offset = xfer.table [0, 4] at %peer
      %piece = xfer.clip %c to %count
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %piece after %here : <f32, chunk = 8, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out at %offset chunk %piece : <f32>, memref<?xf32>
    }
  }
}

// -----

// XV601: a transfer without barriers around it, and a launch without a transfer.
func.func @main(%in: memref<4xf32>, %out: memref<8xf32>) {
  // expected-error @+1 {{'xfer.transfer' op XV601: a kernel whose puts are copies does not stand between its transfer and barriers: it must stand between a barrier of its group and the launch of its kernel, with another barrier behind that}}
  xfer.transfer @copied(%in) in <[[0, 1]]> calls [#xfer.call<function = message, count = 4, dest = 1>,
    #xfer.call<function = message, count = 4, to_offset = 4, source = 1>] : memref<4xf32>
  xfer.launch @copied(%in, %out) : memref<4xf32>, memref<8xf32>
  // expected-error @+1 {{'xfer.launch' op XV601: a kernel whose puts are copies does not stand between its transfer and barriers: its kernel's puts are copies, and no transfer of that kernel comes before it}}
  xfer.launch @copied(%in, %out) : memref<4xf32>, memref<8xf32>
  return
}
xfer.kernel @copied group(<[[0, 1]]>) schedule(<mechanism = copy_engine, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_gather {
^bb0(%in: memref<4xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 1, parities = 1, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<4xf32> -> <f32>
    %put = xfer.put %tile into %buffer chunk %c by copy_engine : <f32>, <f32, chunk = 4, slots = 1, parities = 1, staged>
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<8xf32>
    xfer.signal %flags chunk %c after %put
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 1, parities = 1, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<8xf32>
    }
  }
}

// -----

// XV602: rank 1 copies into the slot of rank 0.
func.func @main(%in: memref<4xf32>, %out: memref<8xf32>) {
  xfer.launch @meet()
  // expected-error @+1 {{'xfer.transfer' op XV602: a transfer moves something else than the puts of its kernel: the message of rank 1 for rank 0 must be elements 0 to 4 of operand 0, to element 4}}
  xfer.transfer @copied(%in) in <[[0, 1]]> calls [#xfer.call<function = message, count = 4, dest = 1>,
    #xfer.call<function = message, count = 4, source = 1>] : memref<4xf32>
  xfer.launch @copied(%in, %out) : memref<4xf32>, memref<8xf32>
  xfer.launch @meet()
  return
}
xfer.kernel @meet group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 64, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements barrier {
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 0 by 16 produce {
  ^bb0(%c: !xfer.chunk):
    xfer.signal %flags chunk %c
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
  }
}
// expected-note @+1 {{the kernel}}
xfer.kernel @copied group(<[[0, 1]]>) schedule(<mechanism = copy_engine, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_gather {
^bb0(%in: memref<4xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 1, parities = 1, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<4xf32> -> <f32>
    %put = xfer.put %tile into %buffer chunk %c by copy_engine : <f32>, <f32, chunk = 4, slots = 1, parities = 1, staged>
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<8xf32>
    xfer.signal %flags chunk %c after %put
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 1, parities = 1, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<8xf32>
    }
  }
}

// -----

// XV409: all is in order, but the machine of this mesh has no copy engines.
module attributes {comm.mesh = #comm.mesh<size = 2, link = nvlink>} {
func.func @main(%in: memref<4xf32>, %out: memref<8xf32>) {
  xfer.launch @meet()
  xfer.transfer @copied(%in) in <[[0, 1]]> calls [#xfer.call<function = message, count = 4, dest = 1>,
    #xfer.call<function = message, count = 4, to_offset = 4, source = 1>] : memref<4xf32>
  xfer.launch @copied(%in, %out) : memref<4xf32>, memref<8xf32>
  xfer.launch @meet()
  return
}
xfer.kernel @meet group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 64, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements barrier {
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 0 by 16 produce {
  ^bb0(%c: !xfer.chunk):
    xfer.signal %flags chunk %c
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
  }
}
// expected-error @+1 {{'xfer.kernel' op XV409: a mechanism cannot carry out what it is asked for: copy_engine is not legal for it: the machine has no copy engines}}
xfer.kernel @copied group(<[[0, 1]]>) schedule(<mechanism = copy_engine, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_gather {
^bb0(%in: memref<4xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 1, parities = 1, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<4xf32> -> <f32>
    %put = xfer.put %tile into %buffer chunk %c by copy_engine : <f32>, <f32, chunk = 4, slots = 1, parities = 1, staged>
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<8xf32>
    xfer.signal %flags chunk %c after %put
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 1, parities = 1, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<8xf32>
    }
  }
}
}

// -----

// XV409: the library adds up no 16-bit integers.
func.func @main(%in: memref<4xi16>, %out: memref<4xi16>) {
  // expected-error @+1 {{'xfer.library_call' op XV409: a mechanism cannot carry out what it is asked for: nccl is not legal for it: it has no sum of i16}}
  xfer.library_call nccl (%in, %out) in <[[0, 1]]> reduce sum calls [#xfer.call<function = all_reduce, count = 4, to = 1>] : memref<4xi16>, memref<4xi16>
  return
}

// -----

// XV001: a window that reaches behind its argument.
xfer.kernel @window_outside group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) fused {
^bb0(%in: memref<8xf32>, %out: memref<16xf32>):
  %right = memref.reinterpret_cast %in to offset: [2], sizes: [2, 3], strides: [3, 1] : memref<8xf32> to memref<2x3xf32, strided<[3, 1], offset: 2>>
  // expected-error @+1 {{'memref.reinterpret_cast' op XV001: an operation or a rank that the proof does not understand: a window must lie in its argument, which must be contiguous, both of static layout}}
  %behind = memref.reinterpret_cast %in to offset: [3], sizes: [2, 3], strides: [3, 1] : memref<8xf32> to memref<2x3xf32, strided<[3, 1], offset: 3>>
}

// -----

// XV001: a window of an argument whose pointer is not that of its memory.
xfer.kernel @window_of_a_window group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) fused {
^bb0(%in: memref<8xf32, strided<[1], offset: 4>>, %out: memref<16xf32>):
  // expected-error @+1 {{'memref.reinterpret_cast' op XV001: an operation or a rank that the proof does not understand: a window must lie in its argument, which must be contiguous, both of static layout}}
  %first = memref.reinterpret_cast %in to offset: [4], sizes: [4], strides: [1] : memref<8xf32, strided<[1], offset: 4>> to memref<4xf32, strided<[1], offset: 4>>
}
