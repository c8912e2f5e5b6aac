// RUN: pkb-opt %s -split-input-file -verify-diagnostics | pkb-opt -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @host_read
func.func @host_read(%x: memref<1x1xi64, strided<[4, 1], offset: 3>>, %y: memref<f32>, %z: memref<4xf32>) {
  // CHECK: %[[N:.*]] = xfer.host_read %{{.*}} : memref<1x1xi64, strided<[4, 1], offset: 3>>
  %n = xfer.host_read %x : memref<1x1xi64, strided<[4, 1], offset: 3>>
  %f = xfer.host_read %y : memref<f32>
  %out = memref.alloc() : memref<4xf32>
  // CHECK: aten.call "aten::add" overload "Tensor"(%{{.*}}, %{{.*}}, %[[N]]) outs(%{{.*}}) {{.*}} : (memref<4xf32>, f32, i64, memref<4xf32>) -> ()
  aten.call "aten::add" overload "Tensor"(%z, %f, %n) outs(%out) args [#aten.operand<0>, #aten.operand<1>] kwargs {alpha = #aten.operand<2>}
      returns [#aten.result<0>] : (memref<4xf32>, f32, i64, memref<4xf32>) -> ()
  return
}

// -----

func.func @host_read_c1(%x: memref<2xi64>) {
  // expected-error @below {{'xfer.host_read' op must read a memref of one element at a static offset, got: 'memref<2xi64>'}}
  %n = xfer.host_read %x : memref<2xi64>
  return
}

// -----

func.func @host_read_c2(%x: memref<i64>) {
  // expected-error @below {{'xfer.host_read' op failed to verify that result must be the element type}}
  %n = "xfer.host_read"(%x) : (memref<i64>) -> i32
  return
}
