// RUN: pkb-opt %s -split-input-file -pkb-verify-cuda-emittable -verify-diagnostics

// verify_cuda_emittable_c1: no program.
// expected-error @+1 {{'builtin.module' op must have a function @main of one block}}
module {}

// -----

// verify_cuda_emittable_c1: kernels of level L2 have not been lowered.
func.func @main() {
  return
}
// expected-error @+1 {{'func.func' op must not stand at the top of a module at level L3}}
func.func private @other()
// expected-error @+1 {{'xfer.kernel' op must not stand at the top of a module at level L3}}
xfer.kernel @left group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>) {
}

// -----

// verify_cuda_emittable_c2: a step that the plan has no word for; every offender is named.
func.func @main(%in: memref<8xf32>) {
  // expected-error @+1 {{'memref.dealloc' op has no form in the host plan}}
  memref.dealloc %in : memref<8xf32>
  // expected-error @+1 {{'arith.constant' op has no form in the host plan}}
  %c = arith.constant 0 : index
  return
}

// -----

// verify_cuda_emittable_c3: sizes that are not known, and elements that no tensor has.
func.func @main(%in: memref<?xf32>, %odd: memref<8xi7>, %out: memref<8xf32>) {
  // expected-error @+1 {{'memref.copy' op must work on memrefs of static shape and strides, got: 'memref<?xf32>'}}
  memref.copy %in, %out : memref<?xf32> to memref<8xf32>
  // expected-error @+1 {{'memref.copy' op must work on elements that a tensor can have, got: 'i7'}}
  memref.copy %odd, %odd : memref<8xi7> to memref<8xi7>
  return
}

// -----

// verify_cuda_emittable_c3: memory that has no slot.
func.func @main(%in: memref<8xf32>) -> memref<8xf32, strided<[1]>> {
  // expected-error @+1 {{'memref.cast' op has no form in the host plan}}
  %cast = memref.cast %in : memref<8xf32> to memref<8xf32, strided<[1]>>
  // expected-error @+1 {{'func.return' op must use memory of @main's arguments, memref.alloc, memref.reinterpret_cast or memref.get_global, got: memref.cast}}
  return %cast : memref<8xf32, strided<[1]>>
}

// -----

// verify_cuda_emittable_c3: a constant without a value.
memref.global "private" @nothing : memref<8xf32>
func.func @main() {
  // expected-error @+1 {{'memref.get_global' op must name a memref.global with a value}}
  %c = memref.get_global @nothing : memref<8xf32>
  return
}

// -----

