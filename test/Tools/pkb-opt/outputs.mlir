// What is written follows from the extension of the output, or from --emit.
//
// RUN: pkb-opt %s | FileCheck %s --check-prefix=MLIR
// RUN: pkb-opt %s -o %t.mlir && FileCheck %s --check-prefix=MLIR < %t.mlir
// MLIR: comm.all_reduce sum
//
// RUN: pkb-opt %s -o %t.mlirbc && FileCheck %s --check-prefix=BYTECODE < %t.mlirbc
// RUN: pkb-opt %s --emit=bytecode -o %t.any && cmp %t.any %t.mlirbc
// BYTECODE: MLIR22
// RUN: pkb-opt %t.mlirbc | FileCheck %s --check-prefix=MLIR
//
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 -o %t.cu && FileCheck %s --check-prefix=CUDA < %t.cu
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 --emit=cuda | cmp - %t.cu
// CUDA: pkb-manifest
// CUDA: #include "pkb_rt/device.h"
// CUDA: PKB_KERNEL(
//
// A device file is written through, not replaced.
// RUN: pkb-opt %s -o /dev/null
module attributes {comm.mesh = #comm.mesh<size = 2>, aten.program = #aten.program<function = "f", bundle = "", capture = "", torch = "2.11.0", inputs = <tuple items [<tensor at 0>]>, outputs = <tensor at 0>>} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
