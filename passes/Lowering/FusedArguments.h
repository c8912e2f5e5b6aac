// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FusedArguments.h - the tensors of one fused kernel -------*- C++ -*-===//
//
// Private to the conversion of comm to xfer.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_FUSEDARGUMENTS_H
#define PKB_PASSES_LOWERING_FUSEDARGUMENTS_H

#include "passes/Lowering/FusedKernels.h"

namespace pkb {

/// The arguments of the kernel of a comm.fused, and the operands of its launch. What one phase leaves for a later one
/// is one argument, of which each phase has a window of its own; of everything else each window is an argument.
class FusedArguments {
public:
  FusedArguments(comm::FusedOp op, FusedMemory memory) : op(op), memory(memory) {}

  /// The kernel, as soon as there is one.
  void setKernel(xfer::KernelOp made) { kernel = made; }
  /// The memory, inside of the kernel, of `window` of the storage of operand `number` of `region` (of its inputs, then
  /// its results), which is the comm.fused or one of its phases. Null where the window has no form as a memref.
  mlir::Value of(comm::FusedOp region, int64_t number, mlir::RankedTensorType window);
  llvm::ArrayRef<mlir::Value> operands() const { return launched; }

private:
  mlir::Value argument(int64_t number, mlir::RankedTensorType window);
  mlir::Value shared(mlir::Value value, int64_t number, mlir::RankedTensorType window);

  comm::FusedOp op;
  FusedMemory memory;
  xfer::KernelOp kernel;
  llvm::SmallVector<mlir::Value> launched;
  llvm::DenseMap<std::pair<int64_t, mlir::Type>, mlir::Value> arguments; // by number and window
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> views; // of what phases share, by value and window
};

} // namespace pkb

#endif // PKB_PASSES_LOWERING_FUSEDARGUMENTS_H
