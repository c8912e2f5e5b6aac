// RUN: pkb-opt %s -split-input-file -verify-diagnostics

func.func @library_call_c1(%a: memref<8xf32>) {
  // expected-error @below {{must have mechanism nccl, got: ldst}}
  xfer.library_call ldst(%a) in <[[0, 1]]> reduce sum calls [#xfer.call<function = all_reduce, count = 8>] : memref<8xf32>
  return
}

// -----

func.func @library_call_c2_layout(%a: memref<8xf32, strided<[2]>>) {
  // expected-error @below {{operand 0 must be a contiguous memref of static shape, got: 'memref<8xf32, strided<[2]>>'}}
  xfer.library_call nccl(%a) in <[[0, 1]]> reduce sum calls [#xfer.call<function = all_reduce, count = 8>] : memref<8xf32, strided<[2]>>
  return
}

// -----

func.func @library_call_c2_elements(%a: memref<8xf32>, %b: memref<8xf16>) {
  // expected-error @below {{operand 1 must have elements of type 'f32', got: 'f16'}}
  xfer.library_call nccl(%a, %b) in <[[0, 1]]> reduce sum calls [#xfer.call<function = all_reduce, count = 8, to = 1>] : memref<8xf32>, memref<8xf16>
  return
}

// -----

func.func @library_call_c3_operand(%a: memref<8xf32>) {
  // expected-error @below {{to of #xfer.call<function = all_reduce, count = 8, to = 1> must be one of 1 operands, got: 1}}
  xfer.library_call nccl(%a) in <[[0, 1]]> reduce sum calls [#xfer.call<function = all_reduce, count = 8, to = 1>] : memref<8xf32>
  return
}

// -----

func.func @library_call_c3_range(%a: memref<8xf32>) {
  // expected-error @below {{must lie in the 8 elements of operand 0, got: 10 from 0 on}}
  xfer.library_call nccl(%a) in <[[0, 1]]> reduce sum calls [#xfer.call<function = reduce_scatter, count = 5>] : memref<8xf32>
  return
}

// -----

func.func @library_call_c3_rank(%a: memref<8xf32>) {
  // expected-error @below {{must be one of 2 ranks of the group, got: 2}}
  xfer.library_call nccl(%a) in <[[0, 1]]> calls [#xfer.call<function = broadcast, count = 8, root = 2>] : memref<8xf32>
  return
}

// -----

func.func @library_call_c3_row(%a: memref<8xf32>) {
  // expected-error @below {{must be one of 1 rows of the group, got: 1}}
  xfer.library_call nccl(%a) in <[[0, 1]]> calls [#xfer.call<function = broadcast, count = 8, row = 1>] : memref<8xf32>
  return
}

// -----

func.func @library_call_c4(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{must have messages that write different elements, got two that write element 3 of operand 1 at rank 0}}
  xfer.library_call nccl(%a, %b) in <[[0, 1]]> calls [#xfer.call<function = message, count = 4, to = 1, source = 1>,
    #xfer.call<function = message, count = 4, to = 1, to_offset = 3>] : memref<8xf32>, memref<8xf32>
  return
}

// -----

func.func @library_call_c5_reduction(%a: memref<8xf32>) {
  // expected-error @below {{must name a reduction}}
  xfer.library_call nccl(%a) in <[[0, 1]]> calls [#xfer.call<function = all_reduce, count = 8>] : memref<8xf32>
  return
}

// -----

func.func @library_call_c5_factors(%a: memref<8xf32>) {
  // expected-error @below {{must have 2 factors, got: 0}}
  xfer.library_call nccl(%a) in <[[0, 1]]> reduce premul_sum calls [#xfer.call<function = all_reduce, count = 8>] : memref<8xf32>
  return
}

// -----

// expected-error @below {{call must have a count of 0 to 2^50, got: -1}}
#call = #xfer.call<function = all_reduce, count = -1>

// -----

func.func @transfer_c1(%a: memref<8xf32>) {
  // expected-error @below {{must name an xfer.kernel of its group with mechanism copy_engine, got: @nothing}}
  xfer.transfer @nothing(%a) in <[[0, 1]]> calls [#xfer.call<function = message, count = 8, dest = 1>] : memref<8xf32>
  return
}

// -----

func.func @transfer_c2(%a: memref<8xf32>) {
  // expected-error @below {{must have messages to other ranks, got: #xfer.call<function = message, count = 8>}}
  xfer.transfer @nothing(%a) in <[[0, 1]]> calls [#xfer.call<function = message, count = 8>] : memref<8xf32>
  return
}
