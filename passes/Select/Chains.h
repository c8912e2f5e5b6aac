// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Chains.h - several collectives in one kernel, or not ----*- C++ -*-===//
//
// Private to the Select family.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_SELECT_CHAINS_H
#define PKB_PASSES_SELECT_CHAINS_H

#include "passes/Select/Schedules.h"

namespace pkb {

/// Where one phase of a kernel goes on from another.
enum class PhaseBorder {
  Block, // with what the same block has left
  Grid,  // with what any block has left
};

/// Every mechanism that can carry out `phases`, each behind `border` from the one before it, in one kernel: they share
/// a schedule.
llvm::SmallVector<Choice> enumerateChainChoices(mlir::MLIRContext *context, llvm::ArrayRef<Exchange> phases,
                                                PhaseBorder border, const Machine &machine);

/// Puts the phases of `chain` in its place, and the collectives of those that hold nothing else in theirs. Gives them
/// in order.
llvm::SmallVector<mlir::Operation *> takeApart(comm::FusedOp chain);

/// Why `op`, an all_reduce or a region of one over elements, cannot be a reduce_scatter and an all_gather; "" if it
/// can.
std::string whyNotTwoShots(mlir::Operation *op);
/// The same computation as a chain of both, in the place of `op`.
comm::FusedOp splitIntoTwoShots(mlir::Operation *op);

} // namespace pkb

#endif // PKB_PASSES_SELECT_CHAINS_H
