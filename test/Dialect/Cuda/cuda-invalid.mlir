// RUN: pkb-opt %s -split-input-file -verify-diagnostics

// kernel_c1: no ranks.
// expected-error @+1 {{'cuda.kernel' op ranks must be positive, got: 0}}
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 0 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
}

// -----

// kernel_c1: no blocks.
// expected-error @+1 {{'cuda.kernel' op blocks must be positive, got: 0}}
cuda.kernel @k attributes {blocks = 0 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
}

// -----

// kernel_c1: no threads.
// expected-error @+1 {{'cuda.kernel' op threads must be positive, got: 0}}
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 0 : i64} {
}

// -----

// kernel_c1: no min_blocks.
// expected-error @+1 {{'cuda.kernel' op min_blocks must be positive, got: 0}}
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 0 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
}

// -----

// kernel_c1: more threads than a block can have.
// expected-error @+1 {{'cuda.kernel' op threads must be at most 1024, got: 1025}}
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1025 : i64} {
}

// -----

// kernel_c1: fewer pointers than none.
// expected-error @+1 {{'cuda.kernel' op pointers must not be negative, got: -1}}
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = -1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
}

// -----

// launch_c1: no such kernel.
func.func @main() {
  // expected-error @+1 {{'cuda.launch' op must name a cuda.kernel, got: @main}}
  cuda.launch @main()
  return
}

// -----

// launch_c1: a pointer too many.
func.func @main(%a: memref<8xf32>) {
  // expected-error @+1 {{'cuda.launch' op must have 1 operands for @k, got: 2}}
  cuda.launch @k(%a, %a) : memref<8xf32>, memref<8xf32>
  return
}
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
}

// -----

// for_each_c1: load without its number.
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
  %n = cuda.rank
  %p = cuda.pointer %n
  // expected-error @+1 {{'cuda.for_each' op load must have one index argument}}
  cuda.for_each block %n unroll 1 load {
  ^bb0:
    cuda.yield
  } store {
  ^bb0(%i: index):
  }
}

// -----

// for_each_c1: load yields nothing.
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
  %n = cuda.rank
  %p = cuda.pointer %n
  // expected-error @+1 {{'cuda.for_each' op load must end with cuda.yield}}
  cuda.for_each block %n unroll 1 load {
  ^bb0(%i: index):
    %m = cuda.rank
  } store {
  ^bb0(%i: index):
  }
}

// -----

// for_each_c1: an empty load.
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
  %n = cuda.rank
  %p = cuda.pointer %n
  // expected-error @+1 {{'cuda.for_each' op load must end with cuda.yield}}
  cuda.for_each block %n unroll 1 load {
  ^bb0(%i: index):
  } store {
  ^bb0(%i: index):
  }
}

// -----

// for_each_c1: store does not take what load yields.
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
  %n = cuda.rank
  %p = cuda.pointer %n
  // expected-error @+1 {{'cuda.for_each' op store must have an index argument and 1 more, got: 1}}
  cuda.for_each block %n unroll 1 load {
  ^bb0(%i: index):
    %v = cuda.load %p[%i] length %n : vector<4xf32>
    cuda.yield %v : vector<4xf32>
  } store {
  ^bb0(%i: index):
  }
}

// -----

// for_each_c1: store takes another type.
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
  %n = cuda.rank
  %p = cuda.pointer %n
  // expected-error @+1 {{'cuda.for_each' op store must take the yielded 'vector<4xf32>', got: 'vector<8xf32>'}}
  cuda.for_each block %n unroll 1 load {
  ^bb0(%i: index):
    %v = cuda.load %p[%i] length %n : vector<4xf32>
    cuda.yield %v : vector<4xf32>
  } store {
  ^bb0(%i: index, %v: vector<8xf32>):
  }
}

// -----

// for_each_c1: store without its number.
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
  %n = cuda.rank
  %p = cuda.pointer %n
  // expected-error @+1 {{'cuda.for_each' op store must have an index argument and 1 more, got: 2}}
  cuda.for_each block %n unroll 1 load {
  ^bb0(%i: index):
    %v = cuda.load %p[%i] length %n : vector<4xf32>
    cuda.yield %v : vector<4xf32>
  } store {
  ^bb0(%i: i32, %v: vector<4xf32>):
  }
}

// -----

// A value is yielded from a load only.
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
  // expected-error @+1 {{'cuda.yield' op expects parent op to be one of 'cuda.for_each, cuda.row_reduce, cuda.stream_rows'}}
  cuda.yield
}

// -----

// for_each_row_c1
func.func @row_without_number(%n: index) {
  // expected-error @+1 {{'cuda.for_each_row' op must have one index argument}}
  cuda.for_each_row %n by 32 {
  }
  return
}

// -----

