// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferRowStream.cpp - rows that stay in registers ------------------===//
//
// A pipeline reads a row before the exchange and again after it. Where a team has one row of each chunk, registers hold it in between, and the rows of the
// next chunks are on their way while the lines of this one are (docs/Rationale/KeptRows.md).
//
//===----------------------------------------------------------------------===//

#include "passes/Lowering/RowBody.h"
#include "passes/Lowering/XferRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pkb;

/// Bytes of registers that a lane has for rows, beside what it computes with.
static int64_t roomForRows(xfer::ScheduleAttr schedule) {
  constexpr int64_t registers = 65536, most = 255, computing = 32;
  int64_t each = std::min(most, registers / (schedule.getThreads() * schedule.getPerSm()));
  return std::max<int64_t>(0, each - computing) * 4;
}

/// The tile operations of `block`; failure if there is anything else than signals and waits in band.
static FailureOr<SmallVector<Operation *>> tileOperations(Block &block) {
  SmallVector<Operation *> group;
  for (Operation &op : block) {
    auto signal = dyn_cast<xfer::SignalOp>(op);
    auto wait = dyn_cast<xfer::WaitOp>(op);
    if ((signal && signal.getInBand()) || (wait && wait.getInBand()))
      continue;
    if (!TileGroup::takes(op) || isa<xfer::ConsumeOp>(op))
      return failure();
    group.push_back(&op);
  }
  return group;
}

static bool isByLines(Value buffer) { return cast<xfer::SymmType>(buffer.getType()).getProtocol() == xfer::Protocol::Lines; }

std::optional<RowStream> RowGroup::streamOf(xfer::PipelineOp pipeline, bool once) {
  xfer::ScheduleAttr schedule = kernel.source.getSchedule();
  FailureOr<SmallVector<Operation *>> produce = tileOperations(pipeline.getProduce().front()), consume = tileOperations(pipeline.getConsume().front());
  constexpr int64_t mostRanks = 32; // a lane for each looks for its lines
  if (kernel.size > mostRanks || failed(produce) || failed(consume) || produce->empty() || consume->empty() || pipeline.getElements() == 0)
    return std::nullopt;
  // What is sent before the exchange and received after it, by lines that each row waits for by itself.
  auto sends = [](Operation *op) {
    auto put = dyn_cast<xfer::PutOp>(op);
    return put && put.getSelf() && !put.getPeer() && isByLines(put.getBuffer());
  };
  auto receives = [](Operation *op) {
    auto all = dyn_cast<xfer::ContributionsOp>(op);
    return all && !all.getOwn() && isByLines(all.getBuffer());
  };
  DenseSet<Value> sent;
  for (Operation *op : *produce) {
    if (isa<xfer::ContributionsOp>(op) || (isa<xfer::PutOp>(op) && !sends(op)))
      return std::nullopt;
    if (auto put = dyn_cast<xfer::PutOp>(op); put && !sent.insert(put.getBuffer()).second)
      return std::nullopt;
  }
  for (Operation *op : *consume)
    if (isa<xfer::PutOp>(op) || (isa<xfer::ContributionsOp>(op) && (!receives(op) || !sent.contains(cast<xfer::ContributionsOp>(op).getBuffer()))))
      return std::nullopt;

  SmallVector<Operation *> all(*produce);
  llvm::append_range(all, *consume);
  RowStream stream;
  stream.chunk = pipeline.getChunk();
  Shape shape = shapeOf(all, stream.chunk);
  stream.team = shape.team;
  stream.lanes = shape.lanes;
  stream.ahead = once ? 0 : schedule.getDepth();
  stream.perLane = llvm::divideCeil(shape.vectors, shape.team);
  if (schedule.getThreads() / stream.team < stream.chunk)
    return std::nullopt;

  // What is read again after the exchange, and is another row each time.
  auto isReadAgain = [&](Value memory) {
    return llvm::any_of(*consume, [&](Operation *op) {
      auto load = dyn_cast<xfer::LoadOp>(op);
      return load && load.getSource() == memory && readsWholeRows(load);
    });
  };
  // A kernel writes nothing that it reads (the gate, XV003), so a row may be read at any time.
  int64_t room = roomForRows(schedule);
  for (Operation *op : *produce) {
    auto load = dyn_cast<xfer::LoadOp>(op);
    if (!load || !readsWholeRows(load) || llvm::is_contained(stream.kept, load.getSource()) || !isReadAgain(load.getSource()) ||
        isOneRow(load.getSource(), xfer::elementWidth(load.getTile().getType().getElementType())))
      continue;
    int64_t vector = std::max<int64_t>(4, stream.lanes * xfer::elementBytes(getElementTypeOrSelf(load.getTile().getType().getElementType())));
    int64_t bytes = vector * stream.perLane * (stream.ahead + 1);
    if (bytes > room)
      continue;
    room -= bytes;
    stream.kept.push_back(load.getSource());
  }
  if (stream.kept.empty())
    return std::nullopt;
  constexpr int64_t vectorBytes = 16;
  stream.unroll = std::clamp<int64_t>(room / vectorBytes, 1, stream.perLane);
  return stream;
}

