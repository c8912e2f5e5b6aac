// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferRows.cpp - tiles of rows as loops of warps -------------------===//

#include "passes/Lowering/XferRows.h"

#include "pkb/Analysis/RowOperators.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pkb;

static xfer::TileType tileOf(Value value) { return cast<xfer::TileType>(value.getType()); }

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

namespace {

/// Where the rows of a memref lie.
struct RowLayout {
  SmallVector<std::pair<int64_t, int64_t>> outer; // size and stride in elements of the dimensions that number the rows, last one fastest
  int64_t inner = 1;                              // stride of the elements of a row; 0 where all are the same one
};

/// The body of one cuda.for_each_row.
class RowBody {
public:
  RowBody(OpBuilder at, Value row, const ChunkFrame &chunk, int64_t lanes, int64_t unroll)
      : at(at), row(row), chunk(chunk), lanes(lanes), unroll(unroll) {}

  /// Address of the row, or of its one element, in ordinary memory.
  FailureOr<Value> addressOf(Operation *op, Value memory, int64_t width, int64_t &innerStride);
  LogicalResult load(xfer::LoadOp op);
  LogicalResult map(xfer::MapOp op);
  LogicalResult reduce(xfer::RowReduceOp op);
  LogicalResult storeRows(MutableArrayRef<xfer::StoreOp> stores);
  FailureOr<Value> single(Operation *op, Value tile);
  /// Runs `emit` in one lane.
  void byLeader(Location loc, function_ref<void(OpBuilder &)> emit);

  OpBuilder at;
  Value row;
  const ChunkFrame &chunk;
  int64_t lanes, unroll;
  DenseMap<Value, Value> singles; // tile -> vector of what a row has one of
  DenseMap<Value, Value> starts;  // tile of rows that is loaded -> address of the row

private:
  /// A loop over the vectors of a row: `load` gets them, `use` computes.
  struct Loop {
    Loop(Region &load, Region &use) : load(&load.front()), use(&use.front()) {}

    Block *load, *use;
    SmallVector<Value> loaded;
    DenseMap<Value, Value> values; // tile -> vector in `use`
  };
  FailureOr<Value> evaluate(Loop &loop, Operation *op, Value tile);
  void close(Loop &loop, Location loc);
  Value vectors(Location loc, int64_t length) { return indexConstant(at, loc, (length + lanes - 1) / lanes); }
  VectorType vectorOf(Type element) { return VectorType::get({lanes}, element); }
};

} // namespace

/// Splits the dimensions of `type` into those that number rows of `width` elements and the rows themselves.
static std::optional<RowLayout> rowLayoutOf(MemRefType type, int64_t width) {
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  RowLayout layout;
  int64_t dim = type.getRank() - 1, covered = 1;
  bool any = false;
  for (; dim >= 0 && covered < width; --dim) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (any && strides[dim] != layout.inner * covered)
      return std::nullopt;
    if (!any)
      layout.inner = strides[dim];
    any = true;
    covered *= type.getDimSize(dim);
  }
  if (covered % width != 0)
    return std::nullopt;
  auto number = [&](int64_t size, int64_t stride) {
    if (size == 1)
      return;
    if (!layout.outer.empty() && layout.outer.back().second == stride * size) // one dimension with the one before
      layout.outer.back() = {layout.outer.back().first * size, stride};
    else
      layout.outer.emplace_back(size, stride);
  };
  for (int64_t outer = 0; outer <= dim; ++outer)
    number(type.getDimSize(outer), strides[outer]);
  number(covered / width, layout.inner * width); // where the dimension of the rows holds several, one after the other
  return layout;
}

FailureOr<Value> RowBody::addressOf(Operation *op, Value memory, int64_t width, int64_t &innerStride) {
  Location loc = op->getLoc();
  BlockArgument argument = xfer::argumentBehind(memory);
  auto type = cast<MemRefType>(memory.getType());
  std::optional<RowLayout> layout = rowLayoutOf(type, width);
  if (!argument || !layout)
    return op->emitOpError() << "must access rows of " << width << " elements whose elements lie at one stride, got: " << type;
  innerStride = layout->inner;
  Value number = arith::AddIOp::create(at, loc, chunk.start, row);
  Value place;
  int64_t bytes = xfer::elementBytes(type.getElementType());
  for (auto [index, dim] : llvm::enumerate(llvm::reverse(layout->outer))) {
    auto [size, stride] = dim;
    Value along = number;
    if (index + 1 < layout->outer.size()) {
      along = arith::RemUIOp::create(at, loc, number, indexConstant(at, loc, size));
      number = arith::DivUIOp::create(at, loc, number, indexConstant(at, loc, size));
    }
    if (stride == 0)
      continue;
    Value part = arith::MulIOp::create(at, loc, along, indexConstant(at, loc, stride * bytes));
    place = place ? arith::AddIOp::create(at, loc, place, part).getResult() : part;
  }
  Value pointer = argumentAddress(at, loc, memory);
  return place ? createPointer<cuda::AdvanceOp>(at, loc, pointer, place) : pointer;
}

