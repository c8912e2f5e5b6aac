// RUN: not pkb-opt %s --pkb-verify-xfer=sms=-1 2>&1 | FileCheck %s --check-prefix=SMS
// RUN: not pkb-opt %s --pkb-verify-xfer=arena-bytes=0 2>&1 | FileCheck %s --check-prefix=ARENA
// RUN: not pkb-opt %s --pkb-verify-comm=arena-bytes=0 2>&1 | FileCheck %s --check-prefix=ARENA
// RUN: not pkb-opt %s --pkb-pipeline='target=h200x2 xfer-passes=pkb-verify-xfer{sms=4}' 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: pkb-opt %s --pkb-pipeline='target=h200x2 xfer-passes=pkb-verify-xfer{sms=128}' -o /dev/null 2>&1 | count 0

// An option that no program can satisfy is an error about that option, at no line.
// SMS: pkb-opt: error: option sms=-1 must not be negative
// ARENA: pkb-opt: error: option arena-bytes=0 must be positive
// SMS-NOT: mlir:
// ARENA-NOT: mlir:

// What a kernel is refused for by the number that the option gives says so.
// FEW: error: 'xfer.kernel' op XV401: more blocks wait than can be resident at once: 128 blocks of 1024 threads wait, 4 are certain to be resident (1 on each of 4 multiprocessors, by option sms)
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%a: tensor<1048576xbf16>) -> tensor<1048576xbf16> {
    %0 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 deterministic : tensor<1048576xbf16>
    return %0 : tensor<1048576xbf16>
  }
}
