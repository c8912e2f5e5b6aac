// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXfer.cpp - gate of level L2: coordination ------------------===//
//
// What is proved, by which argument, and what is not: docs/Rationale/VerifyXfer.md.
//
//===----------------------------------------------------------------------===//

#include "passes/Contract/Passes.h"
#include "passes/Contract/VerifyXferRules.h"
#include "pkb/Analysis/HappensBefore.h"
#include "pkb/Support/OptionError.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "pkb-verify-xfer"

namespace pkb {
#define GEN_PASS_DEF_VERIFYXFERPASS
#include "passes/Contract/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

/// The classes of blocks: for each, how many chunks a block has in each pipeline. The first is that of block 0.
static SmallVector<SmallVector<int64_t>> blockClasses(ArrayRef<xfer::PipelineOp> pipelines, int64_t blocks) {
  // Block b has ceil((chunks - b) / blocks) chunks, so the numbers change at b = chunks mod blocks only.
  SmallVector<int64_t> firsts{0};
  for (xfer::PipelineOp pipeline : pipelines)
    firsts.push_back(std::min(chunksOf(pipeline), chunksOf(pipeline) % blocks));
  SmallVector<SmallVector<int64_t>> classes;
  for (int64_t block : firsts) {
    SmallVector<int64_t> chunks;
    for (xfer::PipelineOp pipeline : pipelines)
      chunks.push_back(std::max<int64_t>(0, chunksOf(pipeline) - block + blocks - 1) / blocks);
    if (!llvm::is_contained(classes, chunks))
      classes.push_back(chunks);
  }
  return classes;
}

/// Proves the order of one class of blocks for rings of `slots` slots.
static void checkOrder(TransferModel &model, ArrayRef<int64_t> chunks, int64_t slots, bool first,
                       TransferReporter &reporter) {
  int64_t depth = model.getKernel().getSchedule().getDepth();
  SmallVector<int64_t> unrolled;
  for (int64_t count : chunks)
    unrolled.push_back(std::min(count, std::max(depth + 3, count > slots ? slots + 2 : 0)));
  if (failed(model.unroll(unrolled, reporter)))
    return;
  HappensBefore(model, slots, /*endsCall=*/first, reporter).run();
  if (first)
    checkContributions(model, reporter);
}

/// True if all elements of a window of an argument are elements of that argument, whose own lie side by side from its pointer on.
static bool isInside(memref::ReinterpretCastOp window) {
  auto whole = cast<MemRefType>(xfer::argumentBehind(window).getType()), type = window.getType();
  int64_t reach = 0;
  SmallVector<int64_t> strides;
  if (!whole.hasStaticShape() || !whole.getLayout().isIdentity() || !type.hasStaticShape() || failed(type.getStridesAndOffset(strides, reach)) ||
      ShapedType::isDynamic(reach) || reach < 0 || llvm::any_of(strides, [](int64_t stride) { return ShapedType::isDynamic(stride) || stride < 0; }))
    return false;
  if (type.getNumElements() == 0)
    return true;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    reach += (size - 1) * stride;
  return reach < whole.getNumElements();
}

static bool verifyKernel(xfer::KernelOp kernel, const XferLimits &limits) {
  TransferReporter reporter;
  for (Operation &op : kernel.getEntry()) {
    if (!isa<xfer::SymmBufferOp, xfer::FlagsOp, xfer::PipelineOp, xfer::SyncOp>(op) &&
        !(isa<memref::ReinterpretCastOp>(op) && xfer::argumentBehind(op.getResult(0))))
      reporter.report(TransferCode::NotUnderstood, &op, "it must not stand at the top of a kernel");
    else if (auto window = dyn_cast<memref::ReinterpretCastOp>(op); window && !isInside(window))
      reporter.report(TransferCode::NotUnderstood, &op, "a window must lie in its argument, which must be contiguous, both of static layout");
  }
  if (reporter.failed())
    return false;
  checkRoom(kernel, limits, reporter);
  if (reporter.has(TransferCode::TooManyRanks))
    return false;
  checkTokens(kernel, reporter);
  checkPhases(kernel, reporter);
  auto promises = [](xfer::PipelineOp pipeline) {
    return pipeline.getCollective() != xfer::Collective::None || (pipeline.isLocal() && pipeline->getParentOfType<xfer::KernelOp>().getFused());
  };
  if (!llvm::all_of(kernel.getEntry().getOps<xfer::PipelineOp>(), promises))
    kernel.emitRemark() << "contributions were not checked, for the kernel does not say which collective it implements";

  TransferModel model(kernel);
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  for (auto [index, chunks] : llvm::enumerate(blockClasses(model.pipelines(), schedule.getBlocks()))) {
    // A ring that is safe is safe with more slots, so a short one is tried first.
    int64_t slots = schedule.getSlots(), shorter = std::min(slots, 2 * schedule.getDepth() + 4);
    if (shorter < slots) {
      TransferReporter trial;
      trial.silence();
      checkOrder(model, chunks, shorter, index == 0, trial);
      if (trial.has(TransferCode::SlotReusedEarly))
        shorter = slots;
    }
    checkOrder(model, chunks, shorter, index == 0, reporter);
  }
  if (!reporter.failed()) // else what was found is nearer to the cause
    checkMechanism(kernel, limits, reporter);
  return !reporter.failed();
}

namespace {

/// Of the smallest device that is a target.
constexpr int64_t kDefaultSms = 132;

struct VerifyXferPass : pkb::impl::VerifyXferPassBase<VerifyXferPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (sms < 0) {
      emitOptionError(&getContext(), "sms", sms.getValue()) << "must not be negative";
      return signalPassFailure();
    }
    if (arenaBytes < 1) {
      emitOptionError(&getContext(), "arena-bytes", arenaBytes.getValue()) << "must be positive";
      return signalPassFailure();
    }
    XferLimits limits{sms, arenaBytes, sms > 0};
    if (limits.sms == 0) {
      auto told = module->getAttrOfType<IntegerAttr>(xfer::kSmsAttrName);
      limits.sms = told ? told.getInt() : kDefaultSms;
    }
    if (limits.sms < 1) {
      module.emitError() << "attribute " << xfer::kSmsAttrName << " must be positive, got: " << limits.sms;
      return signalPassFailure();
    }
    bool legal = true;
    for (auto kernel : module.getOps<xfer::KernelOp>())
      legal &= verifyKernel(kernel, limits);
    module.walk([&](xfer::LaunchOp launch) {
      TransferReporter reporter;
      auto function = dyn_cast<func::FuncOp>(launch->getParentOp());
      if (!function || !llvm::hasSingleElement(function.getBody()))
        reporter.report(TransferCode::NotUnderstood, launch, "all ranks must come to it: it must stand in the one block of a function");
      if (auto kernel = SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(launch, launch.getKernelAttr())) {
        checkOperands(launch, kernel, reporter);
        checkCopied(launch, kernel, reporter);
      }
      legal &= !reporter.failed();
    });
    module.walk([&](xfer::TransferOp transfer) {
      TransferReporter reporter;
      checkTransfer(transfer, reporter);
      legal &= !reporter.failed();
    });
    module.walk([&](xfer::LibraryCallOp call) {
      TransferReporter reporter;
      checkMechanism(call, reporter);
      legal &= !reporter.failed();
    });
    if (!legal)
      signalPassFailure();
  }
};

} // namespace
