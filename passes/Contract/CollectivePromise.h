// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CollectivePromise.h - what a kernel promises to compute --*- C++ -*-===//
//
// The definition of each collective at level L2: which messages each rank writes, and out of which messages of which ranks.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_CONTRACT_COLLECTIVEPROMISE_H
#define PKB_PASSES_CONTRACT_COLLECTIVEPROMISE_H

#include "pkb/Analysis/TransferModel.h"

#include "llvm/ADT/BitVector.h"

namespace pkb {

/// A message as one rank contributes it.
struct Contribution {
  int64_t rank;
  Message message;
};

/// One message that a rank writes.
struct PromisedMessage {
  Message message;
  llvm::SmallVector<Contribution> contributions; // in rank order
  bool combined;                                 // by the kernel's reduction; otherwise there is one, and it is copied
};

/// What the collective of a kernel is, in terms of its tensors. `read` and `written` are the kernel's arguments that any rank reads or writes: its
/// inputs and its results.
class CollectivePromise {
public:
  CollectivePromise(const TransferModel &model, const llvm::BitVector &read, const llvm::BitVector &written);

  /// True if the tensors are those that the collective has; otherwise `why` says what they are.
  bool fits(std::string &why) const;
  /// What `rank` writes. Messages without elements are left out.
  llvm::SmallVector<PromisedMessage> writtenBy(int64_t rank) const;

private:
  bool reduces() const;
  bool isPersonal() const;
  bool isCollected() const;
  bool sends(int64_t source, int64_t target) const;
  int64_t elements(int64_t source, int64_t target) const;
  Message inputOf(int64_t source, int64_t target) const;
  Message resultOf(int64_t target, int64_t source) const;

  const TransferModel &model;
  mutable xfer::KernelOp kernel;
  xfer::Collective collective;
  int64_t ranks, root;
  llvm::SmallVector<int32_t> inputs, results;
  llvm::SmallVector<int64_t> sources, counts;
  int64_t even = 0; // elements of a message where all have as many
};

} // namespace pkb

#endif // PKB_PASSES_CONTRACT_COLLECTIVEPROMISE_H
