// A device that takes nothing, in place of a file and as standard output: one message, exit status 1, and the device is still there.
// REQUIRES: dev-full
//
// RUN: not pkb-opt %s --pkb-pipeline=target=h200x2 --emit=cuda -o /dev/full 2>&1 | FileCheck %s
// RUN: not pkb-opt %s -o /dev/full --emit=mlir 2>&1 | FileCheck %s
// CHECK: {{^}}pkb-opt: error: cannot write output '/dev/full': No space left on device{{$}}
// RUN: not env PKB_NVCC=none PKB_CXX=no-such-compiler pkb-opt %s --pkb-pipeline=target=h200x2 --emit=artefact -o /dev/full 2>&1 | FileCheck %s --check-prefix=ARTEFACT
// ARTEFACT: pkb-opt: error: cannot write '/dev/full': No space left on device
// RUN: not bash -c 'pkb-opt %s > /dev/full' 2>&1 | FileCheck %s --check-prefix=STDOUT
// STDOUT: {{^}}pkb-opt: error: cannot write output '-': No space left on device{{$}}
// STDOUT-NOT: {{.}}
// RUN: not bash -c 'pkb-interpret %s > /dev/full' 2>&1 | FileCheck %s --check-prefix=INTERPRET
// INTERPRET: No space left on device
// RUN: test -c /dev/full
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
