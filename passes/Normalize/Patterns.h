//===- Patterns.h - patterns that passes of this family share ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_NORMALIZE_PATTERNS_H
#define PKB_PASSES_NORMALIZE_PATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace pkb {

/// Collectives of lists become collectives of one tensor where the list is made
/// from one tensor and put together into one; results and inputs that are only
/// reshaped take the shape that is asked for.
void populateJoinPatterns(mlir::RewritePatternSet &patterns);

/// The same for collectives below `root` that functions of different ranks have
/// in common: all of them change or none. Returns true if some did.
bool joinExchanges(mlir::Operation *root);

} // namespace pkb

#endif // PKB_PASSES_NORMALIZE_PATTERNS_H
