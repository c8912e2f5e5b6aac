//===- CommFusion.cpp - what shares a kernel with a collective ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Comm/IR/Comm.h"

using namespace mlir;
using namespace pkb::comm;

SmallVector<CollectiveOpInterface> FusedOp::getCollectives() {
  SmallVector<CollectiveOpInterface> found;
  (*this)->walk([&](CollectiveOpInterface collective) { found.push_back(collective); });
  return found;
}

SmallVector<FusedOp> pkb::comm::getPhases(FusedOp op) { return llvm::to_vector(op.getEntry().getOps<FusedOp>()); }

LogicalResult FusedOp::verify() {
  // fused_c1
  if (getEntry().getArgumentTypes() != getInputs().getTypes())
    return emitOpError("must have a body with arguments of the types of its inputs (")
           << getInputs().getTypes() << "), got: " << getEntry().getArgumentTypes();
  auto yield = getEntry().empty() ? YieldOp() : dyn_cast<YieldOp>(getEntry().back());
  if (!yield)
    return emitOpError("must have a body that ends with comm.yield");
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError("must yield values of the types of its results (")
           << getResultTypes() << "), got: " << yield.getValues().getTypes();
  // fused_c2
  SmallVector<CollectiveOpInterface> collectives = getCollectives();
  bool isLater = isa<FusedOp>((*this)->getParentOp()) && isa_and_nonnull<FusedOp>((*this)->getPrevNode());
  if (collectives.empty() && !isLater)
    return emitOpError("must hold a collective");
  for (CollectiveOpInterface collective : collectives)
    if (collective.getGroup() != collectives.front().getGroup())
      return emitOpError("must hold collectives of one group, got: ")
             << collectives.front().getGroup() << " and " << collective.getGroup();
  // fused_c3
  SmallVector<FusedOp> phases = getPhases(*this);
  if (phases.empty())
    return success();
  for (Operation &op : getEntry().without_terminator())
    if (!isa<FusedOp>(op))
      return emitOpError("must hold phases only, got: ") << op.getName();
  for (FusedOp phase : phases)
    if (size_t count = phase.getCollectives().size(); count > 1 || !getPhases(phase).empty())
      return emitOpError("must hold phases of at most one collective each, got: ") << count;
  return success();
}
