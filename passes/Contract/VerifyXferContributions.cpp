// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferContributions.cpp - what a kernel computes -------------===//
//
// Every message of every result is written once per call, with what the collective defines. Chunks cut a message into
// disjoint pieces and every operation of a region works on the same chunk, so it is enough to look at the first chunk.
//
//===----------------------------------------------------------------------===//

#include "passes/Contract/VerifyXferRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace pkb;

using Content = TileContent::Kind;

namespace {

/// A message: the whole of an argument, or one of its parts.
struct Message {
  int32_t argument, part; // part is -1 where the argument holds one message
  bool operator==(const Message &other) const { return argument == other.argument && part == other.part; }
};

class ContributionCheck {
public:
  ContributionCheck(TransferModel &model, TransferReporter &reporter)
      : model(model), reporter(reporter), kernel(model.getKernel()) {}
  void run();

private:
  void findRoles();
  int64_t messagesIn(int64_t argument, bool parts);
  SmallVector<Message> messagesOf(const llvm::BitVector &arguments, ArrayRef<int8_t> parts);
  void checkCounts(int64_t rank);
  void checkContents();
  bool holdsInput(int32_t id, int64_t rank, const Message &message);
  int32_t resolve(int32_t id);
  bool isRankOrderedSum(int32_t id, std::string &why);
  std::string describe(int32_t id);
  std::string describe(const Message &message);

  TransferModel &model;
  TransferReporter &reporter;
  xfer::KernelOp kernel;
  llvm::BitVector read, written;
  SmallVector<int8_t> readParts, writtenParts; // argument is accessed by parts
  SmallVector<Message> inputs, outputs;
};

} // namespace

/// The arguments among which `memory` is chosen; those of an xfer.select, else itself.
static SmallVector<BlockArgument> candidates(Value memory) {
  SmallVector<Value> tensors{memory};
  if (auto select = memory.getDefiningOp<xfer::SelectOp>())
    tensors.assign(select.getTensors().begin(), select.getTensors().end());
  SmallVector<BlockArgument> found;
  for (Value tensor : tensors)
    if (auto argument = dyn_cast<BlockArgument>(tensor))
      found.push_back(argument);
  return found;
}

/// Which arguments are read and which are written, on any rank.
void ContributionCheck::findRoles() {
  unsigned count = kernel.getEntry().getNumArguments();
  read.resize(count);
  written.resize(count);
  readParts.assign(count, 0);
  writtenParts.assign(count, 0);
  auto mark = [&](Value memory, bool parts, llvm::BitVector &set, SmallVector<int8_t> &partsOf) {
    for (BlockArgument argument : candidates(memory)) {
      set.set(argument.getArgNumber());
      partsOf[argument.getArgNumber()] |= parts;
    }
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<xfer::LoadOp>(op))
      mark(load.getSource(), bool(load.getPart()), read, readParts);
    else if (auto store = dyn_cast<xfer::StoreOp>(op))
      mark(store.getDest(), bool(store.getPart()), written, writtenParts);
  });
  kernel.walk([&](xfer::LoadOp load) {
    for (BlockArgument argument : candidates(load.getSource()))
      if (written.test(argument.getArgNumber()))
        reporter.report(TransferCode::ReadsOwnOutput, load,
                        "argument " + Twine(argument.getArgNumber()) +
                            " is a result, which other blocks and threads write");
  });
  for (unsigned argument = 0; argument < count; ++argument)
    if (!read.test(argument) && !written.test(argument))
      reporter.report(TransferCode::UnusedTensor, kernel, "argument " + Twine(argument));
}

/// The messages of some arguments, one after the other.
SmallVector<Message> ContributionCheck::messagesOf(const llvm::BitVector &arguments, ArrayRef<int8_t> parts) {
  SmallVector<Message> list;
  for (unsigned argument : arguments.set_bits()) {
    if (!parts[argument])
      list.push_back({static_cast<int32_t>(argument), -1});
    else
      for (int32_t part = 0; part < model.size(); ++part)
        list.push_back({static_cast<int32_t>(argument), part});
  }
  return list;
}

