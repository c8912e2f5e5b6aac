// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Phases.h - what the pipelines of a kernel leave for later ones -*- C++ -*-===//

#ifndef PKB_ANALYSIS_PHASES_H
#define PKB_ANALYSIS_PHASES_H

#include "dialects/Xfer/IR/Xfer.h"

namespace pkb {

/// True if the block that loads an element is always the one that has stored it: the same window of the same tensor,
/// cut into the same chunks.
bool isOfSameBlock(xfer::StoreOp store, xfer::LoadOp load);

/// The scope of the sync that `pipeline` needs before it, for what it loads has been stored by earlier pipelines;
/// std::nullopt if it loads no such thing.
std::optional<xfer::SyncScope> neededSync(xfer::PipelineOp pipeline);

} // namespace pkb

#endif // PKB_ANALYSIS_PHASES_H
