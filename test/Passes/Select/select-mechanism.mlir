// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2})' | FileCheck %s
// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2})' \
// RUN:   --remark-format=emitRemark --remarks-filter=select 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 mechanism=ldst})' | FileCheck %s --check-prefix=ASKED
// A second run changes nothing.
// RUN: pkb-opt %s -split-input-file --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2},pkb-select-mechanism{target=h200x2 mechanism=ldst})' | FileCheck %s

// A small message goes in LL lines, one chunk per block; the module learns its target and the mesh its links.
// CHECK: module attributes
// CHECK-SAME: comm.mesh = #comm.mesh<size = 2, link = nvlink, copy_engines = 3>
// CHECK-SAME: cuda.target = "h200x2"
// CHECK-LABEL: @small
// CHECK: comm.all_reduce
// CHECK-SAME: xfer.schedule = #xfer.schedule<mechanism = ll, blocks = 11, threads = 32, chunk = 1536, depth = 0, slots = 1, unroll = 1>
// REMARK: remark: {{.*}}mechanism{{.*}}all_reduce of 16384 bytes per peer among 2 ranks: fastest by ll, predicted ldst {{[0-9.]+}} us, ll {{[0-9.]+}} us
// ASKED-LABEL: @small
// ASKED: mechanism = ldst
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @small(%a: tensor<8192xbf16>) -> tensor<8192xbf16> {
    %0 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 deterministic : tensor<8192xbf16>
    return %0 : tensor<8192xbf16>
  }
}

// -----

// Above an LL slot only staged stores are left, and the remark says why.
// CHECK-LABEL: @medium
// CHECK: mechanism = ldst, blocks = 128, threads = 1024, chunk = 16384, depth = 0, slots = 1, unroll = 1
// REMARK: all_gather of 2097152 bytes per peer among 2 ranks: fastest by ldst, predicted ldst {{[0-9.]+}} us, ll not legal: message of 2097152 bytes exceeds the 1179648 bytes of an LL slot
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @medium(%a: tensor<1048576xbf16>) -> tensor<2x1048576xbf16> {
    %0 = comm.all_gather %a in <[[0, 1]]> : (tensor<1048576xbf16>) -> tensor<2x1048576xbf16>
    return %0 : tensor<2x1048576xbf16>
  }
}

// -----

// A large message is pipelined through a ring of chunks. Only one part of an all-to-all goes to a peer.
// CHECK-LABEL: @large
// CHECK: mechanism = ldst, blocks = 256, threads = 512, chunk = 16384, depth = 1, slots = 4, unroll = 2, per_sm = 2
// REMARK: all_to_all of 33554432 bytes per peer
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @large(%a: tensor<2x16777216xbf16>) -> tensor<2x16777216xbf16> {
    %0 = comm.all_to_all %a in <[[0, 1]]> : (tensor<2x16777216xbf16>) -> tensor<2x16777216xbf16>
    return %0 : tensor<2x16777216xbf16>
  }
}

// -----

// An empty message still has a schedule, by flags: every rank signals, where LL lines would let a rank run ahead of the others.
// CHECK-LABEL: @empty
// CHECK: mechanism = ldst, blocks = 1
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @empty(%a: tensor<0xf32>) -> tensor<0xf32> {
    %0 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 deterministic : tensor<0xf32>
    return %0 : tensor<0xf32>
  }
}

// -----

// A collective that has a schedule keeps it.
// CHECK-LABEL: @keeps_schedule
// CHECK: mechanism = ldst, blocks = 3
// ASKED-LABEL: @keeps_schedule
// ASKED: blocks = 3
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @keeps_schedule(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 deterministic {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 3, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>} : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Two collectives that go on from each other are one kernel, by the schedule of the longer message.
// CHECK-LABEL: @chain
// CHECK: comm.fused(%{{.*}}) : (tensor<65536xf32>) -> tensor<65536xf32> attributes {{.*}}xfer.schedule = #xfer.schedule<mechanism = ll
// CHECK: comm.fused
// CHECK: comm.all_gather
// REMARK: reduce_scatter, all_gather in one kernel among 2 ranks, apart {{[0-9.]+}} us: fastest by ll, predicted ldst {{[0-9.]+}} us, ll {{[0-9.]+}} us, copy_engine not legal: only kernels of ours hold several collectives; apart they take {{[0-9.]+}} us, nccl not legal: only kernels of ours hold several collectives; apart they take {{[0-9.]+}} us
// ASKED-LABEL: @chain
// ASKED: comm.fused{{.*}} attributes {{.*}}mechanism = ldst
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @chain(%a: tensor<65536xf32>) -> tensor<65536xf32> {
    %0 = comm.fused(%a) : (tensor<65536xf32>) -> tensor<65536xf32> {
    ^bb0(%b: tensor<65536xf32>):
      %1 = comm.fused(%b) : (tensor<65536xf32>) -> tensor<32768xf32> {
      ^bb0(%c: tensor<65536xf32>):
        %2 = comm.reduce_scatter sum %c in <[[0, 1]]> accumulate f32 : (tensor<65536xf32>) -> tensor<32768xf32>
        comm.yield %2 : tensor<32768xf32>
      }
      %3 = comm.fused(%1) : (tensor<32768xf32>) -> tensor<65536xf32> {
      ^bb0(%c: tensor<32768xf32>):
        %4 = comm.all_gather %c in <[[0, 1]]> : (tensor<32768xf32>) -> tensor<65536xf32>
        comm.yield %4 : tensor<65536xf32>
      }
      comm.yield %3 : tensor<65536xf32>
    }
    return %0 : tensor<65536xf32>
  }
}
