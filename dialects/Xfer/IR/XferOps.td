// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferOps.td - operations of level L2 ----------------------*- tablegen -*-===//

#ifndef PKB_DIALECTS_XFER_IR_XFEROPS_TD
#define PKB_DIALECTS_XFER_IR_XFEROPS_TD

include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "dialects/Comm/IR/CommAttrs.td"
include "dialects/Comm/IR/CommEnums.td"
include "dialects/Xfer/IR/XferAttrs.td"
include "dialects/Xfer/IR/XferTypes.td"

//===----------------------------------------------------------------------===//
// Host scope
//===----------------------------------------------------------------------===//

def Xfer_LaunchOp : Xfer_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launch a kernel on every rank of its group";
  let description = [{
    Enqueues `kernel` on the program's stream with the given memrefs. Ranks outside of the kernel's group skip it.

    **Constraints:**
    * `launch_c1`: `kernel` names an `xfer.kernel` of the module;
    * `launch_c2`: the operands' types are those of the kernel's arguments. A contiguous argument stands for the address of its first element and
      takes an operand of its shape that is contiguous from any offset; one of unknown size takes any contiguous tensor of its element type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$operands_);
  let assemblyFormat = "$kernel `(` $operands_ `)` attr-dict (`:` type($operands_)^)?";
}

