// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Combination.h - how contributions become one tile --------*- C++ -*-===//
//
// Private to the lowering of collectives.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_COMBINATION_H
#define PKB_PASSES_LOWERING_COMBINATION_H

#include "dialects/Comm/IR/Comm.h"
#include "dialects/Xfer/IR/Xfer.h"

namespace pkb {

/// The element type of tiles that compute with elements of type `element`: a complex number is two reals, an integer has no sign, a bool is a byte.
mlir::Type computedAs(mlir::Type element);

/// How the contributions of the ranks of a group are combined.
struct Combination {
  comm::ReduceKind kind;
  mlir::Type element;      // of the tensors
  mlir::Type accumulation; // type in which they are added or multiplied
  llvm::SmallVector<double> factors; // of premul_sum, one per rank

  /// Why no kernel can do this, or "".
  std::string refusal() const;
  /// An xfer.map of one tile per rank, in rank order, rounded once. The tiles have elements of type computedAs(element).
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange tiles) const;

private:
  mlir::Value meanOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sum, int64_t count) const;
  mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b) const;
  bool rounds() const;
};

} // namespace pkb

#endif // PKB_PASSES_LOWERING_COMBINATION_H
