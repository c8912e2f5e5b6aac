// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowTiles.h - what is computed of rows --------------------*- C++ -*-===//
//
// Private to the Lowering family.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_ROWTILES_H
#define PKB_PASSES_LOWERING_ROWTILES_H

#include "dialects/Xfer/IR/Xfer.h"
#include "pkb/Analysis/RowOperators.h"

namespace pkb {

/// Makes tiles of rows of `width` elements, and of what a row has one of.
class RowTiles {
public:
  RowTiles(mlir::OpBuilder &at, mlir::Location loc, int64_t width) : at(at), loc(loc), width(width) {}

  using Function = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>;
  /// The tile, of rows if the first of `tiles` is, of `function` of an element of each of `tiles`.
  mlir::Value mapped(mlir::ValueRange tiles, mlir::Type element, Function function);
  /// Rows all of whose elements are what `tile` has of the row.
  mlir::Value spread(mlir::Value tile);
  /// One value per row: squared, combined, scaled and rooted as the reduction says, of type `element`.
  mlir::Value reduced(mlir::Value rows, const RowReduction &reduction, mlir::Type element);
  /// The results, of element types `elements`, of an operator on `rows`; `weight` and `bias` are null where it has none.
  llvm::SmallVector<mlir::Value> computed(const RowOperator &op, mlir::Value rows, mlir::Value weight, mlir::Value bias, llvm::ArrayRef<mlir::Type> elements);

private:
  xfer::TileType typeOf(mlir::Type element, bool full);
  mlir::Value softmax(const RowOperator &op, mlir::Value rows, mlir::Type element);
  llvm::SmallVector<mlir::Value> layerNorm(const RowOperator &op, mlir::Value rows, mlir::Value weight, mlir::Value bias,
                                           llvm::ArrayRef<mlir::Type> elements);

  mlir::OpBuilder &at;
  mlir::Location loc;
  int64_t width;
};

} // namespace pkb

#endif // PKB_PASSES_LOWERING_ROWTILES_H
