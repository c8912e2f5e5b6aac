// RUN: pkb-opt %s -split-input-file -pkb-verify-xfer -pkb-convert-xfer-to-cuda -pkb-verify-cuda-emittable | FileCheck %s
// A second run has nothing left to convert.
// RUN: pkb-opt %s -split-input-file -pkb-convert-xfer-to-cuda -pkb-convert-xfer-to-cuda | FileCheck %s

// An all-gather by flags, without a push ahead. Bytes are moved, for nothing is computed. All threads' stores come before the one release; what the
// acquiring threads have seen, all see after the barrier.
// CHECK-LABEL: func.func @main
// CHECK: cuda.launch @staged(%{{.*}}, %{{.*}}) : memref<40xbf16>, memref<80xbf16>
func.func @main(%x: memref<40xbf16>, %y: memref<80xbf16>) {
  xfer.launch @staged(%x, %y) : memref<40xbf16>, memref<80xbf16>
  return
}
// Two halves of 2 ranks x 2 blocks x 2 slots x 32 bytes (and a line each) after flags and LL lines.
// CHECK: cuda.kernel @staged attributes {blocks = 2 : i64,
// CHECK-SAME: mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64, pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361856 : i64,
// CHECK-SAME: sent_bytes = 80 : i64,
// CHECK-SAME: threads = 64 : i64
// CHECK: %[[TICKET:.*]] = cuda.epoch_begin site 1
// CHECK: %[[ME:.*]] = cuda.rank
// CHECK: %[[BLOCK:.*]] = cuda.block_index
// CHECK: %[[CHUNKS:.*]] = arith.constant 3 : index
// CHECK: %[[BLOCKS:.*]] = arith.constant 2 : index
// CHECK: %[[MINE:.*]] = cuda.chunk_count %[[CHUNKS]], %[[BLOCK]], %[[BLOCKS]]
// CHECK: scf.for %[[STEP:.*]] = %{{.*}} to %[[MINE]]
// CHECK-NOT: scf.if
// CHECK: %[[SKIPPED:.*]] = arith.muli %[[STEP]],
// CHECK: %[[NUMBER:.*]] = arith.addi %[[SKIPPED]], %[[BLOCK]]
// CHECK: %[[CHUNK:.*]] = arith.constant 32 : index
// CHECK: %[[START:.*]] = arith.muli %[[NUMBER]], %[[CHUNK]]
// CHECK: %[[ALL:.*]] = arith.constant 80 : index
// CHECK: %[[LEFT:.*]] = arith.subi %[[ALL]], %[[START]]
// CHECK: %[[LENGTH:.*]] = arith.minsi %[[LEFT]], %{{.*}}
// CHECK: %[[SLOT:.*]] = arith.remui %[[STEP]], %{{.*}}
// A thread has one vector at most: it waits for the epoch, on which the place in the region depends, behind its load.
// CHECK: %[[COUNT:.*]] = cuda.vectors %[[LENGTH]] of 16
// CHECK-NOT: cuda.epoch %
// CHECK: cuda.for_each once %[[COUNT]] unroll 2 load {
// CHECK: %[[V:.*]] = cuda.load %{{.*}}[%{{.*}}] length %[[LENGTH]] : vector<16xi8>
// CHECK: cuda.yield %[[V]]
// CHECK: } store {
// CHECK: (%{{.*}}: index, %[[V:.*]]: vector<16xi8>):
// CHECK: %[[NOW:.*]] = cuda.epoch %[[TICKET]]
// CHECK: %[[PARITY:.*]] = arith.andi %[[NOW]],
// CHECK: %[[HALF:.*]] = cuda.staging %[[PARITY]]
// CHECK: %[[THERE:.*]] = cuda.region %[[PEER:[^,]*]], %{{.*}}
// CHECK: cuda.store_peer %[[V]] to %[[THERE]]
// The own part goes to its place in the result in the same loop.
// CHECK: cuda.store %[[V]] to %{{.*}} length %[[LENGTH]]
// CHECK: cuda.block_barrier site 2
// CHECK: %[[ONE:.*]] = arith.addi %[[STEP]], %{{.*}}
// CHECK: %[[EPOCH:.*]] = cuda.epoch %[[TICKET]]
// CHECK: %[[MARK:.*]] = cuda.flag_value %[[EPOCH]], %[[ONE]]
// CHECK: cuda.signal %{{.*}} block %[[BLOCK]] value %[[MARK]] site 3
// CHECK: %[[AGAIN:.*]] = arith.addi %[[STEP]], %{{.*}}
// CHECK: %[[WANTED:.*]] = cuda.flag_value %{{.*}}, %[[AGAIN]]
// CHECK: cuda.wait %{{.*}} block %[[BLOCK]] value %[[WANTED]] site 4
// CHECK: cuda.block_barrier site 5
// CHECK: %[[HERE:.*]] = cuda.region %[[ME]],
// CHECK: cuda.load_staged %[[HERE]]
// CHECK: cuda.store
// CHECK: cuda.epoch_end %{{.*}} site 6
xfer.kernel @staged group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 0, slots = 2, unroll = 2>) implements all_gather {
^bb0(%in: memref<40xbf16>, %out: memref<80xbf16>):
  %buffer = xfer.symm_buffer : <bf16, chunk = 16, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 40 by 16 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %tile = xfer.load %in chunk %c : memref<40xbf16> -> <bf16>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <bf16>, <bf16, chunk = 16, slots = 2, parities = 2, staged>
    xfer.store %tile to %out part %me chunk %c : <bf16>, memref<80xbf16>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <bf16, chunk = 16, slots = 2, parities = 2, staged> -> <bf16>
      xfer.store %got to %out part %peer chunk %c : <bf16>, memref<80xbf16>
    }
  }
}

