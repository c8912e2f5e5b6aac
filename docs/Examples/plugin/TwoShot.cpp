// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lowering from outside the tree, in one file: an all-reduce becomes a reduce-scatter and an all-gather, which send 2·(W−1)/W of the message instead
// of W−1 times all of it.
//
//   tools/dev/build-plugin TwoShot.cpp -o TwoShot.so
//   pkb-opt ar.pkb --load-pass-plugin=TwoShot.so --pkb-pipeline='target=h200x4 comm-passes=two-shot' -o ar.cu

#include "pkb/Plugin.h"

using namespace mlir;
using namespace pkb;

namespace {
struct Split : OpRewritePattern<comm::AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(comm::AllReduceOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    int64_t ranks = op.getGroup().getSize();
    if (ranks == 1 || type.getRank() == 0 || type.getDimSize(0) == 0 || type.getDimSize(0) % ranks != 0)
      return rewriter.notifyMatchFailure(op, "the first dimension does not divide among the ranks");
    if (comm::getExchange(op))
      return rewriter.notifyMatchFailure(op, "other ranks call it from other code");
    SmallVector<int64_t> part(type.getShape());
    part[0] /= ranks;
    auto scatter =
        comm::ReduceScatterOp::create(rewriter, op.getLoc(), type.clone(part), op.getKindAttr(), op.getInput(), op.getGroup(),
                                      op.getFactorsAttr(), op.getAccumulationAttr(), op.getDeterministicAttr());
    rewriter.replaceOpWithNewOp<comm::AllGatherOp>(op, TypeRange(type), scatter.getResult(), op.getGroup());
    return success();
  }
};

struct TwoShot : PassWrapper<TwoShot, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TwoShot)
  StringRef getArgument() const final { return "two-shot"; }
  StringRef getDescription() const final { return "all-reduce as reduce-scatter and all-gather"; }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Split>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

PKB_PASS_PLUGIN(TwoShot)
