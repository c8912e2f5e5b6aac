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

class RowBody;

/// How a pipeline over rows keeps what it reads in registers.
struct RowStream {
  int64_t chunk = 0; // rows of a chunk, of which each has a team
  int64_t team = 32, lanes = 1;
  int64_t perLane = 1, unroll = 1; // vectors of a row that a lane has, and of those that are not kept at a time
  int64_t ahead = 0;
  llvm::SmallVector<mlir::Value> kept; // memory
};

/// Collects tile operations of a pipeline over rows and expands them into one cuda.for_each_row (RowBody.h).
class RowGroup : public TileGroup {
public:
  using TileGroup::TileGroup;
  llvm::LogicalResult flush(mlir::OpBuilder &builder, int64_t unroll) override;

  /// How all of `pipeline`, of which a block has more than one chunk unless `once`, can be one cuda.stream_rows; std::nullopt if it cannot.
  std::optional<RowStream> streamOf(xfer::PipelineOp pipeline, bool once);
  llvm::LogicalResult expandStream(mlir::OpBuilder &builder, xfer::PipelineOp pipeline, const RowStream &stream);

private:
  struct Shape {
    int64_t lanes, vectors, team; // elements of a vector, vectors of a row, lanes that share one
  };
  Shape shapeOf(llvm::ArrayRef<mlir::Operation *> group, int64_t rows);
  void contributions(RowBody &body, xfer::ContributionsOp all, llvm::ArrayRef<mlir::Value> slots, mlir::Value epoch);
  llvm::LogicalResult put(RowBody &body, xfer::PutOp put, bool toSelf);
  llvm::LogicalResult expand(RowBody &body, llvm::ArrayRef<mlir::Operation *> group, llvm::function_ref<llvm::LogicalResult(mlir::Operation *)> transfer);
};

} // namespace pkb

#endif // PKB_PASSES_LOWERING_XFERROWS_H
