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
  return operand ? op.getInputs()[operand.getIndex()] : Value();
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
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

/// The whole of a base is overwritten by a dense piece of the base's own type
/// but for its layout: a base that is read no more need not be made.
struct ElideOverwritten : OpRewritePattern<ViewWriteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewWriteOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType base = typeOf(op.getBase()), piece = typeOf(op.getPiece());
    RankedTensorType window = op.getWindowType();
    if (!base.hasStaticShape() || !piece.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "dynamic shape");
    ByteRange written = aten::getWindow(window), all = aten::getWindow(base);
    if (!isDense(window) || written.begin != all.begin ||
        written.end != all.end)
      return rewriter.notifyMatchFailure(op, "does not cover its base");
    if (window.getEncoding() || piece.getEncoding() || base.getEncoding())
      return rewriter.notifyMatchFailure(op, "changes the layout");
    rewriter.replaceOpWithNewOp<AsStridedOp>(op, base, op.getPiece());
    return success();
  }
};

/// A gathered result that is only read in the other legal shape.
struct ReshapeAllGather : OpRewritePattern<comm::AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(comm::AllGatherOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumResults() != 1 || op->use_empty())
      return rewriter.notifyMatchFailure(op, "not one used result");
    RankedTensorType input = typeOf(op.getInput());
    RankedTensorType wanted;
    for (Operation *user : op->getUsers()) {
      auto read = dyn_cast<AsStridedOp>(user);
      if (!read || (wanted && read.getType() != wanted))
        return rewriter.notifyMatchFailure(op, "read in more than one shape");
      wanted = read.getType();
    }
    SmallVector<int64_t> joined(input.getShape());
    SmallVector<int64_t> stacked(input.getShape());
    stacked.insert(stacked.begin(), op.getGroup().getSize());
    if (!joined.empty())
      joined.front() *= op.getGroup().getSize();
    if (wanted.getEncoding() ||
        wanted.getElementType() != input.getElementType() ||
        (wanted.getShape() != ArrayRef(stacked) &&
         (joined.empty() || wanted.getShape() != ArrayRef(joined))))
      return rewriter.notifyMatchFailure(op, "not a legal result");
    auto gathered = comm::AllGatherOp::create(
        rewriter, op.getLoc(), TypeRange{wanted}, op.getInput(), op.getGroup());
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      rewriter.replaceOp(user, gathered.getResults());
    rewriter.eraseOp(op);
    return success();
  }
};

struct ElideClones : pkb::impl::ElideClonesPassBase<ElideClones> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ElideCopy, ElideCopyInto, FuseWrites, ElideOverwritten,
                 ReshapeAllGather>(&getContext());
    AsStridedOp::getCanonicalizationPatterns(patterns, &getContext());
    ViewWriteOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
