// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TransferModel.cpp - the events of a kernel on every rank ---------===//

#include "pkb/Analysis/TransferModel.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb;

using Kind = TransferEvent::Kind;

namespace pkb {

/// Runs the kernel's regions for one rank and writes down what happens.
class RankUnroller {
public:
  RankUnroller(TransferModel &model, int64_t rank, TransferReporter &reporter, int64_t budget)
      : model(model), rank(rank), reporter(reporter), budget(budget), program(model.programs[rank]) {
    for (auto [index, buffer] : llvm::enumerate(model.symmetric))
      bufferNumber[buffer] = index;
  }

  LogicalResult run(ArrayRef<int64_t> chunks);

private:
  LogicalResult runBlock(Block &block);
  LogicalResult runOp(Operation *op);
  LogicalResult rankOf(Operation *op, Value value, int32_t absent, int32_t &number);
  FailureOr<int32_t> argumentOf(Operation *op, Value memory);
  LogicalResult addEvent(Kind kind, bool lines, Value buffer, int32_t peer, Operation *op, int64_t elements = 0);
  FailureOr<int64_t> numberOf(Operation *op, Value value);
  FailureOr<int64_t> elementsOf(Operation *op, Value chunk);
  template <typename Access>
  FailureOr<Message> messageOf(Access access, Value memory);
  int32_t slotOf(Value buffer, int64_t source, int64_t elements);
  void compute(Operation *op);
  void push(xfer::PutOp put, int32_t peer, int64_t elements);

  TransferModel &model;
  int64_t rank;
  TransferReporter &reporter;
  int64_t budget;
  RankProgram &program;
  DenseMap<Value, int32_t> bufferNumber;
  DenseMap<Value, int64_t> numbers; // values of type index
  DenseMap<Value, int32_t> tiles;   // contents, while chunk == 0
  int32_t pipeline = 0, chunk = 0;
  int64_t counted = 0; // chunks of earlier pipelines that flags have counted
};

} // namespace pkb

static bool isLines(Value buffer) {
  return cast<xfer::SymmType>(buffer.getType()).getProtocol() == xfer::Protocol::Lines;
}

LogicalResult RankUnroller::run(ArrayRef<int64_t> chunks) {
  int64_t depth = model.kernel.getSchedule().getDepth();
  for (auto [index, move] : llvm::enumerate(model.moves)) {
    pipeline = index;
    for (int64_t step = 0, steps = chunks[index] ? chunks[index] + depth : 0; step < steps; ++step) {
      chunk = step;
      if (chunk < chunks[index] && failed(runBlock(move.getProduce().front())))
        return failure();
      chunk = step - depth;
      if (chunk >= 0 && chunk < chunks[index] && failed(runBlock(move.getConsume().front())))
        return failure();
    }
    if (move.countsByFlags())
      counted += chunks[index];
  }
  return success();
}

LogicalResult RankUnroller::runBlock(Block &block) {
  for (Operation &op : block)
    if (failed(runOp(&op)))
      return failure();
  return success();
}

/// The number of the rank that `value` stands for; `absent` where there is no value.
LogicalResult RankUnroller::rankOf(Operation *op, Value value, int32_t absent, int32_t &number) {
  number = absent;
  if (!value)
    return success();
  FailureOr<int64_t> rank = numberOf(op, value);
  if (failed(rank))
    return failure();
  if (*rank < 0 || *rank >= model.ranks) {
    reporter.report(TransferCode::NotUnderstood, op,
                    "on rank " + Twine(this->rank) + " it names rank " + Twine(*rank) + ", which is none of the " + Twine(model.ranks));
    return failure();
  }
  number = *rank;
  return success();
}

/// The number that `value` stands for on this rank.
FailureOr<int64_t> RankUnroller::numberOf(Operation *op, Value value) {
  auto found = numbers.find(value);
  if (found != numbers.end())
    return found->second;
  reporter.report(TransferCode::NotUnderstood, op, "a rank must come from xfer.own_rank, xfer.for_peers or xfer.table");
  return failure();
}