// for_each_row_c2
func.func @row_of_a_half_warp(%n: index) {
  // expected-error @+1 {{'cuda.for_each_row' op must have a team of 32, 128, 256, 512 or 1024 lanes, got: 64}}
  cuda.for_each_row %n by 64 {
  ^bb0(%row: index):
  }
  return
}

// -----

// row_reduce_c1
func.func @row_of_bits(%n: index) {
  cuda.for_each_row %n by 32 {
  ^bb0(%row: index):
    // expected-error @+1 {{'cuda.row_reduce' op kind must be sum, prod, min or max, got: band}}
    %r = cuda.row_reduce band %n unroll 1 : vector<1xf32> load {
    ^bb0(%i: index):
      cuda.yield
    } map {
    ^bb0(%i: index):
      %v = arith.constant dense<1.0> : vector<4xf32>
      cuda.yield %v : vector<4xf32>
    }
  }
  return
}

// -----

// row_reduce_c2
func.func @row_of_other_elements(%n: index) {
  cuda.for_each_row %n by 32 {
  ^bb0(%row: index):
    // expected-error @+1 {{'cuda.row_reduce' op map must yield one vector of the element type of the result, which must have one element, got: 'vector<1xf64>'}}
    %r = cuda.row_reduce sum %n unroll 1 : vector<1xf64> load {
    ^bb0(%i: index):
      cuda.yield
    } map {
    ^bb0(%i: index):
      %v = arith.constant dense<1.0> : vector<4xf32>
      cuda.yield %v : vector<4xf32>
    }
  }
  return
}

// -----

// stream_rows_c1
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ll>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 64 : i64} {
  %n = arith.constant 8 : index
  %yes = arith.constant true
  %x = cuda.pointer %n
  // expected-error @+1 {{'cuda.stream_rows' op must have a team of 32, 128, 256, 512 or 1024 lanes, got: 64}}
  cuda.stream_rows %n step %n below %n aligned %yes rows 2 by 64 ahead 1 steps 2 full 1 fetch {
  ^bb0(%c: index, %i: index):
    %r = cuda.keep_row %x length %n : !cuda.row<1 of vector<4xf32>>
    cuda.yield %r : !cuda.row<1 of vector<4xf32>>
  } produce {
  ^bb0(%c: index, %i: index, %r: !cuda.row<1 of vector<4xf32>>):
    cuda.yield
  } consume {
  ^bb0(%c: index, %i: index, %r: !cuda.row<1 of vector<4xf32>>):
  }
}

// -----

// stream_rows_c1: nothing to do
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ll>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 64 : i64} {
  %n = arith.constant 8 : index
  %yes = arith.constant true
  %x = cuda.pointer %n
  // expected-error @+1 {{'cuda.stream_rows' op must have rows and steps, got: 2 and 0}}
  cuda.stream_rows %n step %n below %n aligned %yes rows 2 by 32 ahead 1 steps 0 full 0 fetch {
  ^bb0(%c: index, %i: index):
    %r = cuda.keep_row %x length %n : !cuda.row<1 of vector<4xf32>>
    cuda.yield %r : !cuda.row<1 of vector<4xf32>>
  } produce {
  ^bb0(%c: index, %i: index, %r: !cuda.row<1 of vector<4xf32>>):
    cuda.yield
  } consume {
  ^bb0(%c: index, %i: index, %r: !cuda.row<1 of vector<4xf32>>):
  }
}

// -----

// stream_rows_c1: more full steps than steps
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ll>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 64 : i64} {
  %n = arith.constant 8 : index
  %yes = arith.constant true
  %x = cuda.pointer %n
  // expected-error @+1 {{'cuda.stream_rows' op must not run behind itself, nor have more full steps than steps, got: ahead 1, full 3 of 2}}
  cuda.stream_rows %n step %n below %n aligned %yes rows 2 by 32 ahead 1 steps 2 full 3 fetch {
  ^bb0(%c: index, %i: index):
    %r = cuda.keep_row %x length %n : !cuda.row<1 of vector<4xf32>>
    cuda.yield %r : !cuda.row<1 of vector<4xf32>>
  } produce {
  ^bb0(%c: index, %i: index, %r: !cuda.row<1 of vector<4xf32>>):
    cuda.yield
  } consume {
  ^bb0(%c: index, %i: index, %r: !cuda.row<1 of vector<4xf32>>):
  }
}

// -----

// stream_rows_c2
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ll>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 64 : i64} {
  %n = arith.constant 8 : index
  %yes = arith.constant true
  %x = cuda.pointer %n
  // expected-error @+1 {{'cuda.stream_rows' op fetch must yield rows, got: 'index'}}
  cuda.stream_rows %n step %n below %n aligned %yes rows 2 by 32 ahead 1 steps 2 full 1 fetch {
  ^bb0(%c: index, %i: index):
    cuda.yield %i : index
  } produce {
  ^bb0(%c: index, %i: index, %r: index):
    cuda.yield
  } consume {
  ^bb0(%c: index, %i: index, %r: index):
  }
}

