// RUN: pkb-opt %s --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 mechanism=nccl})' | FileCheck %s
// RUN: pkb-opt %s --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 mechanism=nccl})' --remarks-filter=select 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// What no kernel of ours can carry out, as the library's calls that are asked for here, is taken apart: the collectives stand for themselves again.
// CHECK-LABEL: @apart
// CHECK-NOT: comm.fused
// CHECK: comm.reduce_scatter{{.*}}mechanism = nccl
// CHECK: comm.all_gather{{.*}}mechanism = nccl
// REMARK: reduce_scatter, all_gather get kernels of their own: no mechanism that is asked for can carry out all of them
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @apart(%a: tensor<65536xf32>) -> tensor<65536xf32> {
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
