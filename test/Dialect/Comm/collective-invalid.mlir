// RUN: pkb-opt %s -split-input-file -verify-diagnostics

func.func @collective_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_gather' op inputs and results must have one element type, got: 'f32' and 'f16'}}
  %0 = comm.all_gather %x in <[[0, 1]]> : (tensor<4xf32>) -> tensor<8xf16>
  return
}

// -----

func.func @collective_c2(%x: tensor<4x2xf32, #aten.strided<[1, 4], 0>>) {
  // expected-error @below {{'comm.all_reduce' op inputs and results must be contiguous, got: 'tensor<4x2xf32, #aten.strided<[1, 4], 0>>'}}
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<4x2xf32, #aten.strided<[1, 4], 0>>
  return
}

// -----

func.func @collective_c3_results(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_gather' op must have 1 result or one for each of 3 ranks, got: 2}}
  %0:2 = comm.all_gather %x in <[[0, 1, 2]]> : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @collective_c3_inputs() {
  // expected-error @below {{'comm.all_to_all' op must have 1 input or one for each of 2 ranks, got: 0}}
  "comm.all_to_all"() {group = #comm.group<[[0, 1]]>} : () -> ()
  return
}

// -----

func.func @all_reduce_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_reduce' op failed to verify that all of {input, result} have same type}}
  %0 = "comm.all_reduce"(%x) {kind = #comm<reduce_kind sum>, group = #comm.group<[[0, 1]]>, accumulation = f32} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @all_reduce_c2_bits(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_reduce' op kind band must be defined for the element type, got: 'f32'}}
  %0 = comm.all_reduce band %x in <[[0, 1]]> accumulate f32 : tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c2_order(%x: tensor<4xcomplex<f32>>) {
  // expected-error @below {{'comm.all_reduce' op kind max must be defined for the element type, got: 'complex<f32>'}}
  %0 = comm.all_reduce max %x in <[[0, 1]]> accumulate complex<f32> : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @all_reduce_c2_factor(%x: tensor<4xi32>) {
  // expected-error @below {{'comm.all_reduce' op kind premul_sum must be defined for the element type, got: 'i32'}}
  %0 = comm.all_reduce premul_sum %x in <[[0, 1]]> accumulate i32 : tensor<4xi32>
  return
}

// -----

func.func @all_reduce_c3_narrower(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_reduce' op accumulation type must be 'f32' or a wider type of its class, got: 'bf16'}}
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate bf16 : tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c3_class(%x: tensor<4xi32>) {
  // expected-error @below {{'comm.all_reduce' op accumulation type must be 'i32' or a wider type of its class, got: 'f64'}}
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f64 : tensor<4xi32>
  return
}

// -----

func.func @all_gather_c1(%x: tensor<4x2xf32>) {
  // expected-error @below {{'comm.all_gather' op result must hold the inputs of 2 ranks along dimension 0 or along a new dimension 0 of 'tensor<4x2xf32>', got: 'tensor<4x4xf32>'}}
  %0 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @all_gather_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_gather' op each of several results must have the input's type 'tensor<4xf32>', got: 'tensor<3xf32>'}}
  %0:2 = comm.all_gather %x in <[[0, 1]]> : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @all_to_all_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_to_all' op must have as many results as inputs, got: 2 and 1}}
  %0:2 = comm.all_to_all %x in <[[0, 1]]> : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @all_to_all_c2_parts(%x: tensor<3xf32>) {
  // expected-error @below {{'comm.all_to_all' op dimension 0 must be divisible by the 2 ranks of a row, got: 'tensor<3xf32>'}}
  %0 = comm.all_to_all %x in <[[0, 1]]> : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @all_to_all_c2_scalar(%x: tensor<f32>) {
  // expected-error @below {{'comm.all_to_all' op dimension 0 must be divisible by the 2 ranks of a row, got: 'tensor<f32>'}}
  %0 = comm.all_to_all %x in <[[0, 1]]> : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @all_to_all_c2_elements(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_to_all' op input and result must have as many elements, got: 'tensor<4xf32>' and 'tensor<6xf32>'}}
  %0 = comm.all_to_all %x in <[[0, 1]]> : (tensor<4xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @all_to_all_c3(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{'comm.all_to_all' op tensors of the list form must have one type, got: 'tensor<4xf32>' and 'tensor<3xf32>'}}
  %0:2 = comm.all_to_all %x, %y in <[[0, 1]]> : (tensor<4xf32>, tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @group_c1() {
  // expected-error @below {{group must have at least one row of at least one rank}}
  comm.barrier in <[]>
  return
}

// -----

func.func @group_c2() {
  // expected-error @below {{rows of a group must have the same size, got: 2 and 1}}
  comm.barrier in <[[0, 1], [2]]>
  return
}

// -----

func.func @group_c3_negative() {
  // expected-error @below {{ranks of a group must not be negative, got: -1}}
  comm.barrier in <[[0, -1]]>
  return
}

// -----

func.func @group_c3_twice() {
  // expected-error @below {{a rank must occur once in a group, got twice: 1}}
  comm.barrier in <[[0, 1], [1, 2]]>
  return
}

// -----

// expected-error @below {{mesh must have at least one rank, got: 0}}
module @mesh_c1 attributes {comm.mesh = #comm.mesh<size = 0>} {}

// -----

// expected-error @below {{copy_engines must not be negative, got: -2}}
module @mesh_c1_engines attributes {comm.mesh = #comm.mesh<size = 2, copy_engines = -2>} {}

// -----

// expected-error @below {{attribute comm.mesh must be a #comm.mesh, got: 4 : i64}}
module attributes {comm.mesh = 4 : i64} {}

// -----

// expected-error @below {{attribute comm.mesh must be on a module, got: func.func}}
func.func private @mesh_elsewhere() attributes {comm.mesh = #comm.mesh<size = 2>}

// -----

// expected-error @below {{unknown attribute of dialect comm: "comm.cake"}}
module attributes {comm.cake} {}
