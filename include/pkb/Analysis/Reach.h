// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Reach.h - how far a memref reaches in its memory ---------*- C++ -*-===//

#ifndef PKB_ANALYSIS_REACH_H
#define PKB_ANALYSIS_REACH_H

#include "mlir/IR/BuiltinTypes.h"

namespace pkb {

/// Elements from the first of a memref of static layout to the end of its last: 0 if it has none. Gaps between its rows count, its
/// offset does not.
inline int64_t reachOf(mlir::MemRefType type) {
  int64_t offset = 0, reach = 1;
  llvm::SmallVector<int64_t> strides;
  if (type.getNumElements() == 0 || failed(type.getStridesAndOffset(strides, offset)))
    return 0;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    reach += (size - 1) * stride;
  return reach;
}

/// True if each element from the first of a memref of static layout to its last is one of its own: it has no gaps.
inline bool coversReach(mlir::MemRefType type) {
  int64_t offset = 0, reach = 1;
  llvm::SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  llvm::SmallVector<std::pair<int64_t, int64_t>> dims; // stride, size
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    dims.emplace_back(stride, size);
  llvm::sort(dims);
  for (auto [stride, size] : dims) {
    if (size > 1 && stride > reach)
      return false;
    reach += (size - 1) * stride;
  }
  return true;
}

} // namespace pkb

#endif // PKB_ANALYSIS_REACH_H
