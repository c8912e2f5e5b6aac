//===- CommOps.td - collectives ----------------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_COMM_IR_COMMOPS_TD
#define PKB_DIALECTS_COMM_IR_COMMOPS_TD

include "dialects/Comm/IR/CommAttrs.td"
include "dialects/Comm/IR/CommDialect.td"
include "dialects/Comm/IR/CommFusion.td"
include "dialects/Comm/IR/CommInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// The order in which a program communicates. Reading and writing it keeps
// collectives where they are relative to each other.
def Comm_OrderResource : Resource<"::pkb::comm::OrderResource">;

class Comm_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Comm_Op<mnemonic, !listconcat([
        Comm_CollectiveOpInterface,
        MemoryEffects<[MemRead<Comm_OrderResource>,
                       MemWrite<Comm_OrderResource>]>], traits)>;

/// The result is a contiguous tensor with the input's shape and element type.
def Comm_ResultLikeInput : TypesMatchWith<
    "the result has the shape and element type of the input, and no encoding", "input", "result",
    "::pkb::comm::getFreshType($_self)">;

class Comm_ReductionOp<string mnemonic, list<Trait> traits = []>
    : Comm_CollectiveOp<mnemonic,
        !listconcat([Comm_ReductionOpInterface], traits)>;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def Comm_AllReduceOp : Comm_ReductionOp<"all_reduce",
    [Comm_ResultLikeInput]> { // all_reduce_c1
  let summary = "combine a tensor of each rank, give the result to all";
  let description = [{
    Element i of the result is the combination, by `kind`, of element i of the
    inputs of all ranks of the row.

    ```mlir
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic
        : tensor<8xbf16>
    %2 = comm.all_reduce premul_sum %0 in <[[0, 1]]> factors [0.5, 0.25]
        accumulate f32 deterministic : tensor<8xbf16>
    ```

    **Constraints:** those of its interfaces and
    * (`all_reduce_c1`) The result has the shape and the element type of the
      input.
  }];
  let arguments = (ins Comm_ReduceKindAttr:$kind, AnyRankedTensor:$input,
      Comm_GroupAttr:$group, OptionalAttr<DenseF64ArrayAttr>:$factors,
      TypeAttr:$accumulation, UnitAttr:$deterministic);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `in` $group (`factors` custom<Factors>($factors)^)? `accumulate` $accumulation
    (`deterministic` $deterministic^)? attr-dict `:` type($input)
  }];
}

def Comm_ReduceOp : Comm_ReductionOp<"reduce",
    [Comm_ResultLikeInput, Comm_RootedOpInterface]> { // reduce_c1
  let summary = "combine a tensor of each rank, give the result to the root";
  let description = [{
    On the root of a row, the result is that of `all_reduce`; on the other ranks
    it is their own input.

    ```mlir
    %1 = comm.reduce max %0 in <[[0, 1], [2, 3]]> to [0, 3] accumulate f32
        : tensor<8xf32>
    ```

    **Constraints:** those of its interfaces and
    * (`reduce_c1`) The result has the shape and the element type of the input.
  }];
  let arguments = (ins Comm_ReduceKindAttr:$kind, AnyRankedTensor:$input,
      Comm_GroupAttr:$group, DenseI64ArrayAttr:$roots,
      OptionalAttr<DenseF64ArrayAttr>:$factors, TypeAttr:$accumulation,
      UnitAttr:$deterministic);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `in` $group `to` $roots (`factors` custom<Factors>($factors)^)?
    `accumulate` $accumulation (`deterministic` $deterministic^)? attr-dict
    `:` type($input)
  }];
}

def Comm_ReduceScatterOp : Comm_ReductionOp<"reduce_scatter"> {
  let summary = "combine a tensor of each rank, give one part to each";
  let description = [{
    One input: it is cut into as many equal parts as a row has ranks, one after
    the other in memory. With as many inputs as a row has ranks, the inputs are
    the parts. The result on the k-th rank is the combination of the k-th parts
    of all ranks.

    ```mlir
    %1 = comm.reduce_scatter sum %0 in <[[0, 1]]> accumulate f32
        : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %3 = comm.reduce_scatter sum %1, %2 in <[[0, 1]]> accumulate f32
        : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```

    **Constraints:** those of its interfaces and
    * (`reduce_scatter_c1`) A single input has the shape of the result with
      either dimension 0 multiplied by the size of a row, or a new dimension 0
      of that size. (Where rows have one rank, it may also have its type.)
    * (`reduce_scatter_c2`) Several inputs have the type of the result.
  }];
  let arguments = (ins Comm_ReduceKindAttr:$kind,
      Variadic<AnyRankedTensor>:$inputs, Comm_GroupAttr:$group,
      OptionalAttr<DenseF64ArrayAttr>:$factors, TypeAttr:$accumulation,
      UnitAttr:$deterministic);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $inputs `in` $group (`factors` custom<Factors>($factors)^)? `accumulate` $accumulation
    (`deterministic` $deterministic^)? attr-dict
    `:` functional-type($inputs, $result)
  }];
  let extraClassDeclaration = [{
    int64_t getPartCount() {
      return getInputs().size() == 1 ? getGroup().getSize() : 1;
    }
  }];
  let hasVerifier = 1;
}