// verify_cuda_emittable_c4: a name that C does not have.
func.func @main() {
  return
}
// expected-error @+1 {{'cuda.kernel' op must have a name that is an identifier of C, got: all-reduce}}
cuda.kernel @"all-reduce" attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c4: ranks that the group does not have.
func.func @main() {
  return
}
// expected-error @+1 {{'cuda.kernel' op must be for the ranks of its group (2), got: 3}}
cuda.kernel @ranks attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 3 : i64, region_bytes = 10000000 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c4: a group larger than a channel.
func.func @main() {
  return
}
// expected-error @+1 {{'cuda.kernel' op must be for at most 64 ranks, got: 65}}
cuda.kernel @large attributes {blocks = 2 : i64, group = #comm.group<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 65 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c4: a region without room for flags and lines.
func.func @main() {
  return
}
// expected-error @+1 {{'cuda.kernel' op must have region_bytes of at least 6361088 (flags and LL lines of 2 ranks), got: 4096}}
cuda.kernel @small attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 4096 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c4: more blocks than flags.
func.func @main() {
  return
}
// expected-error @+1 {{'cuda.kernel' op must have at most 256 blocks, got: 257}}
cuda.kernel @blocks attributes {blocks = 257 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c4: more threads than a multiprocessor holds.
func.func @main() {
  return
}
// expected-error @+1 {{'cuda.kernel' op must have at most 2048 threads resident on a multiprocessor, got: 3 blocks of 1024}}
cuda.kernel @threads attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 3 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 1024 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c5: the epoch is read twice, and ended in between (late blocks would read the next call's).
func.func @main() {
  return
}
// expected-error @+1 {{'cuda.kernel' op must read its epoch once, at its top level, got: 2}}
cuda.kernel @twice attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  %second = cuda.epoch_begin site 3
  %again = cuda.epoch %second
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c5: the epoch ends before the kernel does.
func.func @main() {
  return
}
// expected-error @+1 {{'cuda.kernel' op must end its epoch once, as its last operation, got: 1}}
cuda.kernel @early attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  cuda.epoch_end %epoch site 2
  cuda.block_barrier site 3
}

// -----

// verify_cuda_emittable_c5: the epoch never ends.
func.func @main() {
  return
}
// expected-error @+1 {{'cuda.kernel' op must end its epoch once, as its last operation, got: 0}}
cuda.kernel @never attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
}

// -----

// verify_cuda_emittable_c6: operations without a form.
func.func @main() {
  return
}
cuda.kernel @no_form attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @+1 {{'arith.shli' op has no form in the emitted text}}
  %a = arith.shli %epoch, %one : index
  // expected-error @+1 {{'arith.cmpi' op has no form in the emitted text}}
  %b = arith.cmpi ult, %epoch, %one : index
  // expected-error @+1 {{'scf.while' op has no form in the emitted text}}
  %w = scf.while (%x = %zero) : (index) -> index {
    // expected-error @+1 {{'scf.condition' op has no form in the emitted text}}
    scf.condition(%b) %x : index
  } do {
  ^bb0(%x: index):
    scf.yield %x : index
  }
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c6: loops and branches do not carry values, constants are integers or vectors of one number.
func.func @main() {
  return
}
cuda.kernel @carries attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @+1 {{'arith.constant' op must be an integer or a vector of one number to be emitted, got: dense<[1.000000e+00, 2.000000e+00]> : vector<2xf32>}}
  %v = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
  // expected-error @+1 {{'scf.for' op must not carry values to be emitted, got: 1}}
  %f = scf.for %i = %zero to %one step %one iter_args(%x = %zero) -> index {
    scf.yield %x : index
  }
  %even = arith.cmpi eq, %zero, %epoch : index
  // expected-error @+1 {{'scf.if' op must not have results to be emitted, got: 1}}
  %g = scf.if %even -> index {
    scf.yield %zero : index
  } else {
    scf.yield %one : index
  }
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c6: types that the device header does not have.
func.func @main() {
  return
}
cuda.kernel @no_type attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  // expected-error @+1 {{'arith.constant' op must have a result that the device header has a type for, got: 'i32'}}
  %a = arith.constant 1 : i32
  %zero = arith.constant 0 : index
  %p = cuda.pointer %zero
  cuda.for_each block %zero unroll 1 load {
  ^bb0(%i: index):
    // expected-error @+1 {{'cuda.load' op must have a result that the device header has a type for, got: 'vector<5xf32>'}}
    %v = cuda.load %p[%i] length %i : vector<5xf32>
    // expected-error @+1 {{'cuda.load' op must have a result that the device header has a type for, got: 'vector<8xtf32>'}}
    %w = cuda.load %p[%i] length %i : vector<8xtf32>
    cuda.yield
  } store {
  ^bb0(%i: index):
  }
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c7: a pointer that the launch does not pass.
func.func @main() {
  return
}
cuda.kernel @pointer attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  %two = arith.constant 2 : index
  // expected-error @+1 {{'cuda.pointer' op must be one of the kernel's 2 pointers, got: 2}}
  %p = cuda.pointer %two
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c8: a barrier that only some threads reach.
func.func @main() {
  return
}
cuda.kernel @divergent attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  %one = arith.constant 1 : index
  cuda.for_each block %one unroll 1 load {
  ^bb0(%i: index):
    // expected-error @+1 {{'cuda.block_barrier' op must not stand in cuda.for_each, which each thread runs by itself}}
    cuda.block_barrier site 3
    cuda.yield
  } store {
  ^bb0(%i: index):
    // expected-error @+1 {{'cuda.signal' op must not stand in cuda.for_each, which each thread runs by itself}}
    cuda.signal %one block %one value %one site 4
  }
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c9: sites of two mutants with one name, and none.
func.func @main() {
  return
}
cuda.kernel @sites attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  // expected-note @+1 {{the other operation of this site}}
  cuda.block_barrier site 7
  // expected-error @+1 {{'cuda.block_barrier' op must have a site of its own, got: 7}}
  cuda.block_barrier site 7
  // expected-error @+1 {{'cuda.block_barrier' op must have a positive site, got: 0}}
  cuda.block_barrier site 0
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c8: a row belongs to one warp, so nothing that a block does together stands in it, and its loops are in_row.
func.func @main() {
  return
}
cuda.kernel @rows attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  %one = arith.constant 1 : index
  cuda.for_each_row %one by 32 {
  ^bb0(%row: index):
    // expected-error @+1 {{'cuda.block_barrier' op must not stand in cuda.for_each_row, which each team runs by itself}}
    cuda.block_barrier site 3
    // expected-error @+1 {{'cuda.for_each' op must be spread over a row exactly in cuda.for_each_row or cuda.stream_rows, got: block}}
    cuda.for_each block %one unroll 1 load {
    ^bb0(%i: index):
      cuda.yield
    } store {
    ^bb0(%i: index):
    }
  }
  cuda.epoch_end %epoch site 2
}

