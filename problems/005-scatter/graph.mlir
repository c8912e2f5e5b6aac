// REQUIRES: torch
// RUN: pkb-export %S/reference.py:solution --inputs %S/reference.py:inputs --world-size 4 -o %t.pkb
// RUN: pkb-opt %t.pkb | sed -E 's/(bundle|capture) = "[0-9a-f]+"/\1 = "0"/g' > %t.fresh
// RUN: grep -v '^//' %s > %t.kept
// RUN: diff %t.kept %t.fresh
//
// What the importer makes of reference.py on 4 ranks, at level L1.
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @main_0(%arg0: tensor<4x1024x1024xbf16>) -> tensor<1024x1024xbf16> attributes {aten.program = #aten.program<function = "solution", bundle = "0", capture = "0", torch = "2.11.0", inputs = <tuple items[<tensor at 0>]>, outputs = <tensor at 0>>, comm.ranks = array<i64: 0>} {
    %0 = aten.as_strided %arg0 : tensor<4x1024x1024xbf16> -> tensor<1024x1024xbf16>
    %1 = aten.call "aten::empty_like"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %2 = aten.as_strided %arg0 : tensor<4x1024x1024xbf16> -> tensor<1024x1024xbf16, #aten.strided<[1024, 1], 1048576>>
    %3 = aten.as_strided %arg0 : tensor<4x1024x1024xbf16> -> tensor<1024x1024xbf16, #aten.strided<[1024, 1], 2097152>>
    %4 = aten.as_strided %arg0 : tensor<4x1024x1024xbf16> -> tensor<1024x1024xbf16, #aten.strided<[1024, 1], 3145728>>
    %5 = comm.scatter %0, %2, %3, %4 in <[[0, 1, 2, 3]]> from [0] {comm.exchange = 0 : i64} : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16, #aten.strided<[1024, 1], 1048576>>, tensor<1024x1024xbf16, #aten.strided<[1024, 1], 2097152>>, tensor<1024x1024xbf16, #aten.strided<[1024, 1], 3145728>>) -> tensor<1024x1024xbf16>
    return %5 : tensor<1024x1024xbf16>
  }
  func.func @main_1(%arg0: tensor<4x1024x1024xbf16>) -> tensor<1024x1024xbf16> attributes {aten.program = #aten.program<function = "solution", bundle = "0", capture = "0", torch = "2.11.0", inputs = <tuple items[<tensor at 0>]>, outputs = <tensor at 0>>, comm.difference = "rank 0 runs aten::unbind.int at reference.py:14 where rank 1 runs scatter at reference.py:15", comm.ranks = array<i64: 1, 2, 3>} {
    %0 = aten.as_strided %arg0 : tensor<4x1024x1024xbf16> -> tensor<1024x1024xbf16>
    %1 = aten.call "aten::empty_like"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %2 = comm.absent : tensor<1024x1024xbf16>
    %3 = comm.scatter %2, %2, %2, %2 in <[[0, 1, 2, 3]]> from [0] {comm.exchange = 0 : i64} : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    return %3 : tensor<1024x1024xbf16>
  }
}

