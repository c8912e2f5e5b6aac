// RUN: pkb-opt %s -split-input-file -verify-diagnostics

// launch_c1: no such kernel.
func.func @main() {
  // expected-error @+1 {{'xfer.launch' op must name an xfer.kernel, got: @main}}
  xfer.launch @main()
  return
}

// -----

// launch_c2: a tensor too few.
func.func @main(%a: memref<8xf32>) {
  // expected-error @+1 {{'xfer.launch' op must have 2 operands for @k, got: 1}}
  xfer.launch @k(%a) : memref<8xf32>
  return
}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
}

// -----

// launch_c2: a tensor of another type.
func.func @main(%a: memref<8xf32>) {
  // expected-error @+1 {{'xfer.launch' op operand 1 must have type 'memref<16xf32>', got: 'memref<8xf32>'}}
  xfer.launch @k(%a, %a) : memref<8xf32>, memref<8xf32>
  return
}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
}

// -----

// launch_c2: a part of a tensor may begin anywhere, but must have no gaps.
func.func @main(%a: memref<8xf32, strided<[1], offset: 3>>, %b: memref<8xf32, strided<[2], offset: 3>>) {
  // expected-error @+1 {{'xfer.launch' op operand 1 must have type 'memref<8xf32>', got: 'memref<8xf32, strided<[2], offset: 3>>'}}
  xfer.launch @k(%a, %b) : memref<8xf32, strided<[1], offset: 3>>, memref<8xf32, strided<[2], offset: 3>>
  return
}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<8xf32>):
}

// -----

// kernel_c1: a tensor with gaps.
// expected-error @+1 {{'xfer.kernel' op argument 1 must be a contiguous memref of static shape or of one unknown dimension, got: 'memref<8xf32, strided<[2]>>'}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<8xf32, strided<[2]>>):
}

// -----

// kernel_c1: a tensor with a dimension of unknown size beside another one.
// expected-error @+1 {{'xfer.kernel' op argument 0 must be a contiguous memref of static shape or of one unknown dimension, got: 'memref<?x4xf32>'}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<?x4xf32>):
}

// -----

// kernel_c1: not a tensor.
// expected-error @+1 {{'xfer.kernel' op argument 0 must be a contiguous memref of static shape or of one unknown dimension, got: 'index'}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: index):
}

// -----

// kernel_c2: no kernel moves bytes by tma.
// expected-error @+1 {{'xfer.kernel' op must have a mechanism that kernels carry out (ldst, ll, copy_engine), got: tma}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = tma, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// kernel_c2: no kernel moves bytes by nvls.
// expected-error @+1 {{'xfer.kernel' op must have a mechanism that kernels carry out (ldst, ll, copy_engine), got: nvls}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = nvls, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// kernel_c2: no kernel moves bytes by nccl.
// expected-error @+1 {{'xfer.kernel' op must have a mechanism that kernels carry out (ldst, ll, copy_engine), got: nccl}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = nccl, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// Schedule: no blocks.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have at least one block, got: 0}}
    schedule(<mechanism = ldst, blocks = 0, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// Schedule: too many threads.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have 1 to 1024 threads, got: 1025}}
    schedule(<mechanism = ldst, blocks = 1, threads = 1025, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// Schedule: no threads.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have 1 to 1024 threads, got: 0}}
    schedule(<mechanism = ldst, blocks = 1, threads = 0, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// Schedule: a chunk that is no multiple of 16.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have a chunk that is a positive multiple of 16 bytes, got: 24}}
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 24, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// Schedule: an empty chunk.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have a chunk that is a positive multiple of 16 bytes, got: 0}}
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 0, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// Schedule: a push that runs behind.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have a depth of at least 0, got: -1}}
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = -1, slots = 1, unroll = 1>) {
}

// -----

// Schedule: no slots.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have at least one slot, got: 0}}
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 0, unroll = 1>) {
}

// -----

// Schedule: no vectors.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have an unroll factor of 1 to 16, got: 0}}
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 0>) {
}

