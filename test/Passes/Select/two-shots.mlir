// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x4})' | FileCheck %s
// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x4})' --remarks-filter=select 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// A second run changes nothing.
// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x4},pkb-select-mechanism{target=h200x4})' | FileCheck %s

// A long all_reduce among four ranks adds up a quarter on each and gathers the sums.
// CHECK-LABEL: @long
// CHECK-SAME: (%[[X:.*]]: tensor<2048x2048xbf16>)
// CHECK: comm.fused(%[[X]]) : (tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> attributes {{.*}}xfer.schedule = #xfer.schedule<mechanism = ldst
// CHECK: %[[PART:.*]] = comm.fused(%{{.*}}) : (tensor<2048x2048xbf16>) -> tensor<1048576xbf16>
// CHECK: %[[FLAT:.*]] = aten.as_strided %{{.*}} : tensor<2048x2048xbf16> -> tensor<4194304xbf16>
// CHECK: comm.reduce_scatter sum %[[FLAT]] in <{{.*}}> accumulate f32 deterministic
// CHECK: comm.fused(%[[PART]]) : (tensor<1048576xbf16>) -> tensor<2048x2048xbf16>
// CHECK: comm.all_gather
// CHECK: aten.as_strided %{{.*}} : tensor<4194304xbf16> -> tensor<2048x2048xbf16>
// REMARK: all_reduce of 8388608 bytes among 4 ranks in two shots: fastest by ldst, predicted ldst {{[0-9.]+}} us, ll not legal: {{.*}}; in one shot ldst {{[0-9.]+}} us, ll not legal: {{.*}}nccl {{[0-9.]+}} us
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @long(%x: tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> {
    %0 = comm.all_reduce sum %x in <[[0, 1, 2, 3]]> accumulate f32 deterministic : tensor<2048x2048xbf16>
    return %0 : tensor<2048x2048xbf16>
  }
}

// -----

// What surrounds it goes along: what its message is computed from into the first phase, what is computed from its result, with what that needs, into the second.
// CHECK-LABEL: @surrounded
// CHECK: comm.fused(%{{.*}}, %{{.*}}) : (tensor<2097152xf32>, tensor<2097152xf32>) -> tensor<2097152xf32> attributes
// CHECK: comm.fused(%{{.*}}) : (tensor<2097152xf32>) -> tensor<524288xf32>
// CHECK: aten.call "aten::neg"
// CHECK-NEXT: comm.reduce_scatter
// CHECK: comm.fused
// CHECK: comm.all_gather
// CHECK-NEXT: aten.call "aten::mul"
// REMARK: fused all_reduce of 8388608 bytes among 4 ranks in two shots
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @surrounded(%x: tensor<2097152xf32>, %w: tensor<2097152xf32>) -> tensor<2097152xf32> {
    %0 = comm.fused(%x, %w) : (tensor<2097152xf32>, tensor<2097152xf32>) -> tensor<2097152xf32> {
    ^bb0(%a: tensor<2097152xf32>, %b: tensor<2097152xf32>):
      %1 = aten.call "aten::neg"(%a) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<2097152xf32>) -> tensor<2097152xf32>
      %2 = comm.all_reduce sum %1 in <[[0, 1, 2, 3]]> accumulate f32 deterministic : tensor<2097152xf32>
      %3 = aten.call "aten::mul" overload "Tensor"(%2, %b) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<2097152xf32>, tensor<2097152xf32>) -> tensor<2097152xf32>
      comm.yield %3 : tensor<2097152xf32>
    }
    return %0 : tensor<2097152xf32>
  }
}

// -----

// A short one is faster in one shot; one that is not a whole number of elements for each rank, or combines bits, has no two.
// CHECK-LABEL: @not
// CHECK-NOT: comm.reduce_scatter
// CHECK: return
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @not(%x: tensor<256xf32>, %y: tensor<4194305xbf16>, %z: tensor<2097152xi32>) -> (tensor<256xf32>, tensor<4194305xbf16>, tensor<2097152xi32>) {
    %0 = comm.all_reduce sum %x in <[[0, 1, 2, 3]]> accumulate f32 : tensor<256xf32>
    %1 = comm.all_reduce sum %y in <[[0, 1, 2, 3]]> accumulate f32 : tensor<4194305xbf16>
    %2 = comm.all_reduce bxor %z in <[[0, 1, 2, 3]]> accumulate i32 : tensor<2097152xi32>
    return %0, %1, %2 : tensor<256xf32>, tensor<4194305xbf16>, tensor<2097152xi32>
  }
}

