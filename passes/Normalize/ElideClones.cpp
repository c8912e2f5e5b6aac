//===- ElideClones.cpp - copies that values make needless -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "dialects/Comm/IR/Comm.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Normalize/Passes.h"
#include "passes/Normalize/Patterns.h"
#include "llvm/ADT/StringSwitch.h"

#define DEBUG_TYPE "pkb-elide-clones"

namespace pkb {
#define GEN_PASS_DEF_ELIDECLONESPASS
#include "passes/Normalize/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;
using namespace pkb::aten;

/// Operators whose one fresh result holds the elements of their first argument,
/// possibly in another layout or element type.
static bool isCopy(StringRef callee) {
  return llvm::StringSwitch<bool>(callee)
      .Cases({"aten::clone", "aten::contiguous", "aten::detach",
              "aten::detach_copy", "aten::alias", "aten::alias_copy",
              "aten::lift", "aten::lift_fresh", "aten::lift_fresh_copy",
              "aten::_to_copy", "aten::to", "aten::view_copy",
              "aten::_unsafe_view", "aten::_reshape_copy"},
             true)
      .Default(false);
}

/// The operand that positional argument `index` is; null if it is none.
static Value getTensorArgument(CallOp op, size_t index) {
  if (index >= op.getArgs().size())
    return {};
  auto operand = dyn_cast<OperandAttr>(op.getArgs()[index]);
  Value input = operand ? op.getInputs()[operand.getIndex()] : Value();
  return input && isa<RankedTensorType>(input.getType()) ? input : Value();
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// True if the call names a device: it may move its argument.
static bool namesDevice(CallOp op) {
  return llvm::any_of(op.getArgs(), llvm::IsaPred<DeviceAttr>) ||
         llvm::any_of(op.getKwargs(), [](NamedAttribute argument) {
           return isa<DeviceAttr>(argument.getValue());
         });
}

/// True if all results of `op` are one fresh tensor.
static bool hasOneFreshResult(CallOp op) {
  return !op.isBufferized() && !op.getRng() && op.getMutates().empty() &&
         op.getNumResults() == 1;
}

namespace {
/// A copy that has the type of its operand, or is another shape of the same
/// contiguous memory.
struct ElideCopy : OpRewritePattern<CallOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CallOp op,
                                PatternRewriter &rewriter) const override {
    if (!hasOneFreshResult(op) || !isCopy(op.getCallee()))
      return rewriter.notifyMatchFailure(op, "not a copy");
    Value source = getTensorArgument(op, 0);
    if (!source)
      return rewriter.notifyMatchFailure(op, "first argument is not a tensor");
    if (namesDevice(op))
      return rewriter.notifyMatchFailure(op, "may move to another device");
    RankedTensorType from = typeOf(source), to = typeOf(op.getResult(0));
    if (from == to) {
      rewriter.replaceOp(op, source);
      return success();
    }
    if (from.getEncoding() || to.getEncoding() ||
        from.getElementType() != to.getElementType() ||
        from.getNumElements() != to.getNumElements())
      return rewriter.notifyMatchFailure(op, "changes layout or element type");
    rewriter.replaceOpWithNewOp<AsStridedOp>(op, to, source);
    return success();
  }
};

/// `copy_` between tensors of one shape and element type.
struct ElideCopyInto : OpRewritePattern<CallOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CallOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getCallee() != "aten::copy_" || op.isBufferized() || op.getRng() ||
        op.getNumResults() != 1 || op.getMutates() != ArrayRef<int64_t>{0})
      return rewriter.notifyMatchFailure(op, "not a copy_");
    Value destination = getTensorArgument(op, 0);
    Value source = getTensorArgument(op, 1);
    if (!source || destination != op.getInputs()[0])
      return rewriter.notifyMatchFailure(op, "arguments are not two tensors");
    if (isOnHost(source) != isOnHost(destination))
      return rewriter.notifyMatchFailure(op, "moves between host and device");
    RankedTensorType from = typeOf(source), to = typeOf(destination);
    if (from == to) {
      rewriter.replaceOp(op, source);
      return success();
    }
    if (from.getShape() != to.getShape() ||
        from.getElementType() != to.getElementType())
      return rewriter.notifyMatchFailure(op, "broadcasts or converts");
    Layout layout = getLayout(to);
    rewriter.replaceOpWithNewOp<ViewWriteOp>(
        op, to, destination, source,
        StridedAttr::get(op.getContext(), layout.strides, layout.offset));
    return success();
  }
};

/// A piece made for this write only by a write into undefined contents:
///   %e = as_strided %base; %p = view_write %e, %x; view_write %base, %p
/// becomes one write of %x into %base.
struct FuseWrites : OpRewritePattern<ViewWriteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewWriteOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getPiece().getDefiningOp<ViewWriteOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "piece is not a view_write");
    if (op.getWindowType() != op.getPiece().getType())
      return rewriter.notifyMatchFailure(op, "piece has another layout");
    auto read = inner.getBase().getDefiningOp<AsStridedOp>();
    if (!read || read.getBase() != op.getBase())
      return rewriter.notifyMatchFailure(op, "piece is not read from the base");
    rewriter.replaceOpWithNewOp<ViewWriteOp>(op, op.getType(), op.getBase(),
                                             inner.getPiece(),
                                             inner.getWindowAttr());
    return success();
  }
};

struct ElideClones : pkb::impl::ElideClonesPassBase<ElideClones> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ElideCopy, ElideCopyInto, FuseWrites>(&getContext());
    populateJoinPatterns(patterns);
    AsStridedOp::getCanonicalizationPatterns(patterns, &getContext());
    ViewWriteOp::getCanonicalizationPatterns(patterns, &getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    if (failed(applyPatternsGreedily(getOperation(), frozen)) ||
        (joinExchanges(getOperation()) &&
         failed(applyPatternsGreedily(getOperation(), frozen))))
      signalPassFailure();
  }
};
} // namespace
