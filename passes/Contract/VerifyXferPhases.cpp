// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferPhases.cpp - what one phase leaves for another ---------===//
//
// Blocks of one rank meet at an xfer.sync only. So a tensor that a kernel both writes and reads is written in one
// pipeline and read in later ones, with a sync of all blocks in between, or of the own block where that is the one that
// has written what it reads: the same elements cut into the same chunks.
//
//===----------------------------------------------------------------------===//

#include "passes/Contract/VerifyXferRules.h"
#include "pkb/Analysis/Phases.h"

using namespace mlir;
using namespace pkb;

namespace {

/// Accesses of one argument.
struct Accesses {
  SmallVector<xfer::StoreOp> stores;
  SmallVector<xfer::LoadOp> loads;
};

class PhaseCheck {
public:
  PhaseCheck(xfer::KernelOp kernel, TransferReporter &reporter) : kernel(kernel), reporter(reporter) {}
  void run();

private:
  void checkLoad(unsigned argument, xfer::StoreOp store, xfer::LoadOp load);
  int64_t numberOf(xfer::PipelineOp pipeline);

  xfer::KernelOp kernel;
  TransferReporter &reporter;
};

} // namespace

static xfer::PipelineOp phaseOf(Operation *op) { return op->getParentOfType<xfer::PipelineOp>(); }

int64_t PhaseCheck::numberOf(xfer::PipelineOp pipeline) {
  return std::distance(kernel.getEntry().begin(), Block::iterator(pipeline)) -
         llvm::count_if(llvm::make_range(kernel.getEntry().begin(), Block::iterator(pipeline)),
                        [](Operation &op) { return !isa<xfer::PipelineOp>(op); });
}

void PhaseCheck::checkLoad(unsigned argument, xfer::StoreOp store, xfer::LoadOp load) {
  xfer::PipelineOp from = phaseOf(store), to = phaseOf(load);
  if (from == to || to->isBeforeInBlock(from)) {
    reporter.report(TransferCode::ReadsOwnOutput, load,
                    "argument " + Twine(argument) + " is a result, which other blocks and threads write");
    return;
  }
  std::optional<xfer::SyncScope> scope;
  for (Operation *op = from->getNextNode(); op != to; op = op->getNextNode())
    if (auto sync = dyn_cast<xfer::SyncOp>(op))
      scope = std::max(scope.value_or(xfer::SyncScope::Block), sync.getScope());
  std::string what = "argument " + std::to_string(argument) + " is written in phase " + std::to_string(numberOf(from)) +
                     " and read in phase " + std::to_string(numberOf(to));
  if (!scope)
    reporter.report(TransferCode::PhaseNotOrdered, load, what + ", with no xfer.sync in between",
                    {{store, "the store"}});
  else if (*scope == xfer::SyncScope::Block && !isOfSameBlock(store, load))
    reporter.report(TransferCode::PhaseNotOrdered, load,
                    what + " by other blocks, so the xfer.sync in between must be of scope grid",
                    {{store, "the store"}});
}

void PhaseCheck::run() {
  SmallVector<Accesses> accesses(kernel.getEntry().getNumArguments());
  kernel.walk([&](xfer::StoreOp store) {
    for (BlockArgument argument : argumentsBehind(store.getDest()))
      accesses[argument.getArgNumber()].stores.push_back(store);
  });
  kernel.walk([&](xfer::LoadOp load) {
    for (BlockArgument argument : argumentsBehind(load.getSource()))
      accesses[argument.getArgNumber()].loads.push_back(load);
  });
  for (auto [argument, access] : llvm::enumerate(accesses)) {
    if (access.loads.empty())
      continue;
    for (xfer::StoreOp store : access.stores)
      if (phaseOf(store) != phaseOf(access.stores.front()))
        reporter.report(TransferCode::ReadsOwnOutput, store,
                        "argument " + Twine(argument) + " is written in two phases and read");
    for (xfer::StoreOp store : access.stores)
      for (xfer::LoadOp load : access.loads)
        checkLoad(argument, store, load);
  }
}

void pkb::checkPhases(xfer::KernelOp kernel, TransferReporter &reporter) { PhaseCheck(kernel, reporter).run(); }
