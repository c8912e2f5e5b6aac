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

#include <map>
#include <string>

namespace pkb {

/// What one program consists of (docs/Rationale/Runtime.md).
struct EmittedProgram {
  /// The `.cu`: the manifest as a JSON comment, then the kernels.
  std::string text;
  /// Bytes of `X.cu.data`: the constants, each at the offset that its slot
  /// names; empty if there are none.
  std::string data;
  /// How many copies a call makes, by function: steps of kind `copy`.
  std::map<std::string, int64_t> copies;
};

/// Prints `module`, which must satisfy pkb-verify-cuda-emittable. It decides
/// nothing and does not change the module. Fails after a diagnostic.
llvm::FailureOr<EmittedProgram> emitProgram(mlir::ModuleOp module);

/// Prints `module`, which must satisfy pkb-verify-cuda-emittable, as one
/// self-contained CUDA file with its manifest. Fails, after a diagnostic, on
/// what it cannot print (constants need a data file: use emitProgram).
llvm::LogicalResult emitCuda(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace pkb

#endif // PKB_TARGET_CUDAEMITTER_H
