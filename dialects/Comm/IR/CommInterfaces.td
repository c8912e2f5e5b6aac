//===- CommInterfaces.td - what collectives share ----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_COMM_IR_COMMINTERFACES_TD
#define PKB_DIALECTS_COMM_IR_COMMINTERFACES_TD

include "mlir/IR/OpBase.td"

def Comm_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::pkb::comm";
  let description = [{
    An operation in which all ranks of a row of its group take part. It has the
    same operands and results on all ranks: what a rank does not contribute is
    `comm.absent` there, and what it does not get has no defined elements there.

    **Constraints** (of every implementation):
    * (`collective_c1`) All inputs and results have one element type.
    * (`collective_c2`) The memory of inputs and results is contiguous and
      row-major. An input may be a part of a storage that does not begin where
      the storage begins (`#aten.strided` with an offset); a result is memory of
      its own and has no encoding. Where this page or an operation compares
      types, the offset does not count.
    * (`collective_c3`) There is one input or one for each rank of a row, and
      likewise one result or one for each rank of a row.
  }];
  let methods = [
    InterfaceMethod<"The partition of ranks that communicates.",
        "::pkb::comm::GroupAttr", "getGroup">,
    InterfaceMethod<"The tensors that this rank contributes.",
        "::mlir::OperandRange", "getCollectiveInputs", (ins), [{}],
        /*defaultImplementation=*/[{ return $_op->getOperands(); }]>,
    InterfaceMethod<"The tensors that this rank gets.",
        "::mlir::ResultRange", "getCollectiveResults", (ins), [{}],
        /*defaultImplementation=*/[{ return $_op->getResults(); }]>,
    InterfaceMethod<[{
        Into how many parts one input is cut, each with its own receiver: 1 when
        everybody gets the same, else the size of a row. The parts have equal
        size unless the operation is an UnevenOpInterface.}],
        "int64_t", "getPartCount", (ins), [{}],
        /*defaultImplementation=*/[{ return 1; }]>
  ];
  let extraClassDeclaration = [{
    /// How contributions are combined, if they are.
    ::std::optional<::pkb::comm::ReduceKind> getReduceKind();
  }];
  let verify = "return ::pkb::comm::detail::verifyCollective($_op);";
}

def Comm_ReductionOpInterface : OpInterface<"ReductionOpInterface"> {
  let cppNamespace = "::pkb::comm";
  let description = [{
    A collective that combines contributions, element by element.

    * `sum`, `avg`, `prod` and `premul_sum` are computed in the type
      `accumulation`, in ascending rank order of the row if `deterministic` is
      set, and rounded once to the element type.
    * `avg` divides the sum by the size of a row before that rounding; of integers
      the quotient is rounded towards zero.
    * `premul_sum` multiplies each contribution by the factor of its rank, in
      the type `accumulation`, and adds the products.
    * `min` and `max` of floats give NaN where all contributions are NaN, as NCCL does (`fminf`, `fmaxf`).
    * Of `i1` elements, `sum` and `max` are "or", `prod` and `min` are "and".
    * Integers wrap around.

    **Constraints** (of every implementation):
    * (`reduction_c1`) `kind` is defined for the element type: `band`, `bor` and
      `bxor` need integers, `min` and `max` an order (not complex), `premul_sum`
      floating point or complex elements, and `avg` other elements than `i1`.
    * (`reduction_c2`) `accumulation` is the element type, or a wider type of
      the same class (floating point, complex, integer).
    * (`reduction_c3`) `factors` has one number for each rank of the group, in
      its order, if `kind` is `premul_sum`; otherwise there is none. They are
      finite.
  }];
  let methods = [
    InterfaceMethod<"How contributions are combined.",
        "::pkb::comm::ReduceKind", "getKind">,
    InterfaceMethod<"The type in which they are combined.",
        "::mlir::Type", "getAccumulation">,
    InterfaceMethod<"Whether the order of the contributions is fixed.",
        "bool", "getDeterministic">,
    InterfaceMethod<[{
        The factors of `premul_sum`, one for each rank of the group in the order
        of its rows.}],
        "::std::optional<::llvm::ArrayRef<double>>", "getFactors">
  ];
  let verify = "return ::pkb::comm::detail::verifyReduction($_op);";
}

def Comm_RootedOpInterface : OpInterface<"RootedOpInterface"> {
  let cppNamespace = "::pkb::comm";
  let description = [{
    A collective in which one rank of each row, its root, sends or gets what
    the others do not.

    **Constraints** (of every implementation):
    * (`rooted_c1`) There is one root for each row of the group.
    * (`rooted_c2`) Each root is a rank of its row.
  }];
  let methods = [
    InterfaceMethod<"The root of each row, as a rank of the world.",
        "::llvm::ArrayRef<int64_t>", "getRoots">
  ];
  let extraClassDeclaration = [{
    /// The position of the root of row `row` in that row.
    int64_t getRootPosition(int64_t row);
    /// That position, if it is the same in all rows.
    ::std::optional<int64_t> getUniformRootPosition();
  }];
  let verify = "return ::pkb::comm::detail::verifyRooted($_op);";
}

def Comm_UnevenOpInterface : OpInterface<"UnevenOpInterface"> {
  let cppNamespace = "::pkb::comm";
  let description = [{
    A collective whose parts have different sizes. A table, the same on all
    ranks, holds the number of elements of each part; zero is allowed.

    **Constraints** (of every implementation):
    * (`uneven_c1`) The table has a row for each rank of the group, in the order
      of its rows, with as many numbers as the operation says.
    * (`uneven_c2`) No number of elements is negative.
    * (`uneven_c3`) The inputs and results have as many elements as the table
      gives to one of the ranks.
  }];
  let methods = [
    InterfaceMethod<"The table, row by row, in elements.",
        "::llvm::ArrayRef<int64_t>", "getCounts">,
    InterfaceMethod<"How many numbers the table has for each rank.",
        "int64_t", "getCountsPerRank">,
    InterfaceMethod<[{
        The number of elements of each input of the rank that is number `index`
        of the group, in the order of its rows.}],
        "::llvm::SmallVector<int64_t>", "getInputCounts",
        (ins "int64_t":$index)>,
    InterfaceMethod<"The number of elements of each of its results.",
        "::llvm::SmallVector<int64_t>", "getResultCounts",
        (ins "int64_t":$index)>
  ];
  let extraClassDeclaration = [{
    /// Whether inputs and results are what rank number `index` of the group has.
    bool fits(int64_t index);
  }];
  let verify = "return ::pkb::comm::detail::verifyUneven($_op);";
}

#endif // PKB_DIALECTS_COMM_IR_COMMINTERFACES_TD
