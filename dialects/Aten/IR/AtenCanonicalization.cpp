//===- AtenCanonicalization.cpp - folds of views and literals -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace pkb::aten;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// True if `window` overwrites every byte that `base` reaches. An overlapping
/// (expanded) base is never covered.
static bool covers(RankedTensorType window, RankedTensorType base) {
  ByteRange w = getWindow(window), b = getWindow(base);
  return isDense(window) && w.begin <= b.begin && w.end >= b.end;
}

OpFoldResult LiteralOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult AsStridedOp::fold(FoldAdaptor) {
  // Seen through the same window.
  if (getBase().getType() == getType())
    return getBase();
  // Offsets count from the start of the storage, so only the last window of a
  // chain matters.
  if (auto inner = getBase().getDefiningOp<AsStridedOp>()) {
    if (inner.getBase().getType() == getType())
      return inner.getBase();
    getBaseMutable().assign(inner.getBase());
    return getResult();
  }
  if (auto write = getBase().getDefiningOp<ViewWriteOp>()) {
    if (!typeOf(write.getBase()).hasStaticShape() ||
        !typeOf(getResult()).hasStaticShape())
      return {};
    // Reads what was just written there.
    if (write.getWindowType() == getType() &&
        write.getPiece().getType() == getType())
      return write.getPiece();
    // Reads elsewhere.
    if (areApart(write.getWindowType(), typeOf(getResult()))) {
      getBaseMutable().assign(write.getBase());
      return getResult();
    }
  }
  return {};
}

OpFoldResult ViewWriteOp::fold(FoldAdaptor) {
  RankedTensorType base = typeOf(getBase());
  if (!base.hasStaticShape() || !typeOf(getPiece()).hasStaticShape())
    return {};
  RankedTensorType window = getWindowType();
  if (window.getNumElements() == 0)
    return getBase();
  // The piece is the whole version.
  if (window == base && getPiece().getType() == base && isDense(base))
    return getPiece();
  // Writes back what is there.
  if (auto read = getPiece().getDefiningOp<AsStridedOp>())
    if (read.getBase() == getBase() && read.getType() == window)
      return getBase();
  // The layout of the piece says the same.
  if (getWindow() && getPiece().getType() == window) {
    removeWindowAttr();
    return getResult();
  }
  // What an earlier write put there is overwritten.
  if (auto earlier = getBase().getDefiningOp<ViewWriteOp>())
    if (covers(window, earlier.getWindowType())) {
      getBaseMutable().assign(earlier.getBase());
      return getResult();
    }
  return {};
}

namespace {
/// A dense window that covers its base and reaches the same bytes, in another
/// shape: the result is the piece, seen through the base's type.
struct WriteOfWholeBase : OpRewritePattern<ViewWriteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewWriteOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType base = typeOf(op.getBase());
    if (!base.hasStaticShape() || !typeOf(op.getPiece()).hasStaticShape())
      return rewriter.notifyMatchFailure(op, "dynamic shape");
    RankedTensorType window = op.getWindowType();
    if (op.getPiece().getType() != window)
      return rewriter.notifyMatchFailure(op, "piece has another layout");
    if (!covers(window, base))
      return rewriter.notifyMatchFailure(op, "window does not cover the base");
    rewriter.replaceOpWithNewOp<AsStridedOp>(op, base, op.getPiece());
    return success();
  }
};

/// A read that lies within what was just written, in the piece's own layout.
struct ReadOfPiece : OpRewritePattern<AsStridedOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AsStridedOp op,
                                PatternRewriter &rewriter) const override {
    auto write = op.getBase().getDefiningOp<ViewWriteOp>();
    if (!write)
      return rewriter.notifyMatchFailure(op, "base is not a view_write");
    if (!typeOf(write.getBase()).hasStaticShape() ||
        !op.getType().hasStaticShape())
      return rewriter.notifyMatchFailure(op, "dynamic shape");
    RankedTensorType window = write.getWindowType();
    if (write.getPiece().getType() != window)
      return rewriter.notifyMatchFailure(op, "piece has another layout");
    if (!covers(window, typeOf(op.getResult())))
      return rewriter.notifyMatchFailure(op, "reads outside of the piece");
    rewriter.replaceOpWithNewOp<AsStridedOp>(op, op.getType(),
                                             write.getPiece());
    return success();
  }
};
} // namespace

void AsStridedOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<ReadOfPiece>(context);
}

void ViewWriteOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<WriteOfWholeBase>(context);
}
