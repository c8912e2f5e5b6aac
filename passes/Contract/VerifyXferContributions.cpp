// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferContributions.cpp - what a kernel computes -------------===//
//
// Every message of every result is written once per call, with what the collective defines. Chunks cut a message into
// disjoint pieces and every operation of a region works on the same chunk, so it is enough to look at the first chunk.
//
//===----------------------------------------------------------------------===//

#include "passes/Contract/CollectivePromise.h"
#include "passes/Contract/VerifyXferRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pkb;

using Content = TileContent::Kind;

namespace {

class ContributionCheck {
public:
  ContributionCheck(TransferModel &model, TransferReporter &reporter)
      : model(model), reporter(reporter), kernel(model.getKernel()) {}
  void run();

private:
  void findRoles();
  void checkOverlaps(int64_t rank);
  void checkCovered(int64_t rank, unsigned argument);
  void checkPromise(const CollectivePromise &promise, int64_t rank);
  bool holds(int32_t id, const Contribution &contribution);
  int32_t resolve(int32_t id);
  bool isCombination(int32_t id, ArrayRef<Contribution> contributions, std::string &why);
  bool isContribution(Value value, const TileContent &map, const Contribution &contribution, std::string &why);
  bool isNumber(Value value, double number);
  bool combines(Operation *op);
  bool divides(Operation *op);
  std::string describe(int32_t id);
  std::string describe(const Message &message);
  std::string describe(const Contribution &contribution) {
    return describe(contribution.message) + " of rank " + std::to_string(contribution.rank);
  }

  TransferModel &model;
  TransferReporter &reporter;
  xfer::KernelOp kernel;
  llvm::BitVector read, written;
};

} // namespace

/// Which arguments are read and which are written, on any rank.
void ContributionCheck::findRoles() {
  unsigned count = kernel.getEntry().getNumArguments();
  read.resize(count);
  written.resize(count);
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<xfer::LoadOp>(op))
      for (BlockArgument argument : argumentsBehind(load.getSource()))
        read.set(argument.getArgNumber());
    else if (auto store = dyn_cast<xfer::StoreOp>(op))
      for (BlockArgument argument : argumentsBehind(store.getDest()))
        written.set(argument.getArgNumber());
  });
  for (unsigned argument = 0; argument < count; ++argument)
    if (!read.test(argument) && !written.test(argument))
      reporter.report(TransferCode::UnusedTensor, kernel, "argument " + Twine(argument));
}

std::string ContributionCheck::describe(const Message &message) {
  std::string text = "argument " + std::to_string(message.argument);
  int64_t whole = model.elementsOf(message.argument), size = model.size();
  if (message.offset == 0 && message.elements == whole)
    return text;
  if (message.elements > 0 && message.elements * size == whole && message.offset % message.elements == 0)
    return "part " + std::to_string(message.offset / message.elements) + " of " + text;
  return "elements " + std::to_string(message.offset) + " to " + std::to_string(message.end()) + " of " + text;
}

/// Follows slots to what has been put there.
int32_t ContributionCheck::resolve(int32_t id) {
  for (int64_t hops = 0; hops <= model.size(); ++hops) {
    const TileContent &content = model.content(id);
    if (content.kind != Content::Slot)
      return id;
    SlotContent put = model.slotContent(content.pipeline, content.buffer, content.source, content.rank);
    if (put.content < 0 || put.elements != content.message.elements)
      return id;
    id = put.content;
  }
  return id; // forwarded in a circle: no message
}

std::string ContributionCheck::describe(int32_t id) {
  const TileContent &content = model.content(resolve(id));
  switch (content.kind) {
  case Content::Input:
    return describe(Contribution{content.rank, content.message});
  case Content::Slot: {
    SlotContent put = model.slotContent(content.pipeline, content.buffer, content.source, content.rank);
    std::string source = " of rank " + std::to_string(content.source);
    if (put.content < 0)
      return "an unwritten slot" + source;
    return std::to_string(content.message.elements) + " elements of a slot" + source + " that holds " + std::to_string(put.elements);
  }
  case Content::Map:
    return "the result of a map";
  }
  return "";
}

bool ContributionCheck::holds(int32_t id, const Contribution &contribution) {
  const TileContent &content = model.content(resolve(id));
  return content.kind == Content::Input && content.rank == contribution.rank && content.message == contribution.message;
}

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