// -----

// verify_cuda_emittable_c10: a row of a chunk without a team, a vector that is not the loop's, vectors that no lane reaches, and lines that are not yet sent.
func.func @main() {
  return
}
cuda.kernel @kept attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ll>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 64 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  %n = arith.constant 512 : index
  %zero = arith.constant 0 : index
  %x = cuda.pointer %zero
  %yes = arith.constant true
  // expected-error @+1 {{'cuda.stream_rows' op must have a team of 32 threads for each of 8 rows, got: 64 threads}}
  cuda.stream_rows %zero step %n below %n aligned %yes rows 8 by 32 ahead 0 steps 1 full 1 fetch {
  ^bb0(%c: index, %i: index):
    %row = cuda.keep_row %x length %n : !cuda.row<1 of vector<4xf32>>
    cuda.yield %row : !cuda.row<1 of vector<4xf32>>
  } produce {
  ^bb0(%c: index, %i: index, %row: !cuda.row<1 of vector<4xf32>>):
    // expected-error @+1 {{'cuda.row_reduce' op must have at most 1 vectors for each of 32 lanes, got: 128}}
    %sum = cuda.row_reduce sum %n unroll 1 per_lane 1 : vector<1xf32> load {
    ^bb0(%k: index):
      // expected-error @+1 {{'cuda.kept' op must be the vector that its loop is at, which is in a register}}
      %v = cuda.kept %row[%zero] : !cuda.row<1 of vector<4xf32>>
      cuda.yield %v : vector<4xf32>
    } map {
    ^bb0(%k: index, %v: vector<4xf32>):
      cuda.yield %v : vector<4xf32>
    }
    // expected-error @+1 {{'cuda.gather_ll' op must stand behind what is sent, in the third region}}
    %all:2 = cuda.gather_ll %x[%i] epoch %epoch site 3 own %sum : vector<1xf32> -> vector<1xf32>, vector<1xf32>
    cuda.yield
  } consume {
  ^bb0(%c: index, %i: index, %row: !cuda.row<1 of vector<4xf32>>):
  }
  cuda.epoch_end %epoch site 2
}