def Xfer_AbsentOp : Xfer_Op<"absent", [Pure]> {
  let summary = "memory that does not exist on the ranks that run this function";
  let description = [{
    An operand of a launch that these ranks have nothing for, such as the list of a `scatter` on a rank that is not its root. The kernel
    gets a null pointer, which it must not follow.

    **Constraints:**
    * `absent_c1`: the memref is contiguous.
  }];
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Xfer_BitcastOp : Xfer_Op<"bitcast", [Pure]> {
  let summary = "all of a tensor's memory as elements of another type";
  let description = [{
    What `torch.view_as_real` and `Tensor.view(dtype)` look through. Windows of the result are made by `memref.reinterpret_cast`.

    **Constraints:**
    * `bitcast_c1`: the source has a static layout that begins at offset 0;
    * `bitcast_c2`: the result is contiguous, has one dimension and as many bytes as the source reaches.
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Xfer_HostReadOp : Xfer_Op<"host_read", [MemoryEffects<[MemRead]>, TypesMatchWith<"result must be the element type", "source", "result",
    "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "wait for a tensor's only element and read it on the host";
  let description = [{
    What stands before it in the program has been done when it is over; the operators that take the number are called after it.

    **Constraints:**
    * `host_read_c1`: the memref has one element, at a static offset;
    * `host_read_c2`: the result is of its element type.
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs AnyTypeOf<[AnySignlessInteger, AnyFloat]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Xfer_LibraryCallOp : Xfer_Op<"library_call", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a collective that a communication library carries out";
  let description = [{
    Enqueues `calls` on the program's stream, together: none waits for another one's end. Ranks outside of the group skip it. What a collective
    function computes is what NCCL documents; the bits of a sum may depend on the library's algorithm.

    ```mlir
    xfer.library_call nccl (%0, %1) in <[[0, 1]]> reduce sum calls [#xfer.call<function = all_reduce, count = 8, to = 1>]
        : memref<8xf32>, memref<8xf32>
    ```

    **Constraints:**
    * `library_call_c1`: the mechanism is `nccl`;
    * `library_call_c2`: operands are contiguous memrefs of static shape and of one element type;
    * `library_call_c3`: each call names operands that there are, stays inside of them, and names ranks of the group;
    * `library_call_c4`: two messages to one rank do not write the same element;
    * `library_call_c5`: `reduce` is given exactly where a call reduces, and `factors`, one for each rank of the group, exactly for
      `premul_sum`.
  }];
  let arguments = (ins Xfer_MechanismAttr:$mechanism, Variadic<AnyMemRef>:$operands_, Comm_GroupAttr:$group, OptionalAttr<Comm_ReduceKindAttr>:$reduce,
                       OptionalAttr<DenseF64ArrayAttr>:$factors, Xfer_CallArrayAttr:$calls, OptionalAttr<F64Attr>:$predicted_us);
  let assemblyFormat = [{
    $mechanism `(` $operands_ `)` `in` $group (`reduce` $reduce^ (`factors` custom<Factors>($factors)^)?)? `calls` $calls attr-dict (`:` type($operands_)^)?
  }];
  let hasVerifier = 1;
}

def Xfer_TransferOp : Xfer_Op<"transfer", [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "copy engines push messages into the fixed slots of a kernel's peers";
  let description = [{
    Carries out the puts `by copy_engine` of `kernel`, whose launch follows: each message goes from an operand at its source to element `to_offset`
    of the staging memory of its destination. It stands between the kernel that has waited for all ranks and the one that signals, so the slots
    are free when it starts and nobody reads them before it has ended.

    **Constraints:**
    * `transfer_c1`: `kernel` names an `xfer.kernel` of the same group with the mechanism `copy_engine`;
    * `transfer_c2`: operands and calls are as in `library_call_c2` and `library_call_c3`, and all calls are messages to other ranks.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$operands_, Comm_GroupAttr:$group, Xfer_CallArrayAttr:$calls);
  let assemblyFormat = "$kernel `(` $operands_ `)` `in` $group `calls` $calls attr-dict (`:` type($operands_)^)?";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernel scope
//===----------------------------------------------------------------------===//

def Xfer_KernelOp : Xfer_Op<"kernel", [IsolatedFromAbove, Symbol, NoTerminator, SingleBlock]> {
  let summary = "a kernel that all ranks of a group run together";
  let description = [{
    The block arguments are the tensors in ordinary memory, contiguous. (Another order of the elements of one of them is a `memref.reinterpret_cast` at the top
    of the kernel.) `memref<?xT>` is a tensor whose size differs between ranks; a tensor that
    a rank does not have is a null pointer there. The schedule gives grid, block and chunking, the same on every rank. `predicted_us` is the cost
    model's time of one launch, in microseconds. In a `fused` kernel the messages are computed from the arguments, and the results from what the
    collective gives. A kernel of several collectives in a row has a pipeline for each (a *phase*), which says itself what it implements; what a phase
    leaves for a later one lies in an argument that the one stores and the other loads, behind an `xfer.sync`.

    `implements` names the collective whose contributions `pkb-verify-xfer` holds the kernel to; `none` promises nothing. With it go, where the
    collective has them: `by`, how contributions are combined (`sum` where nothing is said); `factors` of
    `premul_sum`, one per rank; `root`, a rank of the
    group; `sources`, from which rank each rank gets its message (-1: from none); `counts`, elements of the messages: one per rank (of the sender in
    all_gather and gather, of the receiver in reduce_scatter and scatter), or one per pair in all_to_all, row by row, a row per sender.

    **Constraints:**
    * `kernel_c1`: every argument is a contiguous memref of static shape, or has one dimension of unknown size; in a `fused` kernel its strides may be
      any static ones;
    * `kernel_c2`: the mechanism is one that kernels can carry out (`ldst`, `ll`; with `copy_engine` an `xfer.transfer` before it has carried out its puts);
    * `kernel_c3`: `factors` has one number per rank, `root` is a rank of the group, `sources` has one entry per rank, each a rank or -1, and `counts` one per rank or pair, none
      negative;
    * `kernel_c4`: what the kernel implements is said by itself or, in a `fused` kernel, by its pipelines, not by both.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Comm_GroupAttr:$group, Xfer_ScheduleAttr:$schedule,
                       OptionalAttr<F64Attr>:$predicted_us, OptionalAttr<StrAttr>:$summary, // free text, the comment above the emitted kernel
                       DefaultValuedAttr<Xfer_CollectiveAttr, "::pkb::xfer::Collective::None">:$implements, UnitAttr:$fused,
                       OptionalAttr<Comm_ReduceKindAttr>:$reduction, OptionalAttr<DenseF64ArrayAttr>:$factors, OptionalAttr<I64Attr>:$root,
                       OptionalAttr<DenseI64ArrayAttr>:$sources, OptionalAttr<DenseI64ArrayAttr>:$counts);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `group` `(` $group `)` `schedule` `(` $schedule `)` (`implements` $implements^)? (`fused` $fused^)? (`by` $reduction^)? (`factors` custom<Factors>($factors)^)?
    (`root` $root^)? (`sources` $sources^)? (`counts` $counts^)? attr-dict-with-keyword custom<Body>($body)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Ranks per group.
    int64_t getGroupSize();
    ::mlir::Block &getEntry() { return getBody().front(); }
  }];
}

def Xfer_SymmBufferOp : Xfer_Op<"symm_buffer", [HasParent<"KernelOp">, Pure]> {
  let summary = "a buffer at the same offset of every rank's region";
  let description = [{
    Its place in the region is assigned by the lowering. Two buffers of one kernel never overlap.
  }];
  let results = (outs Xfer_SymmType:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
}

def Xfer_FlagsOp : Xfer_Op<"flags", [HasParent<"KernelOp">, Pure]> {
  let summary = "the arrival flags of the kernel's channel";
  let results = (outs Xfer_FlagsType:$flags);
  let assemblyFormat = "attr-dict `:` type($flags)";
}

def Xfer_PipelineOp : Xfer_Op<"pipeline", [HasParent<"KernelOp">, NoTerminator]> {
  let summary = "move a message of `elements` elements per peer in chunks";
  let description = [{
    Chunk c belongs to block `c mod blocks`. Step i of a block runs `produce` on its chunk i, if there is one, then `consume` on its chunk
    `i - depth`, if there is one; `depth` is the schedule's. A message of no elements has one empty chunk, so that every rank
    still signals. The pipelines of a kernel run one after the other. `implements`, and `reduction` where that is not a sum, are those of the kernel for this
    pipeline alone. One that only computes, from what earlier ones have left, implements nothing.

    **Constraints:**
    * `pipeline_c1`: `elements` is not negative, `chunk` is positive, neither exceeds 2^56 (that it is a multiple of 16 bytes is seen by `pkb-verify-xfer`);
    * `pipeline_c2`: both regions have one argument, the chunk.
  }];
  let arguments = (ins I64Attr:$elements, I64Attr:$chunk, OptionalAttr<Xfer_CollectiveAttr>:$implements, OptionalAttr<Comm_ReduceKindAttr>:$reduction);
  let regions = (region SizedRegion<1>:$produce, SizedRegion<1>:$consume);
  let assemblyFormat = [{
    $elements `by` $chunk (`implements` $implements^)? (`reduction` $reduction^)? attr-dict-with-keyword custom<ProduceConsume>($produce, $consume)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The collective that it carries out: its own, or that of its kernel.
    ::pkb::xfer::Collective getCollective();
    /// How that combines contributions.
    ::pkb::comm::ReduceKind getCombination();
    /// True if its chunks are signalled by flags, which count them behind those of earlier pipelines, and not by the data themselves.
    bool countsByFlags();
    /// True if it moves nothing between ranks.
    bool isLocal();
  }];
}

def Xfer_SyncOp : Xfer_Op<"sync", [HasParent<"KernelOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what earlier pipelines have stored in ordinary memory, later ones may load";
  let description = [{
    Of scope `grid`, every block of this rank waits until all blocks of this rank have come here: a later pipeline may load what any of them has stored.
    Of scope `block`, nobody waits for another block: a later pipeline may load what the same block has stored.

    Ranks do not wait for each other.
  }];
  let arguments = (ins Xfer_SyncScopeAttr:$scope);
  let assemblyFormat = "$scope attr-dict";
}

def Xfer_ForPeersOp : Xfer_Op<"for_peers", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "for every other rank of the group, starting at the next one";
  let description = [{
    The argument is the peer's rank in the group. The order is rotated, so that no two ranks start at the same peer.

    **Constraints:**
    * `for_peers_c1`: the body has one argument of type index.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword custom<Body>($body)";
  let hasVerifier = 1;
}

def Xfer_OwnRankOp : Xfer_Op<"own_rank", [Pure]> {
  let summary = "this rank's number in the kernel's group";
  let results = (outs Index:$rank);
  let assemblyFormat = "attr-dict";
}

def Xfer_TableOp : Xfer_Op<"table", [Pure]> {
  let summary = "a number that depends on a rank, or on two";
  let description = [{
    Entry `rank` of `values`, or with `other` entry (`rank`, `other`) of a table that has a row for each `rank`. Peers, counts and offsets that differ
    between ranks are such numbers.

    **Constraints:**
    * `table_c1`: one value per rank of the group, or one per pair.
  }];
  let arguments = (ins DenseI64ArrayAttr:$values, Index:$rank, Optional<Index>:$other);
  let results = (outs Index:$value);
  let assemblyFormat = "$values `at` $rank (`,` $other^)? attr-dict";
  let hasVerifier = 1;
}

def Xfer_OnRanksOp : Xfer_Op<"on_ranks", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "what only some ranks of the group do";
  let description = [{
    The body is executed by the ranks of the group that `ranks` lists, by whole blocks. Nothing else depends on the rank, so every rank knows what the
    others do.

    **Constraints:**
    * `on_ranks_c1`: `ranks` are in ascending order, at least one, all of the group;
    * `on_ranks_c2`: the body has no arguments.
  }];
  let arguments = (ins DenseI64ArrayAttr:$ranks);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$ranks attr-dict-with-keyword custom<Body>($body)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool includes(int64_t rank) { return ::llvm::is_contained(getRanks(), rank); }
  }];
}

def Xfer_ClipOp : Xfer_Op<"clip", [Pure]> {
  let summary = "a chunk of a message that is shorter than the pipeline's";
  let description = [{
    The same step of the pipeline and the same slot as `chunk`, but of a message of `elements` elements: what lies behind them is not touched. A
    pipeline moves as many chunks as the longest message has, so that all ranks signal equally often.
  }];
  let arguments = (ins Xfer_ChunkType:$chunk, Index:$elements);
  let results = (outs Xfer_ChunkType:$clipped);
  let assemblyFormat = "$chunk `to` $elements attr-dict";
}

def Xfer_SelectOp : Xfer_Op<"select", [Pure]> {
  let summary = "the tensor that belongs to a rank";
  let description = [{
    For the list forms of collectives: tensor number `rank` of `tensors`.

    **Constraints:**
    * `select_c1`: as many tensors as ranks, all consecutive arguments of the kernel;
    * `select_c2`: all of the result's type.
  }];
  let arguments = (ins Index:$rank, Variadic<AnyMemRef>:$tensors);
  let results = (outs AnyMemRef:$tensor);
  let assemblyFormat = "$rank `of` $tensors attr-dict `:` type($tensors) `->` type($tensor)";
  let hasVerifier = 1;
}

def Xfer_LoadOp : Xfer_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "the elements of a chunk, read from ordinary memory";
  let description = [{
    Without `part`, `source` is the message. With it, `source` holds one message per rank, and the message of rank `part` is read. With `at`, the
    message begins at that element of `source`.

    **Constraints:**
    * `load_c1`: it stands in a pipeline, and `source` holds exactly the pipeline's elements, or with `part` that many per rank (of a tile of rows
      as many per element of the pipeline as a row has); with `at`, or if
      `chunk` is clipped, `pkb-verify-xfer` sees to it that the message lies in `source`;
    * `load_c2`: the tile has the element type of `source`, or what that is computed as: the real type of a complex one, whose numbers are then two elements
      each, or an integer type of as many bytes as that of `source`.
  }];
  let arguments = (ins AnyMemRef:$source, Optional<Index>:$part, Optional<Index>:$at, Xfer_ChunkType:$chunk);
  let results = (outs Xfer_TileType:$tile);
  let assemblyFormat = "$source (`part` $part^)? (`at` $at^)? `chunk` $chunk attr-dict `:` type($source) `->` type($tile)";
  let hasVerifier = 1;
}

def Xfer_StoreOp : Xfer_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "write a chunk to ordinary memory";
  let description = [{
    **Constraints:**
    * `store_c1`: as `load_c1`, for `dest`;
    * `store_c2`: as `load_c2`, for `dest`.
  }];
  let arguments = (ins Xfer_TileType:$tile, AnyMemRef:$dest, Optional<Index>:$part, Optional<Index>:$at, Xfer_ChunkType:$chunk);
  let assemblyFormat = "$tile `to` $dest (`part` $part^)? (`at` $at^)? `chunk` $chunk attr-dict `:` type($tile) `,` type($dest)";
  let hasVerifier = 1;
}

def Xfer_PutOp : Xfer_Op<"put", [MemoryEffects<[MemWrite]>]> {
  let summary = "push a chunk into the own slot of a symmetric buffer of one peer, or of all peers";
  let description = [{
    Writes slot (own rank, block, chunk) of `buffer` on `peer`, or on every other rank where no peer is given; with `self` also on this rank. The token
    stands for the writes; a `signal` after it publishes them.

    **Constraints:**
    * `put_c1`: mechanism `ll` needs a `lines` buffer, every other one a `staged` buffer;
    * `put_c2`: the element types of tile and buffer agree.
  }];
  let arguments = (ins Xfer_TileType:$tile, Xfer_SymmType:$buffer, Optional<Index>:$peer, Xfer_ChunkType:$chunk,
                       Xfer_MechanismAttr:$mechanism, UnitAttr:$self);
  let results = (outs Xfer_TokenType:$token);
  let assemblyFormat = "$tile `into` $buffer (`peer` $peer^)? (`self` $self^)? `chunk` $chunk `by` $mechanism attr-dict `:` type($tile) `,` type($buffer)";
  let hasVerifier = 1;
}

def Xfer_SignalOp : Xfer_Op<"signal", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "tell one peer, or all peers, that a chunk has been pushed";
  let description = [{
    Ordered after the writes that `after` stands for. With `in_band` the data carry the signal themselves (LL lines) and nothing is written.
  }];
  let arguments = (ins Xfer_FlagsType:$flags, Optional<Index>:$peer, Xfer_ChunkType:$chunk, Variadic<Xfer_TokenType>:$after,
                       UnitAttr:$in_band);
  let assemblyFormat = "$flags (`peer` $peer^)? `chunk` $chunk (`after` $after^)? (`in_band` $in_band^)? attr-dict";
}

def Xfer_WaitOp : Xfer_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until one peer, or all peers, have pushed their chunk to this rank";
  let arguments = (ins Xfer_FlagsType:$flags, Optional<Index>:$peer, Xfer_ChunkType:$chunk, UnitAttr:$in_band);
  let results = (outs Xfer_TokenType:$token);
  let assemblyFormat = "$flags (`peer` $peer^)? `chunk` $chunk (`in_band` $in_band^)? attr-dict";
}

def Xfer_ConsumeOp : Xfer_Op<"consume", [MemoryEffects<[MemRead]>]> {
  let summary = "the chunk that a peer has pushed to this rank";
  let description = [{
    **Constraints:**
    * `consume_c1`: the element types of tile and buffer agree.
  }];
  let arguments = (ins Xfer_SymmType:$buffer, Index:$peer, Xfer_ChunkType:$chunk, Variadic<Xfer_TokenType>:$after);
  let results = (outs Xfer_TileType:$tile);
  let assemblyFormat = "$buffer `peer` $peer `chunk` $chunk (`after` $after^)? attr-dict `:` type($buffer) `->` type($tile)";
  let hasVerifier = 1;
}

def Xfer_ContributionsOp : Xfer_Op<"contributions", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "one chunk per rank of the group, in rank order";
  let description = [{
    Result r is the chunk of rank r: `own` for this rank, what has been pushed for the others. So all ranks can combine them in the same
    order. Without `own`, this rank has put its chunk to itself, too.

    **Constraints:**
    * `contributions_c1`: as many results as ranks, all of the type of `own`, tiles of the element type of `buffer`.
  }];
  let arguments = (ins Xfer_SymmType:$buffer, Optional<Xfer_TileType>:$own, Xfer_ChunkType:$chunk, Variadic<Xfer_TokenType>:$after);
  let results = (outs Variadic<Xfer_TileType>:$tiles);
  let assemblyFormat = "$buffer (`own` $own^)? `chunk` $chunk (`after` $after^)? attr-dict `:` custom<BufferAndOwn>(type($buffer), type($own)) `->` type($tiles)";
  let hasVerifier = 1;
}

