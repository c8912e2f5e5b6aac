// RUN: pkb-opt %s -split-input-file -pkb-verify-cuda-emittable | FileCheck %s
// RUN: pkb-opt %s -split-input-file -pkb-verify-cuda-emittable -verify-diagnostics

// What the lowering makes passes unchanged; tests of the emitter print it.

// CHECK-LABEL: func.func @main
// CHECK: cuda.launch @push
func.func @main(%in: memref<8xf32>) -> memref<4x2xf32> {
  %constant = memref.get_global @three : memref<8xf32>
  %out = memref.alloc() : memref<8xf32>
  %view = memref.reinterpret_cast %out to offset: [0], sizes: [4, 2], strides: [2, 1] : memref<8xf32> to memref<4x2xf32>
  memref.copy %constant, %out : memref<8xf32> to memref<8xf32>
  cuda.launch @push(%in, %out) : memref<8xf32>, memref<8xf32>
  return %view : memref<4x2xf32>
}
memref.global "private" constant @three : memref<8xf32> = dense<3.0>
// CHECK-LABEL: cuda.kernel @push
cuda.kernel @push attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  %me = cuda.rank
  %block = cuda.block_index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %many = arith.constant 8 : index
  %peer = arith.subi %one, %me : index
  %parity = arith.andi %epoch, %one : index
  %half = cuda.staging %parity
  %source = cuda.pointer %zero
  %slot = cuda.region %peer, %half
  cuda.for_each block %one unroll 1 load {
  ^bb0(%i: index):
    %v = cuda.load %source[%i] length %many : vector<4xf32>
    %twice = arith.addf %v, %v : vector<4xf32>
    cuda.yield %twice : vector<4xf32>
  } store {
  ^bb0(%i: index, %v: vector<4xf32>):
    cuda.store_peer %v to %slot[%i] : vector<4xf32>
  }
  cuda.block_barrier site 3
  %mark = cuda.flag_value %epoch, %one
  cuda.signal %peer block %block value %mark site 4
  %even = arith.cmpi eq, %parity, %zero : index
  scf.if %even {
    scf.for %k = %zero to %many step %one {
      cuda.wait %peer block %block value %mark site 5
    }
  }
  cuda.block_barrier site 6
  cuda.epoch_end %epoch site 2
}

// -----

// Sites count on over the kernels of a module; a program may have no kernel at all.
// CHECK-LABEL: func.func @main
func.func @main() {
  return
}
// CHECK-LABEL: cuda.kernel @first
cuda.kernel @first attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  cuda.epoch_end %epoch site 2
}
// CHECK-LABEL: cuda.kernel @second
cuda.kernel @second attributes {blocks = 2 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 6361600 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 3
  %epoch = cuda.epoch %ticket
  cuda.epoch_end %epoch site 4
}
