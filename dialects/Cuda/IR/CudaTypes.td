// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CudaTypes.td - addresses ---------------------------------*- tablegen -*-===//

#ifndef PKB_DIALECTS_CUDA_IR_CUDATYPES_TD
#define PKB_DIALECTS_CUDA_IR_CUDATYPES_TD

include "dialects/Cuda/IR/CudaDialect.td"

def Cuda_PtrType : TypeDef<Cuda_Dialect, "Ptr"> {
  let mnemonic = "ptr";
  let summary = "a byte address on the device: of ordinary memory or of a rank's region";
}

def Cuda_TicketType : TypeDef<Cuda_Dialect, "Ticket"> {
  let mnemonic = "ticket";
  let summary = "what a kernel has asked for the number of its call with";
}

def Cuda_RowType : TypeDef<Cuda_Dialect, "Row"> {
  let mnemonic = "row";
  let summary = "a row that a team of lanes holds in registers: `count` vectors in each lane, the last of which may be missing";
  let parameters = (ins "::mlir::VectorType":$vector, "int64_t":$count);
  let assemblyFormat = "`<` $count `of` $vector `>`";
  let genVerifyDecl = 1;
}

#endif // PKB_DIALECTS_CUDA_IR_CUDATYPES_TD