/// True if `op` combines two contributions as the kernel's reduction does.
bool ContributionCheck::combines(Operation *op) {
  // Signs are in the types of tensors, not in those of tiles.
  Type element = cast<MemRefType>(kernel.getEntry().getArgument(read.find_first()).getType()).getElementType();
  bool logical = element.isInteger(1), isUnsigned = element.isUnsignedInteger();
  switch (kernel.getReduction().value_or(comm::ReduceKind::Sum)) {
  case comm::ReduceKind::Sum:
  case comm::ReduceKind::Avg:
  case comm::ReduceKind::PremulSum:
    return logical ? isa<arith::OrIOp>(op) : isa<arith::AddFOp, arith::AddIOp>(op);
  case comm::ReduceKind::Prod:
    return logical ? isa<arith::AndIOp>(op) : isa<arith::MulFOp, arith::MulIOp>(op);
  case comm::ReduceKind::Min:
    if (logical)
      return isa<arith::AndIOp>(op);
    return isUnsigned ? isa<arith::MinUIOp>(op) : isa<arith::MinNumFOp, arith::MinSIOp>(op);
  case comm::ReduceKind::Max:
    if (logical)
      return isa<arith::OrIOp>(op);
    return isUnsigned ? isa<arith::MaxUIOp>(op) : isa<arith::MaxNumFOp, arith::MaxSIOp>(op);
  case comm::ReduceKind::BAnd:
    return isa<arith::AndIOp>(op);
  case comm::ReduceKind::BOr:
    return isa<arith::OrIOp>(op);
  case comm::ReduceKind::BXor:
    return isa<arith::XOrIOp>(op);
  }
  return false;
}

/// True if `op` divides elements as a mean of them does.
bool ContributionCheck::divides(Operation *op) {
  Type element = cast<MemRefType>(kernel.getEntry().getArgument(read.find_first()).getType()).getElementType();
  return element.isUnsignedInteger() ? isa<arith::DivUIOp>(op) : isa<arith::DivFOp, arith::DivSIOp>(op);
}

/// True if `value` is the constant `number`, rounded to its type.
bool ContributionCheck::isNumber(Value value, double number) {
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return integer.getSExtValue() == number;
  APFloat found(0.0);
  if (!matchPattern(value, m_ConstantFloat(&found)))
    return false;
  APFloat expected(number);
  bool inexact = false;
  expected.convert(found.getSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  return expected.bitwiseIsEqual(found);
}

/// True if `value` of a map's body is a contribution, widened perhaps, and multiplied by the rank's factor where the reduction says so.
bool ContributionCheck::isContribution(Value value, const TileContent &map, const Contribution &contribution, std::string &why) {
  std::string place = std::to_string(contribution.rank);
  if (kernel.getReduction() == comm::ReduceKind::PremulSum) {
    auto product = value.getDefiningOp<arith::MulFOp>();
    double factor = kernel.getFactors() ? (*kernel.getFactors())[contribution.rank] : 1.0;
    if (!product || !isNumber(product.getRhs(), factor)) {
      why = "does not multiply addend " + place + " by " + std::to_string(factor);
      return false;
    }
    value = product.getLhs();
  }
  if (auto widen = value.getDefiningOp<arith::ExtFOp>())
    value = widen.getIn();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) {
    why = "is not a plain combination: addend " + place + " is computed";
    return false;
  }
  int32_t operand = map.operands[argument.getArgNumber()];
  if (holds(operand, contribution))
    return true;
  why = "has " + describe(operand) + " as addend " + place + ", expected " + describe(contribution);
  return false;
}

