// RUN: pkb-opt %S/graph.mlir --pkb-pipeline=target=h200x4 --emit=cuda | FileCheck %s
// RUN: pkb-opt %S/graph.mlir --pkb-pipeline="target=h200x4 fuse=false" --emit=cuda | FileCheck %s --check-prefix=APART
// RUN: pkb-opt %S/graph.mlir --pkb-pipeline=target=h200x4 --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Ten operators and a collective are one launch. A warp keeps its row, sends a line to the three others, gathers theirs, and stores the row.
// CHECK:      "steps": [
// CHECK-NEXT: "kernel":"fused_0","kind":"launch"
// CHECK-NEXT: "kernels": [
// CHECK-NEXT: "mechanism":"ll"
// CHECK:      PKB_KERNEL(fused_0,
// CHECK:      pkb::stream_rows<32, 4, 0, 1, 1>
// CHECK:      pkb::keep_row<pkb::bf16, 8, 4, 32>
// CHECK:      pkb::row_reduce_once<pkb::Reduce::sum,
// CHECK-COUNT-3: pkb::store_ll
// CHECK-NOT:  pkb::block_barrier
// CHECK:      pkb::gather_ll
// CHECK:      pkb::rsqrt
// CHECK:      pkb::for_each_in_row_once
// CHECK:      pkb::store(
// REMARK: remark: [Passed] fused | {{.*}}all_reduce is one kernel with _to_copy, pow, sum before it and div, add, rsqrt, mul, _to_copy, mul after it

// Without fusion they are ten steps.
// APART:          "steps": [
// APART-COUNT-3:  "kind":"aten"
// APART:          "kind":"launch"
// APART-COUNT-6:  "kind":"aten"
// APART-NOT:      "kind":"aten"
