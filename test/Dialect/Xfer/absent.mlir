// RUN: pkb-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: pkb-opt %s -split-input-file -verify-diagnostics -pkb-convert-xfer-to-cuda | FileCheck %s --check-prefix=CUDA

// What a rank has nothing for is a null pointer among the operands of its launch.
// CHECK-LABEL: func.func @operand
// CUDA-LABEL: func.func @operand
func.func @operand() -> memref<4xf32> {
  // CHECK: xfer.absent : memref<4xf32>
  // CUDA: %[[NULL:.*]] = cuda.absent : memref<4xf32>
  // CUDA: return %[[NULL]]
  %0 = xfer.absent : memref<4xf32>
  return %0 : memref<4xf32>
}

// -----

func.func @absent_c1() {
  // expected-error @below {{'xfer.absent' op must be a contiguous memref of static shape, got: 'memref<4x4xf32, strided<[1, 4]>>'}}
  %0 = xfer.absent : memref<4x4xf32, strided<[1, 4]>>
  return
}
