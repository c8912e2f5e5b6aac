// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BlockAgent.cpp - one block of a kernel of level L2 ------------------===//
//
// Control flow and coordination. What is done with tiles is in BlockTiles.cpp.
//
//===----------------------------------------------------------------------===//

#include "BlockAgent.h"

#include "pkb/Support/Error.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

BlockAgent::BlockAgent(RankProgram &owner, Channel &channel, xfer::KernelOp kernel,
                       ArrayRef<std::optional<Window>> tensors, int64_t position, int64_t block, int64_t call)
    : owner(owner), view(channel, position, block, call), kernel(kernel), tensors(tensors), position(position),
      block(block), size(kernel.getGroupSize()), call(call) {
  // Buffers lie one after the other in a half of staging: for each source and block a ring of slots.
  int64_t offset = 0, lines = 0;
  for (auto buffer : kernel.getEntry().getOps<xfer::SymmBufferOp>()) {
    xfer::SymmType type = buffer.getType();
    bool staged = type.getProtocol() == xfer::Protocol::Staged;
    bufferOffsets[buffer] = staged ? offset : lines;
    if (!staged)
      lines += xfer::linesOf(buffer);
    else
      offset += size * static_cast<int64_t>(kernel.getSchedule().getBlocks()) * type.getSlots() * type.getChunk() *
                xfer::elementBytes(type.getElementType());
  }
  enter(kernel, kernel.getEntry(), 0);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void BlockAgent::enter(Operation *op, Block &body, int64_t turn) { frames.push_back({op, &body, body.begin(), turn}); }

/// Chunks of `move` that this block has.
int64_t BlockAgent::chunksOf(xfer::PipelineOp move) {
  int64_t elements = move.getElements(), chunk = move.getChunk(), blocks = kernel.getSchedule().getBlocks();
  int64_t total = std::max<int64_t>(1, (elements + chunk - 1) / chunk);
  return block < total ? (total - block + blocks - 1) / blocks : 0;
}

/// Enters the region of the pipeline's next turn that has a chunk, from `turn` on. False at the pipeline's end.
bool BlockAgent::enterPipeline(xfer::PipelineOp move, int64_t turn) {
  pipeline = move;
  int64_t elements = pipeline.getElements(), chunk = pipeline.getChunk();
  int64_t blocks = kernel.getSchedule().getBlocks(), depth = kernel.getSchedule().getDepth(), mine = chunksOf(pipeline);
  for (; turn / 2 < mine + depth && mine > 0; ++turn) {
    int64_t step = turn % 2 == 0 ? turn / 2 : turn / 2 - depth;
    if (step < 0 || step >= mine)
      continue;
    int64_t start = (step * blocks + block) * chunk;
    Block &body = turn % 2 == 0 ? pipeline.getProduce().front() : pipeline.getConsume().front();
    currentChunk = body.getArgument(0);
    chunks[currentChunk] = {step, start, std::min(chunk, elements - start)};
    enter(pipeline, body, turn);
    return true;
  }
  return false;
}

/// At the end of a region: another turn of its owner, or back to where that stands.
void BlockAgent::leave() {
  Frame frame = frames.pop_back_val();
  if (auto pipeline = dyn_cast<xfer::PipelineOp>(frame.owner)) {
    if (!enterPipeline(pipeline, frame.turn + 1) && pipeline.countsByFlags())
      counted += chunksOf(pipeline);
  } else if (auto peers = dyn_cast<xfer::ForPeersOp>(frame.owner); peers && frame.turn + 1 < size) {
    enter(peers, *frame.body, frame.turn + 1);
    numbers[frame.body->getArgument(0)] = (position + frame.turn + 1) % size;
  }
}

std::string BlockAgent::describe() {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "rank " << owner.getRank() << " block " << block << " in kernel '" << kernel.getSymName() << "' call " << call
     << " chunk " << chunks.lookup(currentChunk).step;
  return text;
}

llvm::Expected<Progress> BlockAgent::step() {
  while (!frames.empty() && frames.back().next == frames.back().body->end())
    leave();
  if (frames.empty()) {
    view.finish();
    owner.blockEnded();
    return Progress::Ended;
  }
  Operation *op = &*frames.back().next++;
  size_t depth = frames.size();
  Result result = run(op);
  if (!result)
    return makeError(describe(), ": ", op->getName(), " at ", placeOf(op), " ", llvm::toString(result.takeError()));
  blocked = nullptr;
  if (*result == Progress::Blocked) {
    frames[depth - 1].next = op->getIterator();
    blocked = op;
  }
  return result;
}

std::string BlockAgent::waitingFor() {
  if (!blocked)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << describe() << ": " << blocked->getName() << " at " << placeOf(blocked);
  if (isa<xfer::SyncOp>(blocked)) {
    os << " waits for other blocks of its rank";
    return text;
  }
  auto wait = dyn_cast<xfer::WaitOp>(blocked);
  if (!wait) {
    os << " waits for lines that have not come";
    return text;
  }
  ArrayRef<int64_t> row = kernel.getGroup().getRow(*kernel.getGroup().getRowOf(owner.getRank()));
  int64_t progress = flagValue(wait.getChunk());
  os << " waits for the flag of";
  for (int64_t source : targets(wait.getPeer()))
    if (view.seen(source) < progress)
      os << " rank " << row[source] << " (expected " << progress << ", seen " << view.seen(source) << ")";
  return text;
}

BlockAgent::Result BlockAgent::run(Operation *op) {
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<xfer::SymmBufferOp, xfer::FlagsOp, xfer::SelectOp, memref::ReinterpretCastOp>(
          [](auto) { return Progress::Ran; })
      .Case([&](xfer::PipelineOp pipeline) {
        enterPipeline(pipeline, 0);
        return Progress::Ran;
      })
      .Case([&](xfer::SyncOp sync) { return runSync(sync); })
      .Case([&](xfer::ForPeersOp peers) {
        Block &body = peers.getBody().front();
        if (size > 1) {
          enter(peers, body, 1);
          numbers[body.getArgument(0)] = (position + 1) % size;
        }
        return Progress::Ran;
      })
      .Case([&](xfer::OwnRankOp own) {
        numbers[own.getRank()] = position;
        return Progress::Ran;
      })
      .Case([&](xfer::TableOp table) -> Result {
        int64_t row = numbers.lookup(table.getRank());
        int64_t entry = table.getOther() ? row * size + numbers.lookup(table.getOther()) : row;
        if (entry < 0 || entry >= static_cast<int64_t>(table.getValues().size()))
          return makeError("reads entry ", entry, " of a table of ", table.getValues().size());
        numbers[table.getValue()] = table.getValues()[entry];
        return Progress::Ran;
      })
      .Case([&](xfer::OnRanksOp only) {
        if (only.includes(position))
          enter(only, only.getBody().front(), 0);
        return Progress::Ran;
      })
      .Case([&](xfer::ClipOp clip) {
        Chunk chunk = chunks.lookup(clip.getChunk());
        int64_t left = std::max<int64_t>(0, numbers.lookup(clip.getElements()) - chunk.start);
        chunk.length = std::min(chunk.length, left);
        chunks[clip.getClipped()] = chunk;
        return Progress::Ran;
      })
      .Case([&](xfer::LoadOp load) { return runLoad(load); })
      .Case([&](xfer::StoreOp store) { return runStore(store); })
      .Case([&](xfer::PutOp put) { return runPut(put); })
      .Case([&](xfer::SignalOp signal) { return runSignal(signal); })
      .Case([&](xfer::WaitOp wait) { return runWait(wait); })
      .Case([&](xfer::ConsumeOp consume) { return runConsume(consume); })
      .Case([&](xfer::ContributionsOp contributions) { return runContributions(contributions); })
      .Case([&](xfer::MapOp map) { return runMap(map); })
      .Case([&](xfer::RowReduceOp reduce) { return runRowReduce(reduce); })
      .Case([&](xfer::BroadcastOp broadcast) { return runBroadcast(broadcast); })
      .Case([&](xfer::LineOp line) { return runLine(line); })
      .Case([&](xfer::PartOp part) { return runPart(part); })
      .Default([](Operation *) -> Result { return makeError("has no meaning in a kernel"); });
}

//===----------------------------------------------------------------------===//
// Coordination
//===----------------------------------------------------------------------===//

/// The rank of the group that `peer` stands for, or all others, starting at the next one.
SmallVector<int64_t> BlockAgent::targets(Value peer) {
  if (peer)
    return {numbers.lookup(peer)};
  SmallVector<int64_t> all;
  for (int64_t distance = 1; distance < size; ++distance)
    all.push_back((position + distance) % size);
  return all;
}

BlockAgent::Result BlockAgent::runSignal(xfer::SignalOp signal) {
  if (signal.getInBand())
    return Progress::Ran;
  for (int64_t target : targets(signal.getPeer()))
    if (llvm::Error error = view.signal(target, flagValue(signal.getChunk())))
      return error;
  return Progress::Ran;
}

BlockAgent::Result BlockAgent::runWait(xfer::WaitOp wait) {
  if (wait.getInBand())
    return Progress::Ran;
  for (int64_t source : targets(wait.getPeer()))
    if (!view.poll(source, flagValue(wait.getChunk())))
      return Progress::Blocked;
  return Progress::Ran;
}

/// Blocks of the interpreter do nothing at the same time, so only the order of their steps matters.
BlockAgent::Result BlockAgent::runSync(xfer::SyncOp sync) {
  if (sync.getScope() == xfer::SyncScope::Block)
    return Progress::Ran;
  if (!inSync)
    owner.blockCame();
  inSync = !owner.haveAllCome(syncs + 1);
  if (inSync)
    return Progress::Blocked;
  ++syncs;
  return Progress::Ran;
}
