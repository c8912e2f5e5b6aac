// A file of patterns that cannot be used is named.
// RUN: split-file %s %t

// RUN: not pkb-opt %t/program.mlir --pkb-apply-patterns 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: option file of pkb-apply-patterns must name a file of patterns
// RUN: not pkb-opt %t/program.mlir --pkb-apply-patterns=file=%t/none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: cannot open the patterns '{{.*}}none.mlir': No such file or directory
// RUN: not pkb-opt %t/program.mlir --pkb-apply-patterns=file=%t/program.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: '{{.*}}program.mlir' has no pdl.pattern; of a PDLL file, mlir-pdll -x=mlir makes them
// RUN: not pkb-opt %t/program.mlir --pkb-apply-patterns=file=%src/docs/Examples/patterns/all-reduce.pdll 2>&1 | FileCheck %s --check-prefix=PDLL
// PDLL: all-reduce.pdll:{{.*}}error

// Patterns that undo each other end, and what they make is verified.
// RUN: not pkb-opt %t/program.mlir --pkb-apply-patterns=file=%t/loop.mlir 2>&1 | FileCheck %s --check-prefix=LOOP
// LOOP: error: the patterns of '{{.*}}loop.mlir' undo each other
// RUN: not pkb-opt %t/program.mlir --pkb-apply-patterns=file=%t/wrong.mlir 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: 'comm.all_gather' op

//--- program.mlir
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
//--- loop.mlir
pdl.pattern @to_max : benefit(1) {
  %type = type
  %x = operand : %type
  %group = attribute
  %accumulation = attribute
  %sum = attribute = #comm<reduce_kind sum>
  %op = operation "comm.all_reduce"(%x : !pdl.value) {"group" = %group, "accumulation" = %accumulation, "kind" = %sum} -> (%type : !pdl.type)
  rewrite %op {
    %max = attribute = #comm<reduce_kind max>
    %new = operation "comm.all_reduce"(%x : !pdl.value) {"group" = %group, "accumulation" = %accumulation, "kind" = %max} -> (%type : !pdl.type)
    replace %op with %new
  }
}
pdl.pattern @to_sum : benefit(1) {
  %type = type
  %x = operand : %type
  %group = attribute
  %accumulation = attribute
  %max = attribute = #comm<reduce_kind max>
  %op = operation "comm.all_reduce"(%x : !pdl.value) {"group" = %group, "accumulation" = %accumulation, "kind" = %max} -> (%type : !pdl.type)
  rewrite %op {
    %sum = attribute = #comm<reduce_kind sum>
    %new = operation "comm.all_reduce"(%x : !pdl.value) {"group" = %group, "accumulation" = %accumulation, "kind" = %sum} -> (%type : !pdl.type)
    replace %op with %new
  }
}
//--- wrong.mlir
pdl.pattern @shape : benefit(1) {
  %type = type
  %x = operand : %type
  %group = attribute
  %op = operation "comm.all_reduce"(%x : !pdl.value) {"group" = %group} -> (%type : !pdl.type)
  rewrite %op {
    %new = operation "comm.all_gather"(%x : !pdl.value) {"group" = %group} -> (%type : !pdl.type)
    replace %op with %new
  }
}
