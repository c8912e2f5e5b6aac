// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives | FileCheck %s
// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// A second run changes nothing.
// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives -pkb-fuse-collectives | FileCheck %s

// What the message is computed from and what is computed from the result moves into one region; the calls are unchanged.
// CHECK-LABEL: func.func @norm
// CHECK-SAME: (%[[X:.*]]: tensor<8x64xbf16>, %[[W:.*]]: tensor<64xbf16>)
// CHECK-NEXT: %[[R:.*]] = comm.fused(%[[X]], %[[W]]) : (tensor<8x64xbf16>, tensor<64xbf16>) -> tensor<8x64xbf16> {
// CHECK: ^bb0(%[[A:.*]]: tensor<8x64xbf16>, %[[B:.*]]: tensor<64xbf16>):
// CHECK-NEXT: %[[WIDE:.*]] = aten.call "aten::_to_copy"(%[[A]])
// CHECK-NEXT: aten.call "aten::pow"
// CHECK-NEXT: aten.call "aten::sum"
// CHECK-NEXT: comm.all_reduce
// CHECK-NEXT: aten.call "aten::rsqrt"
// CHECK-NEXT: aten.call "aten::mul" overload "Tensor"(%[[WIDE]],
// CHECK-NEXT: aten.call "aten::_to_copy"
// CHECK-NEXT: %[[Y:.*]] = aten.call "aten::mul" overload "Tensor"(%[[B]],
// CHECK-NEXT: comm.yield %[[Y]] : tensor<8x64xbf16>
// CHECK: return %[[R]]
// REMARK: remark: [Passed] fused | {{.*}}all_reduce is one kernel with _to_copy, pow, sum before it and rsqrt, mul, _to_copy, mul after it
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @norm(%x: tensor<8x64xbf16>, %w: tensor<64xbf16>) -> tensor<8x64xbf16> {
    %0 = aten.call "aten::_to_copy"(%x) args [#aten.operand<0>] kwargs {dtype = #aten.dtype<float32>} returns [#aten.result<0>] : (tensor<8x64xbf16>) -> tensor<8x64xf32>
    %1 = aten.call "aten::pow" overload "Tensor_Scalar"(%0) args [#aten.operand<0>, 2] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %2 = aten.call "aten::sum" overload "dim_IntList"(%1) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %3 = comm.all_reduce sum %2 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
    %4 = aten.call "aten::rsqrt"(%3) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %5 = aten.call "aten::mul" overload "Tensor"(%0, %4) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    %6 = aten.call "aten::_to_copy"(%5) args [#aten.operand<0>] kwargs {dtype = #aten.dtype<bfloat16>} returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xbf16>
    %7 = aten.call "aten::mul" overload "Tensor"(%w, %6) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<64xbf16>, tensor<8x64xbf16>) -> tensor<8x64xbf16>
    return %7 : tensor<8x64xbf16>
  }
}

// -----

// A kernel does not read memory of the host: what does stays an operator, and so does what is computed there.
// CHECK-LABEL: func.func @host_memory
// CHECK-NOT: comm.fused
// CHECK: return
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @host_memory(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %n = aten.call "aten::full"() args [array<i64>, 2.0] kwargs {device = #aten.device<cpu>} returns [#aten.result<0>] {aten.host} : () -> tensor<f32>
    %0 = aten.call "aten::mul" overload "Tensor"(%x, %n) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<64xf32>
    %2 = aten.call "aten::mul" overload "Tensor"(%1, %n) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    %late = aten.call "aten::full"() args [array<i64>, 3.0] kwargs {device = #aten.device<cpu>} returns [#aten.result<0>] {aten.host} : () -> tensor<f32>
    %sum = aten.call "aten::add" overload "Tensor"(%n, %late) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] {aten.host} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %3 = aten.call "aten::mul" overload "Tensor"(%1, %sum) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    return %2, %3 : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// What comes after stays outside from the first operator that has no form in the kernel; a value that is used on both sides is a result.
// CHECK-LABEL: func.func @stops_at_cumsum
// CHECK: %[[R:.*]]:2 = comm.fused
// CHECK: %[[T:.*]] = comm.all_reduce
// CHECK-NEXT: %[[Y:.*]] = aten.call "aten::mul"
// CHECK-NEXT: comm.yield %[[T]], %[[Y]]
// CHECK: %[[S:.*]] = aten.call "aten::cumsum"(%[[R]]#1)
// CHECK: return %[[R]]#0, %[[S]]
// REMARK: all_reduce is one kernel with sum before it and mul after it
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @stops_at_cumsum(%x: tensor<8x64xf32>) -> (tensor<8x1xf32>, tensor<8x64xf32>) {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
    %2 = aten.call "aten::mul" overload "Tensor"(%x, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    %3 = aten.call "aten::cumsum"(%2) args [#aten.operand<0>, 1] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    return %1, %3 : tensor<8x1xf32>, tensor<8x64xf32>
  }
}

// -----

// A reduction that others need as well stays outside; what is left works on the elements of the message.
// CHECK-LABEL: func.func @shared_statistic
// CHECK: %[[S:.*]] = aten.call "aten::sum"
// CHECK: %[[R:.*]] = comm.fused(%[[S]])
// CHECK: comm.all_reduce
// CHECK-NEXT: aten.call "aten::neg"
// CHECK: return %[[S]], %[[R]]
// REMARK: all_reduce is one kernel with neg after it
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @shared_statistic(%x: tensor<8x64xf32>) -> (tensor<8x1xf32>, tensor<8x1xf32>) {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
    %2 = aten.call "aten::neg"(%1) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8x1xf32>) -> tensor<8x1xf32>
    return %0, %2 : tensor<8x1xf32>, tensor<8x1xf32>
  }
}

// -----

// A transposition before the exchange and one after it are orders of the same elements.
// CHECK-LABEL: func.func @transposes
// CHECK-SAME: (%[[X:.*]]: tensor<6x4x16xbf16>)
// CHECK: %[[T:.*]] = aten.as_strided %[[X]]
// CHECK: %[[R:.*]] = comm.fused(%[[T]])
// CHECK: aten.call "aten::clone"
// CHECK: comm.all_to_all
// CHECK: aten.as_strided
// CHECK: aten.call "aten::clone"
// CHECK: comm.yield
// CHECK-NEXT: }
// CHECK-NEXT: return %[[R]]
// REMARK: all_to_all is one kernel with clone before it and clone after it
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @transposes(%x: tensor<6x4x16xbf16>) -> tensor<2x6x2x16xbf16> {
    %0 = aten.as_strided %x : tensor<6x4x16xbf16> -> tensor<4x6x16xbf16, #aten.strided<[16, 64, 1], 0>>
    %1 = aten.call "aten::clone"(%0) args [#aten.operand<0>] kwargs {memory_format = #aten.memory_format<contiguous>} returns [#aten.result<0>] : (tensor<4x6x16xbf16, #aten.strided<[16, 64, 1], 0>>) -> tensor<4x6x16xbf16>
    %2 = comm.all_to_all %1 in <[[0, 1]]> : (tensor<4x6x16xbf16>) -> tensor<4x6x16xbf16>
    %3 = aten.as_strided %2 : tensor<4x6x16xbf16> -> tensor<2x6x2x16xbf16, #aten.strided<[192, 16, 96, 1], 0>>
    %4 = aten.call "aten::clone"(%3) args [#aten.operand<0>] kwargs {memory_format = #aten.memory_format<contiguous>} returns [#aten.result<0>] : (tensor<2x6x2x16xbf16, #aten.strided<[192, 16, 96, 1], 0>>) -> tensor<2x6x2x16xbf16>
    return %4 : tensor<2x6x2x16xbf16>
  }
}

// -----

// A part of what arrives has no place of its own in the kernel.
// CHECK-LABEL: func.func @takes_a_part
// CHECK-NOT: comm.fused
// REMARK: remark: [Missed] not-fused | {{.*}}all_reduce is a kernel of its own: {{.*}}
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @takes_a_part(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
    %1 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<8x64xf32>
    %2 = aten.as_strided %1 : tensor<8x64xf32> -> tensor<8x32xf32, #aten.strided<[64, 1], 32>>
    %3 = aten.call "aten::neg"(%2) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8x32xf32, #aten.strided<[64, 1], 32>>) -> tensor<8x32xf32>
    return %3 : tensor<8x32xf32>
  }
}

// -----

// The other operand of the product is made after the collective: the product stays where it is.
// CHECK-LABEL: func.func @operand_comes_later
// CHECK: comm.fused
// CHECK-NOT: aten::mul
// CHECK: comm.yield
// CHECK: aten.call "aten::bernoulli"
// CHECK: aten.call "aten::mul"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @operand_comes_later(%x: tensor<8x64xf32>) -> tensor<8x1xf32> {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
    %2 = aten.call "aten::bernoulli"(%1) args [#aten.operand<0>] returns [#aten.result<0>] rng : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %3 = aten.call "aten::mul" overload "Tensor"(%1, %2) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
    return %3 : tensor<8x1xf32>
  }
}

// -----

// A write in place to a tensor of the caller is not moved; one to a tensor that the kernel makes is an operator like any other.
// CHECK-LABEL: func.func @writes
// CHECK: comm.fused
// CHECK: aten.call "aten::div_"
// CHECK: comm.yield
// CHECK: aten.call "aten::mul_"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @writes(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x1xf32>) {
    %0 = aten.call "aten::sum" overload "dim_IntList"(%x) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
    %2 = aten.call "aten::div_" overload "Tensor"(%1) args [#aten.operand<0>, 2] returns [#aten.operand<0>] mutates [0] : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %3 = aten.call "aten::mul_" overload "Tensor"(%x, %2) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    return %3, %2 : tensor<8x64xf32>, tensor<8x1xf32>
  }
}

