// RUN: pkb-opt %s --pkb-pipeline -o /dev/null 2>&1 | FileCheck %s
// RUN: pkb-opt %s --pkb-select-mechanism --pkb-select-mechanism -o %t.mlir 2>&1 | FileCheck %s
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 -o /dev/null 2>&1 | count 0
// RUN: pkb-opt %s --pkb-select-mechanism=target=h200x2 --pkb-select-mechanism -o /dev/null 2>&1 | count 0
// RUN: FileCheck %s --check-prefix=MODULE < %t.mlir

// A target that nobody names is said once, however often passes ask for it: the module remembers it.
// CHECK: pkb-opt: remark: no target is named, h200x2 is assumed (option target=<machine>x<ranks>)
// CHECK-NOT: assumed
// MODULE: cuda.target = "h200x2"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
