// RUN: pkb-opt %s -split-input-file -verify-diagnostics

// fused_c1: arguments of other types.
func.func @arguments(%x: tensor<8xf32>) {
  // expected-error @+1 {{'comm.fused' op must have a body with arguments of the types of its inputs ('tensor<8xf32>'), got: 'tensor<4xf32>'}}
  %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 : tensor<4xf32>
    comm.yield %1 : tensor<4xf32>
  }
  return
}

// -----

// fused_c1: results of other types.
func.func @results(%x: tensor<8xf32>) {
  // expected-error @+1 {{'comm.fused' op must yield values of the types of its results ('tensor<4xf32>'), got: 'tensor<8xf32>'}}
  %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 : tensor<8xf32>
    comm.yield %1 : tensor<8xf32>
  }
  return
}

// -----

// fused_c2: nothing is communicated.
func.func @nothing(%x: tensor<8xf32>) {
  // expected-error @+1 {{'comm.fused' op must hold a collective}}
  %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    comm.yield %a : tensor<8xf32>
  }
  return
}

// -----

// fused_c2: two groups.
func.func @groups(%x: tensor<8xf32>) {
  // expected-error @+1 {{'comm.fused' op must hold collectives of one group, got: #comm.group<[[0, 1]]> and #comm.group<[[2, 3]]>}}
  %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 : tensor<8xf32>
    %2 = comm.all_reduce sum %1 in <[[2, 3]]> accumulate f32 : tensor<8xf32>
    comm.yield %2 : tensor<8xf32>
  }
  return
}

// -----

// A body that is left out is a mistake of the text, not a crash.
func.func @empty(%x: tensor<8xf32>) {
  %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  }
  // expected-error @+1 {{custom op 'comm.fused' expected a body}}
  return
}

// -----

// fused_c3: something stands between phases.
func.func @between(%x: tensor<8xf32>) {
  // expected-error @+1 {{'comm.fused' op must hold phases only, got: comm.all_reduce}}
  %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = comm.fused(%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %2 = comm.all_reduce sum %b in <[[0, 1]]> accumulate f32 : tensor<8xf32>
      comm.yield %2 : tensor<8xf32>
    }
    %3 = comm.all_reduce sum %1 in <[[0, 1]]> accumulate f32 : tensor<8xf32>
    comm.yield %3 : tensor<8xf32>
  }
  return
}

// -----

// fused_c3: a phase of two collectives.
func.func @two_in_one(%x: tensor<8xf32>) {
  // expected-error @+1 {{'comm.fused' op must hold phases of at most one collective each, got: 2}}
  %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = comm.fused(%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %2 = comm.all_reduce sum %b in <[[0, 1]]> accumulate f32 : tensor<8xf32>
      %3 = comm.all_reduce sum %2 in <[[0, 1]]> accumulate f32 : tensor<8xf32>
      comm.yield %3 : tensor<8xf32>
    }
    comm.yield %1 : tensor<8xf32>
  }
  return
}

// -----

// fused_c2: phases of two groups.
func.func @phases_of_two_groups(%x: tensor<8xf32>) {
  // expected-error @+1 {{'comm.fused' op must hold collectives of one group, got: #comm.group<[[0, 1]]> and #comm.group<[[0], [1]]>}}
  %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = comm.fused(%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %2 = comm.all_reduce sum %b in <[[0, 1]]> accumulate f32 : tensor<8xf32>
      comm.yield %2 : tensor<8xf32>
    }
    %3 = comm.fused(%1) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %4 = comm.all_reduce sum %b in <[[0], [1]]> accumulate f32 : tensor<8xf32>
      comm.yield %4 : tensor<8xf32>
    }
    comm.yield %3 : tensor<8xf32>
  }
  return
}

// -----

// fused_c2: no collective has left anything for the first phase.
func.func @starts_without_collective(%x: tensor<8xf32>) {
  %r = comm.fused(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{'comm.fused' op must hold a collective}}
    %1 = comm.fused(%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %2 = aten.call "aten::neg"(%b) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
      comm.yield %2 : tensor<8xf32>
    }
    %3 = comm.fused(%1) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %4 = comm.all_reduce sum %b in <[[0, 1]]> accumulate f32 : tensor<8xf32>
      comm.yield %4 : tensor<8xf32>
    }
    comm.yield %3 : tensor<8xf32>
  }
  return
}
