// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowPhases.cpp - reductions of rows behind a collective -----------===//
//
// A kernel over elements cannot reduce rows, for their elements come in different chunks. What is computed from reductions is a phase of its own, which reads
// what the collective's phase leaves. Between the two, the cut is where the fewest bytes are left: docs/Rationale/Fusion.md.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/RowPhases.h"

#include "pkb/Analysis/FusedRegion.h"
#include "pkb/Analysis/PhaseMaker.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pkb;

namespace {

/// A region with one collective that is cut in two behind it.
class RowCut {
public:
  explicit RowCut(comm::FusedOp op) : op(op), collective(op.getCollectives().front()) {}
  comm::FusedOp run();

private:
  void findLate();
  void sink();
  bool isStored(Value value) const;
  bool isLateOnly(Operation *maker) const;
  int64_t bytesLeft(Value value) const;

  comm::FusedOp op;
  comm::CollectiveOpInterface collective;
  llvm::DenseSet<Operation *> results; // what is computed from what the collective gives, and that itself
  llvm::DenseSet<Operation *> late;    // what goes into the phase over rows
};

} // namespace

static bool isMadeBy(Value value, const llvm::DenseSet<Operation *> &makers) {
  Operation *maker = value.getDefiningOp();
  return maker && makers.contains(maker);
}

/// Reductions of what the collective gives, and what is computed from them.
void RowCut::findLate() {
  results.insert(collective);
  for (Operation &inner : op.getEntry().without_terminator()) {
    auto isResult = [&](Value operand) { return isMadeBy(operand, results); };
    if (!llvm::any_of(inner.getOperands(), isResult))
      continue;
    results.insert(&inner);
    auto call = dyn_cast<aten::CallOp>(inner);
    if ((call && getReducedRows(call)) || llvm::any_of(inner.getOperands(), [&](Value operand) { return isMadeBy(operand, late); }))
      late.insert(&inner);
  }
}

/// True if `value` lies in memory behind the collective's phase whether or not more is computed there.
bool RowCut::isStored(Value value) const {
  return isa<BlockArgument>(value) || llvm::any_of(value.getUsers(), [&](Operation *user) { return isa<comm::YieldOp>(user) || late.contains(user); });
}

bool RowCut::isLateOnly(Operation *maker) const {
  return llvm::all_of(maker->getUsers(), [&](Operation *user) { return late.contains(user); });
}

/// What it costs to leave `value` for the phase over rows.
int64_t RowCut::bytesLeft(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  return isStored(value) ? 0 : type.getNumElements() * type.getElementType().getIntOrFloatBitWidth();
}

/// Computes behind the cut what would make it wider before it: a conversion to a longer type, a second value of an element.
void RowCut::sink() {
  for (Operation &inner : llvm::reverse(op.getEntry().without_terminator())) {
    if (!results.contains(&inner) || late.contains(&inner) || &inner == collective.getOperation() || !isLateOnly(&inner))
      continue;
    auto type = cast<RankedTensorType>(inner.getResult(0).getType());
    int64_t saved = type.getNumElements() * type.getElementType().getIntOrFloatBitWidth(), added = 0;
    llvm::SmallDenseSet<Value> operands(inner.operand_begin(), inner.operand_end());
    for (Value operand : operands)
      if (isMadeBy(operand, results))
        added += bytesLeft(operand);
    if (isa<aten::AsStridedOp>(inner) || added < saved)
      late.insert(&inner);
  }
}

comm::FusedOp RowCut::run() {
  findLate();
  if (late.empty() || FusedRegion(op).overRows())
    return op;
  sink();

  llvm::SmallSetVector<Value, 4> left; // in memory, by the collective's phase
  auto yielded = op.getEntry().getTerminator()->getOperands();
  for (Operation &inner : op.getEntry())
    if (isa<comm::YieldOp>(inner) || late.contains(&inner))
      for (Value operand : inner.getOperands())
        if (!isMadeBy(operand, late) && (isa<comm::YieldOp>(inner) || isMadeBy(operand, results)))
          left.insert(operand);

  OpBuilder builder(op);
  auto chain = comm::FusedOp::create(builder, op.getLoc(), op.getResultTypes(), op.getInputs());
  Block &body = chain.getBody().emplaceBlock();
  DenseMap<Value, Value> outer;
  for (BlockArgument argument : op.getEntry().getArguments())
    outer[argument] = body.addArgument(argument.getType(), argument.getLoc());
  OpBuilder inChain = OpBuilder::atBlockEnd(&body);

  PhaseMaker first(inChain, collective.getLoc());
  IRMapping early;
  for (Value value : left)
    first.clone(value, early, outer);
  SmallVector<Value> leftInside;
  for (Value value : left)
    leftInside.push_back(early.lookup(value));
  comm::FusedOp exchange = first.finish(leftInside);
  for (auto [value, result] : llvm::zip_equal(left, exchange.getResults()))
    outer[value] = result;

  // What is computed from arguments alone is computed on both sides.
  PhaseMaker second(inChain, collective.getLoc());
  IRMapping behind;
  SmallVector<Value> rows;
  for (Value value : yielded)
    if (isMadeBy(value, late))
      rows.push_back(second.clone(value, behind, outer));
  comm::FusedOp reduction = second.finish(rows);

  SmallVector<Value> given;
  auto next = reduction.getResults().begin();
  for (Value value : yielded)
    given.push_back(isMadeBy(value, late) ? Value(*next++) : outer.lookup(value));
  comm::YieldOp::create(inChain, op.getLoc(), given);
  op->replaceAllUsesWith(chain.getResults());
  op->erase();
  return chain;
}

comm::FusedOp pkb::splitRows(comm::FusedOp op) { return RowCut(op).run(); }
