// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferTiles.cpp - tiles of level L2 as loops over vectors ----------===//

#include "passes/Lowering/XferTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb;

Value pkb::indexConstant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value KernelFrame::epochAt(OpBuilder &builder, Location loc) const { return createIndex<cuda::EpochOp>(builder, loc, ticket); }

Value KernelFrame::parityAt(OpBuilder &builder, Location loc) const {
  return arith::AndIOp::create(builder, loc, epochAt(builder, loc), indexConstant(builder, loc, 1));
}

/// Bytes from the first element of the argument behind `memory`, where its pointer points to, to the first element of `memory`.
static int64_t bytesIntoArgument(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (isa<BlockArgument>(memory) || failed(type.getStridesAndOffset(strides, offset)))
    return 0;
  return offset * xfer::elementBytes(type.getElementType());
}

Value pkb::argumentAddress(OpBuilder &builder, Location loc, Value memory) {
  Value number = indexConstant(builder, loc, xfer::argumentBehind(memory).getArgNumber());
  Value pointer = createPointer<cuda::PointerOp>(builder, loc, number);
  int64_t away = bytesIntoArgument(memory);
  return away ? createPointer<cuda::AdvanceOp>(builder, loc, pointer, indexConstant(builder, loc, away)) : pointer;
}

/// The chunk that `op` accesses; a map has none.
static Value chunkOf(Operation &op) {
  for (Value operand : op.getOperands())
    if (isa<xfer::ChunkType>(operand.getType()))
      return operand;
  return {};
}

bool TileGroup::takes(Operation &op) {
  return isa<xfer::LoadOp, xfer::StoreOp, xfer::PutOp, xfer::ConsumeOp, xfer::ContributionsOp, xfer::MapOp, xfer::RowReduceOp,
             xfer::BroadcastOp, xfer::LineOp, xfer::PartOp>(op);
}

bool TileGroup::fits(Operation &op) const {
  Value value = chunkOf(op);
  return ops.empty() || !value || !chunkValue || value == chunkValue;
}

void TileGroup::add(Operation &op) {
  if (Value value = chunkOf(op)) {
    chunkValue = value;
    chunk = chunks.lookup(value);
  }
  ops.push_back(&op);
}

Value TileGroup::bytesOf(OpBuilder &builder, Location loc, Value elements) {
  return arith::MulIOp::create(builder, loc, elements, indexConstant(builder, loc, layout.bytes));
}

/// The rank `distance` places after this one, distance in [1, size).
Value TileGroup::peerOf(OpBuilder &builder, Location loc, int64_t distance) {
  Value sum = arith::AddIOp::create(builder, loc, kernel.rank, indexConstant(builder, loc, distance));
  return arith::RemUIOp::create(builder, loc, sum, indexConstant(builder, loc, kernel.size));
}

/// First element of the chunk in the tensor that `access` loads from or stores to.
Value TileGroup::startIn(OpBuilder &builder, Operation *access, Value part, Value at) {
  Location loc = access->getLoc();
  Value offset;
  if (part) {
    int64_t perRank = access->getParentOfType<xfer::PipelineOp>().getElements() * layout.scale;
    offset = arith::MulIOp::create(builder, loc, mapping.lookup(part), indexConstant(builder, loc, perRank));
  } else if (at) {
    offset = arith::MulIOp::create(builder, loc, mapping.lookup(at), indexConstant(builder, loc, layout.scale));
  }
  return offset ? Value(arith::AddIOp::create(builder, loc, chunk.start, offset)) : chunk.start;
}

namespace {
/// The sizes and strides of a tensor whose elements do not follow each other in memory, those that can be one dimension as one.
struct StridedWindow {
  SmallVector<int64_t> sizes, strides;
};
} // namespace

