// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CollectiveKernels.h - one collective as one kernel -------*- C++ -*-===//
//
// Private to the conversion of comm to xfer.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_COLLECTIVEKERNELS_H
#define PKB_PASSES_LOWERING_COLLECTIVEKERNELS_H

#include "dialects/Comm/IR/Comm.h"
#include "dialects/Xfer/IR/Xfer.h"

namespace pkb {

/// What a fused kernel does instead of reading a message from the collective's input, and of writing one to its result.
class MessageEnds {
public:
  virtual ~MessageEnds() = default;
  /// The tile of a chunk of the message for rank `part`, or of the one message where that is null.
  virtual mlir::Value load(mlir::OpBuilder &at, mlir::Value part, mlir::Value chunk) = 0;
  /// Uses a tile of the collective's result: of its message `part`, or of all of it where that is null.
  virtual void store(mlir::OpBuilder &at, mlir::Value tile, mlir::Value part, mlir::Value chunk) = 0;
};

/// Builds the one kernel of `op`, without arguments of its own, with `ends`; `created` is told of the kernel before its
/// body is built. Fails as buildCollectiveKernels does, and where ranks of different rows would run different kernels.
llvm::LogicalResult buildExchangeKernel(mlir::OpBuilder &builder, comm::CollectiveOpInterface op,
                                        xfer::ScheduleAttr schedule, llvm::StringRef name, llvm::StringRef summary,
                                        MessageEnds &ends, llvm::function_ref<void(xfer::KernelOp)> created);

/// Appends the pipeline of `op`, by the schedule of `kernel`, to that kernel, of which it is a phase. Fails as
/// buildExchangeKernel does.
llvm::LogicalResult appendExchange(comm::CollectiveOpInterface op, xfer::KernelOp kernel, MessageEnds &ends);

/// Builds the kernels of `op` by its schedule: one for all rows of its group that do the same, named `name`, `name`_1,
/// ... Arguments, of type `operands` (tensors whose size differs between ranks: of unknown size): the collective's
/// inputs, then its results, contiguous memrefs. Returns their names, of which each rank launches all: those of other
/// rows it skips. Emits an error and fails for a reduction or element type that no kernel can carry out.
llvm::FailureOr<llvm::SmallVector<mlir::FlatSymbolRefAttr>> buildCollectiveKernels(mlir::OpBuilder &builder,
                                                                                   comm::CollectiveOpInterface op,
                                                                                   llvm::StringRef name,
                                                                                   mlir::TypeRange operands);

} // namespace pkb

#endif // PKB_PASSES_LOWERING_COLLECTIVEKERNELS_H