std::string ContributionCheck::describe(const Message &message) {
  std::string text = "argument " + std::to_string(message.argument);
  return message.part < 0 ? text : "part " + std::to_string(message.part) + " of " + text;
}

/// Follows slots to what has been put there.
int32_t ContributionCheck::resolve(int32_t id) {
  for (int64_t hops = 0; hops <= model.size(); ++hops) {
    const TileContent &content = model.content(id);
    if (content.kind != Content::Slot)
      return id;
    int32_t put = model.slotContent(content.pipeline, content.argument, content.part, content.rank);
    if (put < 0)
      return id;
    id = put;
  }
  return id; // forwarded in a circle: no message
}

std::string ContributionCheck::describe(int32_t id) {
  const TileContent &content = model.content(resolve(id));
  switch (content.kind) {
  case Content::Input:
    return describe(Message{content.argument, content.part}) + " of rank " + std::to_string(content.rank);
  case Content::Slot:
    return "an unwritten slot of rank " + std::to_string(content.part);
  case Content::Map:
    return "the result of a map";
  }
  return "";
}

bool ContributionCheck::holdsInput(int32_t id, int64_t rank, const Message &message) {
  const TileContent &content = model.content(resolve(id));
  return content.kind == Content::Input && content.rank == rank && Message{content.argument, content.part} == message;
}

/// True if `id` is the sum of the one input of ranks 0, 1, ... in this order, rounded at most once.
bool ContributionCheck::isRankOrderedSum(int32_t id, std::string &why) {
  int32_t root = resolve(id);
  if (model.content(root).kind != Content::Map) {
    why = "holds " + describe(root);
    return model.size() == 1 && holdsInput(root, 0, inputs.front());
  }
  const TileContent content = model.content(root);
  auto map = cast<xfer::MapOp>(content.map);
  Block &body = map.getBody().front();
  Value value = cast<xfer::YieldOp>(body.back()).getValues().front();
  if (auto round = value.getDefiningOp<arith::TruncFOp>())
    value = round.getIn();
  auto isOperand = [&](Value v, int64_t rank) {
    if (auto widen = v.getDefiningOp<arith::ExtFOp>())
      v = widen.getIn();
    auto argument = dyn_cast<BlockArgument>(v);
    if (!argument) {
      why = "is not a plain sum: addend " + std::to_string(rank) + " is computed";
      return false;
    }
    int32_t operand = content.operands[argument.getArgNumber()];
    if (holdsInput(operand, rank, inputs.front()))
      return true;
    why = "has " + describe(operand) + " as addend " + std::to_string(rank) + ", expected " + describe(inputs.front()) +
          " of rank " + std::to_string(rank);
    return false;
  };
  // ((c0 + c1) + c2) + ...: from the last addend back to the first.
  for (int64_t rank = model.size() - 1; rank > 0; --rank) {
    Operation *add = value.getDefiningOp();
    if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add)) {
      why = "adds " + std::to_string(model.size() - rank) + " contributions, expected " + std::to_string(model.size());
      return false;
    }
    if (!isOperand(add->getOperand(1), rank))
      return false;
    value = add->getOperand(0);
  }
  return isOperand(value, 0);
}

/// Each message of each result once.
void ContributionCheck::checkCounts(int64_t rank) {
  const RankProgram &program = model.program(rank);
  DenseMap<std::pair<int32_t, int32_t>, unsigned> count;
  for (const TileStore &store : program.stores)
    if (++count[{store.argument, store.part}] > 1)
      reporter.report(TransferCode::WrittenTwice, store.op,
                      "rank " + Twine(rank) + " writes " + describe(Message{store.argument, store.part}) + " again");
  for (const Message &output : outputs)
    if (!count.count({output.argument, output.part}))
      reporter.report(TransferCode::NeverWritten, kernel, "rank " + Twine(rank) + " never writes " + describe(output));
}

