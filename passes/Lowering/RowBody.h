// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowBody.h - what the lanes of a row do -------------------*- C++ -*-===//
//
// Private to the conversion of xfer to cuda.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_ROWBODY_H
#define PKB_PASSES_LOWERING_ROWBODY_H

#include "passes/Lowering/XferTiles.h"

namespace pkb {

/// True if `load` reads rows of neighbouring elements.
bool readsWholeRows(xfer::LoadOp load);

/// True if all rows of `width` elements of `memory` start at a multiple of 16 bytes where `memory` does.
bool hasAlignedRows(mlir::Value memory, int64_t width);

/// True if all rows of `width` elements of `memory` are the same one.
bool isOneRow(mlir::Value memory, int64_t width);

/// What the lines of `buffer` carry: a vector of as many elements as are put or read, if they fit into one line.
mlir::VectorType lineTypeOf(mlir::Value buffer);

/// How the loops over the vectors of a row are.
struct RowLoops {
  int64_t lanes = 1;   // elements of a vector
  int64_t unroll = 1;  // vectors in flight in a lane
  int64_t perLane = 0; // no lane has more vectors, and there is no loop; 0 where it is not said
};

/// The body of a cuda.for_each_row, or a region of a cuda.stream_rows: what there is one of per row is a vector of one element, the same on all lanes;
/// the elements of a row are computed where they are reduced or stored, again each time.
class RowBody {
public:
  RowBody(mlir::OpBuilder at, mlir::Value row, const ChunkFrame &chunk, RowLoops loops) : at(at), row(row), chunk(chunk), loops(loops) {}

  /// Address of the row, or of its one element, in ordinary memory.
  mlir::FailureOr<mlir::Value> addressOf(mlir::Operation *op, mlir::Value memory, int64_t width, int64_t &innerStride);
  mlir::LogicalResult load(xfer::LoadOp op);
  mlir::LogicalResult map(xfer::MapOp op);
  mlir::LogicalResult reduce(xfer::RowReduceOp op);
  mlir::LogicalResult line(xfer::LineOp op);
  mlir::LogicalResult part(xfer::PartOp op);
  mlir::LogicalResult store(xfer::StoreOp op);
  mlir::LogicalResult storeRows(llvm::MutableArrayRef<xfer::StoreOp> stores);
  mlir::FailureOr<mlir::Value> single(mlir::Operation *op, mlir::Value tile);
  /// Runs `emit` in one lane.
  void byLeader(mlir::Location loc, llvm::function_ref<void(mlir::OpBuilder &)> emit);

  mlir::OpBuilder at;
  mlir::Value row;
  const ChunkFrame &chunk;
  RowLoops loops;
  llvm::DenseMap<mlir::Value, mlir::Value> held;    // memory -> its row in registers
  llvm::DenseMap<mlir::Value, mlir::Value> singles; // tile -> vector of what a row has one of

private:
  /// A loop over the vectors of a row: `load` gets them, `use` computes.
  struct Loop {
    Loop(mlir::Region &load, mlir::Region &use) : load(&load.front()), use(&use.front()) {}

    mlir::Block *load, *use;
    llvm::SmallVector<mlir::Value> loaded;
    llvm::DenseMap<mlir::Value, mlir::Value> values; // tile -> vector in `use`
  };
  mlir::FailureOr<mlir::Value> evaluate(Loop &loop, mlir::Operation *op, mlir::Value tile);
  void close(Loop &loop, mlir::Location loc);
  mlir::IntegerAttr perLane() { return loops.perLane ? at.getI64IntegerAttr(loops.perLane) : mlir::IntegerAttr(); }
  mlir::VectorType vectorOf(mlir::Type element) { return mlir::VectorType::get({loops.lanes}, element); }

  llvm::DenseMap<mlir::Value, mlir::Value> starts; // tile of rows that is loaded -> address of the row
  llvm::DenseMap<mlir::Value, mlir::Value> kept;   // tile of rows that is loaded -> its row in registers
};

} // namespace pkb

#endif // PKB_PASSES_LOWERING_ROWBODY_H
