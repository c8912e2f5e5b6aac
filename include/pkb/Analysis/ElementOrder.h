// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ElementOrder.h - the elements of a tensor in another's order -*- C++ -*-===//
//
// Views permute and split dimensions. What a kernel moves is numbered once, by the message or the result of its collective; an ElementOrder says for a
// tensor that has the same elements in some order, how that number changes along each of its dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_ANALYSIS_ELEMENTORDER_H
#define PKB_ANALYSIS_ELEMENTORDER_H

#include "dialects/Aten/IR/Aten.h"

namespace pkb {

class ElementOrder {
public:
  /// Numbers in row-major order.
  static ElementOrder rowMajor(llvm::ArrayRef<int64_t> shape);

  /// The order of `to`, a view of the storage of a tensor of type `from` that has this order; std::nullopt where they do not have the same elements, or a
  /// dimension of one lies across dimensions of the other that do not follow each other. Works both ways: `to` may be the one that is viewed.
  std::optional<ElementOrder> through(mlir::RankedTensorType from, mlir::RankedTensorType to) const;

  /// `window`, a tensor of the shape that this order is of, with its dimensions sorted so that row-major order is the order of the numbers.
  mlir::RankedTensorType sorted(mlir::RankedTensorType window) const;

  bool operator==(const ElementOrder &other) const { return shape == other.shape && steps == other.steps; }

private:
  llvm::SmallVector<int64_t> shape, steps; // by dimension: its size, and the difference of the numbers of neighbours
};

} // namespace pkb

#endif // PKB_ANALYSIS_ELEMENTORDER_H
