// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferRows.h - tiles of rows as loops of warps -------------*- C++ -*-===//
//
// Private to the conversion of xfer to cuda.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_XFERROWS_H
#define PKB_PASSES_LOWERING_XFERROWS_H

#include "passes/Lowering/XferTiles.h"

namespace pkb {

/// True for a tile of rows: a vector of other than 16 bytes, which is a line.
bool isRowTile(xfer::TileType type);

/// True if `pipeline` runs over rows.
bool runsOverRows(xfer::PipelineOp pipeline);

/// How many vectors of a row a lane loads at a time in a pipeline that moves nothing: the schedule is made for the others.
int64_t unrollOfRows(xfer::PipelineOp pipeline, int64_t threads);

/// Collects tile operations of a pipeline over rows and expands them into one cuda.for_each_row: what there is one of per row is a vector of one element,
/// the same on all lanes; the elements of a row are computed where they are reduced or stored, again each time.
class RowGroup : public TileGroup {
public:
  using TileGroup::TileGroup;
  llvm::LogicalResult flush(mlir::OpBuilder &builder, int64_t unroll) override;
};

} // namespace pkb

#endif // PKB_PASSES_LOWERING_XFERROWS_H
