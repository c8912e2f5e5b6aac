// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CudaEnums.td - closed sets of words of level L3 ----------*- tablegen -*-===//

#ifndef PKB_DIALECTS_CUDA_IR_CUDAENUMS_TD
#define PKB_DIALECTS_CUDA_IR_CUDAENUMS_TD

include "mlir/IR/EnumAttr.td"

def Cuda_SpreadAttr : I32EnumAttr<"Spread", "which threads share the vectors of a loop", [
  I32EnumAttrCase<"Block", 0, "block">,
  I32EnumAttrCase<"Once", 1, "once">,
  I32EnumAttrCase<"Row", 2, "row">]> {
  let cppNamespace = "::pkb::cuda";
}

#endif // PKB_DIALECTS_CUDA_IR_CUDAENUMS_TD
