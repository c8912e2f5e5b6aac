// Output that cannot be made: one message, exit status 1, nothing half-written, and what was there stays.
//
// RUN: rm -rf %t && mkdir -p %t/folder.mlir
// RUN: not pkb-opt %s -o %t/nowhere/x.mlir 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: pkb-opt: error: cannot write output '{{.*}}/nowhere/x.mlir': No such file or directory
// It is found before anything is done: the input is not even read.
// RUN: not pkb-opt %t/no-input.mlir -o %t/nowhere/x.mlir 2>&1 | FileCheck %s --check-prefix=NOWHERE --implicit-check-not=error:
// RUN: not pkb-opt %t/no-input.mlir --pkb-pipeline=target=h200x2 --explain --json=%t/nowhere/x.mlir -o %t/z.cu 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not pkb-opt %s -o %t/folder.mlir 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: pkb-opt: error: cannot write output '{{.*}}/folder.mlir': Is a directory
//
// Level L1 is not what the emitter prints.
// RUN: echo old > %t/x.cu
// RUN: not pkb-opt %s -o %t/x.cu 2>&1 | FileCheck %s --check-prefix=LEVEL --implicit-check-not=error:
// LEVEL: {{^}}pkb-opt: error: cannot emit CUDA from '{{.*}}'; run the whole pipeline (--pkb-pipeline=target=<machine>x<ranks>) first
// RUN: FileCheck %s --check-prefix=OLD < %t/x.cu
// OLD: old
//
// RUN: not pkb-opt %s -split-input-file -o %t/y.cu 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: pkb-opt: error: a split input cannot be emitted as CUDA; emit MLIR, or leave out --split-input-file
//
// RUN: not pkb-opt %s --pass-pipeline='builtin.module(no-such-pass)' -o %t/z.mlir 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: 'no-such-pass' does not refer to a registered pass
//
// RUN: not pkb-opt %s --target-file=machine.json -o %t/z.mlir 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: pkb-opt: error: --target-file needs --pkb-pipeline=target=<machine>x<ranks>
// RUN: not pkb-opt %s --target-file=%t/no-machine.json --pkb-pipeline=target=h200x2 -o %t/z.cu 2>&1 | FileCheck %s --check-prefix=MACHINE
// MACHINE: no-machine.json
//
// A name that promises another kind of file.
// RUN: not pkb-opt %s -o %t/x.cubin 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: pkb-opt: error: cannot write '{{.*}}/x.cubin': what is written has the extension .cu, .pkx, .mlir or .mlirbc, or is named by --emit
//
// RUN: not pkb-opt %s -o %t/x.foo 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: pkb-opt: error: cannot write '{{.*}}/x.foo': what is written has the extension .cu, .pkx, .mlir or .mlirbc, or is named by --emit
//
// RUN: not pkb-opt %s --emit=artefact 2>&1 | FileCheck %s --check-prefix=STDOUT
// STDOUT: pkb-opt: error: an artefact is not written to standard output; name a file with -o X.pkx
// RUN: not pkb-opt %s -o %t/x.pkx 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not env PKB_NVCC=none pkb-opt %s --pkb-pipeline=target=h200x2 -o %t/nowhere/x.pkx 2>&1 | FileCheck %s --check-prefix=NOPLACE
// NOPLACE: pkb-opt: error: cannot write output '{{.*}}/nowhere/x.pkx': No such file or directory
// RUN: not env PKB_NVCC=no-such-nvcc pkb-opt %s --pkb-pipeline=target=h200x2 -o %t/x.pkx 2>&1 | FileCheck %s --check-prefix=NVCC
// NVCC: pkb-opt: error: PKB_NVCC names 'no-such-nvcc', which is not an executable; 'none' does without
//
// An input whose name says bundle and whose content does not.
// RUN: true > %t.empty.pkb && not pkb-opt %t.empty.pkb -o %t/z.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: pkb-opt: error: bundle '{{.*}}.empty.pkb' is not a zip file (empty or damaged); export it again
//
// A file that is neither a bundle nor a module.
// RUN: printf 'import torch\n' > %t.model.py && not pkb-opt %t.model.py 2>&1 | FileCheck %s --check-prefix=PYTHON --implicit-check-not=error:
// RUN: not pkb-interpret %t.model.py 2>&1 | FileCheck %s --check-prefix=PYTHON --implicit-check-not=error:
// PYTHON: error: '[[FILE:.*model.py]]' is a Python file; export a function of it first: pkb-export [[FILE]]:FUNCTION --inputs [[FILE]]:INPUTS --world-size W -o X.pkb
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 --emit=cuda -o %t.emitted.cu && not pkb-opt %t.emitted.cu 2>&1 | FileCheck %s --check-prefix=EMITTED --implicit-check-not=error:
// EMITTED: error: '{{.*}}.emitted.cu' is an emitted program; run it with pkb-run, or give the bundle that it was made from
//
// A user's mistake is one line; the operation is shown to who asks for it.
// RUN: sed 's/size = 2/size = 1/' %s > %t/folder.mlir/one.mlir
// RUN: not pkb-opt %t/folder.mlir/one.mlir --pkb-verify-comm -o %t/z.mlir 2>&1 | FileCheck %s --check-prefix=ONE --implicit-check-not='see current operation'
// ONE: error: 'comm.all_reduce' op {{.*}}rank
// RUN: not pkb-opt %t/folder.mlir/one.mlir --pkb-verify-comm --mlir-print-op-on-diagnostic=true -o %t/z.mlir 2>&1 | FileCheck %s --check-prefix=SHOWN
// SHOWN: note: see current operation
//
// Only the folder, the old file, and no temporary one are there.
// RUN: ls %t | FileCheck %s --check-prefix=LEFT
// LEFT: {{^}}folder.mlir{{$}}
// LEFT-NEXT: {{^}}x.cu{{$}}
// LEFT-NOT: {{.}}
module attributes {comm.mesh = #comm.mesh<size = 2>, aten.program = #aten.program<function = "f", bundle = "", capture = "", torch = "2.11.0", inputs = <tuple items [<tensor at 0>]>, outputs = <tensor at 0>>} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