def Comm_ReduceScatterVOp : Comm_ReductionOp<"reduce_scatter_v",
    [Comm_UnevenOpInterface]> {
  let summary = "reduce_scatter with parts of different sizes";
  let description = [{
    As `reduce_scatter`, with parts that have as many elements as `counts` gives
    to their receivers. The shapes of the tensors are free.

    ```mlir
    %2 = comm.reduce_scatter_v sum %0, %1 in <[[0, 1]]> counts [3, 5]
        accumulate f32 : (tensor<3xf32>, tensor<5xf32>) -> tensor<3xf32>
    ```

    **Constraints:** those of its interfaces; the table has one number for each
    rank. They suffice as a verifier.
  }];
  let arguments = (ins Comm_ReduceKindAttr:$kind,
      Variadic<AnyRankedTensor>:$inputs, Comm_GroupAttr:$group,
      DenseI64ArrayAttr:$counts, OptionalAttr<DenseF64ArrayAttr>:$factors,
      TypeAttr:$accumulation, UnitAttr:$deterministic);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $inputs `in` $group `counts` $counts (`factors` custom<Factors>($factors)^)?
    `accumulate` $accumulation (`deterministic` $deterministic^)? attr-dict
    `:` functional-type($inputs, $result)
  }];
  let extraClassDeclaration = [{
    int64_t getPartCount() {
      return getInputs().size() == 1 ? getGroup().getSize() : 1;
    }
    int64_t getCountsPerRank() { return 1; }
    ::llvm::SmallVector<int64_t> getInputCounts(int64_t index);
    ::llvm::SmallVector<int64_t> getResultCounts(int64_t index);
  }];
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

def Comm_AllGatherOp : Comm_CollectiveOp<"all_gather"> {
  let summary = "collect a tensor of each rank on all ranks";
  let description = [{
    One result: the inputs of the ranks of the row, in group order, one after
    the other in memory. With as many results as a row has ranks, result r is
    the input of the r-th rank.

    ```mlir
    %1 = comm.all_gather %0 in <[[0, 1]]> : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    %2:2 = comm.all_gather %0 in <[[0, 1]]>
        : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    ```

    **Constraints:** those of CollectiveOpInterface and
    * (`all_gather_c1`) A single result has the shape of the input with either
      dimension 0 multiplied by the size of a row, or a new dimension 0 of that
      size. (Where rows have one rank, it may also have the input's type.)
    * (`all_gather_c2`) Several results have the type of the input.
  }];
  let arguments = (ins AnyRankedTensor:$input, Comm_GroupAttr:$group);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $input `in` $group attr-dict `:` functional-type($input, $results)
  }];
  let hasVerifier = 1;
}

def Comm_AllGatherVOp : Comm_CollectiveOp<"all_gather_v",
    [Comm_UnevenOpInterface]> {
  let summary = "all_gather of inputs of different sizes";
  let description = [{
    As `all_gather`, with an input that has as many elements as `counts` gives
    to its rank. The shapes of the tensors are free.

    ```mlir
    %1:2 = comm.all_gather_v %0 in <[[0, 1]]> counts [3, 5]
        : (tensor<3xf32>) -> (tensor<3xf32>, tensor<5xf32>)
    %2 = comm.all_gather_v %0 in <[[0, 1]]> counts [3, 5]
        : (tensor<3xf32>) -> tensor<8xf32>
    ```

    **Constraints:** those of its interfaces; the table has one number for each
    rank. They suffice as a verifier.
  }];
  let arguments = (ins AnyRankedTensor:$input, Comm_GroupAttr:$group,
      DenseI64ArrayAttr:$counts);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $input `in` $group `counts` $counts attr-dict
    `:` functional-type($input, $results)
  }];
  let extraClassDeclaration = [{
    int64_t getCountsPerRank() { return 1; }
    ::llvm::SmallVector<int64_t> getInputCounts(int64_t index);
    ::llvm::SmallVector<int64_t> getResultCounts(int64_t index);
  }];
}

