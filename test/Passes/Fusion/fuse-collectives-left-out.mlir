// Why a collective shares its kernel with nothing, in words for the author of the program: what stands next to it is named.
// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s
// RUN: pkb-opt %s -split-input-file -pkb-fuse-collectives | FileCheck %s --check-prefix=ALONE
// ALONE-NOT: comm.fused

// Element by element in mathematics, but not in a kernel.
// CHECK: [Missed] not-fused | {{.*}}all_reduce is a kernel of its own: masked_fill and tan after it have no form in a kernel; mm before it has no form in a kernel"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @no_form(%a: tensor<8x8xf32>, %m: tensor<8x8xi1>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = aten.call "aten::mm"(%a, %a) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 : tensor<8x8xf32>
    %2 = aten.call "aten::masked_fill" overload "Scalar"(%1, %m) args [#aten.operand<0>, #aten.operand<1>, 0.0] returns [#aten.result<0>] : (tensor<8x8xf32>, tensor<8x8xi1>) -> tensor<8x8xf32>
    %3 = aten.call "aten::tan"(%1) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// -----

// An operator that has one, but not over this dimension.
// CHECK: all_reduce is a kernel of its own: sum after it has no form in a kernel with these types, dimensions or options"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @as_called(%x: tensor<64x80xf32>) -> tensor<80xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<64x80xf32>
    %1 = aten.call "aten::sum" overload "dim_IntList"(%0) args [#aten.operand<0>, array<i64: 0>] returns [#aten.result<0>] : (tensor<64x80xf32>) -> tensor<80xf32>
    return %1 : tensor<80xf32>
  }
}

// -----

// An average that is folded into a tensor of the caller.
// CHECK: all_reduce is a kernel of its own: add_ after it writes in place to a tensor that is there already, and a kernel gives new ones"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @in_place(%ema: tensor<17x5xf32>, %p: tensor<17x5xf32>) -> tensor<17x5xf32> {
    %0 = comm.all_reduce avg %p in <[[0, 1]]> accumulate f32 : tensor<17x5xf32>
    %1 = aten.call "aten::add_" overload "Tensor"(%ema, %0) args [#aten.operand<0>, #aten.operand<1>] kwargs {alpha = 1.000000e-02 : f64} returns [#aten.operand<0>] mutates [0] : (tensor<17x5xf32>, tensor<17x5xf32>) -> tensor<17x5xf32>
    return %1 : tensor<17x5xf32>
  }
}

// -----

// Statistics that were packed for one message, and are unpacked behind it.
// CHECK: all_reduce is a kernel of its own: only a part of what it gives goes into div; cat before it has no form in a kernel"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @packed(%s: tensor<6xf32>, %n: tensor<1xf32>) -> tensor<6xf32> {
    %0 = aten.call "aten::cat"(%s, %n) args [[#aten.operand<0>, #aten.operand<1>]] returns [#aten.result<0>] : (tensor<6xf32>, tensor<1xf32>) -> tensor<7xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 : tensor<7xf32>
    %2 = aten.as_strided %1 : tensor<7xf32> -> tensor<6xf32, #aten.strided<[1], 0>>
    %3 = aten.as_strided %1 : tensor<7xf32> -> tensor<f32, #aten.strided<[], 6>>
    %4 = aten.call "aten::div" overload "Tensor"(%2, %3) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<6xf32, #aten.strided<[1], 0>>, tensor<f32, #aten.strided<[], 6>>) -> tensor<6xf32>
    return %4 : tensor<6xf32>
  }
}

// -----

// The same where the part goes into something that writes in place.
// CHECK: all_reduce is a kernel of its own: only a part of what it gives goes into add_"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @part(%s: tensor<7xf32>) -> tensor<7xf32> {
    %0 = comm.all_reduce sum %s in <[[0, 1]]> accumulate f32 : tensor<7xf32>
    %1 = aten.as_strided %0 : tensor<7xf32> -> tensor<3xf32, #aten.strided<[1], 2>>
    %2 = aten.call "aten::add_" overload "Tensor"(%1) args [#aten.operand<0>, 1] returns [#aten.operand<0>] mutates [0] : (tensor<3xf32, #aten.strided<[1], 2>>) -> tensor<3xf32, #aten.strided<[1], 2>>
    %3 = aten.view_write %0, %2 : tensor<7xf32>, tensor<3xf32, #aten.strided<[1], 2>>
    return %3 : tensor<7xf32>
  }
}

// -----

// Broadcast to more than what arrives.
// CHECK: all_reduce is a kernel of its own: mul gives a larger tensor than the collective"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @larger(%x: tensor<7xf32>, %y: tensor<3x7xf32>) -> tensor<3x7xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<7xf32>
    %1 = aten.call "aten::mul" overload "Tensor"(%0, %y) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
    return %1 : tensor<3x7xf32>
  }
}

// -----

// Bytes that are numbers again behind the collective.
// CHECK: all_gather is a kernel of its own: what it gives goes into neg as another dtype, bit for bit"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @bits(%x: tensor<8xi32>) -> tensor<16xf32> {
    %0 = comm.all_gather %x in <[[0, 1]]> : (tensor<8xi32>) -> tensor<16xi32>
    %1 = aten.as_strided %0 : tensor<16xi32> -> tensor<16xf32>
    %2 = aten.call "aten::neg"(%1) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<16xf32>) -> tensor<16xf32>
    return %2 : tensor<16xf32>
  }
}

// -----

