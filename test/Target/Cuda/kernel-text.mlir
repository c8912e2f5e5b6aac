// RUN: pkb-opt %s -pkb-verify-cuda-emittable --emit=cuda | FileCheck %s
// RUN: pkb-opt %s --emit=cuda | FileCheck %s --check-prefix=HEAD

// Free text becomes one comment of one line, whatever it holds: it cannot end the manifest's comment, nor a line.
// HEAD: {{^}}/* pkb-manifest
// HEAD-NOT: {{[*]/}}
// HEAD: "source":"odd*\/name\nof a.py:3"
// HEAD: {{^}}*/
// HEAD-NEXT: {{^}}#include "pkb_rt/device.h"{{$}}
func.func @main(%in: memref<8xf32>) {
  cuda.launch @every_op(%in, %in) : memref<8xf32>, memref<8xf32> loc("odd*/name\0Aof a.py":3:1)
  return
}

// Every operation of the dialect is one call of the header or one expression. Constants are printed where they are used.
// CHECK: {{^}}// first second third {{$}}
// CHECK-NEXT: PKB_KERNEL(every_op, /*threads=*/1024, /*min_blocks=*/2, /*ranks=*/2, /*pointers=*/2) {
cuda.kernel @every_op attributes {blocks = 132 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 2 : i64,
    pointers = 2 : i64, ranks = 2 : i64, region_bytes = 7000000 : i64, summary = "first\0Asecond\\third\\", threads = 1024 : i64} {
  // CHECK-NEXT: const auto ticket = pkb::epoch_begin<1>(args);
  %ticket = cuda.epoch_begin site 1
  // CHECK-NEXT: const int64_t epoch = int64_t(pkb::epoch(ticket));
  %epoch = cuda.epoch %ticket
  // CHECK-NEXT: const int64_t me = pkb::rank(args);
  %me = cuda.rank
  // CHECK-NEXT: const int64_t block = pkb::block_index();
  %block = cuda.block_index
  // CHECK-NEXT: const int64_t n = pkb::vectors<24>(block);
  %blocks = cuda.vectors %block of 24
  // CHECK-NEXT: const int64_t mine = pkb::chunk_count(7, block, n);
  %seven = arith.constant 7 : index
  %mine = cuda.chunk_count %seven, %block, %blocks
  // CHECK-NEXT: const int64_t n_1 = pkb::table<3, -1>(me);
  %entry = cuda.table [3, -1] at %me
  // CHECK-NEXT: char *const tensor = pkb::pointer(args, 1);
  %one = arith.constant 1 : index
  %tensor = cuda.pointer %one
  // CHECK-NEXT: const int64_t half = pkb::staging(args, me);
  %half = cuda.staging %me
  // CHECK-NEXT: const int64_t lines = pkb::ll_slot(args, me, -3);
  %minus = arith.constant -3 : index
  %lines = cuda.ll_slot %me, %minus
  // CHECK-NEXT: char *const slot = pkb::region(args, me, half);
  %slot = cuda.region %me, %half
  // A name that is taken gets a number.
  // CHECK-NEXT: char *const slot_1 = pkb::region(args, me, lines);
  %line = cuda.region %me, %lines
  // CHECK-NEXT: char *const at = tensor + mine;
  %at = cuda.advance %tensor, %mine
  // CHECK-NEXT: const int64_t mark = pkb::flag_value(epoch, mine);
  %mark = cuda.flag_value %epoch, %mine
  // CHECK-NEXT: pkb::block_barrier<2>(args);
  cuda.block_barrier site 2
  // CHECK-NEXT: pkb::signal<3>(args, me, block, mark);
  cuda.signal %me block %block value %mark site 3
  // CHECK-NEXT: pkb::wait<4>(args, me, block, mark);
  cuda.wait %me block %block value %mark site 4
  // Whether all that a loop loads and stores is aligned, whole vectors is found out before it.
  // CHECK-NEXT: pkb::for_each<4>(mine, pkb::aligned<4>(7, at) && pkb::aligned<4>(mine, at), [&](int64_t i, auto how) {
  cuda.for_each block %mine unroll 4 load {
  ^bb0(%i: index):
    // CHECK-NEXT: const auto v = pkb::load<float, 4>(at, i, 7, how);
    %a = cuda.load %at[%i] length %seven : vector<4xf32>
    // CHECK-NEXT: const auto v_1 = pkb::load_staged<pkb::bf16, 8>(slot, i);
    %b = cuda.load_staged %slot[%i] : vector<8xbf16>
    // CHECK-NEXT: const auto v_2 = pkb::load_ll<int8_t, 16, 5>(args, slot_1, i, epoch);
    %c = cuda.load_ll %line[%i] epoch %epoch site 5 : vector<16xi8>
    // CHECK-NEXT: return pkb::pack(v, v_1, v_2);
    cuda.yield %a, %b, %c : vector<4xf32>, vector<8xbf16>, vector<16xi8>
  // Values that nobody takes have no name.
  // CHECK-NEXT: }, [&](int64_t i_1, const auto &values, auto how) {
  // CHECK-NEXT: const auto &value = pkb::get<0>(values);
  // CHECK-NEXT: const auto &value_1 = pkb::get<2>(values);
  } store {
  ^bb0(%i: index, %a: vector<4xf32>, %b: vector<8xbf16>, %c: vector<16xi8>):
    // CHECK-NEXT: pkb::store(at, i_1, mine, value, how);
    cuda.store %a to %at[%i] length %mine : vector<4xf32>
    // CHECK-NEXT: pkb::store_peer(slot, i_1, value_1);
    cuda.store_peer %c to %slot[%i] : vector<16xi8>
    // CHECK-NEXT: pkb::store_ll<6>(slot_1, i_1, value_1, epoch);
    cuda.store_ll %c to %line[%i] epoch %epoch site 6 : vector<16xi8>
  // CHECK-NEXT: });
  }
  // CHECK-NEXT: pkb::for_each<1>(1, pkb::aligned<4>(1, tensor), [&](int64_t i_2, auto how) {
  // CHECK-NEXT: const auto v_3 = pkb::load<float, 4>(tensor, i_2, 1, how);
  // CHECK-NEXT: return v_3;
  // CHECK-NEXT: }, [&](int64_t i_3, const auto &value_2, auto how) {
  // CHECK-NEXT: pkb::store(tensor, i_3, 1, value_2, how);
  // CHECK-NEXT: });
  cuda.for_each block %one unroll 1 load {
  ^bb0(%i: index):
    %a = cuda.load %tensor[%i] length %one : vector<4xf32>
    cuda.yield %a : vector<4xf32>
  } store {
  ^bb0(%i: index, %a: vector<4xf32>):
    cuda.store %a to %tensor[%i] length %one : vector<4xf32>
  }
  // CHECK-NEXT: pkb::for_each_once<1>(1, true, [&](int64_t, auto) {
  // CHECK-NEXT: }, [&](int64_t, auto) {
  // CHECK-NEXT: });
  cuda.for_each once %one unroll 1 load {
  ^bb0(%i: index):
    cuda.yield
  } store {
  ^bb0(%i: index):
  }
  // CHECK-NEXT: pkb::epoch_end<7>(args, epoch);
  cuda.epoch_end %epoch site 7
  // CHECK-NEXT: {{^}}}
}