def Comm_AllToAllOp : Comm_CollectiveOp<"all_to_all"> {
  let summary = "send one part to each rank, get one from each";
  let description = [{
    One input and one result: the input is cut along dimension 0 into as many
    equal parts as a row has ranks; part k goes to the k-th rank, and part k of
    the result is what the k-th rank sent. With as many inputs and results as a
    row has ranks, the tensors are the parts.

    ```mlir
    %1 = comm.all_to_all %0 in <[[0, 1]]> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2:2 = comm.all_to_all %0, %1 in <[[0, 1]]>
        : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```

    **Constraints:** those of CollectiveOpInterface and
    * (`all_to_all_c1`) There are as many results as inputs.
    * (`all_to_all_c2`) In the single form, dimension 0 of input and result is
      divisible by the size of a row, and both have as many elements.
    * (`all_to_all_c3`) In the list form, all tensors have one type.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Comm_GroupAttr:$group);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $inputs `in` $group attr-dict `:` functional-type($inputs, $results)
  }];
  let extraClassDeclaration = [{
    int64_t getPartCount() {
      return getInputs().size() == 1 ? getGroup().getSize() : 1;
    }
  }];
  let hasVerifier = 1;
}

def Comm_AllToAllVOp : Comm_CollectiveOp<"all_to_all_v",
    [Comm_UnevenOpInterface]> {
  let summary = "all_to_all with parts of different sizes";
  let description = [{
    As `all_to_all`, with parts that have as many elements as `counts` says. It
    has a row for each sender, with a number for each receiver of the sender's
    row of the group. The shapes of the tensors are free.

    ```mlir
    %1 = comm.all_to_all_v %0 in <[[0, 1]]> counts [[1, 2], [3, 0]]
        : (tensor<3xf32>) -> tensor<4xf32>
    ```

    **Constraints:** those of its interfaces and
    * (`all_to_all_v_c1`) There are as many results as inputs.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Comm_GroupAttr:$group,
      DenseI64ArrayAttr:$counts);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $inputs `in` $group `counts` custom<Table>($counts, ref($group)) attr-dict
    `:` functional-type($inputs, $results)
  }];
  let extraClassDeclaration = [{
    int64_t getPartCount() {
      return getInputs().size() == 1 ? getGroup().getSize() : 1;
    }
    int64_t getCountsPerRank() { return getGroup().getSize(); }
    ::llvm::SmallVector<int64_t> getInputCounts(int64_t index);
    ::llvm::SmallVector<int64_t> getResultCounts(int64_t index);
  }];
  let hasVerifier = 1;
}

def Comm_BroadcastOp : Comm_CollectiveOp<"broadcast",
    [Comm_ResultLikeInput, Comm_RootedOpInterface]> {
  let summary = "give the tensor of the root to all ranks";
  let description = [{
    The result is the input of the root of the row. The inputs of other ranks
    are not read; they may be absent.

    ```mlir
    %1 = comm.broadcast %0 in <[[0, 1], [2, 3]]> from [0, 3] : tensor<8xf32>
    ```

    **Constraints:** those of its interfaces and
    * (`broadcast_c1`) The result has the shape and the element type of the
      input.
  }];
  let arguments = (ins AnyRankedTensor:$input, Comm_GroupAttr:$group,
      DenseI64ArrayAttr:$roots);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `in` $group `from` $roots attr-dict `:` type($input)
  }];
}

def Comm_GatherOp : Comm_CollectiveOp<"gather", [Comm_RootedOpInterface]> {
  let summary = "collect a tensor of each rank on the root";
  let description = [{
    On the root of a row, the results are those of `all_gather`; on the other
    ranks they have no defined elements and are not used.

    ```mlir
    %1 = comm.gather %0 in <[[0, 1]]> to [0] : (tensor<4xf32>) -> tensor<2x4xf32>
    %2:2 = comm.gather %0 in <[[0, 1]]> to [0]
        : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```

    **Constraints:** those of its interfaces and
    * (`gather_c1`) A single result has the shape of the input with either
      dimension 0 multiplied by the size of a row, or a new dimension 0 of that
      size. (Where rows have one rank, it may also have the input's type.)
    * (`gather_c2`) Several results have the type of the input.
  }];
  let arguments = (ins AnyRankedTensor:$input, Comm_GroupAttr:$group,
      DenseI64ArrayAttr:$roots);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $input `in` $group `to` $roots attr-dict
    `:` functional-type($input, $results)
  }];
  let hasVerifier = 1;
}