static std::optional<StridedWindow> windowOf(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (type.getLayout().isIdentity() || !type.hasStaticShape() || failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  StridedWindow window;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (size == 1)
      continue;
    if (!window.sizes.empty() && window.strides.back() == stride * size) {
      window.sizes.back() *= size;
      window.strides.back() = stride;
      continue;
    }
    window.sizes.push_back(size);
    window.strides.push_back(stride);
  }
  if (window.sizes.empty() || (window.sizes.size() == 1 && window.strides.front() == 1))
    return std::nullopt;
  return window;
}

/// Address of element `start` of a tensor in ordinary memory, or of its first where its elements do not follow each other.
Value TileGroup::memoryAddress(OpBuilder &builder, Location loc, Value memory, Value start, Type tile) {
  Value pointer;
  if (auto select = memory.getDefiningOp<xfer::SelectOp>()) {
    Value first = indexConstant(builder, loc, cast<BlockArgument>(select.getTensors().front()).getArgNumber());
    Value number = arith::AddIOp::create(builder, loc, first, mapping.lookup(select.getRank()));
    pointer = createPointer<cuda::PointerOp>(builder, loc, number);
  } else {
    pointer = argumentAddress(builder, loc, memory);
  }
  if (windowOf(memory))
    return pointer; // elements are found one vector after the other
  // Tiles that are computed with may have elements of other types than the message's.
  int64_t bytes = layout.scale == 1 && tile != layout.message ? xfer::elementBytes(tile) : layout.bytes;
  Value away = arith::MulIOp::create(builder, loc, start, indexConstant(builder, loc, bytes));
  return createPointer<cuda::AdvanceOp>(builder, loc, pointer, away);
}

/// Address, in the region of rank `owner`, of what rank `source` pushes there for this chunk.
Value TileGroup::slotAddress(OpBuilder &builder, Location loc, Value owner, Value source, Value buffer) {
  auto type = cast<xfer::SymmType>(buffer.getType());
  if (type.getProtocol() == xfer::Protocol::Lines) {
    // Chunks lie at their place in the message. A chunk of packed lines is whole groups, so a third of its bytes is a whole number.
    Value base = createIndex<cuda::LLSlotOp>(builder, loc, kernel.parityAt(builder, loc), source);
    if (int64_t behind = kernel.bufferOffsets.lookup(buffer))
      base = arith::AddIOp::create(builder, loc, base, indexConstant(builder, loc, behind));
    bool packed = xfer::isPacked(type);
    Value before = arith::MulIOp::create(builder, loc, chunk.start, indexConstant(builder, loc, (packed ? 4 : 2) * layout.bytes));
    if (packed)
      before = arith::DivUIOp::create(builder, loc, before, indexConstant(builder, loc, 3));
    return createPointer<cuda::RegionOp>(builder, loc, owner, arith::AddIOp::create(builder, loc, base, before));
  }
  xfer::ScheduleAttr schedule = kernel.source.getSchedule();
  int64_t chunkBytes = type.getChunk() * xfer::elementBytes(type.getElementType());
  Value index = arith::MulIOp::create(builder, loc, source, indexConstant(builder, loc, schedule.getBlocks()));
  index = arith::AddIOp::create(builder, loc, index, kernel.block);
  index = arith::MulIOp::create(builder, loc, index, indexConstant(builder, loc, type.getSlots()));
  index = arith::AddIOp::create(builder, loc, index, chunk.slot);
  Value offset = arith::MulIOp::create(builder, loc, index, indexConstant(builder, loc, chunkBytes));
  offset = arith::AddIOp::create(builder, loc, offset,
                                 indexConstant(builder, loc, kernel.bufferOffsets.lookup(buffer)));
  Value parity = type.getParities() == 1 ? indexConstant(builder, loc, 0) : kernel.parityAt(builder, loc);
  Value half = createIndex<cuda::StagingOp>(builder, loc, parity);
  return createPointer<cuda::RegionOp>(builder, loc, owner, arith::AddIOp::create(builder, loc, half, offset));
}

