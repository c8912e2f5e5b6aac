// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferLevel.cpp - level L2: host operations on memrefs ----------------===//

#include "BlockAgent.h"
#include "Collectives.h"
#include "RankProgram.h"

#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

RankProgram::Result RankProgram::runCopy(memref::CopyOp copy) {
  llvm::Expected<Window> from = windowOfValue(copy.getSource());
  if (!from)
    return from.takeError();
  llvm::Expected<Window> to = windowOfValue(copy.getTarget());
  if (!to)
    return to.takeError();
  to->scatter(from->gather());
  return Progress::Ran;
}

RankProgram::Result RankProgram::runConstant(memref::GetGlobalOp use) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(use, use.getNameAttr());
  auto value = global ? dyn_cast_or_null<ElementsAttr>(global.getInitialValueAttr()) : ElementsAttr();
  if (!value)
    return makeError("must name a constant");
  llvm::Expected<Bytes> bytes = bytesOf(value);
  if (!bytes)
    return bytes.takeError();
  values[use.getResult()] = {std::make_shared<Bytes>(std::move(*bytes)), 0};
  return Progress::Ran;
}

/// The offset of the new type counts from where the source's elements begin.
RankProgram::Result RankProgram::runReinterpret(Operation *cast) {
  const Tensor tensor = values.lookup(cast->getOperand(0));
  values[cast->getResult(0)] = tensor;
  return Progress::Ran;
}

llvm::Expected<std::vector<std::optional<Window>>> RankProgram::windowsOf(ValueRange operands) {
  std::vector<std::optional<Window>> windows;
  for (Value operand : operands) {
    windows.emplace_back();
    if (values.lookup(operand).absent())
      continue;
    llvm::Expected<Window> window = windowOfValue(operand);
    if (!window)
      return window.takeError();
    windows.back() = std::move(*window);
  }
  return windows;
}

namespace {

/// What a row of ranks does in one library call.
class LibraryMeeting {
public:
  LibraryMeeting(xfer::LibraryCallOp op, int64_t row, std::vector<std::vector<std::optional<Window>>> operands)
      : op(op), row(row), operands(std::move(operands)) {}
  llvm::Error run();

private:
  int64_t size() const { return operands.size(); }
  llvm::Expected<Window> operandOf(int64_t rank, int64_t number);
  llvm::Expected<Bytes> read(int64_t rank, int64_t number, int64_t offset, int64_t count);
  llvm::Error write(int64_t rank, int64_t number, int64_t offset, ArrayRef<char> bytes);
  llvm::Error carryOut(xfer::CallAttr call);
  llvm::Expected<Bytes> total(xfer::CallAttr call, int64_t offset);

  xfer::LibraryCallOp op;
  int64_t row;
  std::vector<std::vector<std::optional<Window>>> operands; // by rank
};

} // namespace

llvm::Expected<Window> LibraryMeeting::operandOf(int64_t rank, int64_t number) {
  if (!operands[rank][number])
    return makeError("needs operand ", number, " of member ", rank, ", which does not exist there");
  return *operands[rank][number];
}

/// `count` elements of an operand from `offset` on.
llvm::Expected<Bytes> LibraryMeeting::read(int64_t rank, int64_t number, int64_t offset, int64_t count) {
  llvm::Expected<Window> window = operandOf(rank, number);
  if (!window)
    return window.takeError();
  Bytes bytes(count * window->element.bytes);
  window->read(offset * window->element.bytes, bytes);
  return bytes;
}

llvm::Error LibraryMeeting::write(int64_t rank, int64_t number, int64_t offset, ArrayRef<char> bytes) {
  llvm::Expected<Window> window = operandOf(rank, number);
  if (!window)
    return window.takeError();
  window->write(offset * window->element.bytes, bytes);
  return llvm::Error::success();
}

/// The ranks' contributions from `offset` on, combined in rank order; small floats are added in float.
llvm::Expected<Bytes> LibraryMeeting::total(xfer::CallAttr call, int64_t offset) {
  SmallVector<Bytes> parts;
  for (int64_t rank = 0; rank < size(); ++rank) {
    llvm::Expected<Bytes> part = read(rank, call.getFrom(), offset, call.getCount());
    if (!part)
      return part.takeError();
    parts.push_back(std::move(*part));
  }
  llvm::Expected<Window> first = operandOf(0, call.getFrom());
  if (!first)
    return first.takeError();
  ElementType element = first->element, wide = element;
  if (element.isFloat() && element.bytes < 4)
    wide = *ElementType::get(Float32Type::get(op.getContext()));
  Combination combination{*op.getReduce(), element, wide, {}};
  if (std::optional<ArrayRef<double>> factors = op.getFactors())
    combination.factors = factors->slice(row * size(), size());
  return combineParts(combination, parts);
}