def Xfer_MapOp : Xfer_Op<"map", [Pure, SingleBlock]> {
  let summary = "an element-wise function of tiles";
  let description = [{
    The body maps one element of each operand to one element of the result, with ops of `arith` and `math`. Of tiles of rows or lines it maps one
    element of the vector.

    **Constraints:**
    * `map_c1`: body arguments and the yielded value have the element types of operands and result;
    * `map_c2`: all tiles are of single elements, or all of vectors of one length.
  }];
  let arguments = (ins Variadic<Xfer_TileType>:$tiles);
  let results = (outs Xfer_TileType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$tiles attr-dict-with-keyword custom<MapBody>($body, type($tiles), type($result))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//
//
// A pipeline over rows has tiles of two kinds: `!xfer.tile<f32>` has one element per row, `!xfer.tile<vector<Kxf32>>` the K elements of each row.

def Xfer_RowReduceOp : Xfer_Op<"row_reduce", [Pure]> {
  let summary = "the elements of each row combined";
  let description = [{
    In the element type, in an order that depends on the length of the row only.

    **Constraints:**
    * `row_reduce_c1`: `kind` is sum, prod, min or max;
    * `row_reduce_c2`: `rows` is a tile of vectors of f32 or f64, the result one of their elements.
  }];
  let arguments = (ins Comm_ReduceKindAttr:$kind, Xfer_TileType:$rows);
  let results = (outs Xfer_TileType:$result);
  let assemblyFormat = "$kind $rows attr-dict `:` type($rows) `->` type($result)";
  let hasVerifier = 1;
}

def Xfer_BroadcastOp : Xfer_Op<"broadcast", [Pure]> {
  let summary = "the one value of each row in all elements of the row";
  let description = [{
    **Constraints:**
    * `broadcast_c1`: the result is a tile of vectors of the operand's element type.
  }];
  let arguments = (ins Xfer_TileType:$value);
  let results = (outs Xfer_TileType:$rows);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($rows)";
  let hasVerifier = 1;
}

def Xfer_LineOp : Xfer_Op<"line", [Pure]> {
  let summary = "the values that a row has one of as one vector of 16 bytes, which can be put";
  let description = [{
    What the values do not fill is zero.

    **Constraints:**
    * `line_c1`: the result is a tile of vectors of 16 bytes; the operands, at least one and at most as many as fit, are tiles of its elements.
  }];
  let arguments = (ins Variadic<Xfer_TileType>:$values);
  let results = (outs Xfer_TileType:$line);
  let assemblyFormat = "$values attr-dict `:` functional-type($values, $line)";
  let hasVerifier = 1;
}

def Xfer_PartOp : Xfer_Op<"part", [Pure]> {
  let summary = "one of the values of a line";
  let description = [{
    **Constraints:**
    * `part_c1`: `line` is a tile of vectors of 16 bytes that have an element `number`, the result one of their elements.
  }];
  let arguments = (ins Xfer_TileType:$line, I64Attr:$number);
  let results = (outs Xfer_TileType:$value);
  let assemblyFormat = "$number `of` $line attr-dict `:` type($line) `->` type($value)";
  let hasVerifier = 1;
}

def Xfer_YieldOp : Xfer_Op<"yield", [Pure, Terminator, HasParent<"MapOp">]> {
  let summary = "the result of an `xfer.map` body";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

#endif // PKB_DIALECTS_XFER_IR_XFEROPS_TD