void ContributionCheck::checkContents() {
  xfer::Collective collective = kernel.getImplements();
  int64_t size = model.size();
  int64_t expectedInputs = collective == xfer::Collective::AllToAll ? size : 1;
  int64_t expectedOutputs = collective == xfer::Collective::AllReduce ? 1 : size;
  int64_t numInputs = inputs.size(), numOutputs = outputs.size();
  if (numInputs != expectedInputs || numOutputs != expectedOutputs) {
    reporter.report(TransferCode::WrongTensors, kernel,
                    Twine(xfer::stringifyCollective(collective)) + " on " + Twine(size) + " ranks reads " +
                        Twine(expectedInputs) + " messages and writes " + Twine(expectedOutputs) + ", this one reads " +
                        Twine(numInputs) + " and writes " + Twine(numOutputs));
    return;
  }
  for (int64_t rank = 0; rank < size; ++rank) {
    for (const TileStore &store : model.program(rank).stores) {
      int64_t source = llvm::find(outputs, Message{store.argument, store.part}) - outputs.begin();
      if (source >= numOutputs)
        continue; // by parts and as a whole: written twice
      std::string why;
      if (collective == xfer::Collective::AllReduce) {
        if (!isRankOrderedSum(store.content, why))
          reporter.report(TransferCode::WrongContribution, store.op, "on rank " + Twine(rank) + " the result " + why);
        continue;
      }
      const Message &expected = collective == xfer::Collective::AllToAll ? inputs[rank] : inputs.front();
      if (!holdsInput(store.content, source, expected))
        reporter.report(TransferCode::WrongContribution, store.op,
                        "on rank " + Twine(rank) + " " + describe(outputs[source]) + " gets " +
                            describe(store.content) + ", expected " + describe(expected) + " of rank " + Twine(source));
    }
  }
}

void ContributionCheck::run() {
  findRoles();
  inputs = messagesOf(read, readParts);
  outputs = messagesOf(written, writtenParts);
  for (int64_t rank = 0; rank < model.size(); ++rank)
    checkCounts(rank);
  if (kernel.getImplements() != xfer::Collective::None)
    checkContents();
}

void pkb::checkContributions(TransferModel &model, TransferReporter &reporter) {
  ContributionCheck(model, reporter).run();
}

//===----------------------------------------------------------------------===//
// Operands of a launch
//===----------------------------------------------------------------------===//

namespace {
/// The elements of a storage that a memref covers: those from `first` up to `last`, in bytes.
struct Extent {
  Value root;
  int64_t first = 0, last = 0;
};
} // namespace

static Extent extentOf(Value value) {
  auto type = cast<MemRefType>(value.getType());
  Extent extent{value};
  while (auto cast = extent.root.getDefiningOp<memref::ReinterpretCastOp>())
    extent.root = cast.getSource();
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset)) {
    extent.last = INT64_MAX;
    return extent;
  }
  int64_t bytes = xfer::elementBytes(type.getElementType()), reach = offset;
  for (auto [size, stride] : llvm::zip(type.getShape(), strides)) {
    if (size == 0)
      return extent; // covers nothing
    reach += (size - 1) * stride;
  }
  extent.first = offset * bytes;
  extent.last = (reach + 1) * bytes;
  return extent;
}

void pkb::checkOperands(xfer::LaunchOp launch, xfer::KernelOp kernel, TransferReporter &reporter) {
  llvm::BitVector written(launch.getOperands().size());
  kernel.walk([&](xfer::StoreOp store) {
    for (BlockArgument argument : candidates(store.getDest()))
      if (argument.getArgNumber() < written.size())
        written.set(argument.getArgNumber());
  });
  SmallVector<Extent> extents;
  for (Value operand : launch.getOperands())
    extents.push_back(extentOf(operand));
  for (unsigned target : written.set_bits())
    for (unsigned other = 0; other < extents.size(); ++other) {
      if (other == target || (written.test(other) && other < target))
        continue;
      const Extent &a = extents[target], &b = extents[other];
      if (a.root == b.root && a.first < b.last && b.first < a.last)
        reporter.report(TransferCode::OverlappingOperands, launch,
                        "operand " + Twine(target) + " is written and overlaps operand " + Twine(other));
    }
}
