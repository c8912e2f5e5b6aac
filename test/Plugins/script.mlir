// A transform script changes the schedule without a compiler: the kernel has four blocks and is not fused, and the program means the same.
// RUN: pkb-opt %s --pkb-pipeline='target=h200x2 script=%src/docs/Examples/scripts/few-blocks.mlir' --explain -o %t.cu 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: FileCheck %s < %t.cu
// RUN: pkb-opt %s --pkb-pipeline='target=h200x2 fuse=false' | FileCheck %s --check-prefix=WITHOUT
// CHECK: "block":512,"grid":[4,4],"mechanism":"ldst",{{.*}}"name":"all_reduce_0"
// CHECK: PKB_KERNEL(all_reduce_0, /*threads=*/512
// WITHOUT: cuda.kernel @all_reduce_0 attributes {blocks = 128 : i64
// What else there is stands beside a schedule that was given, but no time of its own mechanism: that would be the time of another schedule.
// EXPLAIN: all_reduce {{ *}}ldst {{ *}}copy_engine {{[0-9.]+}} us
// EXPLAIN-NEXT: schedule was given {{ *}}nccl {{[0-9.]+}} us
// EXPLAIN-NEXT: not ll: message of 2097152 bytes
// EXPLAIN: {{^}}ldst {{ *}}a kernel of ours stores

// The passes of the script can also be named.
// RUN: pkb-opt %s --pass-pipeline='builtin.module(transform-preload-library{transform-library-paths=%src/docs/Examples/scripts/few-blocks.mlir},transform-interpreter)' \
// RUN:   -o %t.l1.mlir
// RUN: FileCheck %s --check-prefix=L1 < %t.l1.mlir
// L1: comm.all_reduce sum {{.*}} {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 4, threads = 512, chunk = 16384, depth = 1, slots = 4, unroll = 1>}
// L1: comm.all_gather
// L1-NOT: xfer.schedule
// RUN: pkb-interpret %t.l1.mlir --lower='pkb-select-mechanism{target=h200x2},pkb-convert-comm-to-xfer' --seeds=2
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<1024x1024xbf16>) -> tensor<2x1024x1024xbf16> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<1024x1024xbf16>
    %1 = comm.all_gather %0 in <[[0, 1]]> : (tensor<1024x1024xbf16>) -> tensor<2x1024x1024xbf16>
    return %1 : tensor<2x1024x1024xbf16>
  }
}
