// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferFused.cpp - what a fused kernel computes ---------------===//
//
// The tiles that are put are the messages. Whatever else is computed, a result may hold messages of other ranks only through a map that combines those
// of all ranks in rank order.
//
//===----------------------------------------------------------------------===//

#include "passes/Contract/VerifyXferRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pkb;

using Content = TileContent::Kind;

namespace {

class FusedCheck {
public:
  FusedCheck(TransferModel &model, TransferReporter &reporter) : model(model), reporter(reporter), kernel(model.getKernel()) {}
  void run();

private:
  bool follow(int64_t rank, int32_t id, std::string &why);
  bool combines(int64_t rank, const TileContent &content, std::string &why);
  bool isMessage(int64_t rank, int64_t source, int32_t id, std::string &why);

  TransferModel &model;
  TransferReporter &reporter;
  xfer::KernelOp kernel;
  DenseMap<int32_t, std::string> known; // why a content is not legal; empty if it is
  bool exchanged = false; // a result holds what other ranks have sent
};

} // namespace

/// The operands of `map` that its body adds up, in order; empty if it is no plain sum, rounded at most once.
static SmallVector<unsigned> addendsOf(xfer::MapOp map) {
  Block &body = map.getBody().front();
  Value value = cast<xfer::YieldOp>(body.back()).getValues().front();
  if (auto round = value.getDefiningOp<arith::TruncFOp>())
    value = round.getIn();
  SmallVector<unsigned> found;
  auto take = [&](Value addend) {
    if (auto widen = addend.getDefiningOp<arith::ExtFOp>())
      addend = widen.getIn();
    auto argument = dyn_cast<BlockArgument>(addend);
    if (argument)
      found.push_back(argument.getArgNumber());
    return bool(argument);
  };
  while (auto add = value.getDefiningOp<arith::AddFOp>()) {
    if (!take(add.getRhs()))
      return {};
    value = add.getLhs();
  }
  if (!take(value))
    return {};
  return SmallVector<unsigned>(llvm::reverse(found));
}

/// True if content `id` of `rank` is the message of `source`: a slot, or the one value of the line in a slot, that it has put.
bool FusedCheck::isMessage(int64_t rank, int64_t source, int32_t id, std::string &why) {
  const TileContent *content = &model.content(id);
  if (content->kind == Content::Map && isa<xfer::PartOp>(content->map))
    content = &model.content(content->operands.front());
  if (content->kind != Content::Slot) {
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

/// True if `content` is the sum of the messages of all ranks in rank order.
bool FusedCheck::combines(int64_t rank, const TileContent &content, std::string &why) {
  SmallVector<unsigned> addends = addendsOf(cast<xfer::MapOp>(content.map));
  if (static_cast<int64_t>(addends.size()) != model.size()) {
    why = "is no sum of the messages of " + std::to_string(model.size()) + " ranks";
    return false;
  }
  for (auto [source, operand] : llvm::enumerate(addends))
    if (!isMessage(rank, source, content.operands[operand], why))
      return false;
  return true;
}

/// True if `id` is computed from this rank's arguments and from combined messages only.
bool FusedCheck::follow(int64_t rank, int32_t id, std::string &why) {
  auto place = known.find(id);
  if (place != known.end()) {
    why = place->second;
    return why.empty();
  }
  const TileContent content = model.content(id);
  std::string reason;
  if (content.kind == Content::Slot)
    reason = "holds the message of rank " + std::to_string(content.source) + " by itself";
  if (content.kind == Content::Map) {
    auto isRaw = [&](int32_t operand) {
      const TileContent &of = model.content(operand);
      return of.kind == Content::Slot || (of.kind == Content::Map && isa<xfer::PartOp>(of.map));
    };
    if (isa<xfer::MapOp>(content.map) && llvm::any_of(content.operands, isRaw)) {
      exchanged = true;
      (void)combines(rank, content, reason);
    } else {
      (void)llvm::all_of(content.operands, [&](int32_t operand) { return follow(rank, operand, reason); });
    }
  }
  known[id] = why = reason;
  return reason.empty();
}

void FusedCheck::run() {
  if (kernel.getImplements() != xfer::Collective::AllReduce) {
    reporter.report(TransferCode::WrongTensors, kernel,
                    Twine("a fused ") + xfer::stringifyCollective(kernel.getImplements()) + " is not understood, only all_reduce");
    return;
  }
  for (int64_t rank = 0; rank < model.size(); ++rank) {
    known.clear();
    exchanged = false;
    for (const TileStore &store : model.program(rank).stores) {
      std::string why;
      if (!follow(rank, store.content, why))
        reporter.report(TransferCode::WrongContribution, store.op, "on rank " + Twine(rank) + " the result " + why);
    }
    if (!exchanged)
      reporter.report(TransferCode::WrongContribution, kernel, "on rank " + Twine(rank) + " no result holds what the collective gives");
  }
}

void pkb::checkFusedContents(TransferModel &model, TransferReporter &reporter) { FusedCheck(model, reporter).run(); }
