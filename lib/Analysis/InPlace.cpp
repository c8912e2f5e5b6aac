// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- InPlace.cpp - operands of a launch that share memory -------------===//

#include "pkb/Analysis/InPlace.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace pkb;

Extent Extent::of(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  while (isa_and_nonnull<memref::ReinterpretCastOp, xfer::BitcastOp>(memory.getDefiningOp()))
    memory = memory.getDefiningOp()->getOperand(0);
  return memory.getDefiningOp<xfer::AbsentOp>() ? Extent{memory} : of(memory, type);
}

Extent Extent::of(Value root, MemRefType type) {
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset))
    return {root, 0, INT64_MAX};
  int64_t bytes = xfer::elementBytes(type.getElementType()), reach = offset;
  for (auto [size, stride] : llvm::zip(type.getShape(), strides)) {
    if (size == 0)
      return {root}; // covers nothing
    reach += (size - 1) * stride;
  }
  return {root, offset * bytes, (reach + 1) * bytes};
}

SmallVector<BlockArgument> pkb::argumentsBehind(Value memory) {
  SmallVector<Value> tensors{memory};
  if (auto select = memory.getDefiningOp<xfer::SelectOp>())
    tensors.assign(select.getTensors().begin(), select.getTensors().end());
  SmallVector<BlockArgument> found;
  for (Value tensor : tensors)
    if (BlockArgument argument = xfer::argumentBehind(tensor))
      found.push_back(argument);
  return found;
}

namespace {

/// Which message of an argument an access is of.
enum class Part { Whole, Own, Peer };

/// A load or store of elements by a kernel.
struct Access {
  Operation *op;
  xfer::PipelineOp pipeline;
  std::optional<Part> part; // none: not a whole chunk of contiguous elements, as the pipeline cuts them
};

/// By how many elements one argument begins behind another, for the rank of this number in the group.
struct Distance {
  int64_t rank, elements;
};

/// Two arguments of a kernel, `in` only loaded, `out` stored, that share memory.
class SharedArguments {
public:
  /// distances: of `in` behind `out`, for each rank that launches the kernel; none where the two are not contiguous elements of one type.
  SharedArguments(xfer::KernelOp kernel, unsigned in, unsigned out, std::optional<SmallVector<Distance>> distances)
      : kernel(kernel), distances(std::move(distances)) {
    kernel.walk([&](Operation *op) {
      if (auto load = dyn_cast<xfer::LoadOp>(op); load && reaches(load.getSource(), in))
        loads.push_back(accessOf(load, load.getSource(), load.getTile().getType()));
      if (auto store = dyn_cast<xfer::StoreOp>(op); store && reaches(store.getDest(), out))
        stores.push_back(accessOf(store, store.getDest(), store.getTile().getType()));
    });
  }
  /// True if no thread stores an element before all threads that load it have done so.
  bool areOrdered() const {
    return llvm::all_of(loads, [&](const Access &load) {
      return llvm::all_of(stores, [&](const Access &store) { return isOrdered(load, store); });
    });
  }

private:
  bool reaches(Value memory, unsigned argument) { return llvm::is_contained(argumentsBehind(memory), kernel.getEntry().getArgument(argument)); }

  template <typename AccessOp>
  static Access accessOf(AccessOp op, Value memory, xfer::TileType tile) {
    Access access{op, op->template getParentOfType<xfer::PipelineOp>(), std::nullopt};
    bool rows = isa<VectorType>(tile.getElementType());
    if (rows || op.getAt() || !isa<BlockArgument>(memory) || !isa<BlockArgument>(op.getChunk()))
      return access;
    if (Value part = op.getPart(); !part)
      access.part = Part::Whole;
    else if (part.template getDefiningOp<xfer::OwnRankOp>())
      access.part = Part::Own;
    else if (auto argument = dyn_cast<BlockArgument>(part); argument && isa<xfer::ForPeersOp>(argument.getOwner()->getParentOp()))
      access.part = Part::Peer;
    return access;
  }

  /// The widest sync between two pipelines, of which `first` comes first.
  static std::optional<xfer::SyncScope> syncBetween(xfer::PipelineOp first, xfer::PipelineOp second) {
    std::optional<xfer::SyncScope> widest;
    for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode())
      if (auto sync = dyn_cast<xfer::SyncOp>(op); sync && (!widest || sync.getScope() == xfer::SyncScope::Grid))
        widest = sync.getScope();
    return widest;
  }