// -----

// Schedule: too many vectors.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have an unroll factor of 1 to 16, got: 17}}
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 17>) {
}

// -----

// Schedule: no block on a multiprocessor.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have 1 or more blocks per multiprocessor and at most 2048 threads in them, got: 0 blocks of 1}}
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1, per_sm = 0>) {
}

// -----

// Schedule: more threads than a multiprocessor holds.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have 1 or more blocks per multiprocessor and at most 2048 threads in them, got: 3 blocks of 1024}}
    schedule(<mechanism = ldst, blocks = 1, threads = 1024, per_sm = 3, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// Schedule: a product that does not fit 64 bits.
xfer.kernel @k group(<[[0, 1]]>)
    // expected-error @+1 {{schedule must have 1 or more blocks per multiprocessor and at most 2048 threads in them, got: 2305843009213693952 blocks of 8}}
    schedule(<mechanism = ldst, blocks = 1, threads = 8, per_sm = 2305843009213693952, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
}

// -----

// Symmetric buffer: elements of no fixed size.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{symmetric buffer must have an element type of fixed size, got: 'index'}}
  %b = xfer.symm_buffer : <index, chunk = 4, slots = 2, parities = 2, staged>
}

// -----

// Symmetric buffer: a chunk of 12 bytes.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{symmetric buffer must have chunks of a positive multiple of 16 bytes, got: 3 elements of 4 bytes}}
  %b = xfer.symm_buffer : <f32, chunk = 3, slots = 2, parities = 2, staged>
}

// -----

// Symmetric buffer: an empty chunk.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{symmetric buffer must have chunks of a positive multiple of 16 bytes, got: 0 elements of 4 bytes}}
  %b = xfer.symm_buffer : <f32, chunk = 0, slots = 2, parities = 2, staged>
}

// -----

// Symmetric buffer: no slots.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{symmetric buffer must have at least one slot, got: 0}}
  %b = xfer.symm_buffer : <f32, chunk = 4, slots = 0, parities = 2, staged>
}

// -----

// Symmetric buffer: three parities.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{symmetric buffer must have 1 or 2 parities, got: 3}}
  %b = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 3, staged>
}

// -----

// Symmetric buffer: no parity.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{symmetric buffer must have 1 or 2 parities, got: 0}}
  %b = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 0, staged>
}

// -----

// pipeline_c1: fewer elements than none.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{'xfer.pipeline' op must have a non-negative number of elements, got: -1}}
  xfer.pipeline -1 by 4 produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// pipeline_c1: an empty chunk.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{'xfer.pipeline' op must have a positive chunk, got: 0}}
  xfer.pipeline 8 by 0 produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// pipeline_c1: more bytes than 64 bits count.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{'xfer.pipeline' op must have at most 2^56 elements in all and in a chunk, got: 8 and 4611686018427387904}}
  xfer.pipeline 8 by 4611686018427387904 produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// pipeline_c2: a region without its chunk.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{'xfer.pipeline' op produce must have one argument of type !xfer.chunk}}
  xfer.pipeline 8 by 4 produce {
  ^bb0:
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// pipeline_c2: a chunk too many.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{'xfer.pipeline' op consume must have one argument of type !xfer.chunk}}
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
  ^bb0(%k: !xfer.chunk, %l: !xfer.chunk):
  }
}

// -----