// -----

// A sum of four ranks with a push two chunks ahead: vectors have the element type, and the contributions are put into rank order without a branch.
// CHECK-LABEL: cuda.kernel @sum
// CHECK: %[[ME:.*]] = cuda.rank
// CHECK: %[[MINE:.*]] = cuda.chunk_count
// CHECK: %[[STEPS:.*]] = arith.addi %[[MINE]], %{{.*}}
// CHECK: scf.for %[[STEP:.*]] = %{{.*}} to %[[STEPS]]
// CHECK: %[[PUSHES:.*]] = arith.cmpi slt, %[[STEP]], %[[MINE]]
// CHECK: scf.if %[[PUSHES]] {
// CHECK-COUNT-3: cuda.store_peer
// CHECK: cuda.block_barrier
// CHECK: scf.for %[[D:.*]] = %{{.*}} to %[[W:.*]] step
// CHECK: %[[SUM:.*]] = arith.addi %[[ME]], %[[D]]
// CHECK: %[[PEER:.*]] = arith.remui %[[SUM]],
// CHECK: cuda.signal %[[PEER]]
// CHECK: %[[DEPTH:.*]] = arith.constant 2 : index
// CHECK: %[[CONSUMES:.*]] = arith.cmpi sge, %[[STEP]], %[[DEPTH]]
// CHECK: %[[BEHIND:.*]] = arith.subi %[[STEP]], %{{.*}}
// CHECK: scf.if %[[CONSUMES]] {
// CHECK: arith.muli %[[BEHIND]], %{{.*}}
// CHECK: cuda.wait
// CHECK: cuda.block_barrier
// CHECK: %[[OWN:.*]] = cuda.load %{{.*}} : vector<4xf32>
// CHECK: %[[O0:.*]] = cuda.load_staged
// CHECK: %[[O1:.*]] = cuda.load_staged
// CHECK: %[[O2:.*]] = cuda.load_staged
// Rank 0 is this rank, or the first other one.
// CHECK: %[[IS0:.*]] = arith.cmpi slt, %{{.*}}, %[[ME]]
// CHECK: %[[C0:.*]] = arith.select %[[IS0]], %[[O0]], %[[OWN]]
// Rank 1 is the second other one if it comes before this rank, the first if it comes after, else this rank.
// CHECK: %[[BEFORE:.*]] = arith.cmpi slt, %{{.*}}, %[[ME]]
// CHECK: %[[T1:.*]] = arith.select %[[BEFORE]], %[[O1]], %[[OWN]]
// CHECK: %[[AFTER:.*]] = arith.cmpi sgt, %{{.*}}, %[[ME]]
// CHECK: %[[C1:.*]] = arith.select %[[AFTER]], %[[O0]], %[[T1]]
// CHECK: arith.select %{{.*}}, %[[O2]], %[[OWN]]
// CHECK: %[[C2:.*]] = arith.select %{{.*}}, %[[O1]],
// CHECK: %[[C3:.*]] = arith.select %{{.*}}, %[[O2]], %[[OWN]]
// CHECK: %[[S1:.*]] = arith.addf %[[C0]], %[[C1]] : vector<4xf32>
// CHECK: %[[S2:.*]] = arith.addf %[[S1]], %[[C2]] : vector<4xf32>
// CHECK: %[[S3:.*]] = arith.addf %[[S2]], %[[C3]] : vector<4xf32>
// CHECK: cuda.yield %[[S3]]
// CHECK: cuda.store
func.func @main() {
  return
}
xfer.kernel @sum group(<[[0, 1, 2, 3]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 2, slots = 6, unroll = 1>) implements all_reduce {
^bb0(%in: memref<100xf32>, %out: memref<100xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 8, slots = 6, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 100 by 8 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<100xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 8, slots = 6, parities = 2, staged>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
    %own = xfer.load %in chunk %c : memref<100xf32> -> <f32>
    %all:4 = xfer.contributions %buffer own %own chunk %c after %here : <f32, chunk = 8, slots = 6, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f32>, !xfer.tile<f32>, !xfer.tile<f32>
    %sum = xfer.map %all#0, %all#1, %all#2, %all#3 {
    ^bb0(%a: f32, %b: f32, %d: f32, %e: f32):
      %0 = arith.addf %a, %b : f32
      %1 = arith.addf %0, %d : f32
      %2 = arith.addf %1, %e : f32
      xfer.yield %2 : f32
    } : (!xfer.tile<f32>, !xfer.tile<f32>, !xfer.tile<f32>, !xfer.tile<f32>) -> !xfer.tile<f32>
    xfer.store %sum to %out chunk %c : <f32>, memref<100xf32>
  }
}