// -----

// A rank outside of the group computes, too, but does not run the kernel.
// CHECK-LABEL: func.func @some_ranks
// CHECK-NOT: comm.fused
// REMARK: remark: [Missed] not-fused | {{.*}}all_reduce is a kernel of its own: what is around it is computed on ranks outside of its group, too
module attributes {comm.mesh = #comm.mesh<size = 3>} {
  func.func @some_ranks(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
    %1 = aten.call "aten::neg"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// Both ranks meet in one kernel, which each function must know.
// CHECK-LABEL: func.func @first
// CHECK-NOT: comm.fused
// REMARK: remark: [Missed] not-fused | {{.*}}all_reduce is a kernel of its own: other ranks run other code around it
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @first(%x: tensor<8xf32>) -> tensor<8xf32> attributes {comm.ranks = array<i64: 0>} {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<8xf32>
    %1 = aten.call "aten::neg"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func @second(%x: tensor<8xf32>) -> tensor<8xf32> attributes {comm.ranks = array<i64: 1>} {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Views cost nothing where they are: a kernel is not bound to compute for them, and the library stays a choice.
// CHECK-LABEL: @only_views
// CHECK-NOT: comm.fused
// CHECK: comm.all_gather
// CHECK: aten.as_strided
// REMARK: remark: [Missed] not-fused | {{.*}}all_gather is a kernel of its own: cumsum after it has no form in a kernel
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @only_views(%x: tensor<4x16xf32>) -> tensor<2x64xf32> {
    %0 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x16xf32>) -> tensor<2x4x16xf32>
    %1 = aten.as_strided %0 : tensor<2x4x16xf32> -> tensor<2x64xf32>
    %2 = aten.call "aten::cumsum"(%1) args [#aten.operand<0>, 1] returns [#aten.result<0>] : (tensor<2x64xf32>) -> tensor<2x64xf32>
    return %2 : tensor<2x64xf32>
  }
}

// -----

// A schedule that somebody gave is for the collective as it is.
// CHECK-LABEL: @scheduled
// CHECK-NOT: comm.fused
// CHECK: comm.all_reduce {{.*}}xfer.schedule
// REMARK: remark: [Missed] not-fused | {{.*}}all_reduce is a kernel of its own: it came with a schedule of its own
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @scheduled(%x: tensor<64xf32>) -> tensor<64xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 64, chunk = 256, depth = 0, slots = 1, unroll = 1>} : tensor<64xf32>
    %1 = aten.call "aten::neg"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<64xf32>) -> tensor<64xf32>
    return %1 : tensor<64xf32>
  }
}

// -----

// The peers count on a collective whose result nobody reads: it stays, in a kernel of its own.
// CHECK-LABEL: func.func @unread
// CHECK: aten.call "aten::add"
// CHECK-NEXT: comm.all_reduce
// CHECK-NOT: comm.fused
// CHECK: return %arg0
// REMARK: remark: [Missed] not-fused | {{.*}}all_reduce is a kernel of its own: nobody reads what it gives
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @unread(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = aten.call "aten::add" overload "Tensor"(%x) args [#aten.operand<0>, 1] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
    return %x : tensor<8xf32>
  }
}
