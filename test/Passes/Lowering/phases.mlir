// RUN: pkb-opt %s -pkb-convert-comm-to-xfer -pkb-verify-xfer | FileCheck %s --check-prefix=XFER
// RUN: pkb-opt %s -pkb-convert-comm-to-xfer -pkb-convert-xfer-to-cuda | FileCheck %s --check-prefix=CUDA

// Two phases that cut the same elements into the same chunks: what is left between them is one argument, in memory of the launch, and a block needs its own only.
// XFER-LABEL: func.func @main
// XFER: %[[LEFT:.*]] = memref.alloc() : memref<40xf32>
// XFER: xfer.launch @fused_0(%{{.*}}, %[[LEFT]], %{{.*}})
// XFER-LABEL: xfer.kernel @fused_0
// XFER: ^bb0(%{{.*}}: memref<80xf32>, %[[L:.*]]: memref<40xf32>, %{{.*}}: memref<80xf32>):
// XFER: xfer.pipeline 40 by 4 implements reduce_scatter
// XFER: xfer.store %{{.*}} to %[[L]] chunk
// XFER: xfer.sync block
// XFER: xfer.pipeline 40 by 4 implements all_gather
// XFER: xfer.load %[[L]] chunk
// The flags count on: the second phase's behind the chunks that the block has had in the first.
// CUDA-LABEL: cuda.kernel @fused_0
// CUDA: %[[MINE:.*]] = arith.constant 5 : index
// CUDA: scf.for
// CUDA: cuda.signal
// CUDA: cuda.wait
// CUDA: cuda.block_barrier
// CUDA-NOT: cuda.wait_blocks
// CUDA: scf.for
// CUDA: %[[STEP:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CUDA: %[[COUNT:.*]] = arith.addi %[[MINE]], %{{.*}} : index
// CUDA-NEXT: cuda.epoch
// CUDA-NEXT: cuda.flag_value %{{.*}}, %[[COUNT]]
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<80xf32>) -> tensor<80xf32> {
    %r = comm.fused(%x) : (tensor<80xf32>) -> tensor<80xf32> attributes {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 16, depth = 1, slots = 4, unroll = 1>} {
    ^bb0(%a: tensor<80xf32>):
      %1 = comm.fused(%a) : (tensor<80xf32>) -> tensor<40xf32> {
      ^bb0(%b: tensor<80xf32>):
        %2 = comm.reduce_scatter sum %b in <[[0, 1]]> accumulate f32 : (tensor<80xf32>) -> tensor<40xf32>
        comm.yield %2 : tensor<40xf32>
      }
      %3 = comm.fused(%1) : (tensor<40xf32>) -> tensor<80xf32> {
      ^bb0(%b: tensor<40xf32>):
        %4 = comm.all_gather %b in <[[0, 1]]> : (tensor<40xf32>) -> tensor<80xf32>
        comm.yield %4 : tensor<80xf32>
      }
      comm.yield %3 : tensor<80xf32>
    }
    return %r : tensor<80xf32>
  }

  // A turned tensor is read by other blocks than have written it: all of a rank meet, by flags of the rank for itself.
  // XFER-LABEL: xfer.kernel @fused_1
  // XFER: ^bb0(%{{.*}}: memref<8x4xf32>, %[[L:.*]]: memref<32xf32>, %{{.*}}: memref<2x8xf32>):
  // XFER: %[[TURNED:.*]] = memref.reinterpret_cast %[[L]] to offset: [0], sizes: [8, 4], strides: [1, 8]
  // XFER: xfer.store %{{.*}} to %[[TURNED]] part
  // XFER: xfer.sync grid
  // XFER: xfer.load %[[L]] part
  // CUDA-LABEL: cuda.kernel @fused_1
  // CUDA: %[[ME:.*]] = cuda.rank
  // CUDA: %[[BLOCK:.*]] = cuda.block_index
  // CUDA: scf.for
  // CUDA: cuda.block_barrier site 17
  // CUDA: %[[MARK:.*]] = cuda.flag_value
  // CUDA-NEXT: cuda.signal %[[ME]] block %[[BLOCK]] value %[[MARK]]
  // CUDA-NEXT: cuda.wait_blocks %[[MARK]]
  // CUDA-NEXT: cuda.block_barrier
  func.func @turned(%x: tensor<8x4xf32>) -> tensor<2x8xf32> {
    %r = comm.fused(%x) : (tensor<8x4xf32>) -> tensor<2x8xf32> attributes {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 16, depth = 1, slots = 4, unroll = 1>} {
    ^bb0(%a: tensor<8x4xf32>):
      %1 = comm.fused(%a) : (tensor<8x4xf32>) -> tensor<4x8xf32> {
      ^bb0(%b: tensor<8x4xf32>):
        %2 = comm.all_to_all %b in <[[0, 1]]> : (tensor<8x4xf32>) -> tensor<8x4xf32>
        %3 = aten.as_strided %2 : tensor<8x4xf32> -> tensor<4x8xf32, #aten.strided<[1, 4], 0>>
        %4 = aten.call "aten::clone"(%3) args [#aten.operand<0>] kwargs {memory_format = #aten.memory_format<contiguous>} returns [#aten.result<0>] : (tensor<4x8xf32, #aten.strided<[1, 4], 0>>) -> tensor<4x8xf32>
        comm.yield %4 : tensor<4x8xf32>
      }
      %5 = comm.fused(%1) : (tensor<4x8xf32>) -> tensor<2x8xf32> {
      ^bb0(%b: tensor<4x8xf32>):
        %6 = comm.reduce_scatter sum %b in <[[0, 1]]> accumulate f32 : (tensor<4x8xf32>) -> tensor<2x8xf32>
        comm.yield %6 : tensor<2x8xf32>
      }
      comm.yield %5 : tensor<2x8xf32>
    }
    return %r : tensor<2x8xf32>
  }

  // A slice of what is left is a window from its offset on: of other blocks, and 3 x 4 bytes into the argument.
  // XFER-LABEL: xfer.kernel @fused_2
  // XFER: ^bb0(%{{.*}}: memref<16xf32>, %[[S:.*]]: memref<8xf32>, %{{.*}}: memref<10xf32>):
  // XFER: %[[SLICE:.*]] = memref.reinterpret_cast %[[S]] to offset: [3], sizes: [5], strides: [1]
  // XFER: xfer.store %{{.*}} to %[[S]] chunk
  // XFER: xfer.sync grid
  // XFER: xfer.load %[[SLICE]] chunk
  // CUDA-LABEL: cuda.kernel @fused_2
  // CUDA: cuda.wait_blocks
  // CUDA: cuda.pointer
  // CUDA-NEXT: %[[BYTES:.*]] = arith.constant 12 : index
  // CUDA-NEXT: cuda.advance %{{.*}}, %[[BYTES]]
  func.func @sliced(%x: tensor<16xf32>) -> tensor<10xf32> {
    %r = comm.fused(%x) : (tensor<16xf32>) -> tensor<10xf32> attributes {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 16, depth = 1, slots = 4, unroll = 1>} {
    ^bb0(%a: tensor<16xf32>):
      %1 = comm.fused(%a) : (tensor<16xf32>) -> tensor<8xf32> {
      ^bb0(%b: tensor<16xf32>):
        %2 = comm.reduce_scatter sum %b in <[[0, 1]]> accumulate f32 : (tensor<16xf32>) -> tensor<8xf32>
        comm.yield %2 : tensor<8xf32>
      }
      %3 = comm.fused(%1) : (tensor<8xf32>) -> tensor<10xf32> {
      ^bb0(%b: tensor<8xf32>):
        %4 = aten.as_strided %b : tensor<8xf32> -> tensor<5xf32, #aten.strided<[1], 3>>
        %5 = aten.call "aten::clone"(%4) args [#aten.operand<0>] kwargs {memory_format = #aten.memory_format<contiguous>} returns [#aten.result<0>] : (tensor<5xf32, #aten.strided<[1], 3>>) -> tensor<5xf32>
        %6 = comm.all_gather %5 in <[[0, 1]]> : (tensor<5xf32>) -> tensor<10xf32>
        comm.yield %6 : tensor<10xf32>
      }
      comm.yield %3 : tensor<10xf32>
    }
    return %r : tensor<10xf32>
  }
}
