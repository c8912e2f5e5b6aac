// RUN: pkb-opt %s | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --mlir-print-op-generic | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --emit=bytecode | pkb-opt | FileCheck %s

// Steps of the plan.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[IN:.*]]: memref<8xf32>)
// CHECK: cuda.launch @every_op(%[[IN]], %[[IN]]) : memref<8xf32>, memref<8xf32>
// CHECK: cuda.launch @nothing(){{$}}
func.func @main(%in: memref<8xf32>) {
  cuda.launch @every_op(%in, %in) : memref<8xf32>, memref<8xf32>
  cuda.launch @nothing()
  return
}

// CHECK-LABEL: cuda.kernel @nothing
cuda.kernel @nothing attributes {blocks = 1 : i64, group = #comm.group<[[0]]>, mechanism = #xfer<mechanism ll>, min_blocks = 1 : i64,
    pointers = 0 : i64, ranks = 1 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
}

// Every function of the device header.
// CHECK-LABEL: cuda.kernel @every_op attributes
// CHECK-SAME: blocks = 132 : i64
// CHECK-SAME: mechanism = #xfer<mechanism ldst>
// CHECK-SAME: min_blocks = 2 : i64
// CHECK-SAME: pointers = 2 : i64
// CHECK-SAME: ranks = 2 : i64
// CHECK-SAME: region_bytes = 5000000 : i64
// CHECK-SAME: summary = "all"
// CHECK-SAME: threads = 1024 : i64
cuda.kernel @every_op attributes {blocks = 132 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 2 : i64, pointers = 2 : i64, ranks = 2 : i64, region_bytes = 5000000 : i64, summary = "all", threads = 1024 : i64} {
  // CHECK-NEXT: %[[TICKET:.*]] = cuda.epoch_begin site 1
  %ticket = cuda.epoch_begin site 1
  // CHECK-NEXT: %[[EPOCH:.*]] = cuda.epoch %[[TICKET]]
  %epoch = cuda.epoch %ticket
  // CHECK-NEXT: %[[ME:.*]] = cuda.rank
  %me = cuda.rank
  // CHECK-NEXT: %[[BLOCK:.*]] = cuda.block_index
  %block = cuda.block_index
  // CHECK-NEXT: %[[BLOCKS:.*]] = cuda.vectors %[[BLOCK]] of 24
  %blocks = cuda.vectors %block of 24
  // CHECK-NEXT: %[[COUNT:.*]] = cuda.chunk_count %[[BLOCKS]], %[[BLOCK]], %[[BLOCKS]]
  %count = cuda.chunk_count %blocks, %block, %blocks
  // CHECK-NEXT: cuda.table [3, -1] at %[[ME]]
  %entry = cuda.table [3, -1] at %me
  // CHECK-NEXT: %[[POINTER:.*]] = cuda.pointer %[[ME]]
  %pointer = cuda.pointer %me
  // CHECK-NEXT: %[[HALF:.*]] = cuda.staging %[[BLOCK]]
  %half = cuda.staging %block
  // CHECK-NEXT: %[[LINES:.*]] = cuda.ll_slot %[[BLOCK]], %[[ME]]
  %lines = cuda.ll_slot %block, %me
  // CHECK-NEXT: %[[SLOT:.*]] = cuda.region %[[ME]], %[[HALF]]
  %slot = cuda.region %me, %half
  // CHECK-NEXT: %[[LINE:.*]] = cuda.region %[[ME]], %[[LINES]]
  %line = cuda.region %me, %lines
  // CHECK-NEXT: %[[AT:.*]] = cuda.advance %[[POINTER]], %[[COUNT]]
  %at = cuda.advance %pointer, %count
  // CHECK-NEXT: %[[MARK:.*]] = cuda.flag_value %[[EPOCH]], %[[COUNT]]
  %mark = cuda.flag_value %epoch, %count
  // CHECK-NEXT: cuda.for_each block %[[COUNT]] unroll 4 load {
  cuda.for_each block %count unroll 4 load {
  // CHECK-NEXT: (%[[I:.*]]: index):
  ^bb0(%i: index):
    // CHECK-NEXT: %[[A:.*]] = cuda.load %[[AT]][%[[I]]] length %[[COUNT]] : vector<4xf32>
    %a = cuda.load %at[%i] length %count : vector<4xf32>
    // CHECK-NEXT: %[[B:.*]] = cuda.load_staged %[[SLOT]][%[[I]]] : vector<4xf32>
    %b = cuda.load_staged %slot[%i] : vector<4xf32>
    // CHECK-NEXT: cuda.load_ll %[[LINE]][%[[I]]] epoch %[[EPOCH]] site 2 : vector<4xf32>
    %c = cuda.load_ll %line[%i] epoch %epoch site 2 : vector<4xf32>
    // CHECK-NEXT: cuda.yield %[[A]], %[[B]] : vector<4xf32>, vector<4xf32>
    cuda.yield %a, %b : vector<4xf32>, vector<4xf32>
  // CHECK-NEXT: } store {
  } store {
  // CHECK-NEXT: (%[[I:.*]]: index, %[[A:.*]]: vector<4xf32>, %[[B:.*]]: vector<4xf32>):
  ^bb0(%i: index, %a: vector<4xf32>, %b: vector<4xf32>):
    // CHECK-NEXT: cuda.store %[[A]] to %[[AT]][%[[I]]] length %[[COUNT]] : vector<4xf32>
    cuda.store %a to %at[%i] length %count : vector<4xf32>
    // CHECK-NEXT: cuda.store_peer %[[B]] to %[[SLOT]][%[[I]]] : vector<4xf32>
    cuda.store_peer %b to %slot[%i] : vector<4xf32>
    // CHECK-NEXT: cuda.store_ll %[[A]] to %[[LINE]][%[[I]]] epoch %[[EPOCH]] site 3 : vector<4xf32>
    cuda.store_ll %a to %line[%i] epoch %epoch site 3 : vector<4xf32>
  }
  // CHECK: cuda.block_barrier site 4
  cuda.block_barrier site 4
  // CHECK-NEXT: cuda.signal %[[ME]] block %[[BLOCK]] value %[[MARK]] site 5
  cuda.signal %me block %block value %mark site 5
  // CHECK-NEXT: cuda.wait %[[ME]] block %[[BLOCK]] value %[[MARK]] site 6
  cuda.wait %me block %block value %mark site 6
  // CHECK-NEXT: cuda.wait_blocks %[[MARK]] site 66
  cuda.wait_blocks %mark site 66
  // Nothing to store: the loop yields nothing.
  // CHECK-NEXT: cuda.for_each once %[[COUNT]] unroll 1 load {
  cuda.for_each once %count unroll 1 load {
  ^bb0(%i: index):
    // CHECK: cuda.yield{{$}}
    cuda.yield
  } store {
  ^bb0(%i: index):
  }
  // CHECK: cuda.epoch_end %[[EPOCH]] site 7
  cuda.epoch_end %epoch site 7
}

