// RUN: pkb-opt %s -split-input-file -pkb-verify-xfer -verify-diagnostics
// RUN: pkb-opt %s -split-input-file -pkb-verify-xfer | FileCheck %s
// RUN: pkb-opt %s -split-input-file | FileCheck %s

// Right programs pass, and the gate changes nothing. Those that the lowering makes are proved in verify-xfer-lowered.mlir.

// All-gather by staged pushes: two chunks, two slots, no push ahead.
// CHECK-LABEL: xfer.kernel @gather
xfer.kernel @gather group(<[[0, 1]]>)
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

// All-gather by LL lines.
// CHECK-LABEL: xfer.kernel @gather_lines
xfer.kernel @gather_lines group(<[[0, 1]]>)
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
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, lines> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}

// -----

// A ring of 2 * depth + 2 slots needs no credits, however long the message is.
// CHECK-LABEL: xfer.kernel @ring
xfer.kernel @ring group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 2, slots = 6, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<400xf32>, %out: memref<800xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 6, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 400 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<400xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 6, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<800xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 6, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<800xf32>
    }
  }
}

// -----

// As many slots as chunks: nothing is reused, so the push may run far ahead.
// CHECK-LABEL: xfer.kernel @no_reuse
xfer.kernel @no_reuse group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 9, slots = 4, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<16xf32>, %out: memref<32xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 4, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 16 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<16xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 4, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<32xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 4, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<32xf32>
    }
  }
}

// -----

// An empty message still signals, so staged calls stay in step.
// CHECK-LABEL: xfer.kernel @empty
xfer.kernel @empty group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<0xf32>, %out: memref<0xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 0 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<0xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out part %me chunk %c : <f32>, memref<0xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<0xf32>
    }
  }
}

// -----

// One rank has nobody to wait for.
// CHECK-LABEL: xfer.kernel @alone
xfer.kernel @alone group(<[[0]]>)
    schedule(<mechanism = ldst, blocks = 200, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
    implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
    xfer.store %tile to %out chunk %c : <f32>, memref<8xf32>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out chunk %c : <f32>, memref<8xf32>
    }
  }
}

// -----

// Rows are alike: each row is a group of its own.
// CHECK-LABEL: xfer.kernel @rows
xfer.kernel @rows group(<[[0, 2], [1, 3]]>)
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

// Blocks without a chunk neither signal nor wait.
// CHECK-LABEL: xfer.kernel @idle_blocks
xfer.kernel @idle_blocks group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 100, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>)
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

// Two blocks of 1024 threads on each multiprocessor.
// CHECK-LABEL: xfer.kernel @two_per_sm
module attributes {xfer.sms = 16 : i64} {
xfer.kernel @two_per_sm group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 32, threads = 1024, chunk = 16, depth = 0, slots = 2, unroll = 1, per_sm = 2>)
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

// A kernel that promises nothing: its contributions are not checked, its order is.
// CHECK-LABEL: xfer.kernel @promises_nothing
// expected-remark @+1 {{contributions were not checked, for the kernel does not say which collective it implements}}
xfer.kernel @promises_nothing group(<[[0, 1]]>)
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
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f32>
      xfer.store %got to %out part %peer chunk %c : <f32>, memref<16xf32>
    }
  }
}
