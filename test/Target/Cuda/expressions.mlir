// RUN: pkb-opt %s -pkb-verify-cuda-emittable --emit=cuda > %t.cu
// RUN: FileCheck %s < %t.cu
// Every expression is C++ that a host compiler takes, without a warning.
// RUN: %cxx -x c++ -std=c++17 -DPKB_EMULATED=1 -fsyntax-only -Wall -Wextra -Werror -Wno-unused-variable -I%src/runtime/include %t.cu

func.func @main() {
  return
}

// Scalars: addresses and counts, loops and branches that are the same for the whole block.
// CHECK: PKB_KERNEL(scalars,
cuda.kernel @scalars attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 0 : i64, ranks = 2 : i64, region_bytes = 7000000 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 1
  %epoch = cuda.epoch %ticket
  // CHECK: const int64_t me = pkb::rank(args);
  %x = cuda.rank
  // CHECK-NEXT: const int64_t block = pkb::block_index();
  %y = cuda.block_index
  // CHECK-NEXT: const int64_t n = me + block;
  %add = arith.addi %x, %y : index
  // CHECK-NEXT: = me - block;
  %sub = arith.subi %x, %y : index
  // CHECK-NEXT: = me * block;
  %mul = arith.muli %x, %y : index
  // CHECK-NEXT: = me / 3;
  %three = arith.constant 3 : index
  %divu = arith.divui %x, %three : index
  // CHECK-NEXT: = me / 3;
  %divs = arith.divsi %x, %three : index
  // CHECK-NEXT: = me % 3;
  %remu = arith.remui %x, %three : index
  // CHECK-NEXT: = me % 3;
  %rems = arith.remsi %x, %three : index
  // CHECK-NEXT: = me & block;
  %and = arith.andi %x, %y : index
  // CHECK-NEXT: = me < block ? me : block;
  %mins = arith.minsi %x, %y : index
  // CHECK-NEXT: = me > block ? me : block;
  %maxs = arith.maxsi %x, %y : index
  // CHECK-NEXT: const bool [[EQ:.*]] = me == block;
  %eq = arith.cmpi eq, %x, %y : index
  // CHECK-NEXT: = me != block;
  %ne = arith.cmpi ne, %x, %y : index
  // CHECK-NEXT: = me < block;
  %lt = arith.cmpi slt, %x, %y : index
  // CHECK-NEXT: = me <= block;
  %le = arith.cmpi sle, %x, %y : index
  // CHECK-NEXT: = me > block;
  %gt = arith.cmpi sgt, %x, %y : index
  // CHECK-NEXT: = me >= block;
  %ge = arith.cmpi sge, %x, %y : index
  // CHECK-NEXT: const int64_t [[CHOICE:.*]] = [[EQ]] ? me : 3;
  %select = arith.select %eq, %x, %three : index
  // CHECK-NEXT: for (int64_t step = me; step < [[CHOICE]]; step += 3) {
  scf.for %k = %x to %select step %three {
    // CHECK-NEXT: if ([[EQ]]) {
    // CHECK-NEXT: pkb::block_barrier<2>(args);
    // CHECK-NEXT: } else {
    // CHECK-NEXT: pkb::block_barrier<3>(args);
    // CHECK-NEXT: }
    scf.if %eq {
      cuda.block_barrier site 2
    } else {
      cuda.block_barrier site 3
    }
    // CHECK-NEXT: if (true) {
    // CHECK-NEXT: pkb::block_barrier<4>(args);
    // CHECK-NEXT: }
    %true = arith.constant true
    scf.if %true {
      cuda.block_barrier site 4
    }
  // CHECK-NEXT: }
  }
  cuda.epoch_end %epoch site 5
}

