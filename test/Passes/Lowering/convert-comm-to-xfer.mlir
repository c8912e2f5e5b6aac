// RUN: pkb-opt %s -split-input-file -pkb-convert-comm-to-xfer -pkb-verify-xfer | FileCheck %s
// RUN: pkb-opt %s -split-input-file -pkb-convert-comm-to-xfer | pkb-opt -split-input-file | FileCheck %s

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>
#ll = #xfer.schedule<mechanism = ll, blocks = 1, threads = 64, chunk = 32, depth = 0, slots = 1, unroll = 1>

// The message is pushed to all peers and signalled; what has come is added to the own part in rank order, in the accumulation type.
// CHECK-LABEL: func.func @all_reduce
// CHECK-SAME: (%[[X:.*]]: memref<40xbf16>) -> memref<40xbf16>
// CHECK: %[[OUT:.*]] = memref.alloc() : memref<40xbf16>
// CHECK: xfer.launch @all_reduce_0(%[[X]], %[[OUT]])
// CHECK: return %[[OUT]]
func.func @all_reduce(%x: tensor<40xbf16>) -> tensor<40xbf16> {
  %0 = comm.all_reduce sum %x in <[[0, 1, 2]]> accumulate f32 deterministic {xfer.schedule = #ldst} : tensor<40xbf16>
  return %0 : tensor<40xbf16>
}
// CHECK: xfer.kernel @all_reduce_0 group(<{{\[\[}}0, 1, 2]]>)
// CHECK-SAME: schedule(<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>) implements all_reduce
// CHECK: (%[[IN:.*]]: memref<40xbf16>, %[[SUM:.*]]: memref<40xbf16>):
// CHECK: %[[BUFFER:.*]] = xfer.symm_buffer : <bf16, chunk = 16, slots = 4, parities = 2, staged>
// CHECK: %[[FLAGS:.*]] = xfer.flags
// CHECK: xfer.pipeline 40 by 16 produce {
// CHECK: %[[TILE:.*]] = xfer.load %[[IN]] chunk
// CHECK: %[[SENT:.*]] = xfer.put %[[TILE]] into %[[BUFFER]] chunk %{{.*}} by ldst
// CHECK: xfer.signal %[[FLAGS]] chunk %{{.*}} after %[[SENT]]{{$}}
// CHECK: } consume {
// CHECK: %[[HERE:.*]] = xfer.wait %[[FLAGS]] chunk %{{[^ ]*$}}
// CHECK: %[[OWN:.*]] = xfer.load %[[IN]]
// CHECK: %[[ALL:.*]]:3 = xfer.contributions %[[BUFFER]] own %[[OWN]] chunk %{{.*}} after %[[HERE]]
// CHECK: %[[RESULT:.*]] = xfer.map %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2 {
// CHECK: (%[[C0:.*]]: bf16, %[[C1:.*]]: bf16, %[[C2:.*]]: bf16):
// CHECK: %[[W0:.*]] = arith.extf %[[C0]] : bf16 to f32
// CHECK: %[[W1:.*]] = arith.extf %[[C1]] : bf16 to f32
// CHECK: %[[S1:.*]] = arith.addf %[[W0]], %[[W1]] : f32
// CHECK: %[[W2:.*]] = arith.extf %[[C2]] : bf16 to f32
// CHECK: %[[S2:.*]] = arith.addf %[[S1]], %[[W2]] : f32
// CHECK: arith.truncf %[[S2]] : f32 to bf16
// CHECK: xfer.store %[[RESULT]] to %[[SUM]]

// -----

#ll = #xfer.schedule<mechanism = ll, blocks = 1, threads = 64, chunk = 32, depth = 0, slots = 1, unroll = 1>

// Integers wrap, whatever the accumulation type; LL lines carry the signal themselves.
// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<8xi32>) -> tensor<8xi32> {
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate i64 deterministic {xfer.schedule = #ll} : tensor<8xi32>
  return %0 : tensor<8xi32>
}
// CHECK: xfer.kernel @all_reduce_0
// CHECK: xfer.symm_buffer : <i32, chunk = 8, slots = 1, parities = 2, lines>
// CHECK: xfer.put {{.*}} by ll
// CHECK: xfer.signal {{.*}} in_band
// CHECK: xfer.wait {{.*}} in_band
// CHECK: arith.addi %{{.*}}, %{{.*}} : i32
// CHECK-NOT: arith.ext

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// The own message is written where it is read; each peer's to its part. In the list form a part is a tensor of its own.
// CHECK-LABEL: func.func @all_gather
// CHECK: xfer.launch @all_gather_0(%{{.*}}, %{{.*}}) : memref<8xf32>, memref<2x8xf32>
// CHECK: xfer.launch @all_gather_1(%{{.*}}, %{{.*}}, %{{.*}}) : memref<8xf32>, memref<8xf32>, memref<8xf32>
func.func @all_gather(%x: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = comm.all_gather %x in <[[0, 1]]> {xfer.schedule = #ldst} : (tensor<8xf32>) -> tensor<2x8xf32>
  %1:2 = comm.all_gather %x in <[[0, 1]]> {xfer.schedule = #ldst} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0, %1#0, %1#1 : tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>
}
// CHECK: xfer.kernel @all_gather_0 {{.*}} implements all_gather
// CHECK: %[[ME:.*]] = xfer.own_rank
// CHECK: %[[TILE:.*]] = xfer.load
// CHECK: xfer.put %[[TILE]] into
// CHECK: xfer.store %[[TILE]] to %{{.*}} part %[[ME]] chunk
// CHECK: xfer.signal
// CHECK: xfer.for_peers {
// CHECK: (%[[PEER:.*]]: index):
// CHECK: %[[HERE:.*]] = xfer.wait %{{.*}} peer %[[PEER]] chunk
// CHECK: %[[GOT:.*]] = xfer.consume %{{.*}} peer %[[PEER]] chunk %{{.*}} after %[[HERE]]
// CHECK: xfer.store %[[GOT]] to %{{.*}} part %[[PEER]] chunk
// CHECK: xfer.kernel @all_gather_1 {{.*}} implements all_gather
// CHECK: (%{{.*}}: memref<8xf32>, %[[OUT0:.*]]: memref<8xf32>, %[[OUT1:.*]]: memref<8xf32>):
// CHECK: %[[MINE:.*]] = xfer.select %{{.*}} of %[[OUT0]], %[[OUT1]]
// CHECK: xfer.store %{{.*}} to %[[MINE]] chunk
// CHECK: (%[[PEER:.*]]: index):
// CHECK: %[[THEIRS:.*]] = xfer.select %[[PEER]] of %[[OUT0]], %[[OUT1]]
// CHECK: xfer.store %{{.*}} to %[[THEIRS]] chunk

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// Each peer gets its part; the own part is copied without a detour.
// CHECK-LABEL: func.func @all_to_all
// CHECK: xfer.launch @all_to_all_0(%{{.*}}, %{{.*}}) : memref<2x8xf32>, memref<2x8xf32>
// CHECK: xfer.launch @all_to_all_1(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
func.func @all_to_all(%x: tensor<2x8xf32>, %a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = comm.all_to_all %x in <[[0, 1]]> {xfer.schedule = #ldst} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1:2 = comm.all_to_all %a, %b in <[[0, 1]]> {xfer.schedule = #ldst} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0, %1#0, %1#1 : tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>
}
// CHECK: xfer.kernel @all_to_all_0 {{.*}} implements all_to_all
// CHECK: xfer.pipeline 8 by 8 produce {
// CHECK: xfer.for_peers {
// CHECK: (%[[PEER:.*]]: index):
// CHECK: %[[TILE:.*]] = xfer.load %{{.*}} part %[[PEER]] chunk
// CHECK: xfer.put %[[TILE]] into %{{.*}} peer %[[PEER]] chunk
// CHECK: }
// CHECK: xfer.signal
// CHECK: %[[ME:.*]] = xfer.own_rank
// CHECK: %[[OWN:.*]] = xfer.load %{{.*}} part %[[ME]] chunk
// CHECK: xfer.store %[[OWN]] to %{{.*}} part %[[ME]] chunk
// CHECK: xfer.kernel @all_to_all_1
// CHECK: (%[[IN0:.*]]: memref<8xf32>, %[[IN1:.*]]: memref<8xf32>, %[[OUT0:.*]]: memref<8xf32>, %[[OUT1:.*]]: memref<8xf32>):
// CHECK: xfer.select %{{.*}} of %[[IN0]], %[[IN1]]
// CHECK: xfer.select %{{.*}} of %[[OUT0]], %[[OUT1]]

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// A rank alone has no peers and no parts.
// CHECK-LABEL: func.func @alone
func.func @alone(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<1x8xf32>) {
  %0 = comm.all_to_all %x in <[[0]]> {xfer.schedule = #ldst} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = comm.all_gather %x in <[[0]]> {xfer.schedule = #ldst} : (tensor<8xf32>) -> tensor<1x8xf32>
  return %0, %1 : tensor<8xf32>, tensor<1x8xf32>
}
// CHECK: xfer.kernel @all_to_all_0
// CHECK-NOT: part
// CHECK: xfer.kernel @all_gather_1
// CHECK-NOT: part

// -----

// An operator writes its fresh results into memory that is handed to it.
// CHECK-LABEL: func.func @outs
// CHECK-SAME: (%[[X:.*]]: memref<4x8xf32>)
// CHECK: %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK: %[[B:.*]] = memref.alloc() : memref<4xi64>
// CHECK: aten.call "aten::max" overload "dim"(%[[X]]) outs(%[[A]], %[[B]]) args [#aten.operand<0>, 1] returns [#aten.result<0>, #aten.result<1>]
// CHECK: return %[[A]], %[[B]]
func.func @outs(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %0:2 = aten.call "aten::max" overload "dim" (%x) args [#aten.operand<0>, 1] returns [#aten.result<0>, #aten.result<1>] : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi64>
}

// -----

// A write in place stays one, in memory that nobody reads any more: no copy.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>)
// CHECK: %[[A:.*]] = memref.alloc()
// CHECK: aten.call "aten::neg"(%[[X]]) outs(%[[A]])
// CHECK-NOT: memref.copy
// CHECK: aten.call "aten::add_" overload "Tensor"(%[[A]], %[[Y]]) {{.*}} mutates [0]
// CHECK-NOT: memref.copy
// CHECK: return %[[A]]
func.func @in_place(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = aten.call "aten::neg" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %1 = aten.call "aten::add_" overload "Tensor" (%0, %y) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// The old version is read after the write: its reader gets a copy, the new version the memory.
// CHECK-LABEL: func.func @rescued_reader
// CHECK: %[[A:.*]] = memref.alloc()
// CHECK: aten.call "aten::neg"(%{{.*}}) outs(%[[A]])
// CHECK: %[[OLD:.*]] = memref.alloc()
// CHECK: memref.copy %[[A]], %[[OLD]]
// CHECK: aten.call "aten::add_" overload "Tensor"(%[[A]], %{{.*}})
// CHECK: %[[B:.*]] = memref.alloc()
// CHECK: aten.call "aten::abs"(%[[OLD]]) outs(%[[B]])
// CHECK: return %[[A]], %[[B]]
func.func @rescued_reader(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = aten.call "aten::neg" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %1 = aten.call "aten::add_" overload "Tensor" (%0, %y) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = aten.call "aten::abs" (%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// The same for a write of a window.
// CHECK-LABEL: func.func @rescued_reader_of_window
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>, %[[P:.*]]: memref<4xf32>)
// CHECK: %[[A:.*]] = memref.alloc()
// CHECK: %[[WINDOW:.*]] = memref.reinterpret_cast %[[A]] to offset: [2], sizes: [4], strides: [1]
// CHECK: %[[OLD:.*]] = memref.alloc()
// CHECK: memref.copy %[[A]], %[[OLD]]
// CHECK: memref.copy %[[P]], %[[WINDOW]]
// CHECK: aten.call "aten::abs"(%[[OLD]]) outs(%[[B:.*]]) args
// CHECK: return %[[A]], %[[B]]
func.func @rescued_reader_of_window(%x: tensor<8xf32>, %p: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = aten.call "aten::neg" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %1 = aten.view_write %0, %p window <[1], 2> : tensor<8xf32>, tensor<4xf32>
  %2 = aten.call "aten::abs" (%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A view that was made before the write is an old version, too.
// CHECK-LABEL: func.func @rescued_view
// CHECK: %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK: %[[VIEW:.*]] = memref.reinterpret_cast %[[A]] to offset: [4], sizes: [4], strides: [1]
// CHECK: %[[OLD:.*]] = memref.alloc() : memref<4xf32>
// CHECK: memref.copy %[[VIEW]], %[[OLD]]
// CHECK: aten.call "aten::zero_"(%[[A]])
// CHECK: aten.call "aten::abs"(%[[OLD]])
func.func @rescued_view(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = aten.call "aten::neg" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %1 = aten.as_strided %0 : tensor<8xf32> -> tensor<4xf32, #aten.strided<[1], 4>>
  %2 = aten.call "aten::zero_" (%0) args [#aten.operand<0>] returns [#aten.operand<0>] mutates [0] : (tensor<8xf32>) -> tensor<8xf32>
  %3 = aten.call "aten::abs" (%1) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<4xf32, #aten.strided<[1], 4>>) -> tensor<4xf32>
  return %2, %3 : tensor<8xf32>, tensor<4xf32>
}

// -----

// A window is changed in place and written back: the same memory, no copy.
// CHECK-LABEL: func.func @window_in_place
// CHECK: %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK: %[[VIEW:.*]] = memref.reinterpret_cast %[[A]] to offset: [4], sizes: [4], strides: [1]
// CHECK-NOT: memref.copy
// CHECK: aten.call "aten::zero_"(%[[VIEW]])
// CHECK-NOT: memref.copy
// CHECK: return %[[A]]
func.func @window_in_place(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = aten.call "aten::neg" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %1 = aten.as_strided %0 : tensor<8xf32> -> tensor<4xf32, #aten.strided<[1], 4>>
  %2 = aten.call "aten::zero_" (%1) args [#aten.operand<0>] returns [#aten.operand<0>] mutates [0] : (tensor<4xf32, #aten.strided<[1], 4>>) -> tensor<4xf32, #aten.strided<[1], 4>>
  %3 = aten.view_write %0, %2 : tensor<8xf32>, tensor<4xf32, #aten.strided<[1], 4>>
  return %3 : tensor<8xf32>
}

// -----

// An argument whose new contents are a result is written in place; what is returned in its name is not returned twice.
// CHECK-LABEL: func.func @mutation_of
// CHECK-SAME: (%[[X:.*]]: memref<8xf32> {aten.written}, %[[Y:.*]]: memref<8xf32>) {
// CHECK-NEXT: aten.call "aten::add_" overload "Tensor"(%[[X]], %[[Y]])
// CHECK-NEXT: return{{$}}
func.func @mutation_of(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32> {aten.mutation_of = 0 : i64}) {
  %0 = aten.call "aten::add_" overload "Tensor" (%x, %y) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// An argument that lies in another says where; of the memory of both is read what the program knows of the other.
// CHECK-LABEL: func.func @argument_in_another
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>, %{{.*}}: memref<4xf32> {aten.alias_bytes = 16 : i64, aten.alias_of = #aten.alias<argument, 0>})
// CHECK: %[[PART:.*]] = memref.reinterpret_cast %[[X]] to offset: [4]
// CHECK: aten.call "aten::neg"(%[[PART]])
func.func @argument_in_another(%x: tensor<8xf32>, %y: tensor<4xf32, #aten.strided<[1], 4>> {aten.alias_of = #aten.alias<argument, 0>}) -> tensor<4xf32> {
  %0 = aten.as_strided %x : tensor<8xf32> -> tensor<4xf32, #aten.strided<[1], 4>>
  %1 = aten.call "aten::neg"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<4xf32, #aten.strided<[1], 4>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// So is one that a collective gives: its kernel reads and writes the same memory.
// CHECK-LABEL: func.func @summed_in_place
// CHECK-SAME: (%[[X:.*]]: memref<8xf32> {aten.written}) {
// CHECK-NEXT: xfer.launch @all_reduce_0(%[[X]], %[[X]])
// CHECK-NEXT: return{{$}}
func.func @summed_in_place(%x: tensor<8xf32>) -> (tensor<8xf32> {aten.mutation_of = 0 : i64}) {
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic
      {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Not where somebody reads what was there: the sum is made elsewhere and copied at the end.
// CHECK-LABEL: func.func @summed_behind
// CHECK-SAME: (%[[X:.*]]: memref<8xf32> {aten.written}) -> memref<8xf32> {
// CHECK: xfer.launch @all_reduce_0(%[[X]], %[[SUM:.*]]) :
// CHECK: aten.call "aten::neg"(%[[X]]) outs(%[[NEGATED:.*]]) args
// CHECK: memref.copy %[[SUM]], %[[X]]
// CHECK: return %[[NEGATED]]
func.func @summed_behind(%x: tensor<8xf32>) -> (tensor<8xf32> {aten.mutation_of = 0 : i64}, tensor<8xf32>) {
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic
      {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>} : tensor<8xf32>
  %1 = aten.call "aten::neg"(%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// What is gathered comes straight into the argument, of which no input is a part.
// CHECK-LABEL: func.func @gathered_in_place
// CHECK-SAME: (%[[X:.*]]: memref<16xf32> {aten.written}, %[[Y:.*]]: memref<8xf32>) {
// CHECK-NEXT: xfer.launch @all_gather_0(%[[Y]], %[[X]])
// CHECK-NEXT: return{{$}}
func.func @gathered_in_place(%x: tensor<16xf32>, %y: tensor<8xf32>) -> (tensor<16xf32> {aten.mutation_of = 0 : i64}) {
  %0 = comm.all_gather %y in <[[0, 1]]>
      {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>} : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// A rank's shard may lie where the gathering writes it.
// CHECK-LABEL: func.func @own_shard
// CHECK-SAME: (%[[X:.*]]: memref<16xf32> {aten.written}) attributes
// CHECK: %[[SHARD:.*]] = memref.reinterpret_cast %[[X]] to offset: [8]
// CHECK: xfer.launch @all_gather_0(%[[SHARD]], %[[X]])
// CHECK-NEXT: return{{$}}
func.func @own_shard(%x: tensor<16xf32>) -> (tensor<16xf32> {aten.mutation_of = 0 : i64}) attributes {comm.ranks = array<i64: 1>} {
  %0 = aten.as_strided %x : tensor<16xf32> -> tensor<8xf32, #aten.strided<[1], 8>>
  %1 = comm.all_gather %0 in <[[0, 1]]>
      {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>} : (tensor<8xf32, #aten.strided<[1], 8>>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// -----

// Another rank's must not: another thread may have overwritten it before it is sent.
// CHECK-LABEL: func.func @other_shard
// CHECK-SAME: (%[[X:.*]]: memref<16xf32> {aten.written}) attributes
// CHECK: xfer.launch @all_gather_0(%{{.*}}, %[[ALL:.*]]) :
// CHECK: memref.copy %[[ALL]], %[[X]]
func.func @other_shard(%x: tensor<16xf32>) -> (tensor<16xf32> {aten.mutation_of = 0 : i64}) attributes {comm.ranks = array<i64: 0>} {
  %0 = aten.as_strided %x : tensor<16xf32> -> tensor<8xf32, #aten.strided<[1], 8>>
  %1 = comm.all_gather %0 in <[[0, 1]]>
      {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>} : (tensor<8xf32, #aten.strided<[1], 8>>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// -----

// Parts of one buffer, written when both have been asked for.
// CHECK-LABEL: func.func @parts_in_place
// CHECK-SAME: (%[[X:.*]]: memref<16xf32> {aten.written}) {
// CHECK-DAG: %[[A:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [8], {{.*}} to memref<8xf32>
// CHECK-DAG: %[[B:.*]] = memref.reinterpret_cast %[[X]] to offset: [8], sizes: [8], {{.*}} to memref<8xf32, strided<[1], offset: 8>>
// CHECK: xfer.launch @all_reduce_0(%[[A]], %{{.*}}) : memref<8xf32>, memref<8xf32>
// CHECK: xfer.launch @all_reduce_1(%[[B]], %{{.*}}) : memref<8xf32, strided<[1], offset: 8>>, memref<8xf32, strided<[1], offset: 8>>
// CHECK-NOT: memref.copy
// CHECK: return{{$}}
func.func @parts_in_place(%x: tensor<16xf32>) -> (tensor<16xf32> {aten.mutation_of = 0 : i64}) {
  %0 = aten.as_strided %x : tensor<16xf32> -> tensor<8xf32>
  %1 = aten.as_strided %x : tensor<16xf32> -> tensor<8xf32, #aten.strided<[1], 8>>
  %2 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic
      {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>} : tensor<8xf32>
  %3 = comm.all_reduce sum %1 in <[[0, 1]]> accumulate f32 deterministic
      {xfer.schedule = #xfer.schedule<mechanism = ldst, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 2, unroll = 1>} : tensor<8xf32, #aten.strided<[1], 8>>
  %4 = aten.view_write %x, %2 : tensor<16xf32>, tensor<8xf32>
  %5 = aten.view_write %4, %3 window <[1], 8> : tensor<16xf32>, tensor<8xf32>
  return %5 : tensor<16xf32>
}

// -----

// A piece that overlaps the window is saved first.
// CHECK-LABEL: func.func @shifted_write
// CHECK-SAME: (%[[X:.*]]: memref<9xf32> {aten.written}) {
// CHECK: %[[FROM:.*]] = memref.reinterpret_cast %[[X]] to offset: [0]
// CHECK: %[[TO:.*]] = memref.reinterpret_cast %[[X]] to offset: [1]
// CHECK: memref.copy %[[FROM]], %[[SAVED:.*]] :
// CHECK: memref.copy %[[SAVED]], %[[TO]]
func.func @shifted_write(%x: tensor<9xf32>) -> (tensor<9xf32> {aten.mutation_of = 0 : i64}) {
  %0 = aten.as_strided %x : tensor<9xf32> -> tensor<8xf32>
  %1 = aten.view_write %x, %0 window <[1], 1> : tensor<9xf32>, tensor<8xf32>
  return %1 : tensor<9xf32>
}

// -----

// An operator never reads what it is writing: the user had copied it. Of the same elements the operator may be, if it computes each from that at its place.
// CHECK-LABEL: func.func @read_while_written
// CHECK-SAME: (%[[X:.*]]: memref<4x4xf32> {aten.written}) {
// CHECK: %[[T:.*]] = memref.reinterpret_cast %[[X]] {{.*}} strides: [1, 4]
// CHECK: memref.copy %[[T]], %[[SAVED:.*]] :
// CHECK: aten.call "aten::add_" overload "Tensor"(%[[X]], %[[SAVED]])
// CHECK-NOT: memref.copy
// CHECK: aten.call "aten::add_" overload "Tensor"(%[[X]], %[[X]])
// CHECK: memref.copy %[[X]], %[[INDEX:.*]] :
// CHECK: aten.call "aten::addmm_"(%[[X]], %[[INDEX]], %
func.func @read_while_written(%x: tensor<4x4xf32>) -> (tensor<4x4xf32> {aten.mutation_of = 0 : i64}) {
  %0 = aten.as_strided %x : tensor<4x4xf32> -> tensor<4x4xf32, #aten.strided<[1, 4], 0>>
  %1 = aten.call "aten::add_" overload "Tensor"(%x, %0) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<4x4xf32>, tensor<4x4xf32, #aten.strided<[1, 4], 0>>) -> tensor<4x4xf32>
  %2 = aten.call "aten::add_" overload "Tensor"(%1, %1) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = aten.call "aten::addmm_"(%2, %2, %2) args [#aten.operand<0>, #aten.operand<1>, #aten.operand<2>] returns [#aten.operand<0>] mutates [0] : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// Two arguments change places: what a copy would overwrite is saved first.
// CHECK-LABEL: func.func @exchanged
// CHECK-SAME: (%[[X:.*]]: memref<8xf32> {aten.written}, %[[Y:.*]]: memref<8xf32> {aten.written}) -> memref<8xf32>
// CHECK-DAG: memref.copy %[[Y]], %[[OLD_Y:.*]] :
// CHECK-DAG: memref.copy %[[X]], %[[OLD_X:.*]] :
// CHECK: memref.copy %[[X]], %[[RESULT:.*]] :
// CHECK: memref.copy %[[OLD_Y]], %[[X]] :
// CHECK: memref.copy %[[OLD_X]], %[[Y]] :
// CHECK: return %[[RESULT]]
func.func @exchanged(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32> {aten.mutation_of = 0 : i64}, tensor<8xf32> {aten.mutation_of = 1 : i64}, tensor<8xf32>) {
  return %y, %x, %x : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A value that was a copy of an argument in the user's program is not written where the argument lies.
// CHECK-LABEL: func.func @argument_is_kept
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>)
// CHECK: memref.copy %[[X]], %[[COPY:.*]] :
// CHECK: aten.call "aten::zero_"(%[[COPY]])
// CHECK: return %[[COPY]]
func.func @argument_is_kept(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = aten.call "aten::zero_" (%x) args [#aten.operand<0>] returns [#aten.operand<0>] mutates [0] : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The same for a window of it, and for a value that is returned as it is.
// CHECK-LABEL: func.func @argument_is_kept_whole
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>, %[[P:.*]]: memref<4xf32>)
// CHECK: memref.copy %[[X]], %[[A:.*]] :
// CHECK: %[[WINDOW:.*]] = memref.reinterpret_cast %[[A]] to offset: [2]
// CHECK: memref.copy %[[P]], %[[WINDOW]]
// CHECK: memref.copy %[[X]], %[[B:.*]] :
// CHECK: return %[[A]], %[[B]]
func.func @argument_is_kept_whole(%x: tensor<8xf32>, %p: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = aten.view_write %x, %p window <[1], 2> : tensor<8xf32>, tensor<4xf32>
  return %0, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

// A result that is a view of an argument or of another result stays one.
// CHECK-LABEL: func.func @alias_of
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>)
// CHECK: %[[OF_X:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [2, 4], strides: [4, 1]
// CHECK: %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK: %[[OF_A:.*]] = memref.reinterpret_cast %[[A]] to offset: [4], sizes: [4], strides: [1]
// CHECK-NOT: memref.copy
// CHECK: return %[[OF_X]], %[[A]], %[[OF_A]] : memref<2x4xf32>, memref<8xf32>, memref<4xf32, strided<[1], offset: 4>>
func.func @alias_of(%x: tensor<8xf32>) -> (tensor<2x4xf32> {aten.alias_of = #aten.alias<argument, 0>}, tensor<8xf32>,
    tensor<4xf32, #aten.strided<[1], 4>> {aten.alias_of = #aten.alias<result, 1>}) {
  %0 = aten.as_strided %x : tensor<8xf32> -> tensor<2x4xf32>
  %1 = aten.call "aten::neg" (%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %2 = aten.as_strided %1 : tensor<8xf32> -> tensor<4xf32, #aten.strided<[1], 4>>
  return %0, %1, %2 : tensor<2x4xf32>, tensor<8xf32>, tensor<4xf32, #aten.strided<[1], 4>>
}

// -----

// Results that are the new contents of an argument are not returned, and the others numbered anew.
// CHECK-LABEL: func.func @renumbered
// CHECK-SAME: -> (memref<8xf32>, memref<4xf32, strided<[1], offset: 4>> {aten.alias_of = #aten.alias<result, 0>})
func.func @renumbered(%x: tensor<8xf32>) -> (tensor<8xf32> {aten.mutation_of = 0 : i64}, tensor<8xf32>,
    tensor<4xf32, #aten.strided<[1], 4>> {aten.alias_of = #aten.alias<result, 1>}) {
  %0 = aten.call "aten::zero_" (%x) args [#aten.operand<0>] returns [#aten.operand<0>] mutates [0] : (tensor<8xf32>) -> tensor<8xf32>
  %1 = aten.call "aten::neg" (%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<8xf32>) -> tensor<8xf32>
  %2 = aten.as_strided %1 : tensor<8xf32> -> tensor<4xf32, #aten.strided<[1], 4>>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<4xf32, #aten.strided<[1], 4>>
}

// -----

// A literal is a constant of the module; one that is written starts anew in every call.
// CHECK-LABEL: func.func @literals
// CHECK: %[[READ:.*]] = memref.get_global @literal_0
// CHECK: %[[START:.*]] = memref.get_global @literal_1
// CHECK: %[[WRITTEN:.*]] = memref.alloc() : memref<2xf32>
// CHECK: memref.copy %[[START]], %[[WRITTEN]]
// CHECK: aten.call "aten::add_" overload "Tensor"(%[[WRITTEN]], %[[READ]])
// CHECK: return %[[WRITTEN]], %[[READ]]
// CHECK-DAG: memref.global "private" constant @literal_0 : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// CHECK-DAG: memref.global "private" constant @literal_1 : memref<2xf32> = dense<0.000000e+00>
func.func @literals() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = aten.literal dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = aten.literal dense<0.0> : tensor<2xf32>
  %2 = aten.call "aten::add_" overload "Tensor" (%1, %0) args [#aten.operand<0>, #aten.operand<1>] returns [#aten.operand<0>] mutates [0] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2, %0 : tensor<2xf32>, tensor<2xf32>
}

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// Rows with roots at other places are kernels of their own, which all ranks launch and the others skip. Everybody signals and waits.
// CHECK-LABEL: func.func @broadcast
// CHECK: xfer.launch @broadcast_0(
// CHECK-NEXT: xfer.launch @broadcast_0_1(
func.func @broadcast(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = comm.broadcast %x in <[[0, 1], [2, 3], [4, 5]]> from [0, 3, 4] {xfer.schedule = #ldst} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK: xfer.kernel @broadcast_0 group(<{{\[\[}}0, 1], [4, 5{{\]\]}}>) {{.*}} implements broadcast root 0
// CHECK: xfer.on_ranks [0] {
// CHECK: %[[TILE:.*]] = xfer.load
// CHECK: xfer.put %[[TILE]] into %{{[^ ]*}} chunk
// CHECK: xfer.store %[[TILE]] to
// CHECK: }
// CHECK-NEXT: xfer.signal %{{[^ ]*}} chunk
// CHECK: %[[HERE:.*]] = xfer.wait %{{[^ ]*}} chunk
// CHECK: xfer.on_ranks [1] {
// CHECK: %[[ROOT:.*]] = xfer.table [0, 0]
// CHECK: xfer.consume %{{.*}} peer %[[ROOT]] chunk %{{.*}} after %[[HERE]]
// CHECK: xfer.kernel @broadcast_0_1 group(<{{\[\[}}2, 3{{\]\]}}>) {{.*}} implements broadcast root 1

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// Counts per pair: tensors have no size in the kernel, chunks are clipped, offsets are sums of counts.
// CHECK-LABEL: func.func @uneven
// CHECK: xfer.launch @all_to_all_v_0(%{{.*}}, %{{.*}}) : memref<5xf32>, memref<4xf32>
func.func @uneven(%x: tensor<5xf32>) -> tensor<4xf32> {
  %0 = comm.all_to_all_v %x in <[[0, 1]]> counts [[1, 4], [3, 0]] {xfer.schedule = #ldst} : (tensor<5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: xfer.kernel @all_to_all_v_0 {{.*}} implements all_to_all counts [1, 4, 3, 0]
// CHECK: (%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>):
// CHECK: xfer.pipeline 4 by 8 produce {
// CHECK: xfer.for_peers {
// CHECK: %[[COUNT:.*]] = xfer.table [1, 4, 3, 0] at %[[ME:.*]], %[[PEER:[^ ]*]]
// CHECK: %[[PIECE:.*]] = xfer.clip %{{.*}} to %[[COUNT]]
// CHECK: %[[FROM:.*]] = xfer.table [0, 1, 0, 3] at %[[ME]], %[[PEER]]
// CHECK: xfer.load %{{.*}} at %[[FROM]] chunk %[[PIECE]] : memref<?xf32>
// CHECK: xfer.put %{{.*}} peer %[[PEER]] chunk %[[PIECE]]
// CHECK: xfer.signal %{{[^ ]*}} chunk

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// Complex numbers are summed as pairs of reals, a mean is divided before it is rounded, integers have no sign in tiles.
// CHECK-LABEL: func.func @kinds
func.func @kinds(%x: tensor<8xcomplex<f32>>, %h: tensor<8xf16>, %u: tensor<16xui8>) -> (tensor<8xcomplex<f32>>, tensor<8xf16>, tensor<16xui8>) {
  %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate complex<f32> deterministic {xfer.schedule = #ldst} : tensor<8xcomplex<f32>>
  %1 = comm.all_reduce avg %h in <[[0, 1]]> accumulate f32 deterministic {xfer.schedule = #ldst} : tensor<8xf16>
  %2 = comm.all_reduce max %u in <[[0, 1]]> accumulate ui8 deterministic {xfer.schedule = #ldst} : tensor<16xui8>
  return %0, %1, %2 : tensor<8xcomplex<f32>>, tensor<8xf16>, tensor<16xui8>
}
// CHECK: xfer.pipeline 16 by 8 produce {
// CHECK: xfer.load %{{.*}} : memref<8xcomplex<f32>> -> <f32>
// CHECK: arith.addf %{{.*}} : f32
// CHECK: xfer.kernel @all_reduce_1 {{.*}} by avg
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}} : f32
// CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %{{.*}} : f32
// CHECK: arith.truncf %[[MEAN]] : f32 to f16
// CHECK: xfer.kernel @all_reduce_2 {{.*}} by max
// CHECK: arith.maxui %{{.*}} : i8

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// view_as_real: the same memory with other elements, read where it is and written in place.
// CHECK-LABEL: func.func @reals_of_complex
// CHECK-SAME: (%[[X:.*]]: memref<4xcomplex<f32>> {aten.written})
// CHECK: %[[FLAT:.*]] = xfer.bitcast %[[X]] : memref<4xcomplex<f32>> to memref<8xf32>
// CHECK: %[[REALS:.*]] = memref.reinterpret_cast %[[FLAT]] to offset: [2], sizes: [3, 2], strides: [2, 1] : memref<8xf32> to memref<3x2xf32, strided<[2, 1], offset: 2>>
// CHECK: %[[SUM:.*]] = memref.alloc() : memref<3x2xf32>
// CHECK: xfer.launch @all_reduce_0(%[[REALS]], %[[SUM]])
// CHECK: memref.copy %[[SUM]], %{{.*}} : memref<3x2xf32> to memref<3x2xf32, strided<[2, 1], offset: 2>>
func.func @reals_of_complex(%x: tensor<4xcomplex<f32>>) -> (tensor<4xcomplex<f32>> {aten.mutation_of = 0 : i64}) {
  %r = aten.as_strided %x : tensor<4xcomplex<f32>> -> tensor<3x2xf32, #aten.strided<[2, 1], 2>>
  %s = comm.all_reduce sum %r in <[[0, 1]]> accumulate f32 deterministic {xfer.schedule = #ldst} : tensor<3x2xf32, #aten.strided<[2, 1], 2>>
  %n = aten.view_write %x, %s window <[2, 1], 2> : tensor<4xcomplex<f32>>, tensor<3x2xf32>
  return %n : tensor<4xcomplex<f32>>
}

// -----

// A view is in the memory of its base, also where that is a later result, and itself a view of one.
// CHECK-LABEL: func.func @view_before_base
// CHECK-SAME: -> (memref<2xf32, strided<[1], offset: 1>> {aten.alias_of = #aten.alias<result, 1>}, memref<4xf32> {aten.alias_of = #aten.alias<result, 2>}, memref<8xf32>)
// CHECK: memref.copy %{{.*}}, %[[OWN:.*]] :
// CHECK-NOT: memref.copy
// CHECK: return %{{.*}}, %{{.*}}, %[[OWN]] :
func.func @view_before_base(%x: tensor<8xf32>) -> (tensor<2xf32, #aten.strided<[1], 1>> {aten.alias_of = #aten.alias<result, 1>}, tensor<4xf32> {aten.alias_of = #aten.alias<result, 2>}, tensor<8xf32>) {
  %0 = aten.as_strided %x : tensor<8xf32> -> tensor<2xf32, #aten.strided<[1], 1>>
  %1 = aten.as_strided %x : tensor<8xf32> -> tensor<4xf32>
  return %0, %1, %x : tensor<2xf32, #aten.strided<[1], 1>>, tensor<4xf32>, tensor<8xf32>
}

// -----

#ldst = #xfer.schedule<mechanism = ldst, blocks = 2, threads = 64, chunk = 32, depth = 1, slots = 4, unroll = 2>

// A collective without elements is no kernel, on any rank. A memref knows the strides of what is empty.
// CHECK-LABEL: func.func @empty
// CHECK-SAME: (%{{.*}}: memref<3x0xf32, strided<[1, 1]>>, %[[X:.*]]: memref<8xf32>) -> (memref<2x3x0xf32, strided<[3, 1, 1]>>, memref<8xf32>)
// CHECK: xfer.launch @all_reduce_0(%[[X]], %{{.*}})
// CHECK-NOT: xfer.launch
// CHECK-NOT: xfer.kernel @all_gather
func.func @empty(%e: tensor<3x0xf32>, %x: tensor<8xf32>) -> (tensor<2x3x0xf32>, tensor<8xf32>) {
  %0 = comm.all_gather %e in <[[0, 1]]> {xfer.schedule = #ldst} : (tensor<3x0xf32>) -> tensor<2x3x0xf32>
  %1 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {xfer.schedule = #ldst} : tensor<8xf32>
  return %0, %1 : tensor<2x3x0xf32>, tensor<8xf32>
}
