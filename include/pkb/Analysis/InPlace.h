// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- InPlace.h - operands of a launch that share memory -------*- C++ -*-===//

#ifndef PKB_ANALYSIS_INPLACE_H
#define PKB_ANALYSIS_INPLACE_H

#include "dialects/Xfer/IR/Xfer.h"

namespace pkb {

/// The elements of a storage that a memref covers: bytes `first` up to `last` of the memory of `root`.
struct Extent {
  mlir::Value root;
  int64_t first = 0, last = 0;

  static Extent of(mlir::Value memory);
  /// That of a memref of this type in the memory of `root`.
  static Extent of(mlir::Value root, mlir::MemRefType type);
  bool overlaps(const Extent &other) const { return root == other.root && first < other.last && other.first < last; }
};

/// A pair of operands of a launch.
struct Overlap {
  unsigned written, other;
};

/// The pairs of `operands` of a launch of `kernel` by the ranks of `function` that share memory which the kernel writes, and that may hence not do so: all but
/// those of which the kernel has surely loaded an element before it stores what lies there (docs/Rationale/Bufferize.md).
llvm::SmallVector<Overlap> findOverlaps(xfer::KernelOp kernel, mlir::ValueRange operands, mlir::Operation *function);

/// The arguments of a kernel among which `memory` is chosen; those of an xfer.select, else itself.
llvm::SmallVector<mlir::BlockArgument> argumentsBehind(mlir::Value memory);

} // namespace pkb

#endif // PKB_ANALYSIS_INPLACE_H
