// REQUIRES: torch
// RUN: pkb-export %S/reference.py:solution --inputs %S/reference.py:inputs --world-size 4 -o %t.pkb
// RUN: pkb-opt %t.pkb | sed -E 's/(bundle|capture) = "[0-9a-f]+"/\1 = "0"/g' > %t.fresh
// RUN: grep -v '^//' %s > %t.kept
// RUN: diff %t.kept %t.fresh
//
// What the importer makes of reference.py on 4 ranks, at level L1.
module attributes {aten.program = #aten.program<function = "solution", bundle = "0", capture = "0", torch = "2.11.0", inputs = <tuple items[<tensor at 0>, <tensor at 1>, <float value 1.000000e-05 : f64>]>, outputs = <tensor at 0>>, comm.mesh = #comm.mesh<size = 4>} {
  func.func @main(%arg0: tensor<1024x1024xbf16>, %arg1: tensor<1024xbf16>) -> tensor<1024x1024xbf16> {
    %0 = aten.call "aten::_to_copy"(%arg0) args [#aten.operand<0>] kwargs {dtype = #aten.dtype<float32>} returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
    %1 = aten.call "aten::pow" overload "Tensor_Scalar"(%0) args [#aten.operand<0>, 2] returns [#aten.result<0>] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %2 = aten.call "aten::sum" overload "dim_IntList"(%1) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<1024x1024xf32>) -> tensor<1024x1xf32>
    %3 = comm.all_reduce  sum %2 in <[[0, 1, 2, 3]]> accumulate f32 deterministic : tensor<1024x1xf32>
    %4 = aten.call "aten::div" overload "Tensor"(%3) args [#aten.operand<0>, 4096] returns [#aten.result<0>] : (tensor<1024x1xf32>) -> tensor<1024x1xf32>
    %5 = aten.call "aten::add" overload "Tensor"(%4) args [#aten.operand<0>, 1.000000e-05] returns [#aten.result<0>] : (tensor<1024x1xf32>) -> tensor<1024x1xf32>
    %6 = aten.call "aten::rsqrt"(%5) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<1024x1xf32>) -> tensor<1024x1xf32>
    %7 = aten.call "aten::mul" overload "Tensor"(%0, %6) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<1024x1024xf32>, tensor<1024x1xf32>) -> tensor<1024x1024xf32>
    %8 = aten.call "aten::_to_copy"(%7) args [#aten.operand<0>] kwargs {dtype = #aten.dtype<bfloat16>} returns [#aten.result<0>] : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>
    %9 = aten.call "aten::mul" overload "Tensor"(%arg1, %8) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    return %9 : tensor<1024x1024xbf16>
  }
}

