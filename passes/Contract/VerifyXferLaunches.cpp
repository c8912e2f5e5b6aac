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
      if (a.root == b.root && a.first < b.last && b.first < a.last)
        reporter.report(TransferCode::OverlappingOperands, launch,
                        "operand " + Twine(target) + " is written and overlaps operand " + Twine(other));
    }
}