/// Elements of the message that `chunk` is a piece of.
FailureOr<int64_t> RankUnroller::elementsOf(Operation *op, Value value) {
  auto clip = value.getDefiningOp<xfer::ClipOp>();
  if (!clip)
    return static_cast<int64_t>(model.moves[pipeline].getElements());
  FailureOr<int64_t> whole = elementsOf(clip, clip.getChunk()), number = numberOf(clip, clip.getElements());
  if (failed(whole) || failed(number))
    return failure();
  if (*number >= 0 && *number <= *whole)
    return number;
  reporter.report(TransferCode::ClippedTooLong, clip,
                  "on rank " + Twine(rank) + " it has " + Twine(*number) + " elements, the chunks of the pipeline cover " + Twine(*whole));
  return failure();
}

/// What a load or store accesses of `memory` in all its chunks.
template <typename Access>
FailureOr<Message> RankUnroller::messageOf(Access access, Value memory) {
  FailureOr<int32_t> argument = argumentOf(access, memory);
  FailureOr<int64_t> elements = elementsOf(access, access.getChunk());
  if (failed(argument) || failed(elements))
    return failure();
  int64_t width = xfer::elementWidth(access.getTile().getType().getElementType());
  Message message{*argument, 0, *elements * width};
  if (Value part = access.getPart()) {
    int32_t number = 0;
    if (failed(rankOf(access, part, 0, number)))
      return failure();
    message.offset = number * static_cast<int64_t>(model.moves[pipeline].getElements()) * width;
  } else if (Value at = access.getAt()) {
    FailureOr<int64_t> offset = numberOf(access, at);
    if (failed(offset))
      return failure();
    message.offset = *offset;
  }
  int64_t whole = model.elementsOf(*argument), room = whole;
  // A window that repeats elements has more than the argument that it lies in; it may be loaded.
  auto window = memory.getDefiningOp<memref::ReinterpretCastOp>();
  bool repeats = window && isa<xfer::LoadOp>(access.getOperation()) && window.getType().getNumElements() > whole;
  if (repeats)
    room = window.getType().getNumElements();
  if (message.offset < 0 || (room >= 0 && message.end() > room)) {
    reporter.report(TransferCode::OutOfBounds, access,
                    "on rank " + Twine(rank) + " it accesses elements " + Twine(message.offset) + " to " + Twine(message.end()) +
                        " of argument " + Twine(*argument) + ", which has " + Twine(room));
    return failure();
  }
  if (chunk == 0)
    program.accesses.push_back(repeats ? Message{*argument, 0, whole} : message);
  return message;
}

/// The number of the kernel's argument that `memory` stands for on this rank.
FailureOr<int32_t> RankUnroller::argumentOf(Operation *op, Value memory) {
  if (auto select = memory.getDefiningOp<xfer::SelectOp>()) {
    int32_t number = 0;
    if (failed(rankOf(select, select.getRank(), 0, number)))
      return failure();
    if (static_cast<size_t>(number) < select.getTensors().size())
      memory = select.getTensors()[number];
  }
  if (BlockArgument argument = xfer::argumentBehind(memory))
    return argument.getArgNumber();
  reporter.report(TransferCode::NotUnderstood, op,
                  "a tensor must be an argument of the kernel or an xfer.select of them");
  return failure();
}

LogicalResult RankUnroller::addEvent(Kind kind, bool lines, Value buffer, int32_t peer, Operation *op, int64_t elements) {
  int32_t number = -1;
  if (buffer) {
    auto found = bufferNumber.find(buffer);
    if (found == bufferNumber.end()) {
      reporter.report(TransferCode::NotUnderstood, op, "a buffer must come from xfer.symm_buffer");
      return failure();
    }
    number = found->second;
  }
  if (static_cast<int64_t>(program.events.size()) >= budget / model.ranks) {
    reporter.report(TransferCode::OverBudget, op,
                    "rank " + Twine(rank) + " does more than " + Twine(budget / model.ranks) +
                        " things before its behaviour repeats; take fewer slots or a smaller depth");
    return failure();
  }
  program.events.push_back({kind, lines, number, peer, chunk, pipeline, op, elements, counted + chunk + 1});
  return success();
}

/// The content of this rank's slot that `source` writes.
int32_t RankUnroller::slotOf(Value buffer, int64_t source, int64_t elements) {
  return model.addContent({TileContent::Kind::Slot, static_cast<int32_t>(rank), pipeline, Message{-1, 0, elements},
                           bufferNumber.lookup(buffer), static_cast<int32_t>(source), nullptr, {}});
}

