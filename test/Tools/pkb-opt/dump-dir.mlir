// --dump-dir writes the module before the first and after every pass, whole, into numbered files.
// RUN: rm -rf %t && mkdir -p %t/dump && echo mine > %t/dump/notes.txt && echo old > %t/dump/042-old.mlir
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 --dump-dir=%t/dump -o %t/out.cu
// RUN: ls %t/dump | FileCheck %s
// CHECK: {{^}}000-input.mlir{{$}}
// CHECK-NEXT: {{^}}001-pkb-verify-comm.mlir{{$}}
// CHECK-NEXT: {{^}}002-pkb-elide-clones.mlir{{$}}
// CHECK: -pkb-select-mechanism.mlir
// CHECK: -pkb-convert-comm-to-xfer.mlir
// CHECK-NEXT: -pkb-verify-xfer.mlir
// CHECK: -pkb-verify-cuda-emittable.mlir
// CHECK-NOT: 042-old.mlir
// CHECK: notes.txt

// Each can be read again, and the rest of the passes gives the same program.
// RUN: pkb-opt %t/dump/000-input.mlir --pkb-pipeline=target=h200x2 --mlir-print-debuginfo=false -o %t/again.mlir
// RUN: pkb-opt %t/dump/*-pkb-verify-cuda-emittable.mlir -o %t/last.mlir && grep 'cuda.kernel @all_reduce_0' %t/last.mlir
// RUN: pkb-opt %t/dump/*-pkb-convert-comm-to-xfer.mlir --pkb-verify-xfer | grep 'xfer.kernel @all_reduce_0'

// After a pass that fails the module is there, too: the last file says which it was.
// RUN: not pkb-opt %s --pkb-pipeline='target=h200x4' --dump-dir=%t/failed 2>/dev/null
// RUN: ls %t/failed | FileCheck %s --check-prefix=FAILED
// FAILED: -pkb-select-mechanism-failed.mlir
// FAILED-NOT: {{.}}
// RUN: grep '"comm.all_reduce"' %t/failed/*-failed.mlir

// Passes inside of others are there with the whole module.
// RUN: pkb-opt %s --pass-pipeline='builtin.module(func.func(cse),canonicalize)' --dump-dir=%t/nested -o %t/out.mlir
// RUN: ls %t/nested | FileCheck %s --check-prefix=NESTED
// NESTED: 000-input.mlir
// NESTED-NEXT: 001-cse.mlir
// NESTED-NEXT: 002-canonicalize.mlir
// RUN: grep 'comm.mesh' %t/nested/001-cse.mlir

// RUN: not pkb-opt %s --pkb-pipeline=target=h200x2 --dump-dir=%t/dump/notes.txt -o %t/out.cu 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: pkb-opt: error: cannot {{.*}} {{.*}}notes.txt'{{.*}}
// RUN: not pkb-opt %s --split-input-file --dump-dir=%t/split 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: pkb-opt: error: --dump-dir is for one program; leave out --split-input-file
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<1024xf32>
    return %0 : tensor<1024xf32>
  }
}
