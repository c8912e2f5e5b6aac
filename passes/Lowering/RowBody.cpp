// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowBody.cpp - what the lanes of a row do -------------------------===//

#include "passes/Lowering/RowBody.h"
#include "passes/Lowering/XferRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pkb;

static xfer::TileType tileOf(Value value) { return cast<xfer::TileType>(value.getType()); }

namespace {

/// Where the rows of a memref lie.
struct RowLayout {
  SmallVector<std::pair<int64_t, int64_t>> outer; // size and stride in elements of the dimensions that number the rows, last one fastest
  int64_t inner = 1;                              // stride of the elements of a row; 0 where all are the same one
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
  if (isOneRow(memory, width))
    return argumentAddress(at, loc, memory);
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
  if (Value row = isRowTile(type) ? held.lookup(op.getSource()) : Value()) {
    kept[op.getTile()] = row;
    return success();
  }
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
  } else if (Value row = kept.lookup(tile)) {
    Value vector = cuda::KeptOp::create(in, op->getLoc(), cast<cuda::RowType>(row.getType()).getVector(), row, loop.load->getArgument(0));
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
    FailureOr<Value> result = vectorizeBody(now, map, operands, loops.lanes);
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
  auto result = cuda::RowReduceOp::create(at, loc, VectorType::get({1}, op.getResult().getType().getElementType()), op.getKind(), length, loops.unroll,
                                          perLane());
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
  Value vectors = indexConstant(at, loc, llvm::divideCeil(width, loops.lanes));
  auto result = cuda::ForEachOp::create(at, loc, vectors, loops.unroll, cuda::Spread::Row, perLane());
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

LogicalResult RowBody::line(xfer::LineOp op) {
  SmallVector<Value> values;
  for (Value tile : op.getValues()) {
    FailureOr<Value> value = single(op, tile);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  // Its one use says what is sent of it.
  auto put = op.getLine().hasOneUse() ? dyn_cast<xfer::PutOp>(*op.getLine().user_begin()) : xfer::PutOp();
  Type type = put ? lineTypeOf(put.getBuffer()) : op.getLine().getType().getElementType();
  singles[op.getLine()] = cuda::LineOp::create(at, op.getLoc(), type, values);
  return success();
}

LogicalResult RowBody::part(xfer::PartOp op) {
  FailureOr<Value> value = single(op, op.getLine());
  if (failed(value))
    return failure();
  Type type = VectorType::get({1}, op.getValue().getType().getElementType());
  singles[op.getValue()] = cuda::PartOp::create(at, op.getLoc(), type, *value, op.getNumber());
  return success();
}

/// Writes what a row has one of.
LogicalResult RowBody::store(xfer::StoreOp op) {
  int64_t stride = 0;
  FailureOr<Value> value = single(op, op.getTile()), address = addressOf(op, op.getDest(), 1, stride);
  if (failed(value) || failed(address))
    return failure();
  Value zero = indexConstant(at, op.getLoc(), 0), one = indexConstant(at, op.getLoc(), 1);
  byLeader(op.getLoc(), [&](OpBuilder &then) { cuda::StoreOp::create(then, op.getLoc(), *value, *address, zero, one); });
  return success();
}

bool pkb::readsWholeRows(xfer::LoadOp load) {
  xfer::TileType type = load.getTile().getType();
  if (!isRowTile(type))
    return false;
  std::optional<RowLayout> layout = rowLayoutOf(cast<MemRefType>(load.getSource().getType()), xfer::elementWidth(type.getElementType()));
  return layout && layout->inner == 1;
}

bool pkb::hasAlignedRows(Value memory, int64_t width) {
  constexpr int64_t vectorBytes = 16;
  auto type = cast<MemRefType>(memory.getType());
  std::optional<RowLayout> layout = rowLayoutOf(type, width);
  int64_t bytes = xfer::elementBytes(type.getElementType());
  return layout && llvm::all_of(layout->outer, [&](auto dim) { return dim.second * bytes % vectorBytes == 0; });
}

bool pkb::isOneRow(Value memory, int64_t width) {
  std::optional<RowLayout> layout = rowLayoutOf(cast<MemRefType>(memory.getType()), width);
  return layout && llvm::all_of(layout->outer, [](auto dim) { return dim.second == 0; });
}

VectorType pkb::lineTypeOf(Value buffer) {
  constexpr int64_t payload = 12; // of a line of 16 bytes
  auto type = cast<xfer::SymmType>(buffer.getType());
  auto whole = cast<VectorType>(type.getElementType());
  int64_t used = 0;
  for (Operation *user : buffer.getUsers()) {
    if (auto all = dyn_cast<xfer::ContributionsOp>(user))
      for (Value tile : all.getTiles())
        for (Operation *reader : tile.getUsers())
          if (auto part = dyn_cast<xfer::PartOp>(reader))
            used = std::max<int64_t>(used, part.getNumber() + 1);
    if (auto put = dyn_cast<xfer::PutOp>(user)) {
      auto line = put.getTile().getDefiningOp<xfer::LineOp>();
      used = std::max<int64_t>(used, line ? line.getValues().size() : whole.getNumElements());
    }
  }
  // The header has vectors of a power of two, or of three times one.
  auto isLength = [](int64_t elements) { return llvm::isPowerOf2_64(elements % 3 == 0 ? elements / 3 : elements); };
  while (used > 0 && !isLength(used))
    ++used;
  bool fits = type.getProtocol() == xfer::Protocol::Lines && used * xfer::elementBytes(whole.getElementType()) <= payload;
  return fits && used > 0 ? VectorType::get({used}, whole.getElementType()) : whole;
}