  bool isOrdered(Access load, Access store) const {
    bool together = load.pipeline == store.pipeline;
    if (!together) {
      if (!load.pipeline->isBeforeInBlock(store.pipeline))
        return false;
      std::optional<xfer::SyncScope> sync = syncBetween(load.pipeline, store.pipeline);
      if (!sync)
        return false;
      if (*sync == xfer::SyncScope::Grid)
        return true;
    }
    // Chunk c is the same elements of both, and the same block's.
    if (!distances || !load.part || !store.part || load.pipeline.getElements() != store.pipeline.getElements() || load.pipeline.getChunk() != store.pipeline.getChunk())
      return false;
    int64_t message = load.pipeline.getElements();
    bool aligned = llvm::all_of(*distances, [&](const Distance &distance) {
      int64_t own = distance.rank * message, wanted = 0;
      if (*load.part == Part::Whole && *store.part != Part::Whole)
        wanted = own;
      if (*load.part != Part::Whole && *store.part == Part::Whole)
        wanted = -own;
      return distance.elements == wanted;
    });
    // What a row has one of, all lanes of its team load and one of them stores: another may come late.
    if (together && runsOverRows(load.pipeline))
      return false;
    // Within one pipeline the same thread has an element of a chunk in both, but may store what is a peer's before another thread has loaded it.
    return aligned && (!together || (isBehind(store.op, load.op) && !(*load.part == Part::Peer && *store.part == Part::Peer)));
  }

  static bool runsOverRows(xfer::PipelineOp pipeline) {
    return pipeline
        .walk([](Operation *op) {
          return isa<xfer::RowReduceOp, xfer::BroadcastOp, xfer::LineOp, xfer::PartOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// True if `op` stands behind `other` in the text of their pipeline.
  static bool isBehind(Operation *op, Operation *other) {
    bool seen = false, behind = false;
    op->getParentOfType<xfer::PipelineOp>().walk([&](Operation *next) {
      seen |= next == other;
      if (next == op)
        behind = seen;
    });
    return behind;
  }

  xfer::KernelOp kernel;
  std::optional<SmallVector<Distance>> distances;
  SmallVector<Access> loads, stores;
};

} // namespace

SmallVector<Overlap> pkb::findOverlaps(xfer::KernelOp kernel, ValueRange operands, Operation *function) {
  llvm::BitVector written(operands.size());
  kernel.walk([&](xfer::StoreOp store) {
    for (BlockArgument argument : argumentsBehind(store.getDest()))
      if (argument.getArgNumber() < written.size())
        written.set(argument.getArgNumber());
  });
  SmallVector<Extent> extents = llvm::map_to_vector(operands, [](Value operand) { return Extent::of(operand); });
  DenseI64ArrayAttr ranks = comm::getRanks(function);
  auto distancesOf = [&](unsigned in, unsigned out) -> std::optional<SmallVector<Distance>> {
    auto left = cast<MemRefType>(operands[in].getType()), right = cast<MemRefType>(operands[out].getType());
    int64_t bytes = xfer::elementBytes(left.getElementType()), behind = extents[in].first - extents[out].first;
    if (left.getElementType() != right.getElementType() || !xfer::isContiguous(left) || !xfer::isContiguous(right) || behind % bytes)
      return std::nullopt;
    SmallVector<Distance> distances;
    for (int64_t rank = 0; rank < kernel.getGroup().getSize(); ++rank)
      if (!ranks || llvm::any_of(ranks.asArrayRef(), [&](int64_t world) { return kernel.getGroup().getPositionOf(world) == rank; }))
        distances.push_back({rank, behind / bytes});
    return distances;
  };
  SmallVector<Overlap> found;
  for (unsigned target : written.set_bits())
    for (unsigned other = 0; other < extents.size(); ++other) {
      if (other == target || (written.test(other) && other < target) || !extents[target].overlaps(extents[other]))
        continue;
      if (written.test(other) || !SharedArguments(kernel, other, target, distancesOf(other, target)).areOrdered())
        found.push_back({target, other});
    }
  return found;
}
