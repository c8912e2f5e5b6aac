// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowPhases.h - reductions of rows behind a collective -----*- C++ -*-===//
//
// Private to the Fusion family.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_FUSION_ROWPHASES_H
#define PKB_PASSES_FUSION_ROWPHASES_H

#include "dialects/Comm/IR/Comm.h"

namespace pkb {

/// If rows are reduced of what the collective of `op` gives: makes a chain of `op`, the collective's phase and behind it one that works on rows, and returns
/// that. Else `op`.
comm::FusedOp splitRows(comm::FusedOp op);

} // namespace pkb

#endif // PKB_PASSES_FUSION_ROWPHASES_H
