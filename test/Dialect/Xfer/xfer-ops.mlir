// RUN: pkb-opt %s | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --mlir-print-op-generic | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --emit=bytecode | pkb-opt | FileCheck %s

// Host scope: a launch beside memrefs, also of a kernel without tensors.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[IN:.*]]: memref<4xbf16>, %[[OUT:.*]]: memref<8xbf16>)
// CHECK: xfer.launch @every_op(%[[IN]], %[[OUT]], %[[OUT]]) : memref<4xbf16>, memref<8xbf16>, memref<8xbf16>
// CHECK: xfer.launch @nothing()
func.func @main(%in: memref<4xbf16>, %out: memref<8xbf16>) {
  xfer.launch @every_op(%in, %out, %out) : memref<4xbf16>, memref<8xbf16>, memref<8xbf16>
  xfer.launch @nothing()
  return
}

// CHECK-LABEL: xfer.kernel @nothing group(<{{\[\[}}0{{\]\]}}>)
// CHECK-SAME: schedule(<mechanism = ll, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
// CHECK-NEXT: }
xfer.kernel @nothing group(<[[0]]>) schedule(<mechanism = ll, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements none {
}

// Every operation of kernel scope, with and without its optional parts.
// CHECK-LABEL: xfer.kernel @every_op group(<{{\[\[}}0, 1], [2, 3{{\]\]}}>)
// CHECK-SAME: schedule(<mechanism = ldst, blocks = 2, threads = 1024, chunk = 16, depth = 1, slots = 4, unroll = 16, per_sm = 2>)
// CHECK-SAME: implements all_gather attributes {summary = "in one"}
// CHECK: (%[[A:.*]]: memref<4xbf16>, %[[B:.*]]: memref<8xbf16>, %[[C:.*]]: memref<8xbf16>):
xfer.kernel @every_op group(<[[0, 1], [2, 3]]>)
    schedule(<mechanism = ldst, blocks = 2, threads = 1024, chunk = 16, depth = 1, slots = 4, unroll = 16, per_sm = 2>)
    implements all_gather attributes {summary = "in one"} {
^bb0(%a: memref<4xbf16>, %b: memref<8xbf16>, %c: memref<8xbf16>):
  // CHECK-NEXT: %[[STAGED:.*]] = xfer.symm_buffer : <bf16, chunk = 8, slots = 4, parities = 2, staged>
  %staged = xfer.symm_buffer : <bf16, chunk = 8, slots = 4, parities = 2, staged>
  // CHECK-NEXT: %[[LINES:.*]] = xfer.symm_buffer : <bf16, chunk = 8, slots = 1, parities = 1, lines>
  %lines = xfer.symm_buffer : <bf16, chunk = 8, slots = 1, parities = 1, lines>
  // CHECK-NEXT: %[[FLAGS:.*]] = xfer.flags : !xfer.flags
  %flags = xfer.flags : !xfer.flags
  // CHECK-NEXT: xfer.pipeline 4 by 8 produce {
  xfer.pipeline 4 by 8 produce {
  // CHECK-NEXT: (%[[K:.*]]: !xfer.chunk):
  ^bb0(%k: !xfer.chunk):
    // CHECK-NEXT: %[[ME:.*]] = xfer.own_rank
    %me = xfer.own_rank
    // CHECK-NEXT: %[[SEL:.*]] = xfer.select %[[ME]] of %[[B]], %[[C]] : memref<8xbf16>, memref<8xbf16> -> memref<8xbf16>
    %sel = xfer.select %me of %b, %c : memref<8xbf16>, memref<8xbf16> -> memref<8xbf16>
    // CHECK-NEXT: %[[TILE:.*]] = xfer.load %[[A]] chunk %[[K]] : memref<4xbf16> -> <bf16>
    %tile = xfer.load %a chunk %k : memref<4xbf16> -> <bf16>
    // CHECK-NEXT: %[[PART:.*]] = xfer.load %[[SEL]] part %[[ME]] chunk %[[K]] : memref<8xbf16> -> <bf16>
    %part = xfer.load %sel part %me chunk %k : memref<8xbf16> -> <bf16>
    // CHECK-NEXT: %[[ALL:.*]] = xfer.put %[[TILE]] into %[[STAGED]] chunk %[[K]] by ldst : <bf16>, <bf16, chunk = 8, slots = 4, parities = 2, staged>
    %all = xfer.put %tile into %staged chunk %k by ldst : <bf16>, <bf16, chunk = 8, slots = 4, parities = 2, staged>
    // CHECK-NEXT: xfer.signal %[[FLAGS]] chunk %[[K]] after %[[ALL]]
    xfer.signal %flags chunk %k after %all
    // CHECK-NEXT: xfer.for_peers {
    xfer.for_peers {
    // CHECK-NEXT: (%[[P:.*]]: index):
    ^bb0(%p: index):
      // CHECK-NEXT: %[[ONE:.*]] = xfer.put %[[PART]] into %[[LINES]] peer %[[P]] chunk %[[K]] by ll : <bf16>, <bf16, chunk = 8, slots = 1, parities = 1, lines>
      %one = xfer.put %part into %lines peer %p chunk %k by ll : <bf16>, <bf16, chunk = 8, slots = 1, parities = 1, lines>
      // CHECK-NEXT: xfer.signal %[[FLAGS]] peer %[[P]] chunk %[[K]] after %[[ONE]], %[[ALL]] in_band
      xfer.signal %flags peer %p chunk %k after %one, %all in_band
      // CHECK-NEXT: xfer.signal %[[FLAGS]] peer %[[P]] chunk %[[K]]{{$}}
      xfer.signal %flags peer %p chunk %k
      // An empty list of tokens does not swallow the next operation.
      // CHECK-NEXT: xfer.own_rank
      %again = xfer.own_rank
    }
  // CHECK: } consume {
  } consume {
  // CHECK-NEXT: (%[[K:.*]]: !xfer.chunk):
  ^bb0(%k: !xfer.chunk):
    // CHECK-NEXT: %[[HERE:.*]] = xfer.wait %[[FLAGS]] chunk %[[K]]{{$}}
    %here = xfer.wait %flags chunk %k
    // CHECK-NEXT: %[[OWN:.*]] = xfer.load
    %own = xfer.load %a chunk %k : memref<4xbf16> -> <bf16>
    // CHECK-NEXT: %[[BOTH:.*]]:2 = xfer.contributions %[[STAGED]] own %[[OWN]] chunk %[[K]] after %[[HERE]] : <bf16, chunk = 8, slots = 4, parities = 2, staged>, <bf16> -> !xfer.tile<bf16>, !xfer.tile<bf16>
    %both:2 = xfer.contributions %staged own %own chunk %k after %here : <bf16, chunk = 8, slots = 4, parities = 2, staged>, <bf16> -> !xfer.tile<bf16>, !xfer.tile<bf16>
    // CHECK-NEXT: %[[SUM:.*]] = xfer.map %[[BOTH]]#0, %[[BOTH]]#1 {
    %sum = xfer.map %both#0, %both#1 {
    // CHECK-NEXT: (%[[X:.*]]: bf16, %[[Y:.*]]: bf16):
    ^bb0(%x: bf16, %y: bf16):
      %s = arith.addf %x, %y : bf16
      // CHECK: xfer.yield %{{.*}} : bf16
      xfer.yield %s : bf16
    // CHECK-NEXT: } : (!xfer.tile<bf16>, !xfer.tile<bf16>) -> !xfer.tile<bf16>
    } : (!xfer.tile<bf16>, !xfer.tile<bf16>) -> !xfer.tile<bf16>
    xfer.for_peers {
    // CHECK: (%[[P:.*]]: index):
    ^bb0(%p: index):
      // CHECK-NEXT: %[[ARRIVED:.*]] = xfer.wait %[[FLAGS]] peer %[[P]] chunk %[[K]] in_band
      %arrived = xfer.wait %flags peer %p chunk %k in_band
      // CHECK-NEXT: %[[GOT:.*]] = xfer.consume %[[LINES]] peer %[[P]] chunk %[[K]] after %[[ARRIVED]] : <bf16, chunk = 8, slots = 1, parities = 1, lines> -> <bf16>
      %got = xfer.consume %lines peer %p chunk %k after %arrived : <bf16, chunk = 8, slots = 1, parities = 1, lines> -> <bf16>
      // CHECK-NEXT: xfer.store %[[GOT]] to %[[B]] part %[[P]] chunk %[[K]] : <bf16>, memref<8xbf16>
      xfer.store %got to %b part %p chunk %k : <bf16>, memref<8xbf16>
    }
  }
}

