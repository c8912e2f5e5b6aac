// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CudaOps.td - operations of level L3 ----------------------*- tablegen -*-===//

#ifndef PKB_DIALECTS_CUDA_IR_CUDAOPS_TD
#define PKB_DIALECTS_CUDA_IR_CUDAOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Comm/IR/CommAttrs.td"
include "dialects/Comm/IR/CommEnums.td"
include "dialects/Cuda/IR/CudaEnums.td"
include "dialects/Cuda/IR/CudaInterfaces.td"
include "dialects/Cuda/IR/CudaTypes.td"
include "dialects/Xfer/IR/XferAttrs.td"

//===----------------------------------------------------------------------===//
// Kernel and launch
//===----------------------------------------------------------------------===//

def Cuda_KernelOp : Cuda_Op<"kernel", [IsolatedFromAbove, Symbol, NoTerminator, SingleBlock]> {
  let summary = "a kernel: `PKB_KERNEL(name, threads, min_blocks, ranks, pointers)`";
  let description = [{
    `blocks` is the grid it is launched with, and which its body assumes; every rank launches the same. `summary`
    becomes the comment above the kernel, `predicted_us` (microseconds of one launch) and `sent_bytes` (what one rank stores to its peers) fields of the
    manifest's steps. `region_bytes` is what it needs of its channel's symmetric region.

    **Constraints:**
    * `kernel_c1`: ranks, pointers, threads and blocks are positive or, for pointers, not negative; threads is at most 1024.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Comm_GroupAttr:$group, I64Attr:$ranks, I64Attr:$pointers, I64Attr:$blocks,
                       I64Attr:$threads, I64Attr:$min_blocks, I64Attr:$region_bytes, Xfer_MechanismAttr:$mechanism, StrAttr:$summary,
                       OptionalAttr<F64Attr>:$predicted_us, OptionalAttr<I64Attr>:$sent_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword custom<Body>($body)";
  let hasVerifier = 1;
}

def Cuda_LaunchOp : Cuda_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "plan step: launch a kernel";
  let description = [{
    **Constraints:**
    * `launch_c1`: `kernel` names a `cuda.kernel` with as many pointers as there are operands.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$operands_);
  let assemblyFormat = "$kernel `(` $operands_ `)` attr-dict (`:` type($operands_)^)?";
}

def Cuda_LibraryCallOp : Cuda_Op<"library_call"> {
  let summary = "plan step: calls of NCCL, made together";
  let description = [{
    As `xfer.library_call`, whose verifier has seen it. `sent_bytes` is what the rank that sends most sends at least, if the library moves every byte over as few links as
    it can.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$operands_, Comm_GroupAttr:$group, OptionalAttr<Comm_ReduceKindAttr>:$reduce, OptionalAttr<DenseF64ArrayAttr>:$factors,
                       Xfer_CallArrayAttr:$calls, OptionalAttr<F64Attr>:$predicted_us, OptionalAttr<I64Attr>:$sent_bytes);
  let assemblyFormat = "`(` $operands_ `)` `in` $group (`reduce` $reduce^ (`factors` custom<Factors>($factors)^)?)? `calls` $calls attr-dict (`:` type($operands_)^)?";
}

def Cuda_TransferOp : Cuda_Op<"transfer"> {
  let summary = "plan step: copies from tensors into the staging memory of peers";
  let description = [{
    As `xfer.transfer`, whose verifier has seen it.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$operands_, Comm_GroupAttr:$group, Xfer_CallArrayAttr:$calls);
  let assemblyFormat = "`(` $operands_ `)` `in` $group `calls` $calls attr-dict (`:` type($operands_)^)?";
}

def Cuda_AbsentOp : Cuda_Op<"absent", [Pure]> {
  let summary = "the null pointer among the operands of a launch";
  let description = [{
    Its traits suffice as a verifier.
  }];
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Cuda_HostReadOp : Cuda_Op<"host_read", [MemoryEffects<[MemRead]>]> {
  let summary = "a step of the host plan that waits for a number and reads it";
  let description = [{
    `xfer.host_read` has checked it.
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs AnyTypeOf<[AnySignlessInteger, AnyFloat]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def Cuda_BitcastOp : Cuda_Op<"bitcast", [Pure]> {
  let summary = "all of a tensor's memory as elements of another type";
  let description = [{
    No call: a view in the host plan. `xfer.bitcast` has checked it.
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
}

//===----------------------------------------------------------------------===//
// Geometry and addresses
//===----------------------------------------------------------------------===//

class Cuda_IndexOp<string mnemonic, string summaryText> : Cuda_Op<mnemonic, [Pure]> {
  let summary = summaryText;
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Cuda_RankOp : Cuda_IndexOp<"rank", "`pkb::rank(args)`: this rank's number in the group">;
def Cuda_BlockIndexOp : Cuda_IndexOp<"block_index", "`pkb::block_index()`">;

def Cuda_ChunkCountOp : Cuda_Op<"chunk_count", [Pure]> {
  let summary = "`pkb::chunk_count(chunks, block, blocks)`: how many of `chunks` chunks a block has, block + i * blocks being its i-th";
  let arguments = (ins Index:$chunks, Index:$block, Index:$blocks);
  let results = (outs Index:$result);
  let assemblyFormat = "$chunks `,` $block `,` $blocks attr-dict";
}

def Cuda_VectorsOp : Cuda_Op<"vectors", [Pure]> {
  let summary = "`pkb::vectors<lanes>(length)`: how many vectors hold `length` elements";
  let description = [{
    **Constraints:**
    * `vectors_c1`: a vector has at least one lane.
  }];
  let arguments = (ins Index:$length, ConfinedAttr<I64Attr, [IntPositive]>:$lanes); // vectors_c1
  let results = (outs Index:$count);
  let assemblyFormat = "$length `of` $lanes attr-dict";
}

def Cuda_TableOp : Cuda_Op<"table", [Pure]> {
  let summary = "`pkb::table<values...>(index)`: entry `index` of a table";
  let description = [{
    **Constraints:**
    * `table_c1`: there is at least one value.
  }];
  let arguments = (ins Index:$index, DenseI64ArrayAttr:$values);
  let results = (outs Index:$result);
  let assemblyFormat = "$values `at` $index attr-dict";
  let hasVerifier = 1;
}

def Cuda_PointerOp : Cuda_Op<"pointer", [Pure]> {
  let summary = "`pkb::pointer(args, number)`: address of a tensor of the launch";
  let arguments = (ins Index:$number);
  let results = (outs Cuda_PtrType:$pointer);
  let assemblyFormat = "$number attr-dict";
}

def Cuda_RegionOp : Cuda_Op<"region", [Pure]> {
  let summary = "`pkb::region(args, rank, offset)`: address of a byte of a rank's region";
  let arguments = (ins Index:$rank, Index:$offset);
  let results = (outs Cuda_PtrType:$pointer);
  let assemblyFormat = "$rank `,` $offset attr-dict";
}

def Cuda_StagingOp : Cuda_Op<"staging", [Pure]> {
  let summary = "`pkb::staging(args, parity)`: offset of a staging half in the region";
  let arguments = (ins Index:$parity);
  let results = (outs Index:$offset);
  let assemblyFormat = "$parity attr-dict";
}

def Cuda_LLSlotOp : Cuda_Op<"ll_slot", [Pure]> {
  let summary = "`pkb::ll_slot(args, parity, source)`: offset of a source's LL lines in the region";
  let arguments = (ins Index:$parity, Index:$source);
  let results = (outs Index:$offset);
  let assemblyFormat = "$parity `,` $source attr-dict";
}

def Cuda_AdvanceOp : Cuda_Op<"advance", [Pure]> {
  let summary = "`pointer + bytes`";
  let arguments = (ins Cuda_PtrType:$pointer, Index:$bytes);
  let results = (outs Cuda_PtrType:$result);
  let assemblyFormat = "$pointer `,` $bytes attr-dict";
}

//===----------------------------------------------------------------------===//
// Ordering
//===----------------------------------------------------------------------===//

def Cuda_EpochBeginOp : Cuda_Op<"epoch_begin", [Cuda_SitedOpInterface, MemoryEffects<[MemRead]>]> {
  let summary = "`pkb::epoch_begin<site>(args)`: asks for the number of this call on the channel";
  let arguments = (ins I64Attr:$site);
  let results = (outs Cuda_TicketType:$ticket);
  let assemblyFormat = "`site` $site attr-dict";
}

def Cuda_EpochOp : Cuda_Op<"epoch", [Pure]> {
  let summary = "`pkb::epoch(ticket)`: number of this call on the channel, from 1";
  let description = [{
    A thread waits for `epoch_begin` here. The result is the same anywhere; where the op stands is a matter of speed: loads before it are under way at the
    same time.
  }];
  let arguments = (ins Cuda_TicketType:$ticket);
  let results = (outs Index:$epoch);
  let assemblyFormat = "$ticket attr-dict";
}

def Cuda_EpochEndOp : Cuda_Op<"epoch_end", [Cuda_SitedOpInterface, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "`pkb::epoch_end<site>(args, epoch)`: this block's part of ending the call";
  let arguments = (ins Index:$epoch, I64Attr:$site);
  let assemblyFormat = "$epoch `site` $site attr-dict";
}

def Cuda_BlockBarrierOp : Cuda_Op<"block_barrier", [Cuda_SitedOpInterface, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "`pkb::block_barrier<site>(args)`";
  let arguments = (ins I64Attr:$site);
  let assemblyFormat = "`site` $site attr-dict";
}

def Cuda_FlagValueOp : Cuda_Op<"flag_value", [Pure]> {
  let summary = "`pkb::flag_value(epoch, chunks)`: value of a flag after so many chunks of this call";
  let arguments = (ins Index:$epoch, Index:$chunks);
  let results = (outs Index:$value);
  let assemblyFormat = "$epoch `,` $chunks attr-dict";
}

class Cuda_FlagOp<string mnemonic, string summaryText, list<MemoryEffect> effects> : Cuda_Op<mnemonic, [Cuda_SitedOpInterface, MemoryEffects<effects>]> {
  let summary = summaryText;
  let arguments = (ins Index:$peer, Index:$block, Index:$value, I64Attr:$site);
  let assemblyFormat = "$peer `block` $block `value` $value `site` $site attr-dict";
}

def Cuda_SignalOp : Cuda_FlagOp<"signal",
    "`pkb::signal<site>(args, peer, block, value)`: release at system scope", [MemRead, MemWrite]>;
def Cuda_WaitOp : Cuda_FlagOp<"wait",
    "`pkb::wait<site>(args, peer, block, value)`: acquire at system scope, until the flag has at least this value",
    [MemRead, MemWrite]>;

def Cuda_WaitBlocksOp : Cuda_Op<"wait_blocks", [Cuda_SitedOpInterface, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "`pkb::wait_blocks<site>(args, value)`: acquire, until the flags of all blocks of this rank for this rank have at least this value";
  let arguments = (ins Index:$value, I64Attr:$site);
  let assemblyFormat = "$value `site` $site attr-dict";
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

def Cuda_ForEachOp : Cuda_Op<"for_each", [NoTerminator]> {
  let summary = "`pkb::for_each<unroll>(count, load, store)`: vectors, spread over threads";
  let description = [{
    `load` maps the number of a vector to values, `store` takes the number and these values. A thread runs `load` for `unroll` of its vectors
    before `store` for the first of them. Where all that is loaded and stored turns out to be aligned, whole vectors, which is found out once, neither asks again.
    * `block`: the vectors of a chunk, spread over the threads of the block;
    * `once`: `pkb::for_each_once`, the same where no thread has more than `unroll` vectors;
    * `row`: `pkb::for_each_in_row`, the vectors of a row, spread over the lanes of its team; with `per_lane`, no lane has more vectors than that, and `pkb::for_each_in_row_once<per_lane, unroll>`
      has no loop.

    **Constraints:**
    * `for_each_c1`: `load` has one index argument and yields the values that `store` takes after its index argument;
    * `for_each_c2`: only the vectors of a row have a `per_lane`, of at least `unroll`.
  }];
  let arguments = (ins Index:$count, I64Attr:$unroll, Cuda_SpreadAttr:$spread, OptionalAttr<I64Attr>:$per_lane);
  let regions = (region SizedRegion<1>:$load, SizedRegion<1>:$store);
  let assemblyFormat = "$spread $count `unroll` $unroll (`per_lane` $per_lane^)? attr-dict-with-keyword custom<LoadStore>($load, $store)";
  let hasVerifier = 1;
}

def Cuda_YieldOp : Cuda_Op<"yield", [Pure, Terminator, ParentOneOf<["ForEachOp", "RowReduceOp", "StreamRowsOp"]>]> {
  let summary = "the values of one vector, or of one row";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Cuda_ForEachRowOp : Cuda_Op<"for_each_row", [NoTerminator, SingleBlock]> {
  let summary = "`pkb::for_each_row<team>(count, body)`: rows, each by a team of lanes";
  let description = [{
    A team is a warp, 32 lanes, or 128, 256, 512 or 1024 threads of the block. What stands in the body outside of loops over the vectors of the row, all lanes do; `cuda.row_leader` tells one of them.

    **Constraints:**
    * `for_each_row_c1`: the body has one index argument, the number of the row;
    * `for_each_row_c2`: a team has 32, 128, 256, 512 or 1024 lanes.
  }];
  let arguments = (ins Index:$count, I64Attr:$team);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count `by` $team attr-dict-with-keyword custom<Body>($body)";
  let hasVerifier = 1;
}

def Cuda_AlignedOp : Cuda_Op<"aligned", [Pure]> {
  let summary = "`pkb::aligned<N>(length, pointers...)`: all vectors of `lanes` elements of these tensors are whole and lie at multiples of 16 bytes";
  let arguments = (ins Index:$length, I64Attr:$lanes, Variadic<Cuda_PtrType>:$pointers);
  let results = (outs I1:$result);
  let assemblyFormat = "$length `lanes` $lanes `of` $pointers attr-dict";
}

def Cuda_StreamRowsOp : Cuda_Op<"stream_rows", [NoTerminator]> {
  let summary = "`pkb::stream_rows<team, rows, ahead, steps, full>(first, stride, count, aligned, fetch, produce, consume)`: rows that stay in registers";
  let description = [{
    For the `steps` chunks that start at rows `first`, `first + stride`, ... below `count`, each of at most `rows` rows: a team of the block takes a row of each
    chunk, and in the first `full` chunks each team of each block has one. `fetch` reads what is kept of a row, as early as registers allow; `produce` runs
    `ahead` chunks before `consume`, both get what `fetch` has yielded, and `consume` what `produce` has. All three take the first row of the chunk and the
    number of the row in it. `aligned`: so are all rows that are loaded or stored.

    **Constraints:**
    * `stream_rows_c1`: a team has 32, 128, 256, 512 or 1024 lanes; `rows` and `steps` are positive, `ahead` is not negative, `full` is between 0 and `steps`;
    * `stream_rows_c2`: `fetch` takes two index arguments and yields values of type `!cuda.row`, at least one;
    * `stream_rows_c3`: `produce` takes two index arguments and what `fetch` yields, `consume` these and what `produce` yields.
  }];
  let arguments = (ins Index:$first, Index:$stride, Index:$count, I1:$aligned, I64Attr:$rows, I64Attr:$team, I64Attr:$ahead, I64Attr:$steps, I64Attr:$full);
  let regions = (region SizedRegion<1>:$fetch, SizedRegion<1>:$produce, SizedRegion<1>:$consume);
  let assemblyFormat = [{
    $first `step` $stride `below` $count `aligned` $aligned `rows` $rows `by` $team `ahead` $ahead `steps` $steps `full` $full attr-dict-with-keyword
    custom<Stream>($fetch, $produce, $consume)
  }];
  let hasVerifier = 1;
}

def Cuda_KeepRowOp : Cuda_Op<"keep_row", [MemoryEffects<[MemRead]>, HasParent<"StreamRowsOp">]> {
  let summary = "`pkb::keep_row<T, N, count, team>(pointer, length, how)`: reads a row into registers";
  let arguments = (ins Cuda_PtrType:$pointer, Index:$length);
  let results = (outs Cuda_RowType:$row);
  let assemblyFormat = "$pointer `length` $length attr-dict `:` type($row)";
}

def Cuda_KeptOp : Cuda_Op<"kept", [Pure, TypesMatchWith<"result is a vector of the row", "row", "value", "::llvm::cast<RowType>($_self).getVector()">]> {
  let summary = "`pkb::kept(row, vector)`: a vector of a kept row";
  let arguments = (ins Cuda_RowType:$row, Index:$vector);
  let results = (outs AnyVectorOfNonZeroRank:$value);
  let assemblyFormat = "$row `[` $vector `]` attr-dict `:` type($row)";
}

def Cuda_RowLeaderOp : Cuda_Op<"row_leader", [Pure, ParentOneOf<["ForEachRowOp", "StreamRowsOp"]>]> {
  let summary = "`pkb::row_leader<team>()`: true in one lane of a row";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Cuda_RowReduceOp : Cuda_Op<"row_reduce", [ParentOneOf<["ForEachRowOp", "StreamRowsOp"]>]> {
  let summary = "`pkb::row_reduce<kind, unroll, team>(length, aligned, load, map)`: the `length` elements of a row combined, the result on all lanes";
  let description = [{
    `load` and `map` are those of a loop over vectors; `map` yields one vector, of f32 or f64, of which the elements from `length` on are left out.
    Its order is that of the header: not the one of memory, but the same for every launch and every team of this size.
    With `per_lane`, no lane has more vectors than that, and `pkb::row_reduce_once<kind, per_lane, unroll, team>` has no loop.

    **Constraints:**
    * `row_reduce_c1`: `kind` is sum, prod, min or max;
    * `row_reduce_c2`: `load` has one index argument and yields the values that `map` takes after its index argument; `map` yields one vector of the
      element type of the result, which has one element;
    * `row_reduce_c3`: `per_lane` is at least `unroll`.
  }];
  let arguments = (ins Comm_ReduceKindAttr:$kind, Index:$length, I64Attr:$unroll, OptionalAttr<I64Attr>:$per_lane);
  let results = (outs VectorOfNonZeroRankOf<[F32, F64]>:$result);
  let regions = (region SizedRegion<1>:$load, SizedRegion<1>:$map);
  let assemblyFormat = "$kind $length `unroll` $unroll (`per_lane` $per_lane^)? `:` type($result) attr-dict-with-keyword custom<LoadMap>($load, $map)";
  let hasVerifier = 1;
}

def Cuda_LineOp : Cuda_Op<"line", [Pure]> {
  let summary = "`pkb::line<N>(values...)`: up to 16 bytes of single values as one vector, the rest zero";
  let arguments = (ins Variadic<AnyVectorOfNonZeroRank>:$values);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$values attr-dict `:` functional-type($values, $result)";
}

def Cuda_PartOp : Cuda_Op<"part", [Pure]> {
  let summary = "`pkb::part<number>(vector)`: one element of a vector";
  let arguments = (ins AnyVectorOfNonZeroRank:$vector, I64Attr:$number);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$number `of` $vector attr-dict `:` type($vector) `->` type($result)";
}

def Cuda_WidenOp : Cuda_Op<"widen", [Pure]> {
  let summary = "`pkb::widen<N>(value)`: one value N times";
  let arguments = (ins AnyVectorOfNonZeroRank:$value);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
}

def Cuda_LoadOp : Cuda_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "`pkb::load<T, N>(pointer, vector, length)`: elements from `length` on are zero";
  let arguments = (ins Cuda_PtrType:$pointer, Index:$vector, Index:$length);
  let results = (outs AnyVectorOfNonZeroRank:$value);
  let assemblyFormat = "$pointer `[` $vector `]` `length` $length attr-dict `:` type($value)";
}

def Cuda_LoadStridedOp : Cuda_Op<"load_strided", [MemoryEffects<[MemRead]>]> {
  let summary = "`pkb::load_strided<T, N, sizes, strides>(pointer, first, left)`: elements of a window with any strides, from `left` on zero";
  let description = [{
    **Constraints:**
    * `load_strided_c1`: as many strides as sizes, at least one.
  }];
  let arguments = (ins Cuda_PtrType:$pointer, Index:$first, Index:$left, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides);
  let results = (outs AnyVectorOfNonZeroRank:$value);
  let assemblyFormat = "$pointer `[` $first `]` `left` $left `sizes` $sizes `strides` $strides attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Cuda_StoreStridedOp : Cuda_Op<"store_strided", [MemoryEffects<[MemWrite]>]> {
  let summary = "`pkb::store_strided<sizes, strides>(pointer, first, left, value)`: nothing is written from `left` on";
  let description = [{
    **Constraints:**
    * `store_strided_c1`: as many strides as sizes, at least one.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$value, Cuda_PtrType:$pointer, Index:$first, Index:$left, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$strides);
  let assemblyFormat = "$value `to` $pointer `[` $first `]` `left` $left `sizes` $sizes `strides` $strides attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Cuda_StoreOp : Cuda_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "`pkb::store(pointer, vector, length, value)`: nothing is written from `length` on";
  let arguments = (ins AnyVectorOfNonZeroRank:$value, Cuda_PtrType:$pointer, Index:$vector, Index:$length);
  let assemblyFormat = "$value `to` $pointer `[` $vector `]` `length` $length attr-dict `:` type($value)";
}

def Cuda_StorePeerOp : Cuda_Op<"store_peer", [MemoryEffects<[MemWrite]>]> {
  let summary = "`pkb::store_peer(pointer, vector, value)`: 16 bytes into a region";
  let arguments = (ins AnyVectorOfNonZeroRank:$value, Cuda_PtrType:$pointer, Index:$vector);
  let assemblyFormat = "$value `to` $pointer `[` $vector `]` attr-dict `:` type($value)";
}

def Cuda_LoadStagedOp : Cuda_Op<"load_staged", [MemoryEffects<[MemRead]>]> {
  let summary = "`pkb::load_staged<T, N>(pointer, vector)`: 16 bytes that a peer has written";
  let arguments = (ins Cuda_PtrType:$pointer, Index:$vector);
  let results = (outs AnyVectorOfNonZeroRank:$value);
  let assemblyFormat = "$pointer `[` $vector `]` attr-dict `:` type($value)";
}

def Cuda_StoreLLOp : Cuda_Op<"store_ll", [Cuda_SitedOpInterface, MemoryEffects<[MemWrite]>]> {
  let summary = "`pkb::store_ll<site>(pointer, vector, value, epoch)`: up to 12 bytes as one LL line, 16 as two, or 48 as four packed ones";
  let arguments = (ins AnyVectorOfNonZeroRank:$value, Cuda_PtrType:$pointer, Index:$vector, Index:$epoch, I64Attr:$site);
  let assemblyFormat = "$value `to` $pointer `[` $vector `]` `epoch` $epoch `site` $site attr-dict `:` type($value)";
}

def Cuda_LoadLLOp : Cuda_Op<"load_ll", [Cuda_SitedOpInterface, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "`pkb::load_ll<T, N, site>(args, pointer, vector, epoch)`: waits until all lines of the vector carry the epoch";
  let arguments = (ins Cuda_PtrType:$pointer, Index:$vector, Index:$epoch, I64Attr:$site);
  let results = (outs AnyVectorOfNonZeroRank:$value);
  let assemblyFormat = "$pointer `[` $vector `]` `epoch` $epoch `site` $site attr-dict `:` type($value)";
}

def Cuda_GatherLLOp : Cuda_Op<"gather_ll", [Cuda_SitedOpInterface, MemoryEffects<[MemRead, MemWrite]>, HasParent<"StreamRowsOp">]> {
  let summary = "`pkb::gather_ll<T, N, site, team>(args, pointer, vector, epoch, own)`: waits for the lines that each rank has sent for a row";
  let description = [{
    The lines of rank 0 lie at `pointer`, those of every other rank in its slot. This rank has sent itself none: its value is `own`.

    **Constraints:**
    * `gather_ll_c1`: a result for every rank of the kernel, at most 32, of the type of `own`.
  }];
  let arguments = (ins Cuda_PtrType:$pointer, Index:$vector, Index:$epoch, AnyVectorOfNonZeroRank:$own, I64Attr:$site);
  let results = (outs Variadic<AnyVectorOfNonZeroRank>:$values);
  let assemblyFormat = "$pointer `[` $vector `]` `epoch` $epoch `site` $site `own` $own attr-dict `:` type($own) `->` type($values)";
  let hasVerifier = 1;
}

#endif // PKB_DIALECTS_CUDA_IR_CUDAOPS_TD
