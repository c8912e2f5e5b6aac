// RUN: pkb-opt %s -split-input-file -pkb-convert-comm-to-xfer -verify-diagnostics

// A collective without a schedule.
func.func @no_schedule(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'comm.all_reduce' op must have a schedule (attribute xfer.schedule); run pkb-select-mechanism first}}
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>
// Elements that no kernel adds.
func.func @other_float(%x: tensor<8xf8E4M3FNUZ>) -> tensor<8xf8E4M3FNUZ> {
  // expected-error @+1 {{'comm.all_reduce' op has no kernel for reduction sum of f8E4M3FNUZ}}
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {xfer.schedule = #ldst} : tensor<8xf8E4M3FNUZ>
  return %0 : tensor<8xf8E4M3FNUZ>
}

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>
// A product of numbers that are no pairs of reals.
func.func @complex_product(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  // expected-error @+1 {{'comm.all_reduce' op has no kernel for reduction prod of complex<f32>}}
  %0 = comm.all_reduce prod %x in <[[0, 1]]> accumulate complex<f32> deterministic {xfer.schedule = #ldst} : tensor<8xcomplex<f32>>
  return %0 : tensor<8xcomplex<f32>>
}

// -----

// An operation of another level.
func.func @other_level(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'arith.negf' op must not be left at level L1}}
  %0 = arith.negf %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A function without a body.
// expected-error @+1 {{'func.func' op must be straight-line code}}
func.func private @elsewhere(tensor<8xf32>) -> tensor<8xf32>

// -----

// Memory of an argument, which begins where the argument does, seen as a type of wider elements that do not begin there.
func.func @other_elements(%x: tensor<9xf32, #aten.strided<[1], 1>>) -> tensor<4xf64, #aten.strided<[1], 1>> {
  // expected-error @+1 {{'aten.as_strided' op must have strides that a memref can have, and lie at elements of its own type}}
  %0 = aten.as_strided %x : tensor<9xf32, #aten.strided<[1], 1>> -> tensor<4xf64, #aten.strided<[1], 1>>
  return %0 : tensor<4xf64, #aten.strided<[1], 1>>
}

// -----

// A program that has been converted already.
// expected-error @+1 {{'func.func' op must take tensors at level L1, got: 'memref<8xf32>'}}
func.func @converted(%x: memref<8xf32>) {
  return
}

// -----

// A result that would be a view of what is not returned.
func.func @view_of_mutation(%x: tensor<8xf32>) -> (tensor<8xf32> {aten.mutation_of = 0 : i64}, tensor<8xf32> {aten.alias_of = #aten.alias<result, 0>}) {
  // expected-error @+1 {{'func.return' op result 1 must be a view of a result that is returned, got: the new contents of an argument}}
  return %x, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

// Two results, each a view of the other.
func.func @views_of_each_other(%x: tensor<8xf32>) -> (tensor<8xf32> {aten.alias_of = #aten.alias<result, 1>}, tensor<8xf32> {aten.alias_of = #aten.alias<result, 0>}) {
  // expected-error @+1 {{'func.return' op result 0 must be a view of memory, got: views that are each the next one's, 0, 1}}
  return %x, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

// A number has no memory that a caller could get.
func.func @returns_number(%x: tensor<i64>) -> i64 {
  %0 = comm.host_read %x : tensor<i64>
  // expected-error @+1 {{'func.return' op must return tensors to be lowered, got: result 0 of type 'i64'}}
  return %0 : i64
}

// -----

// A phase that no kernel can compute.
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @phase(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+1 {{'comm.fused' op has no form as one kernel: _softmax is not computed element by element}}
    %r = comm.fused(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32> attributes {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 64, chunk = 1024, depth = 0, slots = 2, unroll = 1>} {
    ^bb0(%a: tensor<8x64xf32>):
      %1 = comm.fused(%a) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
      ^bb0(%b: tensor<8x64xf32>):
        %2 = comm.all_reduce sum %b in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
        comm.yield %2 : tensor<8x64xf32>
      }
      %3 = comm.fused(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
      ^bb0(%b: tensor<8x64xf32>):
        %4 = aten.call "aten::_softmax"(%b) args [#aten.operand<0>, 1, false] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
        %5 = comm.all_reduce sum %4 in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
        comm.yield %5 : tensor<8x64xf32>
      }
      comm.yield %3 : tensor<8x64xf32>
    }
    return %r : tensor<8x64xf32>
  }
}

// -----

// A phase over rows.
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @rows(%x: tensor<8x64xf32>) -> tensor<8x1xf32> {
    // expected-error @+1 {{'comm.fused' op has no form as one kernel: an exchange of one number for each row does not share a kernel with one of elements}}
    %r = comm.fused(%x) : (tensor<8x64xf32>) -> tensor<8x1xf32> attributes {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 64, chunk = 1024, depth = 0, slots = 2, unroll = 1>} {
    ^bb0(%a: tensor<8x64xf32>):
      %1 = comm.fused(%a) : (tensor<8x64xf32>) -> tensor<8x1xf32> {
      ^bb0(%b: tensor<8x64xf32>):
        %2 = aten.call "aten::sum" overload "dim_IntList"(%b) args [#aten.operand<0>, array<i64: -1>, true] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
        %3 = comm.all_reduce sum %2 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
        comm.yield %3 : tensor<8x1xf32>
      }
      %4 = comm.fused(%1) : (tensor<8x1xf32>) -> tensor<8x1xf32> {
      ^bb0(%b: tensor<8x1xf32>):
        %5 = comm.all_reduce sum %b in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
        comm.yield %5 : tensor<8x1xf32>
      }
      comm.yield %4 : tensor<8x1xf32>
    }
    return %r : tensor<8x1xf32>
  }
}
