// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferRules.h - the parts of the gate of level L2 ----*- C++ -*-===//
//
// Private to pkb-verify-xfer. Every rule reports what it finds; none changes the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_CONTRACT_VERIFYXFERRULES_H
#define PKB_PASSES_CONTRACT_VERIFYXFERRULES_H

#include "pkb/Analysis/InPlace.h"
#include "pkb/Analysis/TransferModel.h"

namespace pkb {

/// What the gate assumes of the machine.
struct XferLimits {
  int64_t sms;        // streaming multiprocessors of one device
  int64_t arenaBytes; // bytes of a channel's region on one rank
  bool smsAsked;      // by an option, and not by the target
};

/// XV4xx: blocks are resident together, buffers fit, chunks can be counted. Needs no model.
void checkRoom(xfer::KernelOp kernel, const XferLimits &limits, TransferReporter &reporter);

/// XV409: the mechanism can carry out the collective that a kernel implements, by the table of legality.
void checkMechanism(xfer::KernelOp kernel, const XferLimits &limits, TransferReporter &reporter);
void checkMechanism(xfer::LibraryCallOp call, TransferReporter &reporter);

/// XV203, XV204, XV206, XV207, XV501: the token graph says what the order of the operations says. Needs no model.
void checkTokens(xfer::KernelOp kernel, TransferReporter &reporter);

/// XV003, XV508: what a kernel both writes and reads is left by one phase for later ones, behind a sync of the blocks
/// that have written it. Needs no model.
void checkPhases(xfer::KernelOp kernel, TransferReporter &reporter);

/// XV1xx: what is written where, on every rank. The model must be unrolled for a block with at least one chunk
/// of every pipeline.
void checkContributions(TransferModel &model, TransferReporter &reporter);

/// XV103, XV104 of a fused kernel: results hold messages of other ranks only as the collective combines them.
void checkFusedContents(TransferModel &model, TransferReporter &reporter);

/// XV106, XV109: no operand of a launch overlaps one that the kernel writes, and each is as large as what the ranks that launch it access.
void checkOperands(xfer::LaunchOp launch, xfer::KernelOp kernel, TransferReporter &reporter);

/// XV601, XV602: a transfer carries out the puts of the kernel that is launched after it, between barriers.
void checkTransfer(xfer::TransferOp transfer, TransferReporter &reporter);

/// XV601: a kernel whose puts are copies is launched after a transfer.
void checkCopied(xfer::LaunchOp launch, xfer::KernelOp kernel, TransferReporter &reporter);

/// Chunks of `pipeline`, at least 1.
int64_t chunksOf(xfer::PipelineOp pipeline);

} // namespace pkb

#endif // PKB_PASSES_CONTRACT_VERIFYXFERRULES_H
