// What comes from outside is checked like everything else, and named.
// RUN: split-file %s %t

// RUN: not pkb-opt %t/program.mlir --pkb-pipeline='target=h200x2 script=%t/none.mlir' -o %t/out.cu 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: cannot open the script '{{.*}}none.mlir': No such file or directory
// RUN: not pkb-opt %t/program.mlir --pkb-pipeline='target=h200x2 script=%t/program.mlir' -o %t/out.cu 2>&1 | FileCheck %s --check-prefix=MAIN
// MAIN: error: script '{{.*}}program.mlir' must have a transform.named_sequence @__transform_main
// RUN: not pkb-opt %t/program.mlir --pkb-pipeline='target=h200x2 script=%t/broken.mlir' -o %t/out.cu 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: broken.mlir:{{.*}}error
// RUN: not pkb-opt %t/program.mlir --pkb-pipeline='target=h200x2 comm-passes=no-such-pass' -o %t/out.cu 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: error: option comm-passes must be a list of passes: {{.*}}'no-such-pass' does not refer to a registered pass
// RUN: not pkb-opt %t/program.mlir --pkb-pipeline='target=h200x2 xfer-passes=cse,' -o %t/out.cu 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: error: option xfer-passes must be a list of passes

// A schedule that loses data does not pass the gate of level L2.
// RUN: not pkb-opt %t/program.mlir --pkb-pipeline='target=h200x2 script=%t/unsafe.mlir' -o %t/out.cu 2>&1 | FileCheck %s --check-prefix=UNSAFE
// UNSAFE: error: 'xfer.put' op XV503: a slot is written again before it has been read
// RUN: not ls %t/out.cu

//--- program.mlir
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<1024x1024xbf16>
    return %0 : tensor<1024x1024xbf16>
  }
}
//--- broken.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    transform.no_such_op %module
    transform.yield
  }
}
//--- unsafe.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @is_all_reduce(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["comm.all_reduce"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @set_schedule(%op: !transform.any_op {transform.readonly}) {
    %schedule = transform.param.constant #xfer.schedule<mechanism = ldst, blocks = 4, threads = 256, chunk = 4096, depth = 0, slots = 1, unroll = 1>
        -> !transform.any_param
    transform.annotate %op "xfer.schedule" = %schedule : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    transform.foreach_match in %module @is_all_reduce -> @set_schedule : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