/// Writes down that the result of `op` is computed from its operands.
void RankUnroller::compute(Operation *op) {
  SmallVector<int32_t> operands;
  for (Value tile : op->getOperands())
    operands.push_back(tiles.lookup(tile));
  tiles[op->getResult(0)] =
      model.addContent({TileContent::Kind::Map, static_cast<int32_t>(rank), pipeline, Message{-1, 0, 0}, -1, -1, op, std::move(operands)});
}

/// Writes down what a put leaves in its slot.
void RankUnroller::push(xfer::PutOp put, int32_t peer, int64_t elements) {
  int32_t content = tiles.lookup(put.getTile());
  int64_t place = pipeline * model.symmetric.size() + bufferNumber.lookup(put.getBuffer());
  for (int64_t target = 0; target < model.ranks; ++target)
    if (peer == target || (peer < 0 && target != rank))
      model.slotContents.try_emplace({place, rank * model.ranks + target}, SlotContent{content, elements});
}

LogicalResult RankUnroller::runOp(Operation *op) {
  constexpr int32_t all = TransferEvent::kAllPeers;
  int32_t peer = all;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](xfer::OwnRankOp own) {
        numbers[own.getRank()] = rank;
        return success();
      })
      .Case([](xfer::SelectOp) { return success(); }) // understood where it is used
      .Case([&](xfer::ForPeersOp peers) -> LogicalResult {
        Block &body = peers.getBody().front();
        for (int64_t distance = 1; distance < model.ranks; ++distance) {
          numbers[body.getArgument(0)] = (rank + distance) % model.ranks;
          if (failed(runBlock(body)))
            return failure();
        }
        return success();
      })
      .Case([&](xfer::TableOp table) -> LogicalResult {
        int32_t row = 0, column = 0;
        if (failed(rankOf(op, table.getRank(), 0, row)) || failed(rankOf(op, table.getOther(), 0, column)))
          return failure();
        numbers[table.getValue()] = table.getValues()[table.getOther() ? row * model.ranks + column : row];
        return success();
      })
      .Case([&](xfer::OnRanksOp only) -> LogicalResult {
        return only.includes(rank) ? runBlock(only.getBody().front()) : success();
      })
      .Case([](xfer::ClipOp) { return success(); }) // understood where it is used
      .Case([&](xfer::LoadOp load) -> LogicalResult {
        FailureOr<Message> message = messageOf(load, load.getSource());
        if (failed(message))
          return failure();
        if (chunk == 0)
          tiles[load.getTile()] =
              model.addContent({TileContent::Kind::Input, static_cast<int32_t>(rank), pipeline, *message, -1, -1, nullptr, {}});
        return success();
      })
      .Case([&](xfer::StoreOp store) -> LogicalResult {
        FailureOr<Message> message = messageOf(store, store.getDest());
        if (failed(message))
          return failure();
        if (chunk == 0)
          program.stores.push_back({*message, tiles.lookup(store.getTile()), op});
        return success();
      })
      .Case([&](xfer::PutOp put) -> LogicalResult {
        FailureOr<int64_t> elements = elementsOf(op, put.getChunk());
        if (failed(elements) || failed(rankOf(op, put.getPeer(), all, peer)) ||
            failed(addEvent(Kind::Put, isLines(put.getBuffer()), put.getBuffer(), peer, op, *elements)) ||
            (put.getSelf() && failed(addEvent(Kind::Put, isLines(put.getBuffer()), put.getBuffer(), rank, op, *elements))))
          return failure();
        if (chunk == 0) {
          push(put, peer, *elements);
          if (put.getSelf())
            push(put, rank, *elements);
        }
        return success();
      })
      .Case([&](xfer::SignalOp signal) -> LogicalResult {
        if (failed(rankOf(op, signal.getPeer(), all, peer)))
          return failure();
        return addEvent(Kind::Signal, signal.getInBand(), Value(), peer, op);
      })
      .Case([&](xfer::WaitOp wait) -> LogicalResult {
        if (failed(rankOf(op, wait.getPeer(), all, peer)))
          return failure();
        return addEvent(Kind::Wait, wait.getInBand(), Value(), peer, op);
      })
      .Case([&](xfer::ConsumeOp consume) -> LogicalResult {
        FailureOr<int64_t> elements = elementsOf(op, consume.getChunk());
        if (failed(elements) || failed(rankOf(op, consume.getPeer(), all, peer)) ||
            failed(addEvent(Kind::Read, isLines(consume.getBuffer()), consume.getBuffer(), peer, op, *elements)))
          return failure();
        if (chunk == 0)
          tiles[consume.getTile()] = slotOf(consume.getBuffer(), peer, *elements);
        return success();
      })
      .Case([&](xfer::ContributionsOp reads) -> LogicalResult {
        FailureOr<int64_t> elements = elementsOf(op, reads.getChunk());
        if (failed(elements) || failed(addEvent(Kind::Read, isLines(reads.getBuffer()), reads.getBuffer(), all, op, *elements)) ||
            (!reads.getOwn() && failed(addEvent(Kind::Read, isLines(reads.getBuffer()), reads.getBuffer(), rank, op, *elements))))
          return failure();
        if (chunk == 0)
          for (auto [source, tile] : llvm::enumerate(reads.getTiles()))
            tiles[tile] = reads.getOwn() && static_cast<int64_t>(source) == rank ? tiles.lookup(reads.getOwn())
                                                                                 : slotOf(reads.getBuffer(), source, *elements);
        return success();
      })
      .Case([&](xfer::MapOp map) -> LogicalResult {
        if (chunk != 0)
          return success();
        for (Operation &inner : map.getBody().front())
          if (!isa<xfer::YieldOp, arith::ConstantOp>(inner) && !OpTrait::hasElementwiseMappableTraits(&inner)) {
            reporter.report(TransferCode::NotUnderstood, &inner, "it must not stand in a map, which works element by element");
            return failure();
          }
        compute(op);
        return success();
      })
      .Case<xfer::RowReduceOp, xfer::BroadcastOp, xfer::LineOp, xfer::PartOp>([&](Operation *) {
        if (chunk == 0)
          compute(op);
        return success();
      })
      .Default([&](Operation *other) {
        reporter.report(TransferCode::NotUnderstood, other, "it must not stand in a pipeline");
        return failure();
      });
}

