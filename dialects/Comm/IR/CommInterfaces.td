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
    An operation in which all ranks of a row of its group take part.

    **Constraints** (of every implementation):
    * (`collective_c1`) All inputs and results have one element type.
    * (`collective_c2`) No input or result has an encoding: its memory is
      contiguous and row-major.
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
    InterfaceMethod<"How contributions are combined, if they are.",
        "::std::optional<::pkb::comm::ReduceKind>", "getReduceKind", (ins),
        [{}], /*defaultImplementation=*/[{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Into how many parts of equal size one input is cut, each with its own
        receiver: 1 when everybody gets the same, else the size of a row.}],
        "int64_t", "getPartCount", (ins), [{}],
        /*defaultImplementation=*/[{ return 1; }]>
  ];
  let verify = "return ::pkb::comm::detail::verifyCollective($_op);";
}

#endif // PKB_DIALECTS_COMM_IR_COMMINTERFACES_TD
