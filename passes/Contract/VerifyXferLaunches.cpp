// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferLaunches.cpp - the operands of a launch ----------------===//

#include "passes/Contract/VerifyXferRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace pkb;

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
  checkSizes(launch, kernel, reporter);
  for (Overlap overlap : findOverlaps(kernel, launch.getOperands(), launch->getParentOfType<func::FuncOp>()))
    reporter.report(TransferCode::OverlappingOperands, launch,
                    "operand " + Twine(overlap.written) + " is written and overlaps operand " + Twine(overlap.other));
}
