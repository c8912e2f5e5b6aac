// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowOperators.h - operators that work on rows -------------*- C++ -*-===//
//
// Calls of ATen that reduce the rows of a tensor and compute the elements of each from what that gives: in f32 (f64 for f64), rounded once, as ATen's CUDA
// kernels. Those that only reduce are in ElementwiseCalls.h.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_ANALYSIS_ROWOPERATORS_H
#define PKB_ANALYSIS_ROWOPERATORS_H

#include "pkb/Analysis/ElementwiseCalls.h"

namespace pkb {

/// Rows are the innermost dimensions of a tensor.
struct RowShape {
  int64_t rows = 0, width = 0; // `rows` of `width` elements each
  bool operator==(const RowShape &other) const { return rows == other.rows && width == other.width; }
};

enum class RowFunction {
  Softmax,    // exp(x - max) / sum of those
  LogSoftmax, // x - max - log(sum of exp(x - max))
  LayerNorm,  // (x - mean) / sqrt(variance + epsilon) * weight + bias; further results: mean, 1 / sqrt(variance + epsilon)
};

struct RowOperator {
  RowFunction function;
  RowShape shape;
  mlir::Value input;
  mlir::Value weight, bias; // of the shape of a row; null where there is none
  double epsilon = 0;
  mlir::Type computation; // f32 or f64
};

/// What `call` does to rows; std::nullopt if it is no such operator.
std::optional<RowOperator> getRowOperator(aten::CallOp call);

/// True if a kernel can compute some calls of the operator `callee` ("aten::sum"): element by element, or by rows.
bool isKnownOperator(llvm::StringRef callee);

/// How many lanes share one of a block's `rows` rows of `vectors` vectors, in blocks of `threads`: a warp, or as many more as make the block's pass shortest.
/// A team of more than a warp meets at a barrier wherever it reduces, and has at least 128 lanes, for there are few barriers.
int64_t rowTeamOf(int64_t rows, int64_t vectors, int64_t threads);

/// Lanes for a row of `rowBytes`: a team, at most `most` or a warp, of which each lane has `perLane` vectors of 16 bytes or more.
int64_t rowLanesFor(int64_t rowBytes, int64_t perLane, int64_t most);

/// How many vectors of 16 bytes a lane of a warp has in flight in a pass over a row of `rowBytes`, in blocks of `threads`: as many as registers are for.
int64_t vectorsInFlight(int64_t rowBytes, int64_t threads);

/// The rows that `call` reduces, whether or not it does more; std::nullopt if it reduces none.
std::optional<RowShape> getReducedRows(aten::CallOp call);

} // namespace pkb

#endif // PKB_ANALYSIS_ROWOPERATORS_H
