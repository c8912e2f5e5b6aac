// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FusedKernels.h - a comm.fused as one kernel --------------*- C++ -*-===//
//
// Private to the conversion of comm to xfer.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_FUSEDKERNELS_H
#define PKB_PASSES_LOWERING_FUSEDKERNELS_H

#include "dialects/Xfer/IR/Xfer.h"

namespace pkb {

/// Where the launch of a fused kernel finds memory.
struct FusedMemory {
  /// The memref of a window of the storage of operand `number` of a comm.fused: of its inputs, then its results.
  llvm::function_ref<mlir::Value(int64_t number, mlir::RankedTensorType window)> windowOf;
  /// New memory, for what one phase leaves for another.
  llvm::function_ref<mlir::Value(mlir::RankedTensorType type)> scratch;
};

/// Builds `xfer.kernel @name` for `op` by its schedule and gives the operands of its launch, each made by `memory`.
/// Emits an error and fails where the region has no form as one kernel.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> buildFusedKernel(mlir::OpBuilder &builder, comm::FusedOp op,
                                                                 llvm::StringRef name, FusedMemory memory);

} // namespace pkb

#endif // PKB_PASSES_LOWERING_FUSEDKERNELS_H
