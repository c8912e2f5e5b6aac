// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferFused.cpp - what a fused kernel computes ---------------===//
//
// The tiles that are put are the messages. Whatever else is computed, a result may hold messages of other ranks only as its collective says: those of all
// ranks combined in rank order, or, of a collective that moves, the one that belongs to the part of the result that is written.
//
// A kernel of several phases is looked at phase by phase: what one leaves in a tensor is, for a later one, a tensor
// like any other. A phase that exchanges nothing computes from this rank's own tensors, and no more is asked of it here.
//
//===----------------------------------------------------------------------===//

#include "passes/Contract/VerifyXferRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace pkb;

using Content = TileContent::Kind;
using xfer::Collective;

namespace {

class FusedCheck {
public:
  FusedCheck(TransferModel &model, TransferReporter &reporter) : model(model), reporter(reporter), kernel(model.getKernel()) {}
  void run();

private:
  bool follow(int64_t rank, int64_t part, int32_t id, std::string &why);
  bool combines(int64_t rank, const TileContent &content, std::string &why);
  bool isMessage(int64_t rank, int64_t source, int32_t id, std::string &why);
  bool isOwnMessage(int64_t rank, int32_t id);
  bool isSame(int32_t a, int32_t b, int64_t partA, int64_t partB);
  bool mirrors(int64_t rank, int32_t own, int64_t ownPart, int32_t other, int64_t otherPart);
  bool readsPart(int32_t id, int64_t part);
  void checkMessages(int64_t rank);
  void checkResults(int64_t rank);
  xfer::PipelineOp pipelineOf(size_t number) const { return model.pipelines()[number]; }
  bool isOfPhase(const TileStore &store) const { return store.op->getParentOfType<xfer::PipelineOp>() == pipelineOf(phase); }

  /// True for a pipeline that promises nothing of other ranks, and gets nothing of them.
  bool isLocal() const { return collective == Collective::None && pipelineOf(phase).isLocal(); }
  bool reduces() const { return collective == Collective::AllReduce || collective == Collective::ReduceScatter; }
  bool isPersonal() const { return collective == Collective::AllToAll || collective == Collective::ReduceScatter; }
  bool isCollected() const { return collective == Collective::AllToAll || collective == Collective::AllGather; }

  TransferModel &model;
  TransferReporter &reporter;
  xfer::KernelOp kernel;
  size_t phase = 0; // the pipeline that is looked at, and what that is
  Collective collective = Collective::None;
  comm::ReduceKind reduction = comm::ReduceKind::Sum;
  DenseMap<std::pair<int32_t, int64_t>, std::string> known; // why a content is not legal for a part; empty if it is
  bool exchanged = false;                                   // a result holds what other ranks have sent
};

} // namespace

/// True if `value` is the constant `number`, which every type that sums are computed in can hold.
static bool isNumber(Value value, double number) {
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return integer.getSExtValue() == number;
  APFloat found(0.0);
  return matchPattern(value, m_ConstantFloat(&found)) && found.convertToDouble() == number;
}

/// The operands of `map` that its body combines by `kind`, in order; empty if it does something else, or rounds more than once.
static SmallVector<unsigned> combinedOperands(xfer::MapOp map, comm::ReduceKind kind) {
  Block &body = map.getBody().front();
  Value value = cast<xfer::YieldOp>(body.back()).getValues().front();
  if (auto round = value.getDefiningOp<arith::TruncFOp>())
    value = round.getIn();
  if (kind == comm::ReduceKind::Avg) {
    Operation *mean = value.getDefiningOp();
    if (!isa_and_nonnull<arith::DivFOp, arith::DivSIOp>(mean) || !isNumber(mean->getOperand(1), map.getTiles().size()))
      return {};
    value = mean->getOperand(0);
  }
  auto combination = [&](Operation *op) {
    switch (kind) {
    case comm::ReduceKind::Sum:
    case comm::ReduceKind::Avg:
      return isa_and_nonnull<arith::AddFOp, arith::AddIOp>(op);
    case comm::ReduceKind::Prod:
      return isa_and_nonnull<arith::MulFOp, arith::MulIOp>(op);
    case comm::ReduceKind::Min:
      return isa_and_nonnull<arith::MinNumFOp, arith::MinSIOp>(op);
    case comm::ReduceKind::Max:
      return isa_and_nonnull<arith::MaxNumFOp, arith::MaxSIOp>(op);
    default:
      return false;
    }
  };
  SmallVector<unsigned> found;
  auto take = [&](Value operand) {
    if (auto widen = operand.getDefiningOp<arith::ExtFOp>())
      operand = widen.getIn();
    auto argument = dyn_cast<BlockArgument>(operand);
    if (argument)
      found.push_back(argument.getArgNumber());
    return bool(argument);
  };
  while (combination(value.getDefiningOp())) {
    Operation *op = value.getDefiningOp();
    if (!take(op->getOperand(1)))
      return {};
    value = op->getOperand(0);
  }
  if (!take(value))
    return {};
  return SmallVector<unsigned>(llvm::reverse(found));
}

