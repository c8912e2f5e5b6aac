// REQUIRES: torch
// RUN: pkb-export %S/reference.py:solution --inputs %S/reference.py:inputs --world-size 4 -o %t.pkb
// RUN: pkb-opt %t.pkb | sed -E 's/(bundle|capture) = "[0-9a-f]+"/\1 = "0"/g' > %t.fresh
// RUN: grep -v '^//' %s > %t.kept
// RUN: diff %t.kept %t.fresh
//
// What the importer makes of reference.py on 4 ranks, at level L1.
module attributes {aten.program = #aten.program<function = "solution", bundle = "0", capture = "0", torch = "2.11.0", inputs = <tuple items[<tensor at 0>]>, outputs = <tensor at 0>>, comm.mesh = #comm.mesh<size = 4>} {
  func.func @main(%arg0: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
    %0 = aten.call "aten::clone"(%arg0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %1 = comm.reduce  sum %0 in <[[0, 1, 2, 3]]> to [0] accumulate f32 deterministic : tensor<1024x1024xbf16>
    return %1 : tensor<1024x1024xbf16>
  }
}

