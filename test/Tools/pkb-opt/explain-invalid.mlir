// --explain says so where there is nothing to explain, or where it cannot.

// RUN: not pkb-opt %s --explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=PASSES
// RUN: not pkb-opt %s --pkb-verify-comm --explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: pkb-opt: error: --explain needs passes that choose mechanisms: --pkb-pipeline=target=<machine>x<ranks>

// RUN: not pkb-opt %s --pkb-pipeline=target=h200x2 --explain --remarks-filter=.* -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS
// REMARKS: pkb-opt: error: --explain gathers all remarks; leave out --remarks-filter and the like

// RUN: not pkb-opt %s --pkb-pipeline=target=h200x2 --explain --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: pkb-opt: error: --explain is for one program; leave out --split-input-file

// RUN: not pkb-opt %s --pkb-pipeline=target=h200x2 --json -o /dev/null 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: pkb-opt: error: --json is the form of an explanation; add --explain

// RUN: not pkb-opt %s --pkb-pipeline=target=h200x2 --explain --json=%t/not/there.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: pkb-opt: error: cannot write output '{{.*}}there.json': No such file or directory

// A program without collectives has an empty table, and a failed pipeline says nothing of it.
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 --explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: explain-invalid.mlir: 0 collectives
// RUN: not pkb-opt %s --pkb-pipeline=target=h200x4 --explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=FAILED
// FAILED: pkb-opt: error: option target=h200x4 must have as many ranks as the program (2), got: 4
// FAILED-NOT: collectives
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}
