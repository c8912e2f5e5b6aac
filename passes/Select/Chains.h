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

/// A phase that only computes, row by row, a team of lanes for each.
struct RowPass {
  int64_t rows = 0, rowBytes = 0; // of the longest elements that are read or written whole
  int64_t passes = 1;             // over a row: one for each reduction, one to write
  int64_t localBytes = 0;         // read and written in device memory per rank
  int64_t operators = 0, reducing = 0; // the operators, and those of them that reduce rows
  int64_t operatorBytes = 0;           // what the operators, each a kernel of its own, read and write
};

/// Of a phase without a collective.
RowPass rowPassOf(comm::FusedOp phase);
/// The time of its operators as kernels of their own, in us.
double timeAsOperators(const RowPass &pass, const Machine &machine);

/// Every mechanism that can carry out `phases`, each behind `border` from the one before it, and `passes` behind a border of blocks, in one kernel: they
/// share a schedule.
llvm::SmallVector<Choice> enumerateChainChoices(mlir::MLIRContext *context, llvm::ArrayRef<Exchange> phases, llvm::ArrayRef<RowPass> passes,
                                                PhaseBorder border, const Machine &machine);

/// Puts the phases of `chain` in its place, the collectives of those that hold nothing else in theirs, and so the operators of those without a collective. Gives
/// the phases and collectives in order.
llvm::SmallVector<mlir::Operation *> takeApart(comm::FusedOp chain);

/// Why `op`, an all_reduce or a region of one over elements, cannot be a reduce_scatter and an all_gather; "" if it
/// can.
std::string whyNotTwoShots(mlir::Operation *op);
/// The same computation as a chain of both, in the place of `op`.
comm::FusedOp splitIntoTwoShots(mlir::Operation *op);
/// The same of the first phase of `chain`, as two phases; false, and nothing changed, where that has no form.
bool splitFirstIntoTwoShots(comm::FusedOp chain);

} // namespace pkb

#endif // PKB_PASSES_SELECT_CHAINS_H