llvm::Error LibraryMeeting::carryOut(xfer::CallAttr call) {
  int64_t from = call.getFromOffset(), to = call.getToOffset(), count = call.getCount();
  auto isWithin = [&](int64_t rank) { return rank >= 0 && rank < size(); };
  if (!isWithin(call.getRoot()) || !isWithin(call.getSource()) || !isWithin(call.getDest()))
    return makeError("names a rank that the group does not have");
  auto copy = [&](int64_t source, int64_t dest, int64_t place) -> llvm::Error {
    llvm::Expected<Bytes> bytes = read(source, call.getFrom(), from, count);
    return bytes ? write(dest, call.getTo(), place, *bytes) : bytes.takeError();
  };
  auto combineFor = [&](int64_t dest, int64_t offset) -> llvm::Error {
    llvm::Expected<Bytes> bytes = total(call, offset);
    return bytes ? write(dest, call.getTo(), to, *bytes) : bytes.takeError();
  };
  if (call.getFunction() == xfer::LibraryFunction::Message)
    return copy(call.getSource(), call.getDest(), to);
  if (call.getFunction() == xfer::LibraryFunction::Reduce)
    return combineFor(call.getRoot(), from);
  auto deliver = [&](int64_t rank) -> llvm::Error {
    switch (call.getFunction()) {
    case xfer::LibraryFunction::AllGather:
      for (int64_t source = 0; source < size(); ++source)
        if (llvm::Error error = copy(source, rank, to + source * count))
          return error;
      return llvm::Error::success();
    case xfer::LibraryFunction::Broadcast:
      return copy(call.getRoot(), rank, to);
    case xfer::LibraryFunction::ReduceScatter:
      return combineFor(rank, from + rank * count);
    default:
      return combineFor(rank, from);
    }
  };
  for (int64_t rank = 0; rank < size(); ++rank)
    if (llvm::Error error = deliver(rank))
      return error;
  return llvm::Error::success();
}

llvm::Error LibraryMeeting::run() {
  for (auto call : op.getCalls().getAsRange<xfer::CallAttr>())
    if (call.getRow() < 0 || call.getRow() == row)
      if (llvm::Error error = carryOut(call))
        return error;
  return llvm::Error::success();
}

RankProgram::Result RankProgram::runLibraryCall(xfer::LibraryCallOp call) {
  if (!call.getGroup().getRowOf(rank))
    return Progress::Ran;
  return rendezvous(call, call.getGroup(), [](ArrayRef<RankProgram *> row, int64_t number) -> llvm::Error {
    std::vector<std::vector<std::optional<Window>>> operands;
    for (RankProgram *program : row) {
      llvm::Expected<std::vector<std::optional<Window>>> own =
          program->windowsOf(cast<xfer::LibraryCallOp>(program->arrived).getOperands());
      if (!own)
        return own.takeError();
      operands.push_back(std::move(*own));
    }
    return LibraryMeeting(cast<xfer::LibraryCallOp>(row.front()->arrived), number, std::move(operands)).run();
  });
}

/// The next operation of this rank comes after the last block has ended, as on a stream.
RankProgram::Result RankProgram::runLaunch(xfer::LaunchOp launch) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(launch, launch.getKernelAttr());
  comm::GroupAttr group = kernel.getGroup();
  std::optional<int64_t> row = group.getRowOf(rank);
  if (!row)
    return Progress::Ran;
  llvm::Expected<std::vector<std::optional<Window>>> tensors = windowsOf(launch.getOperands());
  if (!tensors)
    return tensors.takeError();
  Channel &channel = world.channelOf(group.getRow(*row));
  int64_t position = *group.getPositionOf(rank), call = channel.beginCall(position);
  runningBlocks = launchedBlocks = kernel.getSchedule().getBlocks();
  arrivals = 0;
  for (int64_t block = 0; block < runningBlocks; ++block)
    world.add(std::make_unique<BlockAgent>(*this, channel, kernel, *tensors, position, block, call));
  return Progress::Ran;
}

/// The own messages, copied before the next call on the channel begins. A chunk's copy counts as the first thing that the block of the chunk does in that call: it
/// comes after whatever this rank knew at the end of the last one, and is known to whom the block signals.
RankProgram::Result RankProgram::runTransfer(xfer::TransferOp transfer) {
  comm::GroupAttr group = transfer.getGroup();
  std::optional<int64_t> row = group.getRowOf(rank);
  if (!row)
    return Progress::Ran;
  llvm::Expected<std::vector<std::optional<Window>>> tensors = windowsOf(transfer.getOperands());
  if (!tensors)
    return tensors.takeError();
  auto kernel = SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(transfer, transfer.getKernelAttr());
  Channel &channel = world.channelOf(group.getRow(*row));
  int64_t position = *group.getPositionOf(rank), call = channel.nextCall(position), chunk = kernel.getSchedule().getChunk();
  for (auto message : transfer.getCalls().getAsRange<xfer::CallAttr>()) {
    if (message.getSource() != position)
      continue;
    const std::optional<Window> &from = (*tensors)[message.getFrom()];
    if (!from)
      return makeError("copies operand ", message.getFrom(), ", which does not exist on this rank");
    int64_t bytes = from->element.bytes, place = message.getToOffset() * bytes;
    Bytes moved(message.getCount() * bytes);
    from->read(message.getFromOffset() * bytes, moved);
    int64_t first = position * static_cast<int64_t>(kernel.getSchedule().getBlocks()) * chunk;
    for (int64_t done = 0; done < static_cast<int64_t>(moved.size()); done += chunk) {
      BlockView view(channel, position, (place + done - first) / chunk, call);
      ArrayRef<char> piece = ArrayRef<char>(moved).slice(done, std::min<int64_t>(chunk, moved.size() - done));
      if (llvm::Error error = view.write(message.getDest(), {/*lines=*/false, /*half=*/0, position, place + done}, piece))
        return error;
    }
  }
  return Progress::Ran;
}
