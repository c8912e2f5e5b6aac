// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Exchanges.h - what operations of level L1 ask of the machine -*- C++ -*-===//
//
// Private to the Select family.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_SELECT_EXCHANGES_H
#define PKB_PASSES_SELECT_EXCHANGES_H

#include "passes/Select/Schedules.h"

namespace pkb {

/// What a collective sends and touches.
Exchange exchangeOf(comm::CollectiveOpInterface op, int64_t arenaBytes, const Machine &machine);
/// What the one collective of `op`, a region over elements, sends, and what its kernel touches.
Exchange exchangeOf(comm::FusedOp op, int64_t arenaBytes, const Machine &machine);
/// The same of a region over rows.
RowExchange rowExchangeOf(comm::FusedOp op, int64_t arenaBytes);

/// Every mechanism for `op`, a region over elements that sends `exchange`.
llvm::SmallVector<Choice> enumerateFused(comm::FusedOp op, const Exchange &exchange, const Machine &machine);
/// The mechanisms that kernels of ours are not made of, with the reason why each cannot be the kernel that `op` is.
llvm::SmallVector<Choice> enumerateOthers(comm::FusedOp op, int64_t arenaBytes, const Machine &machine);

} // namespace pkb

#endif // PKB_PASSES_SELECT_EXCHANGES_H
