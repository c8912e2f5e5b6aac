// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferTiles.h - tiles of level L2 as loops over vectors ----*- C++ -*-===//
//
// Private to the conversion of xfer to cuda.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_XFERTILES_H
#define PKB_PASSES_LOWERING_XFERTILES_H

#include "dialects/Cuda/IR/Cuda.h"

#include "mlir/IR/IRMapping.h"

namespace pkb {

/// What the expansion of one kernel knows about itself. All values are of type index and dominate the kernel's body.
struct KernelFrame {
  xfer::KernelOp source;
  mlir::Value rank, block, ticket;
  int64_t size = 0;            // ranks of the group
  int64_t *nextSite = nullptr; // sites are unique in the module
  llvm::DenseMap<mlir::Value, int64_t>
      bufferOffsets; // bytes from the start of a staging half or of LL lines, by symm_buffer

  int64_t takeSite() { return (*nextSite)++; }
  /// The number of the call. It is waited for where it is first asked for: after the first loads, if it can be.
  mlir::Value epochAt(mlir::OpBuilder &builder, mlir::Location loc) const;
  mlir::Value parityAt(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// One chunk of a pipeline: where it starts, how long it is, which slot it uses.
struct ChunkFrame {
  mlir::Value start;  // first element of the message
  mlir::Value length; // elements, 0 for an empty message
  mlir::Value step;   // number of this chunk among those of the block, from 0
  mlir::Value slot;   // step modulo slots
  int64_t most = 0;   // `length` is no greater
};

/// Element type that vectors of this kernel have: bytes where nothing computes.
struct ElementLayout {
  mlir::Type element;    // of the vectors
  mlir::Type message;    // of the tiles that are put
  int64_t bytes = 1;     // of one element of `element`
  int64_t scale = 1;     // elements of `element` per element of the message
  int64_t width = 16;    // bytes of a vector of `element`
  int64_t lanes() const { return width / bytes; }
};

/// Collects tile operations and expands them into one cuda.for_each.
class TileGroup {
public:
  TileGroup(KernelFrame &kernel, const llvm::DenseMap<mlir::Value, ChunkFrame> &chunks, const ElementLayout &layout, mlir::IRMapping &mapping)
      : kernel(kernel), chunks(chunks), layout(layout), mapping(mapping) {}

  virtual ~TileGroup() = default;

  /// True if `op` works on tiles.
  static bool takes(mlir::Operation &op);
  /// True if what `op` accesses is the chunk that the operations of the group access: one loop serves all.
  bool fits(mlir::Operation &op) const;
  void add(mlir::Operation &op);
  /// Expands what has been collected at the builder's place; the group is empty afterwards.
  virtual llvm::LogicalResult flush(mlir::OpBuilder &builder, int64_t unroll);

protected:
  mlir::Value peerOf(mlir::OpBuilder &builder, mlir::Location loc, int64_t distance);
  mlir::Value startIn(mlir::OpBuilder &builder, mlir::Operation *access, mlir::Value part, mlir::Value at);
  mlir::Value memoryAddress(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memory, mlir::Value start, mlir::Type tile);
  std::pair<mlir::Value, mlir::Value> elementsAt(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vector, mlir::Value start);
  mlir::Value slotAddress(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value owner, mlir::Value source,
                          mlir::Value buffer);
  mlir::Value bytesOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value elements);
  mlir::VectorType vectorType() const { return mlir::VectorType::get({layout.lanes()}, layout.element); }

  KernelFrame &kernel;
  const llvm::DenseMap<mlir::Value, ChunkFrame> &chunks;
  const ElementLayout &layout;
  mlir::IRMapping &mapping;
  llvm::SmallVector<mlir::Operation *> ops;
  ChunkFrame chunk; // that of the group
  mlir::Value chunkValue;
};

/// Clones the scalar body of an xfer.map with every type widened to a vector of `lanes` elements.
llvm::FailureOr<mlir::Value> vectorizeBody(mlir::OpBuilder &builder, xfer::MapOp map, llvm::ArrayRef<mlir::Value> operands, int64_t lanes);

/// An index constant.
mlir::Value indexConstant(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);

/// Address of the first element of `memory`, an argument of the kernel or a window of one.
mlir::Value argumentAddress(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memory);

/// An op of level L3 with one result of type index, or !cuda.ptr.
template <typename Op, typename... Args>
mlir::Value createIndex(mlir::OpBuilder &builder, mlir::Location loc, Args... args) {
  return Op::create(builder, loc, builder.getIndexType(), args...);
}
template <typename Op, typename... Args>
mlir::Value createPointer(mlir::OpBuilder &builder, mlir::Location loc, Args... args) {
  return Op::create(builder, loc, cuda::PtrType::get(builder.getContext()), args...);
}

} // namespace pkb

#endif // PKB_PASSES_LOWERING_XFERTILES_H