TransferModel::TransferModel(xfer::KernelOp kernel) : kernel(kernel), ranks(kernel.getGroupSize()) {
  for (Operation &op : kernel.getEntry()) {
    if (auto buffer = dyn_cast<xfer::SymmBufferOp>(op))
      symmetric.push_back(buffer);
    else if (auto move = dyn_cast<xfer::PipelineOp>(op))
      moves.push_back(move);
  }
  auto note = [&](Value memory, Value tile) {
    SmallVector<Value> tensors{memory};
    if (auto select = memory.getDefiningOp<xfer::SelectOp>())
      tensors.assign(select.getTensors().begin(), select.getTensors().end());
    for (Value tensor : tensors)
      if (BlockArgument argument = xfer::argumentBehind(tensor))
        tileBytes[argument.getArgNumber()] =
            xfer::elementBytes(getElementTypeOrSelf(cast<xfer::TileType>(tile.getType()).getElementType()));
  };
  kernel.walk([&](xfer::LoadOp load) { note(load.getSource(), load.getTile()); });
  kernel.walk([&](xfer::StoreOp store) { note(store.getDest(), store.getTile()); });
}

LogicalResult TransferModel::unroll(ArrayRef<int64_t> chunks, TransferReporter &reporter, int64_t budget) {
  programs.assign(ranks, {});
  contents.clear();
  slotContents.clear();
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (failed(RankUnroller(*this, rank, reporter, budget).run(chunks)))
      return failure();
  return success();
}

int32_t TransferModel::addContent(TileContent content) {
  contents.push_back(std::move(content));
  return contents.size() - 1;
}

SlotContent TransferModel::slotContent(int32_t pipeline, int32_t buffer, int64_t source, int64_t target) const {
  return slotContents.lookup({pipeline * symmetric.size() + buffer, source * ranks + target});
}

int64_t TransferModel::elementsOf(int32_t number) const {
  xfer::KernelOp op = kernel;
  return elementsOf(number, cast<MemRefType>(op.getEntry().getArgument(number).getType()));
}

int64_t TransferModel::elementsOf(int32_t number, MemRefType type) const {
  if (!type.hasStaticShape())
    return -1;
  int64_t bytes = xfer::elementBytes(type.getElementType()), each = tileBytes.lookup(number);
  return each == 0 ? type.getNumElements() : type.getNumElements() * bytes / each;
}
