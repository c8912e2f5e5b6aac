// RUN: pkb-opt %s --pkb-convert-comm-to-xfer --pkb-convert-xfer-to-cuda -o %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: pkb-opt %s --pkb-convert-comm-to-xfer | FileCheck %s --check-prefix=XFER

// Tensors that a program makes in memory of the host keep their place in the plan, also a copy that a later write makes necessary; what moves them is an operator.
// XFER: aten.call "aten::zeros"() outs(%[[Z:.*]]) {{.*}}{aten.host}
// XFER: %[[OLD:.*]] = memref.alloc() : memref<4xf32>
// XFER-NEXT: aten.call "aten::clone"(%[[Z]]) outs(%[[OLD]]) {{.*}}{aten.host}
// XFER-NEXT: aten.call "aten::add_"
// XFER-NOT: memref.copy
// CHECK: "slots"
// CHECK-DAG: {"device":"cpu","dtype":"float32","id":1,"kind":"aten","sizes":[4],"strides":[1]}
// CHECK-DAG: {"device":"cpu","dtype":"float32","id":2,"kind":"aten","sizes":[4],"strides":[1]}
// CHECK-DAG: {"dtype":"float32","id":3,"index":0,"kind":"output","sizes":[4],"strides":[1]}
module attributes {comm.mesh = #comm.mesh<size = 1>} {
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %z = aten.call "aten::zeros"() args [array<i64: 4>] kwargs {device = #aten.device<cpu>} returns [#aten.result<0>] {aten.host} : () -> tensor<4xf32>
    %1 = aten.call "aten::add_" overload "Scalar"(%z) args [#aten.operand<0>, 1] returns [#aten.operand<0>] mutates [0] : (tensor<4xf32>) -> tensor<4xf32>
    %d = aten.call "aten::_to_copy"(%1) args [#aten.operand<0>] kwargs {device = #aten.device<cuda>} returns [#aten.result<0>] : (tensor<4xf32>) -> tensor<4xf32>
    %e = aten.call "aten::_to_copy"(%z) args [#aten.operand<0>] kwargs {device = #aten.device<cuda>} returns [#aten.result<0>] : (tensor<4xf32>) -> tensor<4xf32>
    return %d, %e : tensor<4xf32>, tensor<4xf32>
  }
}
