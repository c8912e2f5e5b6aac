// REQUIRES: plugins
// RUN: %src/tools/dev/build-plugin %src/docs/Examples/plugin/TwoShot.cpp -o %t.so --build %build

// A pass in a shared library finds our dialects, their interfaces and the rewrite driver in pkb-opt. It is built by one command, outside of the build.
// RUN: pkb-opt %s --load-pass-plugin=%t.so --pass-pipeline='builtin.module(two-shot)' -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// CHECK-LABEL: func.func @main
// CHECK-SAME:  %[[X:.+]]: tensor<8x16xf32>
// CHECK-NEXT:  %[[PART:.+]] = comm.reduce_scatter sum %[[X]] in <{{\[\[}}0, 1]]> accumulate f32 deterministic : (tensor<8x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:  %[[ALL:.+]] = comm.all_gather %[[PART]] in <{{\[\[}}0, 1]]> : (tensor<4x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:  %[[Y:.+]] = comm.all_reduce max %{{.+}} in
// CHECK-NEXT:  return %[[ALL]], %[[Y]]

// It computes the same on all ranks, and goes through the whole pipeline: one kernel more than without, and every gate holds.
// RUN: pkb-interpret %s --against=%t.mlir --seeds=3
// RUN: pkb-opt %s --load-pass-plugin=%t.so --pkb-pipeline='target=h200x2 fuse=false comm-passes=two-shot' -o %t.cu
// RUN: FileCheck %s --check-prefix=CUDA < %t.cu
// CUDA: PKB_KERNEL(reduce_scatter_0
// CUDA: PKB_KERNEL(all_gather_1
// CUDA: PKB_KERNEL(all_reduce_2

// A name without a folder is a file here, and not one of the loader's folders.
// RUN: rm -rf %t.dir && mkdir %t.dir && cp %t.so %t.dir/here.so && cd %t.dir && pkb-opt %s --load-pass-plugin here.so --pass-pipeline='builtin.module(two-shot)' | FileCheck %s
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<8x16xf32>, %y: tensor<7xf32>) -> (tensor<8x16xf32>, tensor<7xf32>) {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<8x16xf32>
    %1 = comm.all_reduce max %y in <[[0, 1]]> accumulate f32 : tensor<7xf32>
    return %0, %1 : tensor<8x16xf32>, tensor<7xf32>
  }
}
