// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Schedules.h - legal schedules and their predicted times --*- C++ -*-===//
//
// Private to the Select family. The model is T = launch + flag hops + ordering + bytes over the bottleneck
// (docs/Rationale/CostModel.md).
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_SELECT_SCHEDULES_H
#define PKB_PASSES_SELECT_SCHEDULES_H

#include "pkb/Analysis/Mechanisms.h"
#include "pkb/Target/Machine.h"

namespace pkb {

/// What a collective asks of the link.
struct Exchange : MechanismQuestion {
  int64_t messages = 0;   // of the longest size, that the busiest rank sends or gets
  int64_t localBytes = 0; // read and written in device memory besides what arrives, per rank
};

/// One mechanism for one exchange: a schedule and its predicted time, or why it is not legal.
struct Choice {
  xfer::Mechanism mechanism;
  xfer::ScheduleAttr schedule; // null if not legal
  double predictedUs = 0;
  std::string reason;
};

/// What a kernel over rows asks of the machine: each rank sends one line for each row to every other.
struct RowExchange {
  int64_t ranks = 1;
  int64_t rows = 0;
  int64_t localBytes = 0; // read and written in device memory per rank
  int64_t arenaBytes = 0;
  int64_t rowBytes = 0; // of the longest elements that are read or written whole
};

/// Every mechanism that a kernel over rows can use.
llvm::SmallVector<Choice> enumerateRowChoices(mlir::MLIRContext *context, const RowExchange &exchange, const Machine &machine);

/// The same for several exchanges, each of which reads what the one before it has left, in one kernel.
llvm::SmallVector<Choice> enumerateRowChainChoices(mlir::MLIRContext *context, llvm::ArrayRef<RowExchange> phases, const Machine &machine);

/// The mechanisms that there are schedules of.
inline constexpr xfer::Mechanism kMechanisms[] = {xfer::Mechanism::LdSt, xfer::Mechanism::LL, xfer::Mechanism::CopyEngine, xfer::Mechanism::Nccl};

/// Every one of them that can carry out a collective, and why the others cannot.
llvm::SmallVector<Choice> enumerateChoices(mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine);

} // namespace pkb

#endif // PKB_PASSES_SELECT_SCHEDULES_H
