// RUN: pkb-opt %s -split-input-file -verify-diagnostics

func.func @collective_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_gather' op inputs and results must have one element type, got: 'f32' and 'f16'}}
  %0 = comm.all_gather %x in <[[0, 1]]> : (tensor<4xf32>) -> tensor<8xf16>
  return
}

// -----

func.func @collective_c2(%x: tensor<4x2xf32, #aten.strided<[1, 4], 0>>) {
  // expected-error @below {{'comm.all_reduce' op inputs and results must be contiguous, results from offset 0, got: 'tensor<4x2xf32, #aten.strided<[1, 4], 0>>'}}
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<4x2xf32, #aten.strided<[1, 4], 0>>
  return
}

// -----

func.func @collective_c2_gap(%x: tensor<4x2xf32, #aten.strided<[3, 1], 5>>) {
  // expected-error @below {{'comm.all_gather' op inputs and results must be contiguous, results from offset 0, got: 'tensor<4x2xf32, #aten.strided<[3, 1], 5>>'}}
  %0 = comm.all_gather %x in <[[0, 1]]> : (tensor<4x2xf32, #aten.strided<[3, 1], 5>>) -> tensor<8x2xf32>
  return
}

// -----

func.func @collective_c2_result(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.permute' op inputs and results must be contiguous, results from offset 0, got: 'tensor<4xf32, #aten.strided<[1], 4>>'}}
  %0 = comm.permute %x in <[[0, 1]]> pairs [[0, 1]] : (tensor<4xf32>) -> tensor<4xf32, #aten.strided<[1], 4>>
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
  // expected-error @below {{'comm.all_reduce' op failed to verify that the result has the shape and element type of the input, and no encoding}}
  %0 = "comm.all_reduce"(%x) {kind = #comm<reduce_kind sum>, group = #comm.group<[[0, 1]]>, accumulation = f32} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @reduction_c1_bits(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_reduce' op kind band must be defined for the element type, got: 'f32'}}
  %0 = comm.all_reduce band %x in <[[0, 1]]> accumulate f32 : tensor<4xf32>
  return
}

// -----

func.func @reduction_c1_order(%x: tensor<4xcomplex<f32>>) {
  // expected-error @below {{'comm.all_reduce' op kind max must be defined for the element type, got: 'complex<f32>'}}
  %0 = comm.all_reduce max %x in <[[0, 1]]> accumulate complex<f32> : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @reduction_c1_factor(%x: tensor<4xi32>) {
  // expected-error @below {{'comm.all_reduce' op kind premul_sum must be defined for the element type, got: 'i32'}}
  %0 = comm.all_reduce premul_sum %x in <[[0, 1]]> accumulate i32 : tensor<4xi32>
  return
}

// -----

func.func @reduction_c1_average(%x: tensor<4xi1>) {
  // expected-error @below {{'comm.reduce_scatter' op kind avg must be defined for the element type, got: 'i1'}}
  %0 = comm.reduce_scatter avg %x in <[[0, 1]]> accumulate i1 : (tensor<4xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @reduction_c1_other(%x: tensor<4xindex>) {
  // expected-error @below {{'comm.reduce' op kind sum must be defined for the element type, got: 'index'}}
  %0 = comm.reduce sum %x in <[[0, 1]]> to [0] accumulate index : tensor<4xindex>
  return
}

// -----

func.func @reduction_c2_narrower(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_reduce' op accumulation type must be 'f32' or a wider type of its class, got: 'bf16'}}
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate bf16 : tensor<4xf32>
  return
}

// -----

func.func @reduction_c2_class(%x: tensor<4xi32>) {
  // expected-error @below {{'comm.all_reduce' op accumulation type must be 'i32' or a wider type of its class, got: 'f64'}}
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f64 : tensor<4xi32>
  return
}

// -----

func.func @reduction_c3_missing(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_reduce' op must have 2 factors for kind premul_sum, got: 0}}
  %0 = comm.all_reduce premul_sum %x in <[[0, 1]]> accumulate f32 : tensor<4xf32>
  return
}

// -----

func.func @reduction_c3_number(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.reduce' op must have 4 factors for kind premul_sum, got: 2}}
  %0 = comm.reduce premul_sum %x in <[[0, 1], [2, 3]]> to [0, 2] factors [1.0, 2.0] accumulate f32 : tensor<4xf32>
  return
}

// -----

func.func @reduction_c3_useless(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_reduce' op must have 0 factors for kind sum, got: 2}}
  %0 = comm.all_reduce sum %x in <[[0, 1]]> factors [1.0, 2.0] accumulate f32 : tensor<4xf32>
  return
}

// -----

func.func @reduction_c3_infinite(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_reduce' op factors must be finite, got: INF}}
  %0 = comm.all_reduce premul_sum %x in <[[0]]> factors [0x7FF0000000000000] accumulate f32 : tensor<4xf32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.reduce' op failed to verify that the result has the shape and element type of the input, and no encoding}}
  %0 = "comm.reduce"(%x) {kind = #comm<reduce_kind sum>, group = #comm.group<[[0, 1]]>, roots = array<i64: 0>, accumulation = f32} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @reduce_scatter_c1(%x: tensor<4x2xf32>) {
  // expected-error @below {{'comm.reduce_scatter' op input must hold the results of 2 ranks along dimension 0 or along a new dimension 0 of 'tensor<4x1xf32>', got: 'tensor<4x2xf32>'}}
  %0 = comm.reduce_scatter sum %x in <[[0, 1]]> accumulate f32 : (tensor<4x2xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @reduce_scatter_c2(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{'comm.reduce_scatter' op each of several inputs must have the result's type 'tensor<4xf32>', got: 'tensor<3xf32>'}}
  %0 = comm.reduce_scatter sum %x, %y in <[[0, 1]]> accumulate f32 : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @rooted_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.broadcast' op must have a root for each of 2 rows, got: 1}}
  %0 = comm.broadcast %x in <[[0, 1], [2, 3]]> from [0] : tensor<4xf32>
  return
}

// -----

func.func @rooted_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.reduce' op root must be a rank of row 1 of the group, got: 1}}
  %0 = comm.reduce sum %x in <[[0, 1], [2, 3]]> to [0, 1] accumulate f32 : tensor<4xf32>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.broadcast' op failed to verify that the result has the shape and element type of the input, and no encoding}}
  %0 = "comm.broadcast"(%x) {group = #comm.group<[[0, 1]]>, roots = array<i64: 0>} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @gather_c1(%x: tensor<f32>) {
  // expected-error @below {{'comm.gather' op result must hold the inputs of 2 ranks along dimension 0 or along a new dimension 0 of 'tensor<f32>', got: 'tensor<2x1xf32>'}}
  %0 = comm.gather %x in <[[0, 1]]> to [0] : (tensor<f32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @gather_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.gather' op each of several results must have the input's type 'tensor<4xf32>', got: 'tensor<4x1xf32>'}}
  %0:2 = comm.gather %x in <[[0, 1]]> to [0] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @scatter_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.scatter' op input must hold the results of 2 ranks along dimension 0 or along a new dimension 0 of 'tensor<3xf32>', got: 'tensor<4xf32>'}}
  %0 = comm.scatter %x in <[[0, 1]]> from [0] : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @scatter_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.scatter' op each of several inputs must have the result's type 'tensor<2x2xf32>', got: 'tensor<4xf32>'}}
  %0 = comm.scatter %x, %x in <[[0, 1]]> from [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @uneven_c1(%x: tensor<3xf32>) {
  // expected-error @below {{'comm.all_gather_v' op must have 1 counts for each of 2 ranks, got: 3}}
  %0 = comm.all_gather_v %x in <[[0, 1]]> counts [3, 5, 1] : (tensor<3xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @uneven_c1_table(%x: tensor<3xf32>) {
  // expected-error @below {{'comm.all_to_all_v' op must have 2 counts for each of 2 ranks, got: 3}}
  %0 = "comm.all_to_all_v"(%x) {group = #comm.group<[[0, 1]]>, counts = array<i64: 1, 2, 3>} : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @uneven_c1_text(%x: tensor<3xf32>) {
  // expected-error @below {{expected a row of 2 numbers, got: 1}}
  %0 = comm.all_to_all_v %x in <[[0, 1]]> counts [[1, 2], [3]] : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @uneven_c2(%x: tensor<3xf32>) {
  // expected-error @below {{'comm.reduce_scatter_v' op counts must not be negative, got: -1}}
  %0 = comm.reduce_scatter_v sum %x in <[[0, 1]]> counts [4, -1] accumulate f32 : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @uneven_c3_gather(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.all_gather_v' op inputs and results must have the elements that counts gives to one of the ranks, got: 'tensor<4xf32>' to 'tensor<8xf32>'}}
  %0 = comm.all_gather_v %x in <[[0, 1]]> counts [3, 5] : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @uneven_c3_scatter(%x: tensor<3xf32>, %y: tensor<5xf32>) {
  // expected-error @below {{'comm.reduce_scatter_v' op inputs and results must have the elements that counts gives to one of the ranks, got: 'tensor<5xf32>', 'tensor<3xf32>' to 'tensor<3xf32>'}}
  %0 = comm.reduce_scatter_v sum %y, %x in <[[0, 1]]> counts [3, 5] accumulate f32 : (tensor<5xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// Input and result fit, but they are those of different ranks.
func.func @uneven_c3_exchange(%x: tensor<3xf32>) {
  // expected-error @below {{'comm.all_to_all_v' op inputs and results must have the elements that counts gives to one of the ranks, got: 'tensor<3xf32>' to 'tensor<7xf32>'}}
  %0 = comm.all_to_all_v %x in <[[0, 1]]> counts [[1, 2], [3, 5]] : (tensor<3xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @all_to_all_v_c1(%x: tensor<3xf32>) {
  // expected-error @below {{'comm.all_to_all_v' op must have as many results as inputs, got: 2 and 1}}
  %0:2 = comm.all_to_all_v %x in <[[0, 1]]> counts [[1, 2], [3, 0]] : (tensor<3xf32>) -> (tensor<1xf32>, tensor<3xf32>)
  return
}

// -----

func.func @permute_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.permute' op pairs must have both ranks in one row of the group, got: [1, 2]}}
  %0 = comm.permute %x in <[[0, 1], [2, 3]]> pairs [[0, 1], [1, 2]] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permute_c1_outside(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.permute' op pairs must have both ranks in one row of the group, got: [5, 5]}}
  %0 = comm.permute %x in <[[0, 1]]> pairs [[5, 5]] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permute_c1_odd(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.permute' op pairs must have two ranks each, got: 3 ranks}}
  %0 = "comm.permute"(%x) {group = #comm.group<[[0, 1]]>, pairs = array<i64: 0, 1, 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permute_c2_sends(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.permute' op a rank must send once at most, got twice: 0}}
  %0 = comm.permute %x in <[[0, 1]]> pairs [[0, 1], [0, 0]] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permute_c2_gets(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.permute' op a rank must get once at most, got twice: 1}}
  %0 = comm.permute %x in <[[0, 1]]> pairs [[0, 1], [1, 1]] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permute_c3(%x: tensor<4xf32>) {
  // expected-error @below {{'comm.permute' op input and result must have as many elements, got: 'tensor<4xf32>' and 'tensor<2xf32>'}}
  %0 = comm.permute %x in <[[0, 1]]> pairs [[0, 1]] : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @absent_c1() {
  // expected-error @below {{'comm.absent' op must be contiguous, got: 'tensor<4x2xf32, #aten.strided<[1, 4], 0>>'}}
  %0 = comm.absent : tensor<4x2xf32, #aten.strided<[1, 4], 0>>
  return
}

// -----

func.func @host_read_c1(%x: tensor<2xi64>) {
  // expected-error @below {{'comm.host_read' op must read a contiguous tensor of one element, got: 'tensor<2xi64>'}}
  %0 = comm.host_read %x : tensor<2xi64>
  return
}

// -----

func.func @host_read_c2(%x: tensor<i64>) {
  // expected-error @below {{'comm.host_read' op failed to verify that result must be the element type}}
  %0 = "comm.host_read"(%x) : (tensor<i64>) -> i32
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
