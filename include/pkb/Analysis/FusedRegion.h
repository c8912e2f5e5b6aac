// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FusedRegion.h - how a comm.fused maps onto one kernel ----*- C++ -*-===//
//
// The message of a collective numbers what its kernel works on: elements, or rows where the message is a reduction of rows. Every value of the region is
// a function of what has the same number, of whole rows, or of something that does not depend on it (docs/Rationale/Fusion.md).
//
//===----------------------------------------------------------------------===//

#ifndef PKB_ANALYSIS_FUSEDREGION_H
#define PKB_ANALYSIS_FUSEDREGION_H

#include "pkb/Analysis/ElementOrder.h"
#include "pkb/Analysis/RowOperators.h"

namespace pkb {

/// How an operand of an element-wise call is found.
enum class OperandAccess {
  Memory,    // an argument of the region, broadcast to the shape of the call's result
  SameIndex, // a computed value with as many elements as the result, in the same order
  OfRow,     // a computed value with one element per row of the result
  Illegal,
};

/// On which side of the exchange a value is computed.
enum class FusedSide { Message, Result };

/// The collectives that `op` is, or holds if it is a region, in order.
llvm::SmallVector<comm::CollectiveOpInterface> collectivesOf(mlir::Operation *op);

/// Fails where `op`, a region with one collective or a chain of phases, has no form as one kernel; `why` says so in
/// words for the author of the program.
llvm::LogicalResult checkFused(comm::FusedOp op, std::string &why);

/// A region with one collective, or with none: then it works on the rows that its reductions reduce.
class FusedRegion {
public:
  /// Rows of up to so many elements are not worth a warp each.
  static constexpr int64_t kShortRow = 16;
  static std::string whyShort(int64_t width) { return "rows of " + std::to_string(width) + " elements are too short for a warp each"; }

  explicit FusedRegion(comm::FusedOp op);

  /// Fails where the region has no form as one kernel; `why` says so in words for the author of the program.
  llvm::LogicalResult check(std::string &why);

  /// Null if there is none.
  comm::CollectiveOpInterface collective() const { return first; }
  /// True if the message is a reduction of rows, or there is none: then rows() is their number and width() that of the elements of one; else width() is 1.
  bool overRows() const { return rowWidth > 1 || !first; }
  int64_t rows() const { return count; }
  int64_t width() const { return rowWidth; }

  /// The value that `value` reads in the same order: looks through reshapes.
  static mlir::Value resolve(mlir::Value value);
  /// True if `value` has the elements of whole rows, false if it has one element for each number.
  bool isFull(mlir::Value value) const;
  OperandAccess accessOf(aten::CallOp call, mlir::Value operand) const;
  /// The window of the storage of `leaf` that holds it broadcast to `shape`; null if it cannot be broadcast.
  static mlir::RankedTensorType broadcastWindow(mlir::RankedTensorType leaf, llvm::ArrayRef<int64_t> shape);

  /// Of a region over elements: the argument that `value` is a view of, or null if it is computed.
  static mlir::BlockArgument leafOf(mlir::Value value);
  /// Of a region over elements: the order of a computed value on one side; only after check().
  const ElementOrder &orderOf(FusedSide side, mlir::Value value) const { return orders[static_cast<int>(side)].find(value)->second; }

private:
  llvm::LogicalResult checkRows(std::string &why);
  llvm::LogicalResult checkElements(std::string &why);
  llvm::LogicalResult assign(FusedSide side, mlir::Value value, const ElementOrder &order, std::string &why);
  void propagate();
  llvm::LogicalResult visit(mlir::Value value, std::string &why);
  llvm::LogicalResult visitOperands(aten::CallOp call, const RowOperator &rows, std::string &why);
  bool hasRows(mlir::RankedTensorType window) const;
  bool isBehind(mlir::Value value);

  comm::FusedOp op;
  comm::CollectiveOpInterface first;
  int64_t count = 0, rowWidth = 1;
  llvm::DenseSet<mlir::Value> seen;
  llvm::DenseMap<mlir::Value, ElementOrder> orders[2]; // by side
  llvm::DenseMap<mlir::Value, ElementOrder> results;   // of what is computed from the collective's result
};

} // namespace pkb

#endif // PKB_ANALYSIS_FUSEDREGION_H
