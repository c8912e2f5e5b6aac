// RUN: pkb-opt %s -split-input-file -verify-diagnostics

func.func @call_c1_range(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op argument must name one of 1 operands, got: 1}}
  %0 = aten.call "aten::neg" (%x) args [#aten.operand<1>] returns [#aten.result<0>] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_c1_nested(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op argument must name one of 1 operands, got: 7}}
  %0 = aten.call "aten::f" (%x) args [] kwargs {a = [[#aten.operands<[0, 7]>]]} returns [#aten.result<0>] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_c1_width(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op argument must be i64, f64 or bool, got: 3 : i32}}
  %0 = aten.call "aten::f" (%x) args [#aten.operand<0>, 3 : i32] returns [#aten.result<0>] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_c1_float(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op argument must be i64, f64 or bool, got: 3.000000e+00 : f32}}
  %0 = aten.call "aten::f" (%x) args [3.0 : f32] returns [#aten.result<0>] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_c1_foreign(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op argument must be one that torch has, got: affine_map<(d0) -> (d0)>}}
  %0 = aten.call "aten::f" (%x) args [affine_map<(d0) -> (d0)>] returns [#aten.result<0>] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_c1_returns(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op returns must hold results, operands or unit, got: 3 : i64}}
  %0 = aten.call "aten::f" (%x) args [] returns [3] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_c2_count(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op must have 1 fresh results and 1 new versions, got: 1}}
  %0 = aten.call "aten::f_" (%x) args [#aten.operand<0>] returns [#aten.result<0>] mutates [0] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_c2_type(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op new version of operand 0 must have its type 'tensor<4xf32>', got: 'tensor<5xf32>'}}
  %0 = aten.call "aten::f_" (%x) args [#aten.operand<0>] returns [#aten.operand<0>] mutates [0] : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @call_c2_once(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op returns must name each of 2 fresh results once, got: 0}}
  %0:2 = aten.call "aten::f" (%x) args [] returns [#aten.result<0>, #aten.result<0>] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @call_c3_results(%x: memref<4xf32>) {
  // expected-error @below {{'aten.call' op on memrefs must have no results, got: 1}}
  %0 = aten.call "aten::f" (%x) args [] returns [#aten.result<0>] : (memref<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_c3_outs(%x: memref<4xf32>) {
  // expected-error @below {{'aten.call' op must have as many outs as fresh tensors in returns, got: 1 and 0}}
  aten.call "aten::f" (%x) outs(%x) args [] returns [] : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @call_c4_range(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op mutates must name one of 1 operands, got: 2}}
  %0 = aten.call "aten::f_" (%x) args [] returns [] mutates [2] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_c4_twice(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.call' op mutates must name an operand once, got twice: 0}}
  %0:2 = aten.call "aten::f_" (%x) args [] returns [] mutates [0, 0] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @as_strided_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'aten.as_strided' op window must lie in that of the base 'tensor<4xf32>', got: 'tensor<2xf32, #aten.strided<[1], 3>>'}}
  %0 = aten.as_strided %x : tensor<4xf32> -> tensor<2xf32, #aten.strided<[1], 3>>
  return
}

// -----

func.func @as_strided_c1_before(%x: tensor<4xf32, #aten.strided<[1], 4>>) {
  // expected-error @below {{'aten.as_strided' op window must lie in that of the base}}
  %0 = aten.as_strided %x : tensor<4xf32, #aten.strided<[1], 4>> -> tensor<2xf64, #aten.strided<[1], 1>>
  return
}

// -----

func.func @view_write_c1(%x: tensor<4xf32>, %p: tensor<2xf32>) {
  // expected-error @below {{'aten.view_write' op window must lie in that of the base 'tensor<4xf32>', got: 'tensor<2xf32, #aten.strided<[4], 0>>'}}
  %0 = aten.view_write %x, %p window <[4], 0> : tensor<4xf32>, tensor<2xf32>
  return
}

// -----

func.func @view_write_c2(%x: tensor<4xf32>, %p: tensor<2xf32>) {
  // expected-error @below {{'aten.view_write' op window must have one stride for each of 1 dimensions, got: 2}}
  %0 = aten.view_write %x, %p window <[2, 1], 0> : tensor<4xf32>, tensor<2xf32>
  return
}

// -----

func.func @literal_c1() {
  // expected-error @below {{'aten.literal' op value must be a contiguous ranked tensor, got: 'tensor<2xf32, #aten.strided<[2], 0>>'}}
  %0 = aten.literal dense<1.0> : tensor<2xf32, #aten.strided<[2], 0>>
  return
}

// -----

// expected-error @below {{encoding must have one stride for each of 2 dimensions, got: 1}}
func.func private @strided_c1(tensor<2x2xf32, #aten.strided<[1], 0>>)

// -----

// expected-error @below {{strides must not be negative, got: -1}}
func.func private @strided_c2(tensor<2xf32, #aten.strided<[-1], 0>>)

// -----

// expected-error @below {{offset must not be negative, got: -4}}
func.func private @strided_c2_offset(tensor<2xf32, #aten.strided<[1], -4>>)

// -----

// expected-error @below {{index must be there for a tensor only, got: none with index 2}}
func.func private @tree_c1_index() attributes {t = #aten.tree<none at 2>}

// -----

// expected-error @below {{items must be in a tuple, list, dict or module only, got: none}}
func.func private @tree_c1_items() attributes {t = #aten.tree<none items [<none>]>}

// -----

// expected-error @below {{value must be there for kind int}}
func.func private @tree_c1_value() attributes {t = #aten.tree<int>}

// -----

// expected-error @below {{keys must be in a dict or module only, got: tuple}}
func.func private @tree_c1_keys() attributes {t = #aten.tree<tuple items [<none>] keys ["a"]>}

// -----

// expected-error @below {{dict must have as many keys as items, got: 2 and 1}}
func.func private @tree_c2() attributes {t = #aten.tree<dict items [<none>] keys ["a", "b"]>}

// -----

// expected-error @below {{attribute aten.program must be an #aten.program, got: 1 : i64}}
module attributes {aten.program = 1 : i64} {}

// -----

// expected-error @below {{attribute aten.host must be a unit attribute of aten.call}}
module attributes {aten.host} {}

// -----

// expected-error @below {{attribute aten.alias_of must name another one of 1 arguments, got: 0}}
func.func private @alias_of_itself(tensor<2xf32> {aten.alias_of = #aten.alias<argument, 0>})

// -----

// expected-error @below {{attribute aten.alias_of must name another one of 1 arguments, got: 3}}
func.func private @alias_of_nothing(tensor<2xf32>) -> (tensor<2xf32> {aten.alias_of = #aten.alias<argument, 3>})

// -----

// expected-error @below {{attribute aten.written must be a unit attribute, got: true}}
func.func private @written_how(memref<2xf32> {aten.written = true})

// -----

// expected-error @below {{attribute aten.alias_bytes must be a number of bytes, got: -4 : i64}}
func.func private @alias_before(memref<2xf32> {aten.alias_bytes = -4})

// -----

// expected-error @below {{attribute aten.mutation_of must name one of 1 arguments, got: 1 : i64}}
func.func private @mutation_of_nothing(tensor<2xf32>) -> (tensor<2xf32> {aten.mutation_of = 1})

// -----

// expected-error @below {{result with aten.mutation_of must have the type of argument 0: 'tensor<2xf32>', got: 'tensor<3xf32>'}}
func.func private @mutation_of_another_type(tensor<2xf32>) -> (tensor<3xf32> {aten.mutation_of = 0})

// -----

// expected-error @below {{unknown attribute of dialect aten on a result: "aten.cake"}}
func.func private @unknown_on_result() -> (tensor<2xf32> {aten.cake})

// -----

func.func @call_c5_list(%x: tensor<4xf32>, %n: i64) {
  // expected-error @below {{'aten.call' op must name a tensor there, got: operand 1 of type 'i64'}}
  %0 = aten.call "aten::cat"(%x, %n) args [#aten.operands<[0, 1]>] returns [#aten.result<0>] : (tensor<4xf32>, i64) -> tensor<8xf32>
  return
}

// -----

func.func @call_c5_mutates(%n: i64) {
  // expected-error @below {{'aten.call' op must name a tensor there, got: operand 0 of type 'i64'}}
  %0 = aten.call "aten::zero_"(%n) args [#aten.operand<0>] returns [] mutates [0] : (i64) -> tensor<4xf32>
  return
}

// -----

func.func @call_c5_returns(%n: i64) {
  // expected-error @below {{'aten.call' op must name a tensor there, got: operand 0 of type 'i64'}}
  aten.call "aten::zero_"(%n) args [#aten.operand<0>] returns [#aten.operand<0>] : (i64) -> ()
  return
}