// The other collectives, and a tile that is stored where there is one message.
// CHECK: xfer.kernel @reduces
// CHECK-SAME: implements all_reduce
xfer.kernel @reduces group(<[[0, 1]]>) schedule(<mechanism = ll, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce {
^bb0(%a: memref<4xf32>, %b: memref<4xf32>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %tile = xfer.load %a chunk %k : memref<4xf32> -> <f32>
    // CHECK: xfer.store %{{.*}} to %{{.*}} chunk %{{.*}} : <f32>, memref<4xf32>
    xfer.store %tile to %b chunk %k : <f32>, memref<4xf32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}
// CHECK: xfer.kernel @exchanges
// CHECK-SAME: implements all_to_all
xfer.kernel @exchanges group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_to_all {
}

// What ranks do differently: roles, tables, clipped chunks; and what the kernel promises of them.
// CHECK: xfer.kernel @roles
// CHECK-SAME: implements gather root 1 counts [4, 2] {
xfer.kernel @roles group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>)
    implements gather root 1 counts [4, 2] {
^bb0(%a: memref<?xf32>, %b: memref<?xf32>):
  xfer.pipeline 4 by 4 produce {
  // CHECK: (%[[K:.*]]: !xfer.chunk):
  ^bb0(%k: !xfer.chunk):
    // CHECK-NEXT: %[[ME:.*]] = xfer.own_rank
    %me = xfer.own_rank
    // CHECK-NEXT: %[[COUNT:.*]] = xfer.table [4, 2] at %[[ME]]{{$}}
    %count = xfer.table [4, 2] at %me
    // CHECK-NEXT: %[[PAIR:.*]] = xfer.table [0, 1, 2, 3] at %[[ME]], %[[COUNT]]
    %pair = xfer.table [0, 1, 2, 3] at %me, %count
    // CHECK-NEXT: %[[PIECE:.*]] = xfer.clip %[[K]] to %[[COUNT]]
    %piece = xfer.clip %k to %count
    // CHECK-NEXT: xfer.on_ranks [1] {
    xfer.on_ranks [1] {
      // CHECK-NEXT: %[[TILE:.*]] = xfer.load %{{.*}} at %[[PAIR]] chunk %[[PIECE]] : memref<?xf32> -> <f32>
      %tile = xfer.load %a at %pair chunk %piece : memref<?xf32> -> <f32>
      // CHECK-NEXT: xfer.store %[[TILE]] to %{{.*}} at %[[COUNT]] chunk %[[PIECE]] : <f32>, memref<?xf32>
      xfer.store %tile to %b at %count chunk %piece : <f32>, memref<?xf32>
    }
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}
// CHECK: xfer.kernel @promises
// CHECK-SAME: implements reduce_scatter by premul_sum factors [5.000000e-01, 2.000000e+00] {
xfer.kernel @promises group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>)
    implements reduce_scatter by premul_sum factors [0.5, 2.0] {
}
// CHECK: xfer.kernel @moves
// CHECK-SAME: implements permute sources [-1, 0] {
xfer.kernel @moves group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>)
    implements permute sources [-1, 0] {
}
// Phases: pipelines that say what they implement, and what lies between them.
// CHECK: xfer.kernel @phases
// CHECK-SAME: fused {
// CHECK: xfer.pipeline 8 by 4 implements reduce_scatter reduction max produce {
// CHECK: xfer.sync block
// CHECK: xfer.pipeline 8 by 4 implements all_gather produce {
// CHECK: xfer.sync grid
xfer.kernel @phases group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) fused {
  xfer.pipeline 8 by 4 implements reduce_scatter reduction max produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
  xfer.sync block
  xfer.pipeline 8 by 4 implements all_gather produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
  xfer.sync grid
}