/// True if both compute the same function.
static bool isAlike(Operation *a, Operation *b) {
  if (a == b)
    return true;
  if (a->getName() != b->getName() || a->getAttrDictionary() != b->getAttrDictionary() || a->getResultTypes() != b->getResultTypes() ||
      a->getNumRegions() != b->getNumRegions())
    return false;
  return llvm::all_of(llvm::zip_equal(a->getRegions(), b->getRegions()), [](auto pair) {
    return OperationEquivalence::isRegionEquivalentTo(&std::get<0>(pair), &std::get<1>(pair), OperationEquivalence::Flags::IgnoreLocations);
  });
}

/// True if `a`, with everything of part `partA`, is computed as `b` is from `partB` of the same tensors of the same rank.
bool FusedCheck::isSame(int32_t a, int32_t b, int64_t partA, int64_t partB) {
  const TileContent &x = model.content(a), &y = model.content(b);
  if (x.kind != y.kind || x.rank != y.rank || x.kind == Content::Slot)
    return false;
  if (x.kind == Content::Input)
    return x.message.argument == y.message.argument && x.message.elements == y.message.elements &&
           x.message.offset - partA * x.message.elements == y.message.offset - partB * y.message.elements;
  if (!isAlike(x.map, y.map) || x.operands.size() != y.operands.size())
    return false;
  return llvm::all_of(llvm::zip_equal(x.operands, y.operands),
                      [&](auto pair) { return isSame(std::get<0>(pair), std::get<1>(pair), partA, partB); });
}

/// True if all that `id` reads of tensors is their part `part`.
bool FusedCheck::readsPart(int32_t id, int64_t part) {
  const TileContent &content = model.content(id);
  if (content.kind == Content::Input)
    return content.message.offset == part * content.message.elements;
  return content.kind == Content::Slot || llvm::all_of(content.operands, [&](int32_t operand) { return readsPart(operand, part); });
}

/// True if `id` is what this rank would send to itself: computed as what it sends to others.
bool FusedCheck::isOwnMessage(int64_t rank, int32_t id) {
  int64_t own = isPersonal() ? rank : 0;
  for (int64_t target = 0; target < model.size(); ++target) {
    if (target == rank)
      continue;
    int64_t part = isPersonal() ? target : 0;
    bool sent = false;
    for (size_t buffer = 0; buffer < model.buffers().size(); ++buffer) {
      int32_t put = model.slotContent(model.content(id).pipeline, buffer, rank, target).content;
      sent |= put >= 0 && isSame(id, put, own, part);
    }
    if (!sent)
      return false;
  }
  return readsPart(id, own);
}

/// True if `own`, of part `ownPart`, is computed as `other` of part `otherPart` is, with this rank's message where that has one that has come.
bool FusedCheck::mirrors(int64_t rank, int32_t own, int64_t ownPart, int32_t other, int64_t otherPart) {
  const TileContent &x = model.content(own), &y = model.content(other);
  if (y.kind == Content::Slot)
    return isOwnMessage(rank, own);
  if (y.kind == Content::Input || x.kind != y.kind)
    return isSame(own, other, ownPart, otherPart);
  if (!isAlike(x.map, y.map) || x.operands.size() != y.operands.size())
    return false;
  return llvm::all_of(llvm::zip_equal(x.operands, y.operands),
                      [&](auto pair) { return mirrors(rank, std::get<0>(pair), ownPart, std::get<1>(pair), otherPart); });
}

/// True if content `id` of `rank` is the message of `source`: a slot, the one value of the line in a slot, or the own one.
bool FusedCheck::isMessage(int64_t rank, int64_t source, int32_t id, std::string &why) {
  const TileContent *content = &model.content(id);
  if (content->kind == Content::Map && isa<xfer::PartOp>(content->map))
    content = &model.content(content->operands.front());
  if (content->kind != Content::Slot) {
    if (source == rank && isOwnMessage(rank, id))
      return true;
    why = "combines something that is no message as contribution " + std::to_string(source);
    return false;
  }
  if (content->source != source) {
    why = "has the message of rank " + std::to_string(content->source) + " as contribution " + std::to_string(source);
    return false;
  }
  if (model.slotContent(content->pipeline, content->buffer, source, rank).content < 0) {
    why = "reads a slot that rank " + std::to_string(source) + " never writes";
    return false;
  }
  return true;
}

