// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass from outside the tree, in one file: an all-reduce among one rank is its operand.

#include "dialects/Comm/IR/Comm.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {
struct Drop : OpRewritePattern<pkb::comm::AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(pkb::comm::AllReduceOp op, PatternRewriter &rewriter) const override {
    auto collective = cast<pkb::comm::CollectiveOpInterface>(op.getOperation());
    if (collective.getGroup().getSize() != 1)
      return rewriter.notifyMatchFailure(op, "others take part");
    if (collective.getCollectiveInputs().getTypes() != op->getResultTypes())
      return rewriter.notifyMatchFailure(op, "the result has another type");
    rewriter.replaceOp(op, collective.getCollectiveInputs());
    return success();
  }
};

struct DropLonely : PassWrapper<DropLonely, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropLonely)
  StringRef getArgument() const final { return "drop-lonely"; }
  StringRef getDescription() const final { return "drop all-reduces among one rank"; }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Drop>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "DropLonely", LLVM_VERSION_STRING, [] { PassRegistration<DropLonely>(); }};
}