// -----

// LL lines carry the signal themselves: no flag, no barrier inside the call. Lists are pointers that follow one another.
// CHECK-LABEL: cuda.kernel @lines
// CHECK-NOT: cuda.block_barrier
// CHECK-NOT: cuda.signal
// CHECK-NOT: cuda.wait
// CHECK: %[[TICKET:.*]] = cuda.epoch_begin site 1
// CHECK: %[[ME:.*]] = cuda.rank
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[PEER:.*]] = arith.remui
// CHECK: %[[IN:.*]] = arith.addi %{{.*}}, %[[PEER]]
// CHECK: cuda.pointer %[[IN]]
// CHECK: cuda.for_each once
// CHECK: } store {
// CHECK: %[[NOW:.*]] = cuda.epoch %[[TICKET]]
// CHECK: %[[PARITY:.*]] = arith.andi %[[NOW]],
// CHECK: %[[LINES:.*]] = cuda.ll_slot %[[PARITY]], %[[ME]]
// CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %{{.*}}
// CHECK: %[[OFFSET:.*]] = arith.addi %[[LINES]], %[[BYTES]]
// CHECK: %[[THERE:.*]] = cuda.region %[[PEER]], %[[OFFSET]]
// CHECK: %[[EPOCH:.*]] = cuda.epoch %[[TICKET]]
// CHECK: cuda.store_ll %{{.*}} to %[[THERE]][%{{.*}}] epoch %[[EPOCH]] site 2
// CHECK: cuda.store
// CHECK: scf.for
// CHECK: %[[FROM:.*]] = arith.remui
// CHECK: %[[AGAIN:.*]] = cuda.epoch %[[TICKET]]
// CHECK: %[[SAME:.*]] = arith.andi %[[AGAIN]],
// CHECK: %[[THEIRS:.*]] = cuda.ll_slot %[[SAME]], %[[FROM]]
// CHECK: %[[HERE:.*]] = cuda.region %[[ME]],
// CHECK: cuda.load_ll %[[HERE]][%{{.*}}] epoch %{{.*}} site 3
// CHECK-NOT: cuda.block_barrier
// CHECK: cuda.epoch_end %{{.*}} site 4
func.func @main() {
  return
}
xfer.kernel @lines group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 1, threads = 64, chunk = 32, depth = 0, slots = 1, unroll = 1>) implements all_to_all {
^bb0(%in0: memref<40xi16>, %in1: memref<40xi16>, %out0: memref<40xi16>, %out1: memref<40xi16>):
  %buffer = xfer.symm_buffer : <i16, chunk = 16, slots = 1, parities = 2, lines>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 40 by 16 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    xfer.for_peers {
    ^bb0(%peer: index):
      %in = xfer.select %peer of %in0, %in1 : memref<40xi16>, memref<40xi16> -> memref<40xi16>
      %tile = xfer.load %in chunk %c : memref<40xi16> -> <i16>
      %sent = xfer.put %tile into %buffer peer %peer chunk %c by ll : <i16>, <i16, chunk = 16, slots = 1, parities = 2, lines>
    }
    xfer.signal %flags chunk %c in_band
    %in = xfer.select %me of %in0, %in1 : memref<40xi16>, memref<40xi16> -> memref<40xi16>
    %own = xfer.load %in chunk %c : memref<40xi16> -> <i16>
    %out = xfer.select %me of %out0, %out1 : memref<40xi16>, memref<40xi16> -> memref<40xi16>
    xfer.store %own to %out chunk %c : <i16>, memref<40xi16>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <i16, chunk = 16, slots = 1, parities = 2, lines> -> <i16>
      %out = xfer.select %peer of %out0, %out1 : memref<40xi16>, memref<40xi16> -> memref<40xi16>
      xfer.store %got to %out chunk %c : <i16>, memref<40xi16>
    }
  }
}

