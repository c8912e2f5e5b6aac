// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferLaunches.cpp - the operands of a launch ----------------===//

#include "passes/Contract/VerifyXferRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace pkb;

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
/// The elements of a storage that a memref covers: those from `first` up to `last`, in bytes.
struct Extent {
  Value root;
  int64_t first = 0, last = 0;
};
} // namespace

static Extent extentOf(Value value) {
  auto type = cast<MemRefType>(value.getType());
  Extent extent{value};
  while (isa_and_nonnull<memref::ReinterpretCastOp, xfer::BitcastOp>(extent.root.getDefiningOp()))
    extent.root = extent.root.getDefiningOp()->getOperand(0);
  if (extent.root.getDefiningOp<xfer::AbsentOp>())
    return extent; // covers nothing
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

/// True if the ranks that run `function` include number `rank` of a row of `group`.
static bool runs(func::FuncOp function, comm::GroupAttr group, int64_t rank) {
  auto ranks = function ? function->getAttrOfType<DenseI64ArrayAttr>(comm::kRanksAttrName) : DenseI64ArrayAttr();
  if (!ranks)
    return true;
  return llvm::any_of(ranks.asArrayRef(), [&](int64_t world) { return group.getPositionOf(world) == rank; });
}

/// Tensors of unknown size are as large as what is accessed of them.
static void checkSizes(xfer::LaunchOp launch, xfer::KernelOp kernel, TransferReporter &reporter) {
  if (llvm::all_of(kernel.getEntry().getArgumentTypes(), [](Type type) { return cast<MemRefType>(type).hasStaticShape(); }))
    return;
  TransferModel model(kernel);
  TransferReporter silent;
  silent.silence();
  if (failed(model.unroll(SmallVector<int64_t>(model.pipelines().size(), 1), silent)))
    return; // reported at the kernel
  auto function = launch->getParentOfType<func::FuncOp>();
  for (int64_t rank = 0; rank < model.size(); ++rank) {
    if (!runs(function, kernel.getGroup(), rank))
      continue;
    for (const Message &message : model.program(rank).accesses) {
      auto type = cast<MemRefType>(launch.getOperands()[message.argument].getType());
      int64_t has = model.elementsOf(message.argument, type);
      if (message.elements > 0 && message.end() > has)
        reporter.report(TransferCode::OperandTooSmall, launch,
                        "on rank " + Twine(rank) + " the kernel accesses elements " + Twine(message.offset) + " to " +
                            Twine(message.end()) + " of operand " + Twine(message.argument) + ", which has " + Twine(has));
    }
  }
}

/// True if element i of one is element i of the other: both hold all elements from the same one on, row by row.
static bool areSameElements(Value left, const Extent &a, Value right, const Extent &b) {
  auto leftType = cast<MemRefType>(left.getType()), rightType = cast<MemRefType>(right.getType());
  return a.root == b.root && a.first == b.first && a.last == b.last && leftType.getElementType() == rightType.getElementType() &&
         xfer::isContiguous(leftType) && xfer::isContiguous(rightType);
}

/// True if the kernel stores element i of argument `out` where it has loaded element i of argument `in`, and loads that nowhere else: the loads and stores are
/// those of whole chunks of one pipeline over elements, so that the same thread of the same block has both, and no load stands behind a store.
static bool storesInPlace(xfer::KernelOp kernel, unsigned in, unsigned out) {
  xfer::PipelineOp home;
  bool stored = false;
  auto isPlain = [&](Operation *op, Value memory, Value chunk, bool placed) {
    auto pipeline = op->getParentOfType<xfer::PipelineOp>();
    bool rows = llvm::any_of(llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())), [](Type type) {
      auto tile = dyn_cast<xfer::TileType>(type);
      return tile && isa<VectorType>(tile.getElementType());
    });
    if (!home)
      home = pipeline;
    return pipeline == home && !rows && !placed && isa<BlockArgument>(memory) && isa<BlockArgument>(chunk);
  };
  WalkResult result = kernel.walk([&](Operation *op) {
    bool plain = true;
    if (auto store = dyn_cast<xfer::StoreOp>(op); store && llvm::is_contained(argumentsBehind(store.getDest()), kernel.getEntry().getArgument(out))) {
      plain = isPlain(op, store.getDest(), store.getChunk(), store.getPart() || store.getAt());
      stored = true;
    }
    if (auto load = dyn_cast<xfer::LoadOp>(op); load && llvm::is_contained(argumentsBehind(load.getSource()), kernel.getEntry().getArgument(in)))
      plain = !stored && isPlain(op, load.getSource(), load.getChunk(), load.getPart() || load.getAt());
    return plain ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

void pkb::checkOperands(xfer::LaunchOp launch, xfer::KernelOp kernel, TransferReporter &reporter) {
  llvm::BitVector written(launch.getOperands().size());
  kernel.walk([&](xfer::StoreOp store) {
    for (BlockArgument argument : argumentsBehind(store.getDest()))
      if (argument.getArgNumber() < written.size())
        written.set(argument.getArgNumber());
  });
  checkSizes(launch, kernel, reporter);
  SmallVector<Extent> extents;
  for (Value operand : launch.getOperands())
    extents.push_back(extentOf(operand));
  for (unsigned target : written.set_bits())
    for (unsigned other = 0; other < extents.size(); ++other) {
      if (other == target || (written.test(other) && other < target))
        continue;
      const Extent &a = extents[target], &b = extents[other];
      if (!written.test(other) && areSameElements(launch.getOperands()[target], a, launch.getOperands()[other], b) && storesInPlace(kernel, other, target))
        continue;
      if (a.root == b.root && a.first < b.last && b.first < a.last)
        reporter.report(TransferCode::OverlappingOperands, launch,
                        "operand " + Twine(target) + " is written and overlaps operand " + Twine(other));
    }
}