// for_peers_c1: no peer.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    // expected-error @+1 {{'xfer.for_peers' op must have one argument of type index}}
    xfer.for_peers {
    ^bb0(%p: i32):
    }
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// select_c1: fewer tensors than ranks.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.select' op must have one tensor per rank (2), got: 1}}
    %s = xfer.select %me of %a : memref<8xf32> -> memref<8xf32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// select_c1: tensors that do not follow one another.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.select' op must select among consecutive arguments of the kernel}}
    %s = xfer.select %me of %a, %c : memref<8xf32>, memref<8xf32> -> memref<8xf32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// select_c1: a tensor that is no argument of the kernel.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<8xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    %s = xfer.select %me of %a, %b : memref<8xf32>, memref<8xf32> -> memref<8xf32>
    // expected-error @+1 {{'xfer.select' op must select among consecutive arguments of the kernel}}
    %t = xfer.select %me of %s, %s : memref<8xf32>, memref<8xf32> -> memref<8xf32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// select_c2: tensors of two types.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.select' op must select among tensors of type 'memref<8xf32>', got: 'memref<16xf32>'}}
    %s = xfer.select %me of %a, %b : memref<8xf32>, memref<16xf32> -> memref<8xf32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// load_c1: a tensor of another size.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    // expected-error @+1 {{'xfer.load' op must access a tensor of 8 elements, got: 16}}
    %t = xfer.load %b chunk %k : memref<16xf32> -> <f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// load_c1: a part of a tensor that has one message.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.load' op must access a tensor of 16 elements, got: 8}}
    %t = xfer.load %a part %me chunk %k : memref<8xf32> -> <f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// load_c1: a tile of other elements.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    // expected-error @+1 {{'xfer.load' op must have a tile of 'f32', got: 'f16'}}
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f16>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// load_c1: outside a pipeline there is no message.
func.func @main(%a: memref<8xf32>, %k: !xfer.chunk) {
  // expected-error @+1 {{'xfer.load' op must be inside xfer.pipeline}}
  %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
  return
}

// -----

// store_c1: a tensor of another size.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.store' op must access a tensor of 8 elements, got: 16}}
    xfer.store %t to %b chunk %k : <f32>, memref<16xf32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// store_c1: a tile of other elements.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %h: memref<8xf16>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.store' op must have a tile of 'f16', got: 'f32'}}
    xfer.store %t to %h chunk %k : <f32>, memref<8xf16>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// put_c1: LL data in a staged buffer.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  %s = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %l = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.put' op by ll must write a lines buffer, got: staged}}
    %p = xfer.put %t into %s chunk %k by ll : <f32>, <f32, chunk = 4, slots = 2, parities = 2, staged>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// put_c1: plain data in LL lines.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  %s = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %l = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.put' op by ldst must write a staged buffer, got: lines}}
    %p = xfer.put %t into %l chunk %k by ldst : <f32>, <f32, chunk = 4, slots = 2, parities = 2, lines>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// put_c2: elements of another type.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%h: memref<8xf16>):
  %s = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %l = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %h chunk %k : memref<8xf16> -> <f16>
    // expected-error @+1 {{'xfer.put' op must put a tile of 'f32', got: 'f16'}}
    %p = xfer.put %t into %s chunk %k by ldst : <f16>, <f32, chunk = 4, slots = 2, parities = 2, staged>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// consume_c1: elements of another type.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  %s = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %l = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %me = xfer.own_rank
    %w = xfer.wait %f chunk %k
    // expected-error @+1 {{'xfer.consume' op must yield a tile of 'f32', got: 'f16'}}
    %g = xfer.consume %s peer %me chunk %k after %w : <f32, chunk = 4, slots = 2, parities = 2, staged> -> <f16>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// contributions_c1: a rank too few.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  %s = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %l = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    %w = xfer.wait %f chunk %k
    // expected-error @+1 {{'xfer.contributions' op must have one result per rank (2), got: 1}}
    %g = xfer.contributions %s own %t chunk %k after %w : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// contributions_c1: results of another type.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  %s = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %l = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    %w = xfer.wait %f chunk %k
    // expected-error @+1 {{'xfer.contributions' op must have results of type '!xfer.tile<f32>', got: '!xfer.tile<f16>'}}
    %g:2 = xfer.contributions %s own %t chunk %k after %w : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f32> -> !xfer.tile<f32>, !xfer.tile<f16>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// contributions_c1: an own tile of another type.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%h: memref<8xf16>):
  %s = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, staged>
  %l = xfer.symm_buffer : <f32, chunk = 4, slots = 2, parities = 2, lines>
  %f = xfer.flags : !xfer.flags
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %h chunk %k : memref<8xf16> -> <f16>
    %w = xfer.wait %f chunk %k
    // expected-error @+1 {{'xfer.contributions' op must have an own tile of 'f32', got: 'f16'}}
    %g:2 = xfer.contributions %s own %t chunk %k after %w : <f32, chunk = 4, slots = 2, parities = 2, staged>, <f16> -> !xfer.tile<f16>, !xfer.tile<f16>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// map_c1: an argument too few.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.map' op must have a body with 1 arguments, got: 0}}
    %m = xfer.map %t {
      %c = arith.constant 0.0 : f32
      xfer.yield %c : f32
    } : (!xfer.tile<f32>) -> !xfer.tile<f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// map_c1: an argument of another type.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.map' op body argument 0 must have type 'f32', got: 'f16'}}
    %m = xfer.map %t {
    ^bb0(%x: f16):
      %y = arith.extf %x : f16 to f32
      xfer.yield %y : f32
    } : (!xfer.tile<f32>) -> !xfer.tile<f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// map_c1: a result of another type.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.map' op must yield one value of type 'f32'}}
    %m = xfer.map %t {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      xfer.yield %y : f16
    } : (!xfer.tile<f32>) -> !xfer.tile<f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// map_c1: two results.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.map' op must yield one value of type 'f32'}}
    %m = xfer.map %t {
    ^bb0(%x: f32):
      xfer.yield %x, %x : f32, f32
    } : (!xfer.tile<f32>) -> !xfer.tile<f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// map_c1: no result.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.map' op must yield one value of type 'f32'}}
    %m = xfer.map %t {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
    } : (!xfer.tile<f32>) -> !xfer.tile<f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// map_c1: no body.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+1 {{'xfer.map' op expects a non-empty block}}
    %m = xfer.map %t {
    ^bb0(%x: f32):
    } : (!xfer.tile<f32>) -> !xfer.tile<f32>
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// A region that cannot be parsed is let go, also where a name of it was used before.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  %f = xfer.flags : !xfer.flags
  xfer.signal %f chunk %k
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
    // expected-error @+1 {{custom op 'xfer.nothing' is unknown}}
    xfer.nothing
  }
}