// The other operand is made by an operator that no kernel computes, after the call.
// CHECK: all_reduce is a kernel of its own: mul after it needs something that is computed only later, too"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @late(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8x8xf32>
    %1 = aten.call "aten::cumsum"(%x) args [#aten.operand<0>, 1] returns [#aten.result<0>] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = aten.call "aten::mul" overload "Tensor"(%0, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}

// -----

// Somebody else needs what would have been computed in the kernel; what rows are reduced and used for is computed only behind a collective.
// CHECK: all_reduce is a kernel of its own: what neg before it computes is needed elsewhere, too"
// CHECK: all_reduce is a kernel of its own: _softmax before it has a form in a kernel only after a collective"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @shared(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
    %0 = aten.call "aten::neg"(%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
    %2 = aten.call "aten::_softmax"(%x) args [#aten.operand<0>, 1, false] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %3 = comm.all_reduce sum %2 in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
    return %0, %1, %3 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
  }
}

// -----

// There is nothing next to it: a tensor of the same shape is made without looking at it.
// CHECK: all_reduce is a kernel of its own: there is no operator next to it"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @nothing(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8xf32>
    %1 = aten.call "aten::zeros_like"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// What rows are reduced for is the message of the next collective, whose kernel has it; the one behind finds nothing else.
// CHECK: all_reduce is a kernel of its own: sum after it makes the message of the next collective"
// ALONE: @for_the_next
// ALONE: comm.fused
// ALONE-NOT: comm.fused
// ALONE: @weight
// ALONE-NOT: comm.fused
// CHECK: all_reduce is a kernel of its own: what comes before it stands in the row of line [[#@LINE+5]]"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @for_the_next(%x: tensor<8x64xf32>) -> tensor<8xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8x64xf32>
    %1 = aten.call "aten::sum" overload "dim_IntList"(%0) args [#aten.operand<0>, array<i64: -1>] returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8xf32>
    %2 = comm.all_reduce sum %1 in <[[0, 1]]> accumulate f32 : tensor<8xf32>
    %3 = comm.all_reduce max %2 in <[[0, 1]]> accumulate f32 : tensor<8xf32>
    return %3 : tensor<8xf32>
  }
}

// -----

// Rows are reduced, but of something else: this is their weight.
// CHECK: all_reduce is a kernel of its own: native_layer_norm after it does not reduce the rows that it gives"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @weight(%x: tensor<8x64xf32>, %w: tensor<64xf32>) -> tensor<8x64xf32> {
    %0 = comm.all_reduce sum %w in <[[0, 1]]> accumulate f32 : tensor<64xf32>
    %1:3 = aten.call "aten::native_layer_norm"(%x, %0) args [#aten.operand<0>, array<i64: 64>, #aten.operand<1>, unit, 1.000000e-05] returns [#aten.result<0>, #aten.result<1>, #aten.result<2>] : (tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
    return %1#0 : tensor<8x64xf32>
  }
}

// -----

// A kernel does not read memory of the host.
// CHECK: all_reduce is a kernel of its own: mul after it works on memory of the host; add before it works on memory of the host"
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @host(%x: tensor<64xf32>) -> tensor<64xf32> {
    %n = aten.call "aten::full"() args [array<i64>, 2.0] kwargs {device = #aten.device<cpu>} returns [#aten.result<0>] {aten.host} : () -> tensor<f32>
    %0 = aten.call "aten::add" overload "Tensor"(%x, %n) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 : tensor<64xf32>
    %2 = aten.call "aten::mul" overload "Tensor"(%1, %n) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.result<0>] : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    return %2 : tensor<64xf32>
  }
}

// -----

// ALONE: @rows
// What comes before it is in the kernel of an earlier collective: of this file, of another one, or of a helper function that both call;
// and of an unknown place. What comes after it is named as ever.
// CHECK: all_gather is a kernel of its own: what comes before it stands in the row of line 12"
// CHECK: all_gather is a kernel of its own: tan after it has no form in a kernel; what comes before it stands in the row of line 12 of model.py"
// CHECK: all_gather is a kernel of its own: what comes before it stands in the row of line 12, called from model.py:40"
// CHECK: all_gather is a kernel of its own: what comes before it is in the kernel of another collective"
#line = loc("model.py":12:0)
#helped = loc(callsite(#line at "model.py":40:0))
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @rows(%x: tensor<8xf32>) -> tensor<16xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8xf32> loc(#line)
    %1 = aten.call "aten::neg"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
    %2 = comm.all_gather %1 in <[[0, 1]]> : (tensor<8xf32>) -> tensor<16xf32> loc("model.py":14:0)
    return %2 : tensor<16xf32>
  }
  func.func @of_another_file(%x: tensor<8xf32>) -> tensor<16xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8xf32> loc(#line)
    %1 = aten.call "aten::neg"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
    %2 = comm.all_gather %1 in <[[0, 1]]> : (tensor<8xf32>) -> tensor<16xf32> loc("layers.py":14:0)
    %3 = aten.call "aten::tan"(%2) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<16xf32>) -> tensor<16xf32>
    return %3 : tensor<16xf32>
  }
  func.func @helped(%x: tensor<8xf32>) -> tensor<16xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8xf32> loc(#helped)
    %1 = aten.call "aten::neg"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
    %2 = comm.all_gather %1 in <[[0, 1]]> : (tensor<8xf32>) -> tensor<16xf32> loc(callsite(#line at "model.py":41:0))
    return %2 : tensor<16xf32>
  }
  func.func @unknown(%x: tensor<8xf32>) -> tensor<16xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8xf32> loc(unknown)
    %1 = aten.call "aten::neg"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
    %2 = comm.all_gather %1 in <[[0, 1]]> : (tensor<8xf32>) -> tensor<16xf32> loc("model.py":14:0)
    return %2 : tensor<16xf32>
  }
}
