// RUN: rm -rf %t && split-file %s %t
// RUN: pkb-opt %t/gaps.mlir -o %t/gaps.cu
// RUN: FileCheck %t/gaps.mlir < %t/gaps.cu
// RUN: pkb-opt %t/repeated.mlir -o %t/repeated.cu
// RUN: FileCheck %t/repeated.mlir < %t/repeated.cu
// RUN: not pkb-opt %t/behind.mlir -o %t/behind.cu 2>&1 | FileCheck %t/behind.mlir
// RUN: not pkb-opt %t/second.mlir -o %t/second.cu 2>&1 | FileCheck %t/second.mlir
// RUN: not ls %t/behind.cu %t/second.cu

//--- gaps.mlir
// A temporary reaches from its first element to its last, gaps included: (11 * 6 + 4) * 4 bytes, rounded up to 512. No gaps, 192 bytes: 256.
// CHECK-DAG: {"dtype":"float32","id":1,"kind":"temporary","sizes":[12,4],"strides":[6,1],"workspace":0}
// CHECK-DAG: {"dtype":"float32","id":2,"kind":"temporary","sizes":[12,4],"strides":[4,1],"workspace":512}
// CHECK-DAG: {"dtype":"float32","id":3,"kind":"temporary","sizes":[0,4],"strides":[9,1],"workspace":768}
// The last window ends where its source ends; one without elements may lie anywhere.
// CHECK-DAG: {"dtype":"float32","id":4,"kind":"view","of":0,"offset":68,"sizes":[4],"strides":[1]}
// CHECK-DAG: {"dtype":"float32","id":5,"kind":"view","of":0,"offset":90,"sizes":[0],"strides":[1]}
// CHECK: "workspace_bytes": 768
module attributes {comm.mesh = #comm.mesh<size = 1>} {
  func.func @main(%x: memref<12x6xf32>) {
    %0 = memref.alloc() : memref<12x4xf32, strided<[6, 1]>>
    %1 = memref.alloc() : memref<12x4xf32>
    %2 = memref.alloc() : memref<0x4xf32, strided<[9, 1]>>
    %3 = memref.reinterpret_cast %x to offset: [68], sizes: [4], strides: [1] : memref<12x6xf32> to memref<4xf32, strided<[1], offset: 68>>
    %4 = memref.reinterpret_cast %x to offset: [90], sizes: [0], strides: [1] : memref<12x6xf32> to memref<0xf32, strided<[1], offset: 90>>
    memref.copy %0, %1 : memref<12x4xf32, strided<[6, 1]>> to memref<12x4xf32>
    return
  }
}

//--- repeated.mlir
// A result that has the same elements more than once. Where it has all elements of an allocation, that is its memory; else they are copied once.
// CHECK: "outputs": [
// CHECK-NEXT: {"alias_of":null,"dtype":"float32","sizes":[3,4],"slot":0,"strides":[0,1]},
// CHECK-NEXT: {"alias_of":null,"dtype":"float32","sizes":[3,2],"slot":4,"strides":[0,1]}],
// CHECK: {"dtype":"float32","id":0,"index":0,"kind":"output","sizes":[3,4],"strides":[0,1]}
// CHECK: {"dtype":"float32","id":1,"kind":"view","of":0,"offset":0,"sizes":[4],"strides":[1]}
// CHECK: {"dtype":"float32","id":4,"index":1,"kind":"output","sizes":[3,2],"strides":[0,1]},
// CHECK-NEXT: {"dtype":"float32","id":5,"kind":"view","of":3,"offset":0,"sizes":[1,2],"strides":[0,1]},
// CHECK-NEXT: {"dtype":"float32","id":6,"kind":"view","of":4,"offset":0,"sizes":[1,2],"strides":[0,1]}
// CHECK: {"from":5,"kind":"copy","to":6}
module attributes {comm.mesh = #comm.mesh<size = 1>} {
  func.func @main() -> (memref<3x4xf32, strided<[0, 1]>>, memref<3x2xf32, strided<[0, 1], offset: 1>>) {
    %0 = memref.alloc() : memref<4xf32>
    %1 = memref.alloc() : memref<4xf32>
    %2 = memref.reinterpret_cast %0 to offset: [0], sizes: [3, 4], strides: [0, 1] : memref<4xf32> to memref<3x4xf32, strided<[0, 1]>>
    %3 = memref.reinterpret_cast %1 to offset: [1], sizes: [3, 2], strides: [0, 1] : memref<4xf32> to memref<3x2xf32, strided<[0, 1], offset: 1>>
    return %2, %3 : memref<3x4xf32, strided<[0, 1]>>, memref<3x2xf32, strided<[0, 1], offset: 1>>
  }
}

//--- behind.mlir
// CHECK: error: 'memref.reinterpret_cast' op must lie in the 280 bytes of memory from its source on, got: bytes 4 to 284
module attributes {comm.mesh = #comm.mesh<size = 1>} {
  func.func @main(%x: memref<12x4xf32>) {
    %0 = memref.alloc() : memref<12x4xf32, strided<[6, 1]>>
    %1 = memref.reinterpret_cast %0 to offset: [1], sizes: [12, 4], strides: [6, 1] : memref<12x4xf32, strided<[6, 1]>> to memref<12x4xf32, strided<[6, 1], offset: 1>>
    memref.copy %x, %1 : memref<12x4xf32> to memref<12x4xf32, strided<[6, 1], offset: 1>>
    return
  }
}

//--- second.mlir
// A window of a window ends where the memory of both does, at the latest.
// CHECK: error: 'memref.reinterpret_cast' op must lie in the 24 bytes of memory from its source on, got: bytes 0 to 28
module attributes {comm.mesh = #comm.mesh<size = 1>} {
  func.func @main(%x: memref<8xf32>) {
    %0 = memref.reinterpret_cast %x to offset: [2], sizes: [3], strides: [1] : memref<8xf32> to memref<3xf32, strided<[1], offset: 2>>
    %1 = memref.reinterpret_cast %0 to offset: [0], sizes: [7], strides: [1] : memref<3xf32, strided<[1], offset: 2>> to memref<7xf32, strided<[1]>>
    memref.copy %1, %1 : memref<7xf32, strided<[1]>> to memref<7xf32, strided<[1]>>
    return
  }
}
