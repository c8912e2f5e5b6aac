//===- CudaEmitter.h - print level L3 as CUDA -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_TARGET_CUDAEMITTER_H
#define PKB_TARGET_CUDAEMITTER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"

namespace pkb {

/// Prints `module`, which must satisfy pkb-verify-cuda-emittable, as one
/// self-contained CUDA file with its manifest. Fails, after a diagnostic, on
/// what it cannot print; the stream then holds an incomplete text.
llvm::LogicalResult emitCuda(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace pkb

#endif // PKB_TARGET_CUDAEMITTER_H
