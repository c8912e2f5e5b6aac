// RUN: pkb-opt %s | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --emit=bytecode | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --mlir-print-op-generic | pkb-opt | FileCheck %s

// CHECK: module attributes {aten.program = #aten.program<function = "solution", bundle = "ab", capture = "cd", torch = "2.11.0",
// CHECK-SAME: inputs = <tuple items[<tensor at 0>, <module items[<tensor at 1>] keys["w"] value "Linear">, <tuple>]>,
// CHECK-SAME: outputs = <dict items[<none>, <size value array<i64>>] keys["a", 7 : i64]>>}
module attributes {aten.program = #aten.program<function = "solution", bundle = "ab", capture = "cd", torch = "2.11.0",
    inputs = <tuple items [<tensor at 0>, <module items [<tensor at 1>] keys ["w"] value "Linear">, <tuple>]>,
    outputs = <dict items [<none>, <size value array<i64>>] keys ["a", 7]>>} {
  // CHECK-LABEL: func.func @calls
  // CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32> {aten.alias_of = #aten.alias<argument, 0>})
  // CHECK-SAME: -> (tensor<8xf32> {aten.mutation_of = 0 : i64}, tensor<8xf32> {aten.alias_of = #aten.alias<result, 0>})
  func.func @calls(%x: tensor<8xf32>, %y: tensor<8xf32> {aten.alias_of = #aten.alias<argument, 0>})
      -> (tensor<8xf32> {aten.mutation_of = 0 : i64}, tensor<8xf32> {aten.alias_of = #aten.alias<result, 0>}) {
    // CHECK: %[[M:.*]] = aten.call "aten::add_" overload "Tensor"(%[[X]], %[[Y]])
    // CHECK-SAME: args [#aten.operand<0>, #aten.operands<[1, -1]>, 3, 1.000000e+00, true, "s", unit, array<i64: 1>, [#aten.dtype<uint8>]]
    // CHECK-SAME: kwargs {alpha = #aten.complex<0.000000e+00 : f64, 1.000000e+00 : f64>}
    // CHECK-SAME: returns [#aten.operand<0>] mutates [0] rng : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %0 = aten.call "aten::add_" overload "Tensor" (%x, %y)
        args [#aten.operand<0>, #aten.operands<[1, -1]>, 3, 1.0, true, "s", unit, array<i64: 1>, [#aten.dtype<uint8>]]
        kwargs {alpha = #aten.complex<0.0 : f64, 1.0 : f64>}
        returns [#aten.operand<0>] mutates [0] rng : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: aten.call "aten::empty"() args [array<i64: 4>] kwargs {device = #aten.device<cuda, 1>, layout = #aten.layout<strided>} returns [#aten.results<[1, -1, 0]>] {aten.host}
    %1:2 = aten.call "aten::empty" () args [array<i64: 4>] kwargs {device = #aten.device<cuda, 1>, layout = #aten.layout<strided>} returns [#aten.results<[1, -1, 0]>] {aten.host} : () -> (tensor<4xf32>, tensor<4xf32>)
    // CHECK: aten.call "aten::_assert_async"(%[[M]]) args [#aten.operand<0>] returns []
    aten.call "aten::_assert_async" (%0) args [#aten.operand<0>] returns [] : (tensor<8xf32>) -> ()
    return %0, %0 : tensor<8xf32>, tensor<8xf32>
  }

  // CHECK-LABEL: func.func @bufferized
  // CHECK-SAME: (%[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32>)
  func.func @bufferized(%a: memref<8xf32>, %b: memref<8xf32>) {
    // CHECK: aten.call "aten::neg"(%[[A]]) outs(%[[B]]) args [#aten.operand<0>] returns [#aten.result<0>] : (memref<8xf32>, memref<8xf32>) -> ()
    aten.call "aten::neg" (%a) outs(%b) args [#aten.operand<0>] returns [#aten.result<0>] : (memref<8xf32>, memref<8xf32>) -> ()
    return
  }

  // CHECK-LABEL: func.func @views
  // CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[P:.*]]: tensor<8xf32>, %[[E:.*]]: tensor<0xf32>)
  func.func @views(%x: tensor<4x8xf32>, %p: tensor<8xf32>, %e: tensor<0xf32>) {
    // CHECK: %[[R:.*]] = aten.as_strided %[[X]] : tensor<4x8xf32> -> tensor<8xf32, #aten.strided<[1], 16>>
    %0 = aten.as_strided %x : tensor<4x8xf32> -> tensor<8xf32, #aten.strided<[1], 16>>
    // CHECK: aten.as_strided %[[R]] : tensor<8xf32, #aten.strided<[1], 16>> -> tensor<2xi16, #aten.strided<[3], 34>>
    %1 = aten.as_strided %0 : tensor<8xf32, #aten.strided<[1], 16>> -> tensor<2xi16, #aten.strided<[3], 34>>
    // CHECK: aten.as_strided %[[X]] : tensor<4x8xf32> -> tensor<f32, #aten.strided<[], 31>>
    %2 = aten.as_strided %x : tensor<4x8xf32> -> tensor<f32, #aten.strided<[], 31>>
    // CHECK: aten.view_write %[[X]], %[[R]] : tensor<4x8xf32>, tensor<8xf32, #aten.strided<[1], 16>>
    %3 = aten.view_write %x, %0 : tensor<4x8xf32>, tensor<8xf32, #aten.strided<[1], 16>>
    // CHECK: aten.view_write %[[X]], %[[P]] window <[2], 16> : tensor<4x8xf32>, tensor<8xf32>
    %4 = aten.view_write %x, %p window <[2], 16> : tensor<4x8xf32>, tensor<8xf32>
    // An empty window lies anywhere.
    // CHECK: aten.view_write %[[X]], %[[E]] window <[1], 500> : tensor<4x8xf32>, tensor<0xf32>
    %5 = aten.view_write %x, %e window <[1], 500> : tensor<4x8xf32>, tensor<0xf32>
    // CHECK: aten.literal dense<[1, 255]> : tensor<2xui8>
    %6 = aten.literal dense<[1, 255]> : tensor<2xui8>
    return
  }
}