// -----

// Chunks of whole groups are packed: vectors of 48 bytes, and a group of 1536 bytes lies in 2048 bytes of lines.
// CHECK-LABEL: cuda.kernel @packed
// CHECK: cuda.load %{{.*}}[%{{.*}}] length %{{.*}} : vector<48xi8>
// CHECK: %[[LINES:.*]] = cuda.ll_slot
// CHECK: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK: %[[BEFORE:.*]] = arith.muli %[[START:.*]], %[[FOUR]]
// CHECK: %[[THREE:.*]] = arith.constant 3 : index
// CHECK: %[[BYTES:.*]] = arith.divui %[[BEFORE]], %[[THREE]]
// CHECK: arith.addi %[[LINES]], %[[BYTES]]
// CHECK: cuda.store_ll %{{.*}} : vector<48xi8>
// CHECK: cuda.load_ll %{{.*}} : vector<48xi8>
func.func @main() {
  return
}
xfer.kernel @packed group(<[[0, 1]]>)
    schedule(<mechanism = ll, blocks = 1, threads = 64, chunk = 1536, depth = 0, slots = 1, unroll = 1>) implements all_to_all {
^bb0(%in0: memref<1000xi16>, %in1: memref<1000xi16>, %out0: memref<1000xi16>, %out1: memref<1000xi16>):
  %buffer = xfer.symm_buffer : <i16, chunk = 768, slots = 1, parities = 2, lines>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 1000 by 768 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    xfer.for_peers {
    ^bb0(%peer: index):
      %in = xfer.select %peer of %in0, %in1 : memref<1000xi16>, memref<1000xi16> -> memref<1000xi16>
      %tile = xfer.load %in chunk %c : memref<1000xi16> -> <i16>
      %sent = xfer.put %tile into %buffer peer %peer chunk %c by ll : <i16>, <i16, chunk = 768, slots = 1, parities = 2, lines>
    }
    xfer.signal %flags chunk %c in_band
    %in = xfer.select %me of %in0, %in1 : memref<1000xi16>, memref<1000xi16> -> memref<1000xi16>
    %own = xfer.load %in chunk %c : memref<1000xi16> -> <i16>
    %out = xfer.select %me of %out0, %out1 : memref<1000xi16>, memref<1000xi16> -> memref<1000xi16>
    xfer.store %own to %out chunk %c : <i16>, memref<1000xi16>
  } consume {
  ^bb0(%c: !xfer.chunk):
    xfer.for_peers {
    ^bb0(%peer: index):
      %here = xfer.wait %flags peer %peer chunk %c in_band
      %got = xfer.consume %buffer peer %peer chunk %c after %here : <i16, chunk = 768, slots = 1, parities = 2, lines> -> <i16>
      %out = xfer.select %peer of %out0, %out1 : memref<1000xi16>, memref<1000xi16> -> memref<1000xi16>
      xfer.store %got to %out chunk %c : <i16>, memref<1000xi16>
    }
  }
}

// -----

// A rank alone signals nobody and waits for nobody. Sites count on from one kernel to the next.
// CHECK-LABEL: cuda.kernel @alone
// CHECK: cuda.epoch_begin site 1
// CHECK-NOT: cuda.signal
// CHECK-NOT: cuda.wait
// CHECK-NOT: cuda.region
// CHECK: cuda.epoch_end %{{.*}} site 4
// CHECK-LABEL: cuda.kernel @alone_again
// CHECK: cuda.epoch_begin site 5
// CHECK: cuda.epoch_end %{{.*}} site 8
func.func @main() {
  return
}
xfer.kernel @alone group(<[[0]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 64, chunk = 32, depth = 0, slots = 2, unroll = 1>) implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 8, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 8 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 8, slots = 2, parities = 2, staged>
    xfer.store %tile to %out chunk %c : <f32>, memref<8xf32>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
  }
}
xfer.kernel @alone_again group(<[[0]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 64, chunk = 32, depth = 0, slots = 2, unroll = 1>) implements all_gather {
^bb0(%in: memref<8xf32>, %out: memref<8xf32>):
  %buffer = xfer.symm_buffer : <f32, chunk = 8, slots = 2, parities = 2, staged>
  %flags = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 8 produce {
  ^bb0(%c: !xfer.chunk):
    %tile = xfer.load %in chunk %c : memref<8xf32> -> <f32>
    %sent = xfer.put %tile into %buffer chunk %c by ldst : <f32>, <f32, chunk = 8, slots = 2, parities = 2, staged>
    xfer.store %tile to %out chunk %c : <f32>, memref<8xf32>
    xfer.signal %flags chunk %c after %sent
  } consume {
  ^bb0(%c: !xfer.chunk):
    %here = xfer.wait %flags chunk %c
  }
}
