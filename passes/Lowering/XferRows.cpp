// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferRows.cpp - tiles of rows as loops of warps -------------------===//

#include "passes/Lowering/XferRows.h"

#include "passes/Lowering/RowBody.h"
#include "pkb/Analysis/RowOperators.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb;

static xfer::TileType tileOf(Value value) { return cast<xfer::TileType>(value.getType()); }

static bool isStaged(Value buffer) { return cast<xfer::SymmType>(buffer.getType()).getProtocol() == xfer::Protocol::Staged; }

bool pkb::isRowTile(xfer::TileType type) {
  return isa<VectorType>(type.getElementType()) && xfer::elementBytes(type.getElementType()) != 16;
}

bool pkb::runsOverRows(xfer::PipelineOp pipeline) {
  WalkResult found = pipeline.walk([](Operation *op) {
    bool rows = isa<xfer::RowReduceOp, xfer::BroadcastOp, xfer::LineOp, xfer::PartOp>(op) ||
                llvm::any_of(op->getResultTypes(), [](Type type) {
                  auto tile = dyn_cast<xfer::TileType>(type);
                  return tile && isRowTile(tile);
                });
    return rows ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

int64_t pkb::unrollOfRows(xfer::PipelineOp pipeline, int64_t threads) {
  int64_t bytes = 0;
  pipeline.walk([&](xfer::LoadOp load) { bytes = std::max(bytes, xfer::elementBytes(load.getTile().getType().getElementType())); });
  return vectorsInFlight(bytes, threads);
}

/// Vectors are as long as 16 bytes of the smallest elements that are loaded or stored.
RowGroup::Shape RowGroup::shapeOf(ArrayRef<Operation *> group, int64_t rows) {
  int64_t least = 16;
  for (Operation *op : group) {
    Value tile = isa<xfer::LoadOp>(op) ? op->getResult(0) : isa<xfer::StoreOp>(op) ? op->getOperand(0) : Value();
    if (tile && isRowTile(tileOf(tile)))
      least = std::min(least, xfer::elementBytes(getElementTypeOrSelf(tileOf(tile).getElementType())));
  }
  Shape shape{16 / least, 1, 32};
  for (Operation *op : group)
    for (Value tile : llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())))
      if (auto type = dyn_cast<xfer::TileType>(tile.getType()); type && isRowTile(type))
        shape.vectors = std::max<int64_t>(shape.vectors, llvm::divideCeil(xfer::elementWidth(type.getElementType()), shape.lanes));
  shape.team = rowTeamOf(rows, shape.vectors, kernel.source.getSchedule().getThreads());
  return shape;
}

/// What the ranks have sent for a row, by the number of the rank.
void RowGroup::contributions(RowBody &body, xfer::ContributionsOp all, ArrayRef<Value> slots, Value epoch) {
  Location at = all.getLoc();
  VectorType type = lineTypeOf(all.getBuffer());
  for (auto [slot, tile] : llvm::zip(slots, all.getTiles()))
    body.singles[tile] = isStaged(all.getBuffer())
                             ? cuda::LoadStagedOp::create(body.at, at, type, slot, body.row).getResult()
                             : cuda::LoadLLOp::create(body.at, at, type, slot, body.row, epoch, kernel.takeSite()).getResult();
}

/// Sends the line of a row to the other ranks, and to this one if it is to be read from memory here.
LogicalResult RowGroup::put(RowBody &body, xfer::PutOp put, bool toSelf) {
  Location at = put.getLoc();
  FailureOr<Value> value = body.single(put, put.getTile());
  if (failed(value))
    return failure();
  body.byLeader(at, [&](OpBuilder &then) {
    // The rows are loaded by now: the epoch is waited for no earlier.
    SmallVector<Value> pushed;
    for (int64_t distance = 1; distance < kernel.size; ++distance)
      pushed.push_back(slotAddress(then, at, peerOf(then, at, distance), kernel.rank, put.getBuffer()));
    if (toSelf)
      pushed.push_back(slotAddress(then, at, kernel.rank, kernel.rank, put.getBuffer()));
    for (Value slot : pushed)
      if (isStaged(put.getBuffer()))
        cuda::StorePeerOp::create(then, at, *value, slot, body.row);
      else
        cuda::StoreLLOp::create(then, at, *value, slot, body.row, kernel.epochAt(then, at), kernel.takeSite());
  });
  return success();
}

/// Expands the operations that neither send nor receive; the rows are stored after all else.
LogicalResult RowGroup::expand(RowBody &body, ArrayRef<Operation *> group, function_ref<LogicalResult(Operation *)> transfer) {
  SmallVector<xfer::StoreOp> rows;
  for (Operation *op : group) {
    LogicalResult result = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                               .Case([&](xfer::LoadOp load) { return body.load(load); })
                               .Case([&](xfer::MapOp map) { return body.map(map); })
                               .Case([&](xfer::RowReduceOp reduce) { return body.reduce(reduce); })
                               .Case([&](xfer::LineOp line) { return body.line(line); })
                               .Case([&](xfer::PartOp part) { return body.part(part); })
                               .Case([&](xfer::StoreOp store) {
                                 if (!isRowTile(store.getTile().getType()))
                                   return body.store(store);
                                 rows.push_back(store);
                                 return success();
                               })
                               .Case<xfer::PutOp, xfer::ContributionsOp>([&](Operation *moves) { return transfer(moves); })
                               .Default([](Operation *) { return success(); }); // xfer.broadcast: where it is used
    if (failed(result))
      return failure();
  }
  return body.storeRows(rows);
}

LogicalResult RowGroup::flush(OpBuilder &builder, int64_t unroll) {
  if (ops.empty())
    return success();
  SmallVector<Operation *> group;
  std::swap(group, ops);
  chunkValue = nullptr;
  Location loc = group.front()->getLoc();

  DenseMap<Operation *, SmallVector<Value>> slots;
  bool readsLines = false;
  for (Operation *op : group) {
    auto put = dyn_cast<xfer::PutOp>(op);
    auto all = dyn_cast<xfer::ContributionsOp>(op);
    if (isa<xfer::ConsumeOp>(op) || (put && put.getPeer()) || (all && all.getOwn()))
      return op->emitOpError() << "has no form in a pipeline over rows";
    if (!all)
      continue;
    readsLines |= !isStaged(all.getBuffer());
    for (int64_t rank = 0; rank < kernel.size; ++rank)
      slots[op].push_back(slotAddress(builder, loc, kernel.rank, indexConstant(builder, loc, rank), all.getBuffer()));
  }

  Shape shape = shapeOf(group, chunk.most);
  unroll = std::min<int64_t>(unroll, llvm::divideCeil(shape.vectors, shape.team));
  Value epoch = readsLines ? kernel.epochAt(builder, loc) : Value();
  auto loop = cuda::ForEachRowOp::create(builder, loc, chunk.length, shape.team);
  Block &block = loop.getBody().emplaceBlock();
  Value row = block.addArgument(builder.getIndexType(), loc);
  RowBody body(OpBuilder::atBlockEnd(&block), row, chunk, {shape.lanes, unroll});
  return expand(body, group, [&](Operation *op) -> LogicalResult {
    if (auto send = dyn_cast<xfer::PutOp>(op))
      return put(body, send, static_cast<bool>(send.getSelf()));
    contributions(body, cast<xfer::ContributionsOp>(op), slots[op], epoch);
    return success();
  });
}