// Arithmetic that combines contributions: bit by bit, without sign, with one number in all lanes.
// CHECK: PKB_KERNEL(combine,
cuda.kernel @combine attributes {blocks = 1 : i64, group = #comm.group<[[0, 1, 2, 3]]>, mechanism = #xfer<mechanism ldst>,
    min_blocks = 1 : i64, pointers = 1 : i64, ranks = 4 : i64, region_bytes = 13000000 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 8
  %epoch = cuda.epoch %ticket
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %tensor = cuda.pointer %zero
  cuda.for_each block %one unroll 1 load {
  ^bb0(%i: index):
    // CHECK: const auto [[A:v[_0-9]*]] = pkb::load<int8_t, 16>
    %a = cuda.load %tensor[%i] length %one : vector<16xi8>
    // CHECK-NEXT: const auto [[AND:v[_0-9]*]] = [[A]] & [[A]];
    %and = arith.andi %a, %a : vector<16xi8>
    // CHECK-NEXT: const auto [[OR:v[_0-9]*]] = [[AND]] | [[A]];
    %or = arith.ori %and, %a : vector<16xi8>
    // CHECK-NEXT: const auto [[XOR:v[_0-9]*]] = [[OR]] ^ [[A]];
    %xor = arith.xori %or, %a : vector<16xi8>
    // CHECK-NEXT: const auto [[MIN:v[_0-9]*]] = pkb::min_unsigned([[XOR]], [[A]]);
    %min = arith.minui %xor, %a : vector<16xi8>
    // CHECK-NEXT: const auto [[MAX:v[_0-9]*]] = pkb::max_unsigned([[MIN]], [[A]]);
    %max = arith.maxui %min, %a : vector<16xi8>
    %f = cuda.load %tensor[%i] length %one : vector<4xf32>
    %third = arith.constant dense<0.333333343> : vector<4xf32>
    // CHECK: = {{v[_0-9]*}} * pkb::splat<float, 4>(3.33333343E-1f);
    %scaled = arith.mulf %f, %third : vector<4xf32>
    cuda.yield %max, %scaled : vector<16xi8>, vector<4xf32>
  } store {
  ^bb0(%i: index, %a: vector<16xi8>, %f: vector<4xf32>):
    cuda.store %a to %tensor[%i] length %one : vector<16xi8>
  }
  cuda.epoch_end %epoch site 9
}
