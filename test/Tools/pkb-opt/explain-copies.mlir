// What a call copies, for example a result that is returned twice, is counted; the number is what the program's plan has.
//
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 --explain -o %t.cu 2>&1 | FileCheck %s
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 --explain -o %t.mlir 2>&1 | FileCheck %s
// CHECK: after it: 1 kernel of ours, 1 copy, 0 operators of PyTorch
// RUN: grep -c '"kind":"copy"' %t.cu | FileCheck %s --check-prefix=PLAN
// PLAN: {{^}}1{{$}}
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 --explain --json -o %t.cu 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: "copies": 1
//
// Where the passes stop before there is a plan, nothing is said of copies, and nothing of what is missing.
// RUN: pkb-opt %s --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2})' --explain -o %t.mlir 2>&1 | FileCheck %s --check-prefix=EARLY --implicit-check-not=error:
// EARLY: {{^}}a call has 1 kernel of ours{{$}}
module attributes {comm.mesh = #comm.mesh<size = 2>, aten.program = #aten.program<function = "f", bundle = "", capture = "", torch = "2.11.0", inputs = <tuple items [<tensor at 0>]>, outputs = <tuple items [<tensor at 0>, <tensor at 1>]>>} {
  func.func @main(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<1024xf32>
    return %0, %0 : tensor<1024xf32>, tensor<1024xf32>
  }
}
