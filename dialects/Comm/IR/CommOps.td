//===- CommOps.td - collectives ----------------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_COMM_IR_COMMOPS_TD
#define PKB_DIALECTS_COMM_IR_COMMOPS_TD

include "dialects/Comm/IR/CommAttrs.td"
include "dialects/Comm/IR/CommDialect.td"
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

def Comm_AllReduceOp : Comm_CollectiveOp<"all_reduce",
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "combine a tensor of each rank, give the result to all";
  let description = [{
    Element i of the result is the combination, by `kind`, of element i of the
    inputs of all ranks of the row. Contributions are added in the type
    `accumulation`, in ascending rank order if `deterministic` is set, and
    rounded once to the element type.

    ```mlir
    %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic
        : tensor<8xbf16>
    ```

    **Constraints:** those of CollectiveOpInterface and
    * (`all_reduce_c1`) The result has the type of the input.
    * (`all_reduce_c2`) `kind` is defined for the element type: `band`, `bor`
      and `bxor` need integers, `min` and `max` an order (not complex),
      `premul_sum` floating point or complex elements.
    * (`all_reduce_c3`) `accumulation` is the element type, or a wider type of
      the same class (floating point, complex, integer).
  }];
  let arguments = (ins Comm_ReduceKindAttr:$kind, AnyRankedTensor:$input,
      Comm_GroupAttr:$group, TypeAttr:$accumulation,
      UnitAttr:$deterministic);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `in` $group `accumulate` $accumulation
    (`deterministic` $deterministic^)? attr-dict `:` type($input)
  }];
  let extraClassDeclaration = [{
    ::std::optional<::pkb::comm::ReduceKind> getReduceKind() { return getKind(); }
  }];
  let hasVerifier = 1;
}

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