// -----

// A map has one result.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<8xf32>, %b: memref<16xf32>):
  xfer.pipeline 8 by 4 produce {
  ^bb0(%k: !xfer.chunk):
    %t = xfer.load %a chunk %k : memref<8xf32> -> <f32>
    // expected-error @+4 {{expected one result, got: 2}}
    %m:2 = xfer.map %t {
    ^bb0(%x: f32):
      xfer.yield %x : f32
    } : (!xfer.tile<f32>) -> (!xfer.tile<f32>, !xfer.tile<f32>)
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// kernel_c3: a root outside of the group.
// expected-error @+1 {{'xfer.kernel' op must have a root among the 2 ranks of its group, got: 2}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements broadcast root 2 {
}

// -----

// kernel_c3: a factor too few.
// expected-error @+1 {{'xfer.kernel' op must have one factor per rank (2), got: 1}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_reduce by premul_sum factors [1.0] {
}

// -----

// kernel_c3: a source too few.
// expected-error @+1 {{'xfer.kernel' op must have one source per rank (2), got: 1}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements permute sources [0] {
}

// -----

// kernel_c3: a source outside of the group.
// expected-error @+1 {{'xfer.kernel' op must have sources among the 2 ranks of its group, or -1, got: 2}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements permute sources [0, 2] {
}

// -----

// kernel_c3: three counts of two ranks.
// expected-error @+1 {{'xfer.kernel' op must have one count per rank (2) or per pair of ranks (4), got: 3}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_gather counts [1, 2, 3] {
}

// -----

// kernel_c3: a negative count.
// expected-error @+1 {{'xfer.kernel' op must have counts that are not negative, got: -2}}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) implements all_gather counts [1, -2] {
}

// -----

