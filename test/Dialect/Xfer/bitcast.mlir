// RUN: pkb-opt %s -split-input-file -verify-diagnostics | pkb-opt -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @bitcast
func.func @bitcast(%x: memref<2x3xcomplex<f32>>, %y: memref<2x3xf32, strided<[8, 1]>>, %z: memref<0x3xf32>) {
  // CHECK: xfer.bitcast %{{.*}} : memref<2x3xcomplex<f32>> to memref<12xf32>
  %0 = xfer.bitcast %x : memref<2x3xcomplex<f32>> to memref<12xf32>
  // CHECK: xfer.bitcast %{{.*}} : memref<2x3xf32, strided<[8, 1]>> to memref<22xi16>
  %1 = xfer.bitcast %y : memref<2x3xf32, strided<[8, 1]>> to memref<22xi16>
  // CHECK: xfer.bitcast %{{.*}} : memref<0x3xf32> to memref<0xi8>
  %2 = xfer.bitcast %z : memref<0x3xf32> to memref<0xi8>
  return
}

// -----

func.func @bitcast_c1(%x: memref<4xf32, strided<[1], offset: 2>>) {
  // expected-error @below {{'xfer.bitcast' op must have a source of static layout from offset 0, got: 'memref<4xf32, strided<[1], offset: 2>>'}}
  %0 = xfer.bitcast %x : memref<4xf32, strided<[1], offset: 2>> to memref<4xi32>
  return
}

// -----

func.func @bitcast_c2(%x: memref<2x3xf32, strided<[8, 1]>>) {
  // expected-error @below {{'xfer.bitcast' op must give a contiguous memref of one dimension and of 44 bytes, got: 'memref<6xi32>'}}
  %0 = xfer.bitcast %x : memref<2x3xf32, strided<[8, 1]>> to memref<6xi32>
  return
}