/// True if `id` is the combination of the contributions in this order, rounded at most once.
bool ContributionCheck::isCombination(int32_t id, ArrayRef<Contribution> contributions, std::string &why) {
  int32_t root = resolve(id);
  comm::ReduceKind kind = kernel.getReduction().value_or(comm::ReduceKind::Sum);
  if (model.content(root).kind != Content::Map) {
    why = "holds " + describe(root);
    return contributions.size() == 1 && kind != comm::ReduceKind::PremulSum && holds(root, contributions.front());
  }
  const TileContent content = model.content(root);
  Block &body = cast<xfer::MapOp>(content.map).getBody().front();
  Value value = cast<xfer::YieldOp>(body.back()).getValues().front();
  if (auto round = value.getDefiningOp<arith::TruncFOp>())
    value = round.getIn();
  if (kind == comm::ReduceKind::Avg) {
    Operation *mean = value.getDefiningOp();
    if (!mean || !divides(mean) || !isNumber(mean->getOperand(1), contributions.size())) {
      why = "is not divided by " + std::to_string(contributions.size()) + " before it is rounded";
      return false;
    }
    value = mean->getOperand(0);
  }
  // ((c0 + c1) + c2) + ...: from the last addend back to the first.
  for (size_t left = contributions.size(); left > 1; --left) {
    Operation *combine = value.getDefiningOp();
    if (!combine || !combines(combine)) {
      why = "adds " + std::to_string(contributions.size() - left + 1) + " contributions by " + comm::stringifyReduceKind(kind).str() +
            ", expected " + std::to_string(contributions.size());
      return false;
    }
    if (!isContribution(combine->getOperand(1), content, contributions[left - 1], why))
      return false;
    value = combine->getOperand(0);
  }
  return isContribution(value, content, contributions.front(), why);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// No element is written twice.
void ContributionCheck::checkOverlaps(int64_t rank) {
  ArrayRef<TileStore> stores = model.program(rank).stores;
  for (auto [index, store] : llvm::enumerate(stores)) {
    const Message &message = store.message;
    bool again = llvm::any_of(stores.take_front(index), [&](const TileStore &earlier) {
      return earlier.message.argument == message.argument && earlier.message.offset < message.end() && message.offset < earlier.message.end();
    });
    if (again)
      reporter.report(TransferCode::WrittenTwice, store.op, "rank " + Twine(rank) + " writes " + describe(message) + " again");
  }
}

/// Every element of a tensor is written.
void ContributionCheck::checkCovered(int64_t rank, unsigned argument) {
  SmallVector<Message> messages;
  for (const TileStore &store : model.program(rank).stores)
    if (store.message.argument == static_cast<int32_t>(argument))
      messages.push_back(store.message);
  llvm::sort(messages, [](const Message &a, const Message &b) { return a.offset < b.offset; });
  int64_t end = 0, whole = model.elementsOf(argument);
  messages.push_back({static_cast<int32_t>(argument), whole, 0});
  for (const Message &message : messages) {
    if (message.offset > end)
      reporter.report(TransferCode::NeverWritten, kernel,
                      "rank " + Twine(rank) + " never writes " +
                          describe(Message{message.argument, end, message.offset - end}));
    end = std::max(end, message.end());
  }
}

/// Each promised message once, and nothing else.
void ContributionCheck::checkPromise(const CollectivePromise &promise, int64_t rank) {
  SmallVector<PromisedMessage> expected = promise.writtenBy(rank);
  SmallVector<bool> seen(expected.size());
  for (const TileStore &store : model.program(rank).stores) {
    if (store.message.elements == 0)
      continue;
    auto match = llvm::find_if(expected, [&](const PromisedMessage &entry) { return entry.message == store.message; });
    std::string place = "on rank " + std::to_string(rank) + " ";
    if (match == expected.end()) {
      reporter.report(TransferCode::WrongContribution, store.op,
                      place + describe(store.message) + " gets " + describe(store.content) + ", expected nothing");
      continue;
    }
    seen[match - expected.begin()] = true;
    std::string why;
    if (match->combined) {
      if (!isCombination(store.content, match->contributions, why))
        reporter.report(TransferCode::WrongContribution, store.op, place + "the result " + why);
    } else if (!holds(store.content, match->contributions.front())) {
      reporter.report(TransferCode::WrongContribution, store.op,
                      place + describe(store.message) + " gets " + describe(store.content) + ", expected " +
                          describe(match->contributions.front()));
    }
  }
  for (auto [found, entry] : llvm::zip(seen, expected))
    if (!found)
      reporter.report(TransferCode::NeverWritten, kernel, "rank " + Twine(rank) + " never writes " + describe(entry.message));
}

void ContributionCheck::run() {
  findRoles();
  bool promises = !kernel.getFused() && kernel.getImplements() != xfer::Collective::None;
  CollectivePromise promise(model, read, written);
  std::string why;
  if (promises && !promise.fits(why)) {
    reporter.report(TransferCode::WrongTensors, kernel, why);
    return;
  }
  bool alike = true;
  kernel.walk([&](Operation *op) { alike &= !isa<xfer::OnRanksOp, xfer::TableOp>(op); });
  for (int64_t rank = 0; rank < model.size(); ++rank) {
    checkOverlaps(rank);
    if (promises)
      checkPromise(promise, rank);
    // Without a promise, all ranks that do the same write all of each result; and what a phase leaves is all written,
    // whatever the others read of it.
    for (unsigned argument : written.set_bits())
      if (read.test(argument) || (!promises && alike))
        checkCovered(rank, argument);
  }
  if (kernel.getFused())
    checkFusedContents(model, reporter);
}

void pkb::checkContributions(TransferModel &model, TransferReporter &reporter) {
  ContributionCheck(model, reporter).run();
}