// table_c1: a value too few.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xf32>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.table' op must have one value per rank (2), got: 1}}
    %t = xfer.table [1] at %me
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// table_c1: a row too few.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xf32>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.table' op must have one value per pair of ranks (4), got: 2}}
    %t = xfer.table [1, 2] at %me, %me
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// on_ranks_c1: nobody.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xf32>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.on_ranks' op must name at least one rank}}
    xfer.on_ranks [] {
    }
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// on_ranks_c1: a rank outside of the group.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xf32>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.on_ranks' op must name ranks of the kernel's group, got: 2}}
    xfer.on_ranks [0, 2] {
    }
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// on_ranks_c1: a rank twice.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xf32>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.on_ranks' op must name ranks in ascending order, got: 1 after 1}}
    xfer.on_ranks [1, 1] {
    }
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// on_ranks_c2: a body with an argument.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xf32>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.on_ranks' op must have a body without arguments}}
    xfer.on_ranks [1] {
    ^bb0(%x: index):
    }
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// load_c1: two places to begin.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xf32>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.load' op must say by part or by element where its message begins, not both}}
    %t = xfer.load %a part %me at %me chunk %c : memref<4xf32> -> <f32>
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// load_c2: integers of another size.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xi64>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.load' op must have a tile of 'i64', got: 'i32'}}
    %t = xfer.load %a chunk %c : memref<4xi64> -> <i32>
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// load_c2: half of a complex number of another type.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xcomplex<f32>>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    // expected-error @+1 {{'xfer.load' op must have a tile of 'complex<f32>', got: 'f16'}}
    %t = xfer.load %a chunk %c : memref<4xcomplex<f32>> -> <f16>
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// store_c2: reals of a type that a complex number is not made of.
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<4xf32>, %b: memref<4xcomplex<f64>>):
  xfer.pipeline 4 by 4 produce {
  ^bb0(%c: !xfer.chunk):
    %me = xfer.own_rank
    %t = xfer.load %a chunk %c : memref<4xf32> -> <f32>
    // expected-error @+1 {{'xfer.store' op must have a tile of 'complex<f64>', got: 'f32'}}
    xfer.store %t to %b chunk %c : <f32>, memref<4xcomplex<f64>>
  } consume {
  ^bb0(%c: !xfer.chunk):
  }
}

// -----

// launch_c2: a tensor of known size where the kernel takes any, but of other elements.
func.func @main(%a: memref<8xf16>) {
  // expected-error @+1 {{'xfer.launch' op operand 0 must have type 'memref<?xf32>', got: 'memref<8xf16>'}}
  xfer.launch @k(%a) : memref<8xf16>
  return
}
xfer.kernel @k group(<[[0, 1]]>)
    schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
^bb0(%a: memref<?xf32>):
}

// -----

// kernel_c4: the kernel and a pipeline of it both say what they implement.
// expected-error @+1 {{'xfer.kernel' op must leave it to its pipelines to say what they implement, got: all_gather}}
xfer.kernel @both group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>)
    implements all_gather fused {
  xfer.pipeline 8 by 4 implements all_gather produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// kernel_c4: a pipeline says what it implements in a kernel that computes nothing.
// expected-error @+1 {{'xfer.kernel' op must be fused where a pipeline implements a collective of its own, got: all_gather}}
xfer.kernel @plain group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  xfer.pipeline 8 by 4 implements all_gather produce {
  ^bb0(%k: !xfer.chunk):
  } consume {
  ^bb0(%k: !xfer.chunk):
  }
}

// -----

// A scope that there is not.
xfer.kernel @scope group(<[[0, 1]]>) schedule(<mechanism = ldst, blocks = 1, threads = 1, chunk = 16, depth = 0, slots = 1, unroll = 1>) {
  // expected-error @+1 {{expected ::pkb::xfer::SyncScope to be one of: block, grid}}
  xfer.sync warp
  // expected-error @+1 {{failed to parse Xfer_SyncScopeAttr}}
}