FailureOr<Value> pkb::vectorizeBody(OpBuilder &builder, xfer::MapOp map, ArrayRef<Value> operands, int64_t lanes) {
  IRMapping values;
  for (auto [argument, operand] : llvm::zip(map.getBody().front().getArguments(), operands))
    values.map(argument, operand);
  auto widen = [&](Type type) -> Type { return VectorType::get({lanes}, type); };
  for (Operation &op : map.getBody().front().without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto type = cast<VectorType>(widen(constant.getType()));
      auto splat = DenseElementsAttr::get(type, constant.getValue());
      values.map(constant.getResult(), arith::ConstantOp::create(builder, op.getLoc(), splat).getResult());
      continue;
    }
    if (op.getNumRegions() != 0 || op.getNumResults() != 1 || !OpTrait::hasElementwiseMappableTraits(&op))
      return op.emitOpError() << "must be element-wise to run inside xfer.map";
    Operation *clone = builder.clone(op, values);
    clone->getResult(0).setType(widen(op.getResult(0).getType()));
  }
  return values.lookup(cast<xfer::YieldOp>(map.getBody().front().getTerminator()).getValues().front());
}

/// Of vector `vector` of a chunk that starts at element `start`: its first element, and how many are left from there on.
std::pair<Value, Value> TileGroup::elementsAt(OpBuilder &builder, Location loc, Value vector, Value start) {
  Value before = arith::MulIOp::create(builder, loc, vector, indexConstant(builder, loc, layout.lanes()));
  Value first = arith::AddIOp::create(builder, loc, start, before), left = arith::SubIOp::create(builder, loc, chunk.length, before);
  return {first, left};
}