// -----

// stream_rows_c3
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ll>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 64 : i64} {
  %n = arith.constant 8 : index
  %yes = arith.constant true
  %x = cuda.pointer %n
  // expected-error @+1 {{'cuda.stream_rows' op consume must take two indices and the values that are yielded before it ('!cuda.row<1 of vector<4xf32>>'), got: 'index', 'index'}}
  cuda.stream_rows %n step %n below %n aligned %yes rows 2 by 32 ahead 1 steps 2 full 1 fetch {
  ^bb0(%c: index, %i: index):
    %r = cuda.keep_row %x length %n : !cuda.row<1 of vector<4xf32>>
    cuda.yield %r : !cuda.row<1 of vector<4xf32>>
  } produce {
  ^bb0(%c: index, %i: index, %r: !cuda.row<1 of vector<4xf32>>):
    cuda.yield
  } consume {
  ^bb0(%c: index, %i: index):
  }
}

// -----

// gather_ll_c1
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ll>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 64 : i64} {
  %n = arith.constant 8 : index
  %yes = arith.constant true
  %x = cuda.pointer %n
  cuda.stream_rows %n step %n below %n aligned %yes rows 2 by 32 ahead 1 steps 2 full 1 fetch {
  ^bb0(%c: index, %i: index):
    %r = cuda.keep_row %x length %n : !cuda.row<1 of vector<4xf32>>
    cuda.yield %r : !cuda.row<1 of vector<4xf32>>
  } produce {
  ^bb0(%c: index, %i: index, %r: !cuda.row<1 of vector<4xf32>>):
    cuda.yield
  } consume {
  ^bb0(%c: index, %i: index, %r: !cuda.row<1 of vector<4xf32>>):
    %one = arith.constant dense<1.0> : vector<1xf32>
    // expected-error @+1 {{'cuda.gather_ll' op must have a result for each of 2 ranks, got: 1}}
    %v = cuda.gather_ll %x[%i] epoch %n site 1 own %one : vector<1xf32> -> vector<1xf32>
  }
}

// -----

// row_reduce_c3
func.func @fewer_vectors_than_in_flight(%n: index) {
  cuda.for_each_row %n by 32 {
  ^bb0(%row: index):
    // expected-error @+1 {{'cuda.row_reduce' op must have at most as many vectors in flight as a lane has, got: 4 of 2}}
    %r = cuda.row_reduce sum %n unroll 4 per_lane 2 : vector<1xf32> load {
    ^bb0(%i: index):
      cuda.yield
    } map {
    ^bb0(%i: index):
      %v = arith.constant dense<1.0> : vector<4xf32>
      cuda.yield %v : vector<4xf32>
    }
  }
  return
}

// -----

// for_each_c2
func.func @vectors_per_lane_without_a_row(%n: index) {
  // expected-error @+1 {{'cuda.for_each' op must be over a row to have vectors per lane, got: block}}
  cuda.for_each block %n unroll 1 per_lane 2 load {
  ^bb0(%i: index):
    cuda.yield
  } store {
  ^bb0(%i: index):
  }
  return
}

// -----

// table_c1: no values.
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 2 : i64, region_bytes = 1 : i64, summary = "", threads = 1 : i64} {
  %n = cuda.rank
  // expected-error @+1 {{'cuda.table' op must have at least one value}}
  %t = cuda.table [] at %n
}

// -----

// load_strided_c1: two sizes, one stride.
func.func @f(%p: !cuda.ptr, %n: index) {
  // expected-error @+1 {{'cuda.load_strided' op must have as many strides as sizes, at least one, got: 1 and 2}}
  %v = cuda.load_strided %p[%n] left %n sizes [4, 8] strides [1] : vector<4xf32>
  return
}

// -----

// store_strided_c1: no sizes.
func.func @f(%p: !cuda.ptr, %n: index, %v: vector<4xf32>) {
  // expected-error @+1 {{'cuda.store_strided' op must have as many strides as sizes, at least one, got: 0 and 0}}
  cuda.store_strided %v to %p[%n] left %n sizes [] strides [] : vector<4xf32>
  return
}

// -----

// vectors_c1: no lanes.
cuda.kernel @k attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 1 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %n = cuda.rank
  // expected-error @+1 {{attribute 'lanes' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %v = cuda.vectors %n of 0
}

// -----

// A row holds something.
// expected-error @+1 {{a row must have at least one vector of one dimension, got: 0 of 'vector<4xf32>'}}
func.func private @row_of_nothing() -> !cuda.row<0 of vector<4xf32>>