/// Whether all rows that `group` reads or writes consist of whole vectors at multiples of 16 bytes: asked once, of the tensors.
static Value alignmentOf(OpBuilder &builder, Location loc, ArrayRef<Operation *> group, int64_t lanes) {
  llvm::MapVector<int64_t, SmallVector<Value>> pointers; // by length
  SmallVector<Value> seen;
  for (Operation *op : group) {
    auto load = dyn_cast<xfer::LoadOp>(op);
    auto store = dyn_cast<xfer::StoreOp>(op);
    if (!load && !store)
      continue;
    Value memory = load ? load.getSource() : store.getDest();
    xfer::TileType type = load ? load.getTile().getType() : store.getTile().getType();
    if (!isRowTile(type) || (load && !readsWholeRows(load)) || llvm::is_contained(seen, memory))
      continue;
    seen.push_back(memory);
    int64_t width = xfer::elementWidth(type.getElementType());
    if (!hasAlignedRows(memory, width))
      return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
    pointers[width].push_back(argumentAddress(builder, loc, memory));
  }
  Value all;
  for (auto &[width, list] : pointers) {
    Value one = cuda::AlignedOp::create(builder, loc, builder.getI1Type(), indexConstant(builder, loc, width), lanes, list);
    all = all ? arith::AndIOp::create(builder, loc, all, one).getResult() : one;
  }
  return all;
}

LogicalResult RowGroup::expandStream(OpBuilder &builder, xfer::PipelineOp pipeline, const RowStream &stream) {
  Location loc = pipeline.getLoc();
  Type index = builder.getIndexType();
  SmallVector<Operation *> produce = *tileOperations(pipeline.getProduce().front()), consume = *tileOperations(pipeline.getConsume().front());
  int64_t blocks = kernel.source.getSchedule().getBlocks(), rows = pipeline.getElements(), all = blocks * stream.chunk;
  Value aligned = alignmentOf(builder, loc, llvm::to_vector(llvm::concat<Operation *>(produce, consume)), stream.lanes);
  Value first = arith::MulIOp::create(builder, loc, kernel.block, indexConstant(builder, loc, stream.chunk));
  auto loop = cuda::StreamRowsOp::create(builder, loc, first, indexConstant(builder, loc, all), indexConstant(builder, loc, rows), aligned, stream.chunk,
                                         stream.team, stream.ahead, static_cast<int64_t>(llvm::divideCeil(rows, all)), rows / all);
  auto start = [&](Region &region) -> Block & {
    Block &block = region.emplaceBlock();
    block.addArguments({index, index}, {loc, loc});
    chunk = ChunkFrame();
    chunk.start = block.getArgument(0);
    chunk.most = stream.chunk;
    return block;
  };
  RowLoops loops{stream.lanes, stream.unroll, stream.perLane};

  SmallVector<Value> fetched;
  {
    Block &block = start(loop.getFetch());
    RowBody body(OpBuilder::atBlockEnd(&block), block.getArgument(1), chunk, loops);
    for (Value memory : stream.kept) {
      auto load = cast<xfer::LoadOp>(*llvm::find_if(produce, [&](Operation *op) {
        auto load = dyn_cast<xfer::LoadOp>(op);
        return load && load.getSource() == memory && readsWholeRows(load);
      }));
      Type element = load.getTile().getType().getElementType();
      int64_t width = xfer::elementWidth(element), stride = 0;
      FailureOr<Value> address = body.addressOf(load, memory, width, stride);
      if (failed(address))
        return failure();
      auto type = cuda::RowType::get(builder.getContext(), VectorType::get({stream.lanes}, getElementTypeOrSelf(element)), stream.perLane);
      fetched.push_back(cuda::KeepRowOp::create(body.at, load.getLoc(), type, *address, indexConstant(body.at, loc, width)));
    }
    cuda::YieldOp::create(body.at, loc, fetched);
  }
  auto holdIn = [&](RowBody &body, Block &block) {
    for (auto [memory, row] : llvm::zip(stream.kept, fetched))
      body.held[memory] = block.addArgument(row.getType(), loc);
  };
  SmallVector<Value> buffers, sent;
  {
    Block &block = start(loop.getProduce());
    RowBody body(OpBuilder::atBlockEnd(&block), block.getArgument(1), chunk, loops);
    holdIn(body, block);
    if (failed(expand(body, produce, [&](Operation *op) -> LogicalResult {
          auto send = cast<xfer::PutOp>(op);
          if (failed(put(body, send, /*toSelf=*/false)))
            return failure();
          buffers.push_back(send.getBuffer());
          sent.push_back(*body.single(op, send.getTile()));
          return success();
        })))
      return failure();
    cuda::YieldOp::create(body.at, loc, sent);
  }
  Block &block = start(loop.getConsume());
  RowBody body(OpBuilder::atBlockEnd(&block), block.getArgument(1), chunk, loops);
  holdIn(body, block);
  DenseMap<Value, Value> own;
  for (auto [buffer, value] : llvm::zip(buffers, sent))
    own[buffer] = block.addArgument(value.getType(), loc);
  return expand(body, consume, [&](Operation *op) -> LogicalResult {
    auto received = cast<xfer::ContributionsOp>(op);
    Value mine = own.lookup(received.getBuffer());
    Value slot = slotAddress(body.at, loc, kernel.rank, indexConstant(body.at, loc, 0), received.getBuffer());
    auto gather = cuda::GatherLLOp::create(body.at, received.getLoc(), SmallVector<Type>(kernel.size, mine.getType()), slot, body.row,
                                           kernel.epochAt(body.at, loc), mine, kernel.takeSite());
    for (auto [tile, value] : llvm::zip(received.getTiles(), gather.getValues()))
      body.singles[tile] = value;
    return success();
  });
}
