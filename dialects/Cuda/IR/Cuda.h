// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Cuda.h - level L3, the exit dialect ----------------------*- C++ -*-===//
//
// The only header of the cuda dialect that others include.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_CUDA_IR_CUDA_H
#define PKB_DIALECTS_CUDA_IR_CUDA_H

#include "dialects/Xfer/IR/Xfer.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "dialects/Cuda/IR/CudaDialect.h.inc"
#include "dialects/Cuda/IR/CudaEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Cuda/IR/CudaTypes.h.inc"

#include "dialects/Cuda/IR/CudaOpInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Cuda/IR/CudaOps.h.inc"

namespace pkb::cuda {

/// Name of the module's discardable attribute that holds the target's name, "h200x4" (a StringAttr).
inline constexpr llvm::StringLiteral kTargetAttrName = "cuda.target";

} // namespace pkb::cuda

#endif // PKB_DIALECTS_CUDA_IR_CUDA_H
