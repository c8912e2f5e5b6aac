// REQUIRES: torch
// RUN: pkb-export %S/reference.py:solution --inputs %S/reference.py:inputs --world-size 4 -o %t.pkb
// RUN: pkb-opt %t.pkb | sed -E 's/(bundle|capture) = "[0-9a-f]+"/\1 = "0"/g' > %t.fresh
// RUN: grep -v '^//' %s > %t.kept
// RUN: diff %t.kept %t.fresh
//
// What the importer makes of reference.py on 4 ranks, at level L1.
module attributes {comm.mesh = #comm.mesh<size = 4>} {
  func.func @main_0(%arg0: tensor<1024x1024xbf16>) -> tensor<4x1024x1024xbf16> attributes {aten.program = #aten.program<function = "solution", bundle = "0", capture = "0", torch = "2.11.0", inputs = <tuple items[<tensor at 0>]>, outputs = <tensor at 0>>, comm.ranks = array<i64: 0>} {
    %0 = aten.call "aten::empty_like"(%arg0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %1 = aten.call "aten::empty_like"(%arg0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %2 = aten.call "aten::empty_like"(%arg0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %3 = aten.call "aten::empty_like"(%arg0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %4:4 = comm.gather %arg0 in <[[0, 1, 2, 3]]> to [0] {comm.exchange = 0 : i64} : (tensor<1024x1024xbf16>) -> (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>)
    %5 = aten.call "aten::stack"(%4#0, %4#1, %4#2, %4#3) args [#aten.operands<[0, 1, 2, 3]>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4x1024x1024xbf16>
    return %5 : tensor<4x1024x1024xbf16>
  }
  func.func @main_1(%arg0: tensor<1024x1024xbf16>) -> (tensor<1024x1024xbf16> {aten.alias_of = #aten.alias<argument, 0>}) attributes {aten.program = #aten.program<function = "solution", bundle = "0", capture = "0", torch = "2.11.0", inputs = <tuple items[<tensor at 0>]>, outputs = <tensor at 0>>, comm.difference = "rank 0 runs aten::empty_like at reference.py:16 where rank 1 runs gather at reference.py:14", comm.ranks = array<i64: 1, 2, 3>} {
    %0:4 = comm.gather %arg0 in <[[0, 1, 2, 3]]> to [0] {comm.exchange = 0 : i64} : (tensor<1024x1024xbf16>) -> (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>)
    return %arg0 : tensor<1024x1024xbf16>
  }
}