/// What a row has one of, as a vector.
FailureOr<Value> RowBody::single(Operation *op, Value tile) {
  if (Value value = singles.lookup(tile))
    return value;
  return op->emitOpError() << "must use tiles made on the same side of every signal and wait";
}

LogicalResult RowBody::load(xfer::LoadOp op) {
  xfer::TileType type = op.getTile().getType();
  int64_t width = xfer::elementWidth(type.getElementType()), stride = 0;
  FailureOr<Value> address = addressOf(op, op.getSource(), width, stride);
  if (failed(address))
    return failure();
  bool rows = isRowTile(type);
  if (rows && stride == 1) {
    starts[op.getTile()] = *address;
    return success();
  }
  if (rows && stride != 0)
    return op.emitOpError() << "must read rows of neighbouring elements, got a stride of: " << stride;
  // One element, which may stand for a whole row.
  Type element = getElementTypeOrSelf(type.getElementType());
  Value zero = indexConstant(at, op.getLoc(), 0), one = indexConstant(at, op.getLoc(), 1);
  singles[op.getTile()] = cuda::LoadOp::create(at, op.getLoc(), VectorType::get({1}, element), *address, zero, one);
  return success();
}

LogicalResult RowBody::map(xfer::MapOp op) {
  if (isRowTile(op.getResult().getType()))
    return success(); // where it is used
  SmallVector<Value> operands;
  for (Value tile : op.getTiles()) {
    FailureOr<Value> value = single(op, tile);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  FailureOr<Value> result = vectorizeBody(at, op, operands, xfer::elementWidth(op.getResult().getType().getElementType()));
  if (failed(result))
    return failure();
  singles[op.getResult()] = *result;
  return success();
}

/// The vector of a tile of rows in the loop; loads what it needs.
FailureOr<Value> RowBody::evaluate(Loop &loop, Operation *user, Value tile) {
  if (Value value = loop.values.lookup(tile))
    return value;
  OpBuilder in = OpBuilder::atBlockEnd(loop.load), out = OpBuilder::atBlockEnd(loop.use);
  Operation *op = tile.getDefiningOp();
  Value value;
  if (Value start = starts.lookup(tile)) {
    xfer::TileType type = tileOf(tile);
    Value length = indexConstant(at, op->getLoc(), xfer::elementWidth(type.getElementType()));
    Value vector = cuda::LoadOp::create(in, op->getLoc(), vectorOf(getElementTypeOrSelf(type.getElementType())), start,
                                        loop.load->getArgument(0), length);
    loop.loaded.push_back(vector);
    value = loop.use->addArgument(vector.getType(), op->getLoc());
  } else if (auto broadcast = dyn_cast_or_null<xfer::BroadcastOp>(op)) {
    FailureOr<Value> one = single(op, broadcast.getValue());
    if (failed(one))
      return failure();
    value = cuda::WidenOp::create(out, op->getLoc(), vectorOf(broadcast.getValue().getType().getElementType()), *one);
  } else if (Value one = singles.lookup(tile)) {
    value = cuda::WidenOp::create(out, op->getLoc(), vectorOf(cast<VectorType>(one.getType()).getElementType()), one);
  } else if (auto map = dyn_cast_or_null<xfer::MapOp>(op)) {
    SmallVector<Value> operands;
    for (Value operand : map.getTiles()) {
      FailureOr<Value> vector = evaluate(loop, op, operand);
      if (failed(vector))
        return failure();
      operands.push_back(*vector);
    }
    OpBuilder now = OpBuilder::atBlockEnd(loop.use);
    FailureOr<Value> result = vectorizeBody(now, map, operands, lanes);
    if (failed(result))
      return failure();
    value = *result;
  } else {
    return user->emitOpError() << "must use rows made on the same side of every signal and wait";
  }
  loop.values[tile] = value;
  return value;
}

void RowBody::close(Loop &loop, Location loc) {
  OpBuilder in = OpBuilder::atBlockEnd(loop.load);
  cuda::YieldOp::create(in, loc, loop.loaded);
}

static void startLoop(Region &load, Region &use, Location loc) {
  for (Region *region : {&load, &use})
    region->emplaceBlock().addArgument(IndexType::get(region->getContext()), loc);
}

LogicalResult RowBody::reduce(xfer::RowReduceOp op) {
  Location loc = op.getLoc();
  xfer::TileType type = op.getRows().getType();
  Value length = indexConstant(at, loc, xfer::elementWidth(type.getElementType()));
  auto result = cuda::RowReduceOp::create(at, loc, VectorType::get({1}, op.getResult().getType().getElementType()), op.getKind(), length, unroll);
  startLoop(result.getLoad(), result.getMap(), loc);
  at.setInsertionPoint(result); // addresses and lengths stand before the loop
  Loop loop(result.getLoad(), result.getMap());
  FailureOr<Value> value = evaluate(loop, op, op.getRows());
  at.setInsertionPointAfter(result);
  if (failed(value))
    return failure();
  close(loop, loc);
  OpBuilder out = OpBuilder::atBlockEnd(loop.use);
  cuda::YieldOp::create(out, loc, *value);
  singles[op.getResult()] = result.getResult();
  return success();
}

LogicalResult RowBody::storeRows(MutableArrayRef<xfer::StoreOp> stores) {
  if (stores.empty())
    return success();
  Location loc = stores.front().getLoc();
  int64_t width = xfer::elementWidth(stores.front().getTile().getType().getElementType());
  SmallVector<Value> addresses;
  for (xfer::StoreOp store : stores) {
    int64_t stride = 0;
    FailureOr<Value> address = addressOf(store, store.getDest(), width, stride);
    if (failed(address))
      return failure();
    if (stride != 1)
      return store.emitOpError() << "must write rows of neighbouring elements, got a stride of: " << stride;
    addresses.push_back(*address);
  }
  Value length = indexConstant(at, loc, width);
  auto result = cuda::ForEachOp::create(at, loc, vectors(loc, width), unroll, cuda::Spread::Row);
  startLoop(result.getLoad(), result.getStore(), loc);
  at.setInsertionPoint(result);
  Loop loop(result.getLoad(), result.getStore());
  for (auto &&[store, address] : llvm::zip(stores, addresses)) {
    FailureOr<Value> value = evaluate(loop, store, store.getTile());
    if (failed(value))
      return failure();
    OpBuilder out = OpBuilder::atBlockEnd(loop.use);
    cuda::StoreOp::create(out, store.getLoc(), *value, address, loop.use->getArgument(0), length);
  }
  at.setInsertionPointAfter(result);
  close(loop, loc);
  return success();
}

void RowBody::byLeader(Location loc, function_ref<void(OpBuilder &)> emit) {
  Value leader = cuda::RowLeaderOp::create(at, loc, at.getI1Type());
  auto branch = scf::IfOp::create(at, loc, leader, /*withElseRegion=*/false);
  OpBuilder then = branch.getThenBodyBuilder();
  emit(then);
}

LogicalResult RowGroup::flush(OpBuilder &builder, int64_t unroll) {
  if (ops.empty())
    return success();
  SmallVector<Operation *> group;
  std::swap(group, ops);
  chunkValue = nullptr;
  Location loc = group.front()->getLoc();
  auto staged = [](Value buffer) { return cast<xfer::SymmType>(buffer.getType()).getProtocol() == xfer::Protocol::Staged; };

  // Vectors are as long as 16 bytes of the smallest elements that are loaded or stored.
  int64_t least = 16;
  DenseMap<Operation *, SmallVector<Value>> slots;
  for (Operation *op : group) {
    auto put = dyn_cast<xfer::PutOp>(op);
    auto all = dyn_cast<xfer::ContributionsOp>(op);
    if (isa<xfer::ConsumeOp>(op) || (put && put.getPeer()) || (all && all.getOwn()))
      return op->emitOpError() << "has no form in a pipeline over rows";
    if (all) {
      for (int64_t rank = 0; rank < kernel.size; ++rank)
        slots[op].push_back(slotAddress(builder, loc, kernel.rank, indexConstant(builder, loc, rank), all.getBuffer()));
    }
    Value tile = isa<xfer::LoadOp>(op) ? op->getResult(0) : isa<xfer::StoreOp>(op) ? op->getOperand(0) : Value();
    if (tile && isRowTile(tileOf(tile)))
      least = std::min(least, xfer::elementBytes(getElementTypeOrSelf(tileOf(tile).getElementType())));
  }

  int64_t vectors = 1;
  for (Operation *op : group)
    for (Value tile : llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())))
      if (auto type = dyn_cast<xfer::TileType>(tile.getType()); type && isRowTile(type))
        vectors = std::max<int64_t>(vectors, llvm::divideCeil(xfer::elementWidth(type.getElementType()), 16 / least));
  int64_t team = rowTeamOf(chunk.most, vectors, kernel.source.getSchedule().getThreads());
  unroll = std::min<int64_t>(unroll, llvm::divideCeil(vectors, team));
  bool readsLines = llvm::any_of(group, [&](Operation *op) {
    auto all = dyn_cast<xfer::ContributionsOp>(op);
    return all && !staged(all.getBuffer());
  });
  Value epoch = readsLines ? kernel.epochAt(builder, loc) : Value();
  auto loop = cuda::ForEachRowOp::create(builder, loc, chunk.length, team);
  Block &block = loop.getBody().emplaceBlock();
  Value row = block.addArgument(builder.getIndexType(), loc);
  RowBody body(OpBuilder::atBlockEnd(&block), row, chunk, 16 / least, unroll);
  SmallVector<xfer::StoreOp> rows;
  for (Operation *op : group) {
    Location at = op->getLoc();
    if (auto load = dyn_cast<xfer::LoadOp>(op)) {
      if (failed(body.load(load)))
        return failure();
    } else if (auto map = dyn_cast<xfer::MapOp>(op)) {
      if (failed(body.map(map)))
        return failure();
    } else if (auto reduce = dyn_cast<xfer::RowReduceOp>(op)) {
      if (failed(body.reduce(reduce)))
        return failure();
    } else if (auto line = dyn_cast<xfer::LineOp>(op)) {
      SmallVector<Value> values;
      for (Value tile : line.getValues()) {
        FailureOr<Value> value = body.single(op, tile);
        if (failed(value))
          return failure();
        values.push_back(*value);
      }
      body.singles[line.getLine()] = cuda::LineOp::create(body.at, at, line.getLine().getType().getElementType(), values);
    } else if (auto part = dyn_cast<xfer::PartOp>(op)) {
      FailureOr<Value> value = body.single(op, part.getLine());
      if (failed(value))
        return failure();
      body.singles[part.getValue()] =
          cuda::PartOp::create(body.at, at, VectorType::get({1}, part.getValue().getType().getElementType()), *value, part.getNumber());
    } else if (auto all = dyn_cast<xfer::ContributionsOp>(op)) {
      auto type = cast<VectorType>(all.getBuffer().getType().getElementType());
      for (auto [tile, slot] : llvm::zip(all.getTiles(), slots[op]))
        body.singles[tile] =
            staged(all.getBuffer())
                ? cuda::LoadStagedOp::create(body.at, at, type, slot, row).getResult()
                : cuda::LoadLLOp::create(body.at, at, type, slot, row, epoch, kernel.takeSite()).getResult();
    } else if (auto put = dyn_cast<xfer::PutOp>(op)) {
      FailureOr<Value> value = body.single(op, put.getTile());
      if (failed(value))
        return failure();
      body.byLeader(at, [&](OpBuilder &then) {
        // The rows are loaded by now: the epoch is waited for no earlier.
        SmallVector<Value> pushed;
        for (int64_t distance = 1; distance < kernel.size; ++distance)
          pushed.push_back(slotAddress(then, at, peerOf(then, at, distance), kernel.rank, put.getBuffer()));
        if (put.getSelf())
          pushed.push_back(slotAddress(then, at, kernel.rank, kernel.rank, put.getBuffer()));
        for (Value slot : pushed)
          if (staged(put.getBuffer()))
            cuda::StorePeerOp::create(then, at, *value, slot, row);
          else
            cuda::StoreLLOp::create(then, at, *value, slot, row, kernel.epochAt(then, at), kernel.takeSite());
      });
    } else if (auto store = dyn_cast<xfer::StoreOp>(op)) {
      if (isRowTile(store.getTile().getType())) {
        rows.push_back(store);
        continue;
      }
      int64_t stride = 0;
      FailureOr<Value> value = body.single(op, store.getTile()), address = body.addressOf(op, store.getDest(), 1, stride);
      if (failed(value) || failed(address))
        return failure();
      Value zero = indexConstant(body.at, at, 0), one = indexConstant(body.at, at, 1);
      body.byLeader(at, [&](OpBuilder &then) { cuda::StoreOp::create(then, at, *value, *address, zero, one); });
    }
  }
  return body.storeRows(rows);
}
