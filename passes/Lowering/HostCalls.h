// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HostCalls.h - collectives that are no kernel -------------*- C++ -*-===//
//
// Private to the Lowering family. A collective becomes a call of a library, or copies that stand between kernels.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_HOSTCALLS_H
#define PKB_PASSES_LOWERING_HOSTCALLS_H

#include "dialects/Xfer/IR/Xfer.h"

namespace pkb {

/// Builds the call of a library that `op` is. `operands` are the memory of its inputs, then of its results, all of its function.
llvm::LogicalResult buildLibraryCall(mlir::OpBuilder &builder, comm::CollectiveOpInterface op, mlir::ValueRange operands);

/// Builds the transfer that carries out the puts of `kernel`, the kernel of `op`. `inputs` are the memory of its inputs.
llvm::LogicalResult buildTransfer(mlir::OpBuilder &builder, comm::CollectiveOpInterface op, xfer::KernelOp kernel, mlir::ValueRange inputs);

/// Builds a kernel in which every rank of `group` signals every other and waits for it.
xfer::KernelOp buildBarrierKernel(mlir::OpBuilder &builder, mlir::Location loc, comm::GroupAttr group, llvm::StringRef name);

} // namespace pkb

#endif // PKB_PASSES_LOWERING_HOSTCALLS_H