LogicalResult TileGroup::flush(OpBuilder &builder, int64_t unroll) {
  if (ops.empty())
    return success();
  SmallVector<Operation *> group;
  std::swap(group, ops);
  chunkValue = nullptr;
  Location loc = group.front()->getLoc();
  auto staged = [](Value buffer) { return cast<xfer::SymmType>(buffer.getType()).getProtocol() == xfer::Protocol::Staged; };
  int64_t threads = kernel.source.getSchedule().getThreads();
  bool once = chunk.most <= unroll * threads * layout.lanes(); // no thread has more vectors than it loads before its first store

  // Addresses first: they are the same for all vectors. Those of what is pushed depend on the epoch: where a thread has all its loads under way
  // before it stores, it waits for the epoch no earlier than there.
  auto slotsOf = [&](OpBuilder &at, xfer::PutOp put) -> SmallVector<Value> {
    Location loc = put.getLoc();
    if (put.getMechanism() == xfer::Mechanism::CopyEngine)
      return {}; // a transfer before the launch has carried it out
    if (put.getPeer())
      return {slotAddress(at, loc, mapping.lookup(put.getPeer()), kernel.rank, put.getBuffer())};
    SmallVector<Value> slots;
    for (int64_t distance = 1; distance < kernel.size; ++distance)
      slots.push_back(slotAddress(at, loc, peerOf(at, loc, distance), kernel.rank, put.getBuffer()));
    return slots;
  };
  auto pushes = [&](xfer::PutOp put) { return put.getMechanism() != xfer::Mechanism::CopyEngine && (put.getPeer() || kernel.size > 1); };
  DenseMap<Operation *, SmallVector<Value>> addresses;
  for (Operation *op : group) {
    Location at = op->getLoc();
    SmallVector<Value> &list = addresses[op];
    if (auto load = dyn_cast<xfer::LoadOp>(op)) {
      Value start = startIn(builder, op, load.getPart(), load.getAt());
      list = {memoryAddress(builder, at, load.getSource(), start, load.getTile().getType().getElementType()), start};
    } else if (auto store = dyn_cast<xfer::StoreOp>(op)) {
      Value start = startIn(builder, op, store.getPart(), store.getAt());
      list = {memoryAddress(builder, at, store.getDest(), start, store.getTile().getType().getElementType()), start};
    } else if (auto consume = dyn_cast<xfer::ConsumeOp>(op)) {
      list.push_back(slotAddress(builder, at, kernel.rank, mapping.lookup(consume.getPeer()), consume.getBuffer()));
    } else if (auto put = dyn_cast<xfer::PutOp>(op)) {
      if (!once)
        list = slotsOf(builder, put);
    } else if (auto all = dyn_cast<xfer::ContributionsOp>(op)) {
      // The other ranks in ascending order: j, or j + 1 from this rank on.
      for (int64_t j = 0; j + 1 < kernel.size; ++j) {
        Value low = indexConstant(builder, at, j), high = indexConstant(builder, at, j + 1);
        Value before = arith::CmpIOp::create(builder, at, arith::CmpIPredicate::slt, low, kernel.rank);
        Value source = arith::SelectOp::create(builder, at, before, low, high);
        list.push_back(slotAddress(builder, at, kernel.rank, source, all.getBuffer()));
      }
    }
  }

  // A rank alone pushes to nobody. A read of LL lines is a wait, also where nobody wants what is read.
  bool matters = llvm::any_of(group, [&](Operation *op) {
    if (auto consume = dyn_cast<xfer::ConsumeOp>(op))
      return !staged(consume.getBuffer());
    if (auto all = dyn_cast<xfer::ContributionsOp>(op))
      return !staged(all.getBuffer());
    auto put = dyn_cast<xfer::PutOp>(op);
    return isa<xfer::StoreOp>(op) || (put && pushes(put));
  });
  if (!matters)
    return success();

  Value count = createIndex<cuda::VectorsOp>(builder, loc, chunk.length, builder.getI64IntegerAttr(layout.lanes()));
  bool readsLines = llvm::any_of(group, [&](Operation *op) {
    auto consume = dyn_cast<xfer::ConsumeOp>(op);
    auto all = dyn_cast<xfer::ContributionsOp>(op);
    return (consume && !staged(consume.getBuffer())) || (all && !staged(all.getBuffer()));
  });
  bool writesLines = llvm::any_of(group, [&](Operation *op) {
    auto put = dyn_cast<xfer::PutOp>(op);
    return put && pushes(put) && !staged(put.getBuffer());
  });
  Value epoch = readsLines || (writesLines && !once) ? kernel.epochAt(builder, loc) : Value();
  auto loop = cuda::ForEachOp::create(builder, loc, count, unroll, once ? cuda::Spread::Once : cuda::Spread::Block, /*per_lane=*/IntegerAttr());
  Block &load = loop.getLoad().emplaceBlock(), &store = loop.getStore().emplaceBlock();
  Value i = load.addArgument(builder.getIndexType(), loc);
  Value j = store.addArgument(builder.getIndexType(), loc);
  OpBuilder in = OpBuilder::atBlockEnd(&load), out = OpBuilder::atBlockEnd(&store);

  DenseMap<Value, Value> vectors; // tile -> vector in the load region
  auto lookup = [&](Operation *op, Value tile) -> FailureOr<Value> {
    if (Value vector = vectors.lookup(tile))
      return vector;
    return op->emitOpError() << "must use tiles of its own chunk, made on the same side of every signal and wait";
  };
  auto loadSlot = [&](Location at, Value address, Value buffer) -> Value {
    if (staged(buffer))
      return cuda::LoadStagedOp::create(in, at, vectorType(), address, i);
    return cuda::LoadLLOp::create(in, at, vectorType(), address, i, epoch, kernel.takeSite());
  };
  SmallVector<std::pair<Operation *, Value>> sinks;
  for (Operation *op : group) {
    Location at = op->getLoc();
    if (auto read = dyn_cast<xfer::LoadOp>(op)) {
      Type element = layout.scale == 1 && read.getTile().getType().getElementType() != layout.message ? read.getTile().getType().getElementType()
                                                                                                      : layout.element;
      auto vector = VectorType::get({layout.lanes()}, element);
      if (std::optional<StridedWindow> window = windowOf(read.getSource())) {
        auto [first, left] = elementsAt(in, at, i, addresses[op][1]);
        vectors[read.getTile()] = cuda::LoadStridedOp::create(in, at, vector, addresses[op][0], first, left, window->sizes, window->strides);
        continue;
      }
      vectors[read.getTile()] = cuda::LoadOp::create(in, at, vector, addresses[op][0], i, chunk.length);
    } else if (auto consume = dyn_cast<xfer::ConsumeOp>(op)) {
      vectors[consume.getTile()] = loadSlot(at, addresses[op][0], consume.getBuffer());
    } else if (auto all = dyn_cast<xfer::ContributionsOp>(op)) {
      if (!all.getOwn())
        return op->emitOpError() << "must have an own tile outside of pipelines over rows";
      FailureOr<Value> own = lookup(op, all.getOwn());
      if (failed(own))
        return failure();
      SmallVector<Value> others;
      for (Value address : addresses[op])
        others.push_back(loadSlot(at, address, all.getBuffer()));
      for (auto [r, tile] : llvm::enumerate(all.getTiles())) {
        int64_t rank = r;
        Value number = indexConstant(in, at, rank);
        Value value = *own;
        // Rank r is this rank, or number r of the others if r comes before this rank, else number r - 1.
        if (rank < static_cast<int64_t>(others.size())) {
          Value isBefore = arith::CmpIOp::create(in, at, arith::CmpIPredicate::slt, number, kernel.rank);
          value = arith::SelectOp::create(in, at, isBefore, others[rank], value);
        }
        if (rank > 0) {
          Value isAfter = arith::CmpIOp::create(in, at, arith::CmpIPredicate::sgt, number, kernel.rank);
          value = arith::SelectOp::create(in, at, isAfter, others[rank - 1], value);
        }
        vectors[tile] = value;
      }
    } else if (auto map = dyn_cast<xfer::MapOp>(op)) {
      SmallVector<Value> operands;
      for (Value tile : map.getTiles()) {
        FailureOr<Value> vector = lookup(op, tile);
        if (failed(vector))
          return failure();
        operands.push_back(*vector);
      }
      FailureOr<Value> result = vectorizeBody(in, map, operands, layout.lanes());
      if (failed(result))
        return failure();
      vectors[map.getResult()] = *result;
    } else {
      Value tile = isa<xfer::StoreOp>(op) ? cast<xfer::StoreOp>(op).getTile() : cast<xfer::PutOp>(op).getTile();
      FailureOr<Value> vector = lookup(op, tile);
      if (failed(vector))
        return failure();
      if (isa<xfer::StoreOp>(op) || pushes(cast<xfer::PutOp>(op)))
        sinks.emplace_back(op, *vector);
    }
  }

  SmallVector<Value> yielded;
  DenseMap<Value, Value> carried;
  for (auto &[op, vector] : sinks)
    if (!carried.count(vector)) {
      yielded.push_back(vector);
      carried[vector] = store.addArgument(vector.getType(), vector.getLoc());
    }
  cuda::YieldOp::create(in, loc, yielded);
  for (auto &[op, vector] : sinks) {
    Value value = carried[vector];
    if (auto store = dyn_cast<xfer::StoreOp>(op)) {
      if (std::optional<StridedWindow> window = windowOf(store.getDest())) {
        auto [first, left] = elementsAt(out, op->getLoc(), j, addresses[op][1]);
        cuda::StoreStridedOp::create(out, op->getLoc(), value, addresses[op][0], first, left, window->sizes, window->strides);
      } else {
        cuda::StoreOp::create(out, op->getLoc(), value, addresses[op][0], j, chunk.length);
      }
      continue;
    }
    auto put = cast<xfer::PutOp>(op);
    for (Value address : once ? slotsOf(out, put) : addresses[op]) {
      if (staged(put.getBuffer()))
        cuda::StorePeerOp::create(out, op->getLoc(), value, address, j);
      else
        cuda::StoreLLOp::create(out, op->getLoc(), value, address, j, epoch ? epoch : kernel.epochAt(out, op->getLoc()), kernel.takeSite());
    }
  }
  return success();
}
