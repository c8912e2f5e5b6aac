// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ApplyPatterns.cpp - rewrite patterns of a file -------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "dialects/Comm/IR/Comm.h"
#include "dialects/Cuda/IR/Cuda.h"
#include "dialects/Xfer/IR/Xfer.h"
#include "passes/Normalize/Passes.h"

#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDL/IR/PDLOps.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MemoryBuffer.h"

#define DEBUG_TYPE "pkb-apply-patterns"

namespace pkb {
#define GEN_PASS_DEF_APPLYPATTERNSPASS
#include "passes/Normalize/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

/// The patterns' way to say that an optional attribute is not there.
static LogicalResult lacks(PatternRewriter &rewriter, PDLResultList &, ArrayRef<PDLValue> values) {
  auto *op = values[0].cast<Operation *>();
  auto name = dyn_cast<StringAttr>(values[1].cast<Attribute>());
  return success(name && !op->getAttrDictionary().contains(name));
}

/// A collective has effects, so what nobody uses any more is erased by the pattern.
static LogicalResult isUsedOnce(PatternRewriter &rewriter, PDLResultList &, ArrayRef<PDLValue> values) {
  auto *op = values[0].cast<Operation *>();
  return success(op->getNumResults() == 1 && op->hasOneUse());
}

namespace {

struct ApplyPatternsPass : pkb::impl::ApplyPatternsPassBase<ApplyPatternsPass> {
  using ApplyPatternsPassBase::ApplyPatternsPassBase;

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  FrozenRewritePatternSet patterns;
};

} // namespace

LogicalResult ApplyPatternsPass::initialize(MLIRContext *context) {
  Location nowhere = UnknownLoc::get(context);
  if (file.empty())
    return emitError(nowhere) << "option file of " << getArgument() << " must name a file of patterns";
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (std::error_code code = buffer.getError())
    return emitError(nowhere) << "cannot open the patterns '" << file << "': " << code.message();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>((*buffer)->getBuffer(), ParserConfig(context), file);
  if (!module)
    return failure();
  if (module->getOps<pdl::PatternOp>().empty())
    return emitError(nowhere) << "'" << file << "' has no pdl.pattern; of a PDLL file, mlir-pdll -x=mlir makes them";
  PDLPatternModule library(std::move(module));
  library.registerConstraintFunction("Lacks", lacks);
  library.registerConstraintFunction("UsedOnce", isUsedOnce);
  patterns = FrozenRewritePatternSet(RewritePatternSet(std::move(library)));
  return success();
}

void ApplyPatternsPass::runOnOperation() {
  // Patterns that undo each other would go on for ever.
  int64_t operations = 0;
  getOperation()->walk([&](Operation *) { ++operations; });
  GreedyRewriteConfig config;
  config.setMaxNumRewrites(1000 + 64 * operations);
  if (failed(applyPatternsGreedily(getOperation(), patterns, config))) {
    getOperation()->emitError() << "the patterns of '" << file << "' undo each other";
    signalPassFailure();
  }
}