// -----

// With rows reduced behind it, too: three phases, the last of which all blocks meet before.
// CHECK-LABEL: @normalized
// CHECK: comm.fused(%{{.*}}) : (tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> attributes {{.*}}xfer.schedule
// CHECK: %[[PART:.*]] = comm.fused(%{{.*}}) : (tensor<2048x2048xbf16>) -> tensor<1048576xbf16>
// CHECK: comm.reduce_scatter
// CHECK: %[[SUM:.*]] = comm.fused(%[[PART]]) : (tensor<1048576xbf16>) -> tensor<2048x2048xbf16>
// CHECK: comm.all_gather
// CHECK: comm.fused(%[[SUM]]) : (tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>
// CHECK: aten.call "aten::_softmax"
// REMARK: two-shot all_reduce, 3 operators on rows in one kernel among 4 ranks, apart {{[0-9.]+}} us: fastest by ldst, predicted ldst {{[0-9.]+}} us, ll not legal: {{.*}}, copy_engine not legal: {{.*}}, nccl not legal: only kernels of ours take in what is around a collective; alone it takes {{[0-9.]+}} us
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @normalized(%x: tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> {
    %0 = comm.fused(%x) : (tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> {
    ^bb0(%a: tensor<2048x2048xbf16>):
      %1 = comm.fused(%a) : (tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> {
      ^bb0(%b: tensor<2048x2048xbf16>):
        %3 = comm.all_reduce sum %b in <[[0, 1, 2, 3]]> accumulate f32 deterministic : tensor<2048x2048xbf16>
        comm.yield %3 : tensor<2048x2048xbf16>
      }
      %2 = comm.fused(%1) : (tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> {
      ^bb0(%b: tensor<2048x2048xbf16>):
        %3 = aten.call "aten::exp"(%b) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>
        %4 = aten.call "aten::tanh"(%3) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>
        %5 = aten.call "aten::_softmax"(%4) args [#aten.operand<0>, 1, false] returns [#aten.result<0>] : (tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>
        comm.yield %5 : tensor<2048x2048xbf16>
      }
      comm.yield %2 : tensor<2048x2048xbf16>
    }
    return %0 : tensor<2048x2048xbf16>
  }
}

// -----

// One row of all elements is the work of one warp: its reduction is faster as the operator that it was, and the all_reduce stays without it.
// CHECK-LABEL: @one_long_row
// CHECK: %[[T:.*]] = comm.fused(%{{.*}}) : (tensor<131072xf32>) -> tensor<131072xf32> attributes {{.*}}mechanism = ll
// CHECK: aten.call "aten::sum"(%[[T]])
// REMARK: all_reduce, 1 operator on rows get kernels of their own: predicted {{[0-9.]+}} us, in one kernel {{[0-9.]+}} us
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @one_long_row(%x: tensor<131072xf32>) -> tensor<f32> {
    %0 = comm.fused(%x) : (tensor<131072xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<131072xf32>):
      %1 = comm.fused(%a) : (tensor<131072xf32>) -> tensor<131072xf32> {
      ^bb0(%b: tensor<131072xf32>):
        %3 = comm.all_reduce sum %b in <[[0, 1, 2, 3]]> accumulate f32 deterministic : tensor<131072xf32>
        comm.yield %3 : tensor<131072xf32>
      }
      %2 = comm.fused(%1) : (tensor<131072xf32>) -> tensor<f32> {
      ^bb0(%b: tensor<131072xf32>):
        %3 = aten.call "aten::sum"(%b) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<131072xf32>) -> tensor<f32>
        comm.yield %3 : tensor<f32>
      }
      comm.yield %2 : tensor<f32>
    }
    return %0 : tensor<f32>
  }
}