/// True if `content` combines the messages of all ranks in rank order.
bool FusedCheck::combines(int64_t rank, const TileContent &content, std::string &why) {
  SmallVector<unsigned> operands = combinedOperands(cast<xfer::MapOp>(content.map), reduction);
  if (static_cast<int64_t>(operands.size()) != model.size()) {
    why = "is no " + comm::stringifyReduceKind(reduction).str() + " of the messages of " +
          std::to_string(model.size()) + " ranks";
    return false;
  }
  for (auto [source, operand] : llvm::enumerate(operands))
    if (!isMessage(rank, source, content.operands[operand], why))
      return false;
  return true;
}

/// True if `id`, which goes to part `part` of a result, is computed from that part of this rank's arguments and from messages as the collective says.
bool FusedCheck::follow(int64_t rank, int64_t part, int32_t id, std::string &why) {
  auto place = known.find({id, part});
  if (place != known.end()) {
    why = place->second;
    return why.empty();
  }
  const TileContent content = model.content(id);
  std::string reason;
  if (content.kind == Content::Input && content.message.offset != part * content.message.elements)
    reason = "reads elements from " + std::to_string(content.message.offset) + " on of argument " + std::to_string(content.message.argument) +
             " for part " + std::to_string(part);
  if (content.kind == Content::Slot) {
    if (reduces() || content.source != part)
      reason = "holds the message of rank " + std::to_string(content.source) + (reduces() ? " by itself" : " in part " + std::to_string(part));
    exchanged |= !reduces();
  }
  if (content.kind == Content::Map) {
    auto isRaw = [&](int32_t operand) {
      const TileContent &of = model.content(operand);
      return of.kind == Content::Slot || (of.kind == Content::Map && isa<xfer::PartOp>(of.map));
    };
    bool alone = reduces() && model.size() == 1 && isa<xfer::MapOp>(content.map);
    if (reduces() && isa<xfer::MapOp>(content.map) && llvm::any_of(content.operands, isRaw)) {
      exchanged = true;
      (void)combines(rank, content, reason);
    } else {
      exchanged |= alone;
      (void)llvm::all_of(content.operands, [&](int32_t operand) { return follow(rank, part, operand, reason); });
    }
  }
  known[{id, part}] = why = reason;
  return reason.empty();
}

/// What a rank sends to each other one is computed from that one's part.
void FusedCheck::checkMessages(int64_t rank) {
  for (size_t buffer = 0; buffer < model.buffers().size(); ++buffer)
    for (int64_t target = 0; target < model.size(); ++target) {
      int32_t put = model.slotContent(phase, buffer, rank, target).content;
      if (put >= 0 && !readsPart(put, isPersonal() ? target : 0))
        reporter.report(TransferCode::WrongContribution, kernel,
                        "rank " + Twine(rank) + " sends rank " + Twine(target) + " a message that belongs to another");
    }
}

void FusedCheck::checkResults(int64_t rank) {
  known.clear();
  exchanged = model.size() == 1 || isLocal();
  for (const TileStore &store : model.program(rank).stores) {
    if (!isOfPhase(store))
      continue;
    int64_t part = store.message.elements > 0 ? store.message.offset / store.message.elements : 0;
    std::string why;
    bool legal = true;
    if (isCollected() && part == rank) {
      // The own part is computed as the others are, from the own message instead of one that has come.
      for (const TileStore &other : model.program(rank).stores)
        if (other.message.argument == store.message.argument && other.message.elements == store.message.elements && !(other.message == store.message))
          legal &= mirrors(rank, store.content, part, other.content, other.message.offset / std::max<int64_t>(1, other.message.elements));
      why = "has another own part than the others";
    } else {
      legal = follow(rank, isCollected() ? part : 0, store.content, why);
    }
    if (!legal)
      reporter.report(TransferCode::WrongContribution, store.op, "on rank " + Twine(rank) + " the result " + why);
  }
  if (!exchanged)
    reporter.report(TransferCode::WrongContribution, kernel, "on rank " + Twine(rank) + " no result holds what the collective gives");
}

void FusedCheck::run() {
  for (auto [index, pipeline] : llvm::enumerate(model.pipelines())) {
    xfer::PipelineOp move = pipeline;
    phase = index;
    collective = move.getCollective();
    reduction = move.getCombination();
    if (!reduces() && !isCollected() && !isLocal()) {
      reporter.report(TransferCode::WrongTensors, kernel,
                      Twine("a fused ") + xfer::stringifyCollective(collective) + " is not understood");
      return;
    }
    for (int64_t rank = 0; rank < model.size(); ++rank) {
      checkMessages(rank);
      checkResults(rank);
    }
  }
}

void pkb::checkFusedContents(TransferModel &model, TransferReporter &reporter) { FusedCheck(model, reporter).run(); }