// Vectors: the same operators on every element, functions of the header where there is no operator.
// CHECK: PKB_KERNEL(vectors,
cuda.kernel @vectors attributes {blocks = 1 : i64, group = #comm.group<[[0, 1]]>, mechanism = #xfer<mechanism ldst>, min_blocks = 1 : i64,
    pointers = 1 : i64, ranks = 2 : i64, region_bytes = 7000000 : i64, summary = "", threads = 32 : i64} {
  %ticket = cuda.epoch_begin site 6
  %epoch = cuda.epoch %ticket
  %zero = arith.constant 0 : index
  %first = arith.cmpi eq, %epoch, %zero : index
  %p = cuda.pointer %zero
  cuda.for_each block %zero unroll 1 load {
  ^bb0(%i: index):
    // CHECK: const auto v = pkb::load<double, 2>(
    %f64 = cuda.load %p[%i] length %zero : vector<2xf64>
    // CHECK-NEXT: pkb::load<float, 4>(
    %f32 = cuda.load %p[%i] length %zero : vector<4xf32>
    // CHECK-NEXT: pkb::load<pkb::f16, 8>(
    %f16 = cuda.load %p[%i] length %zero : vector<8xf16>
    // CHECK-NEXT: pkb::load<pkb::bf16, 8>(
    %bf16 = cuda.load %p[%i] length %zero : vector<8xbf16>
    // CHECK-NEXT: pkb::load<pkb::f8e4m3, 16>(
    %f8a = cuda.load %p[%i] length %zero : vector<16xf8E4M3FN>
    // CHECK-NEXT: pkb::load<pkb::f8e5m2, 16>(
    %f8b = cuda.load %p[%i] length %zero : vector<16xf8E5M2>
    // CHECK-NEXT: pkb::load<int8_t, 16>(
    %i8 = cuda.load %p[%i] length %zero : vector<16xi8>
    // CHECK-NEXT: pkb::load<uint8_t, 16>(
    %u8 = cuda.load %p[%i] length %zero : vector<16xui8>
    // CHECK-NEXT: pkb::load<int16_t, 8>(
    %i16 = cuda.load %p[%i] length %zero : vector<8xi16>
    // CHECK-NEXT: const auto [[I32:.*]] = pkb::load<int32_t, 4>(
    %i32 = cuda.load %p[%i] length %zero : vector<4xi32>
    // CHECK-NEXT: pkb::load<int64_t, 2>(
    %i64 = cuda.load %p[%i] length %zero : vector<2xi64>
    // CHECK-NEXT: pkb::load<bool, 16>(
    %i1 = cuda.load %p[%i] length %zero : vector<16xi1>
    // CHECK-NEXT: = v_1 + v_1;
    %addf = arith.addf %f32, %f32 : vector<4xf32>
    // CHECK-NEXT: = v_1 - v_1;
    %subf = arith.subf %f32, %f32 : vector<4xf32>
    // CHECK-NEXT: = v_1 * v_1;
    %mulf = arith.mulf %f32, %f32 : vector<4xf32>
    // CHECK-NEXT: = v_1 / v_1;
    %divf = arith.divf %f32, %f32 : vector<4xf32>
    // CHECK-NEXT: = pkb::min(v_1, v_1);
    %minf = arith.minimumf %f32, %f32 : vector<4xf32>
    // CHECK-NEXT: = pkb::max(v_1, v_1);
    %maxf = arith.maximumf %f32, %f32 : vector<4xf32>
    // CHECK-NEXT: = pkb::min_number(v_1, v_1);
    %minn = arith.minnumf %f32, %f32 : vector<4xf32>
    // CHECK-NEXT: = pkb::max_number(v_1, v_1);
    %maxn = arith.maxnumf %f32, %f32 : vector<4xf32>
    // CHECK-NEXT: = [[I32]] + [[I32]];
    %addi = arith.addi %i32, %i32 : vector<4xi32>
    // CHECK-NEXT: = pkb::max([[I32]], [[I32]]);
    %maxi = arith.maxsi %i32, %i32 : vector<4xi32>
    // CHECK-NEXT: = pkb::convert<float>(v_3);
    %wide = arith.extf %bf16 : vector<8xbf16> to vector<8xf32>
    // CHECK-NEXT: = pkb::convert<pkb::f16>(
    %narrow = arith.truncf %wide : vector<8xf32> to vector<8xf16>
    // CHECK-NEXT: const auto [[LAST:.*]] = n ? v_1 : v_1;
    %choice = arith.select %first, %f32, %f32 : vector<4xf32>
    // CHECK-NEXT: return [[LAST]];
    cuda.yield %choice : vector<4xf32>
  } store {
  ^bb0(%i: index, %v: vector<4xf32>):
    cuda.store %v to %p[%i] length %zero : vector<4xf32>
  }
  cuda.epoch_end %epoch site 7
}