def Comm_ScatterOp : Comm_CollectiveOp<"scatter", [Comm_RootedOpInterface]> {
  let summary = "give one part of the root's tensor to each rank";
  let description = [{
    One input: it is cut into as many equal parts as a row has ranks, one after
    the other in memory. With as many inputs as a row has ranks, the inputs are
    the parts. The result on the k-th rank is the k-th part on the root. The
    inputs of other ranks are not read; they may be absent.

    ```mlir
    %3 = comm.scatter %1, %2 in <[[0, 1]]> from [0]
        : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```

    **Constraints:** those of its interfaces and
    * (`scatter_c1`) A single input has the shape of the result with either
      dimension 0 multiplied by the size of a row, or a new dimension 0 of that
      size. (Where rows have one rank, it may also have its type.)
    * (`scatter_c2`) Several inputs have the type of the result.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Comm_GroupAttr:$group,
      DenseI64ArrayAttr:$roots);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $inputs `in` $group `from` $roots attr-dict
    `:` functional-type($inputs, $result)
  }];
  let extraClassDeclaration = [{
    int64_t getPartCount() {
      return getInputs().size() == 1 ? getGroup().getSize() : 1;
    }
  }];
  let hasVerifier = 1;
}

def Comm_PermuteOp : Comm_CollectiveOp<"permute"> {
  let summary = "send a tensor to one rank, get one from another";
  let description = [{
    For each pair, the result on its second rank is the input of its first. The
    input of a rank that sends nothing is not read; it may be absent. The result
    on a rank that gets nothing has no defined elements and is not used. What
    matches of a program's sends and receives becomes permutations.

    ```mlir
    %1 = comm.permute %0 in <[[0, 1, 2]]> pairs [[0, 1], [1, 2]]
        : (tensor<4x2xf32>) -> tensor<8xf32>
    ```

    **Constraints:** those of its interfaces and
    * (`permute_c1`) The two ranks of a pair are in one row of the group.
    * (`permute_c2`) No rank sends twice and none gets twice.
    * (`permute_c3`) Input and result have as many elements.
  }];
  let arguments = (ins AnyRankedTensor:$input, Comm_GroupAttr:$group,
      DenseI64ArrayAttr:$pairs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `in` $group `pairs` custom<Pairs>($pairs) attr-dict
    `:` functional-type($input, $result)
  }];
  let extraClassDeclaration = [{
    /// The rank of the world that gets the input of `rank`, if one does.
    ::std::optional<int64_t> getReceiver(int64_t rank);
    /// The rank of the world whose input `rank` gets, if there is one.
    ::std::optional<int64_t> getSender(int64_t rank);
  }];
  let hasVerifier = 1;
}

def Comm_BarrierOp : Comm_CollectiveOp<"barrier"> {
  let summary = "wait until all ranks of the row have arrived";
  let description = [{
    ```mlir
    comm.barrier in <[[0, 1]]>
    ```

    Its traits suffice as a verifier: it has no operands and no results.
  }];
  let arguments = (ins Comm_GroupAttr:$group);
  let assemblyFormat = "`in` $group attr-dict";
}

//===----------------------------------------------------------------------===//
// What collectives need
//===----------------------------------------------------------------------===//

def Comm_AbsentOp : Comm_Op<"absent", [Pure]> {
  let summary = "a tensor that does not exist on this rank";
  let description = [{
    Stands where a collective has an operand and this rank nothing to give: for
    the list of a `scatter` on all ranks but the root, and the input of a
    `permute` on a rank that sends nothing. It becomes a null pointer.

    ```mlir
    %0 = comm.absent : tensor<8xf32>
    ```

    **Constraints:**
    * (`absent_c1`) The type has no encoding.
  }];
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

// host_read_c2
def Comm_HostReadOp : Comm_Op<"host_read",
    [Pure, TypesMatchWith<"result must be the element type", "input", "result",
        "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "a tensor's only element, read back by the host";
  let description = [{
    The host waits until the tensor is computed and reads its element, which
    calls of operators after it may take as an argument.

    ```mlir
    %1 = comm.host_read %0 : tensor<i64>
    ```

    **Constraints:**
    * (`host_read_c1`) The tensor has one element and no encoding.
    * (`host_read_c2`) The result is the element type.
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Comm_RankOp : Comm_Op<"rank", [Pure]> {
  let summary = "the rank that runs this program";
  let description = [{
    The rank in the world or, with a group, the position in the row of the group
    that the rank belongs to.

    ```mlir
    %0 = comm.rank : index
    %1 = comm.rank in <[[0, 1], [2, 3]]> : index
    ```

    Its traits suffice as a verifier.
  }];
  let arguments = (ins OptionalAttr<Comm_GroupAttr>:$group);
  let results = (outs Index:$result);
  let assemblyFormat = "(`in` $group^)? attr-dict `:` type($result)";
}

def Comm_WorldSizeOp : Comm_Op<"world_size", [Pure]> {
  let summary = "the number of ranks that run this program";
  let description = [{
    The size of the module's mesh.

    ```mlir
    %0 = comm.world_size : index
    ```

    Its traits suffice as a verifier.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasFolder = 1;
}

#endif // PKB_DIALECTS_COMM_IR_COMMOPS_TD