// CHECK-LABEL: cuda.kernel @stream
cuda.kernel @stream attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ll>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 64 : i64} {
  %n = arith.constant 8 : index
  %x = cuda.pointer %n
  // CHECK: %[[ALIGNED:.*]] = cuda.aligned %[[N:.*]] lanes 4 of %[[X:.*]]
  %aligned = cuda.aligned %n lanes 4 of %x
  // CHECK-NEXT: cuda.stream_rows %[[N]] step %[[N]] below %[[N]] aligned %[[ALIGNED]] rows 2 by 32 ahead 1 steps 3 full 2 fetch {
  cuda.stream_rows %n step %n below %n aligned %aligned rows 2 by 32 ahead 1 steps 3 full 2 fetch {
  ^bb0(%c: index, %i: index):
    // CHECK: %[[ROW:.*]] = cuda.keep_row %[[X]] length %[[N]] : <1 of vector<4xf32>>
    %row = cuda.keep_row %x length %n : !cuda.row<1 of vector<4xf32>>
    cuda.yield %row : !cuda.row<1 of vector<4xf32>>
  // CHECK: } produce {
  } produce {
  ^bb0(%c: index, %i: index, %row: !cuda.row<1 of vector<4xf32>>):
    // CHECK: %[[SUM:.*]] = cuda.row_reduce sum %[[N]] unroll 1 per_lane 1 : vector<1xf32> load {
    %sum = cuda.row_reduce sum %n unroll 1 per_lane 1 : vector<1xf32> load {
    ^bb0(%k: index):
      // CHECK: cuda.kept %{{.*}}[%{{.*}}] : <1 of vector<4xf32>>
      %v = cuda.kept %row[%k] : !cuda.row<1 of vector<4xf32>>
      cuda.yield %v : vector<4xf32>
    } map {
    ^bb0(%k: index, %v: vector<4xf32>):
      cuda.yield %v : vector<4xf32>
    }
    // CHECK: cuda.yield %[[SUM]] : vector<1xf32>
    cuda.yield %sum : vector<1xf32>
  // CHECK: } consume {
  } consume {
  ^bb0(%c: index, %i: index, %row: !cuda.row<1 of vector<4xf32>>, %own: vector<1xf32>):
    // CHECK: cuda.gather_ll %[[X]][%{{.*}}] epoch %[[N]] site 1 own %{{.*}} : vector<1xf32> -> vector<1xf32>, vector<1xf32>
    %all:2 = cuda.gather_ll %x[%i] epoch %n site 1 own %own : vector<1xf32> -> vector<1xf32>, vector<1xf32>
    // CHECK: cuda.for_each row %[[N]] unroll 1 per_lane 1 load {
    cuda.for_each row %n unroll 1 per_lane 1 load {
    ^bb0(%k: index):
      cuda.yield
    } store {
    ^bb0(%k: index):
    }
  }
}
