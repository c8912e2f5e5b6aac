// RUN: pkb-opt %s -split-input-file -verify-diagnostics -pkb-convert-comm-to-xfer

#few = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 0, slots = 1, unroll = 1>
#many = #xfer.schedule<mechanism = ldst, blocks = 4, threads = 64, chunk = 32, depth = 0, slots = 1, unroll = 1>

module @schedules attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0(%x: tensor<40xbf16>) attributes {comm.ranks = array<i64: 0>} {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64, xfer.schedule = #few} : tensor<40xbf16>
    return
  }
  func.func @main_1(%x: tensor<40xbf16>) attributes {comm.ranks = array<i64: 1>} {
    // expected-error @below {{'comm.all_reduce' op must have the schedule that it has on other ranks}}
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64, xfer.schedule = #many} : tensor<40xbf16>
    return
  }
}
