// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TransferModel.h - the events of a kernel on every rank ---*- C++ -*-===//
//
// A kernel of level L2 has no control flow that depends on data, so what a block does is a list of events that is known
// when the kernel is: which slots it writes and reads, whom it signals, for whom it waits. The model unrolls that list
// for every rank of a group and for one class of blocks, up to a number of chunks. docs/Rationale/VerifyXfer.md says
// why that number may be small and why one block per class suffices.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_ANALYSIS_TRANSFERMODEL_H
#define PKB_ANALYSIS_TRANSFERMODEL_H

#include "dialects/Xfer/IR/Xfer.h"
#include "pkb/Analysis/TransferCodes.h"

#include <vector>

namespace pkb {

/// One thing that a block does and that others can see, or that depends on others.
struct TransferEvent {
  enum class Kind : uint8_t { Put, Signal, Wait, Read };
  static constexpr int32_t kAllPeers = -1;

  Kind kind;
  bool lines;     // put, read: of LL lines; signal, wait: in band
  int32_t buffer; // put, read: number of the symmetric buffer in the kernel; else -1
  int32_t peer;   // rank in the group: whose region is written, who is signalled, whose data are read or waited for; or
                  // kAllPeers
  int32_t chunk;  // number among the chunks of the block in its pipeline
  int32_t pipeline; // number of the pipeline in the kernel
  mlir::Operation *op;
  int64_t elements = 0; // put, read: of the message that the chunk is a piece of
  int64_t flag = 0;     // signal, wait, out of band: chunks that the flag counts, those of earlier pipelines included

  bool all() const { return peer == kAllPeers; }
};

/// A message in ordinary memory: some elements of one argument of the kernel, in elements of the tiles.
struct Message {
  int32_t argument;
  int64_t offset, elements;

  int64_t end() const { return offset + elements; }
  bool operator==(const Message &other) const {
    return argument == other.argument && offset == other.offset && elements == other.elements;
  }
};

/// What a tile holds, of the chunk at hand. Contents do not depend on the number of the chunk, for a tile is always
/// made from the chunk that its region is run for.
struct TileContent {
  enum class Kind : uint8_t { Input, Slot, Map };
  Kind kind;
  int32_t rank;          // input: the rank whose memory; slot: the rank that reads
  int32_t pipeline;
  Message message;       // input: what is read; slot: `elements` of it
  int32_t buffer = -1;   // slot: number of the buffer
  int32_t source = -1;   // slot: the rank that has written it
  mlir::Operation *map = nullptr;      // map: the xfer.map, or another op that computes a tile from tiles
  llvm::SmallVector<int32_t> operands; // map: contents of its operands
};

/// A tile written to ordinary memory, for one chunk.
struct TileStore {
  Message message;
  int32_t content;
  mlir::Operation *op;
};

/// A tile that is in a slot.
struct SlotContent {
  int32_t content = -1;
  int64_t elements = 0; // of the message
};

/// What one block of one rank does, in program order.
struct RankProgram {
  std::vector<TransferEvent> events;
  std::vector<TileStore> stores; // of the first chunk of each pipeline
  std::vector<Message> accesses; // what the loads and stores of the first chunks are pieces of
};

/// The programs of all ranks for one class of blocks.
class TransferModel {
public:
  explicit TransferModel(xfer::KernelOp kernel);

  /// Unrolls the kernel for a block that has `chunks[k]` chunks in pipeline k. Reports XV001 and XV002 and fails there.
  /// `budget` bounds the number of events.
  llvm::LogicalResult unroll(llvm::ArrayRef<int64_t> chunks, TransferReporter &reporter, int64_t budget = 1 << 22);

  xfer::KernelOp getKernel() const { return kernel; }
  int64_t size() const { return ranks; }
  llvm::ArrayRef<xfer::SymmBufferOp> buffers() const { return symmetric; }
  llvm::ArrayRef<xfer::PipelineOp> pipelines() const { return moves; }
  const RankProgram &program(int64_t rank) const { return programs[rank]; }
  const TileContent &content(int32_t id) const { return contents[id]; }
  int32_t addContent(TileContent content);
  /// What `source` has put into its slot of `buffer` on `target`.
  SlotContent slotContent(int32_t pipeline, int32_t buffer, int64_t source, int64_t target) const;
  /// Elements that argument `number` has, counted in those of its tiles; -1 where that differs between ranks.
  int64_t elementsOf(int32_t number) const;
  /// The same of `type`, which a launch has in its place.
  int64_t elementsOf(int32_t number, mlir::MemRefType type) const;

private:
  friend class RankUnroller;

  xfer::KernelOp kernel;
  int64_t ranks;
  llvm::SmallVector<xfer::SymmBufferOp> symmetric;
  llvm::SmallVector<xfer::PipelineOp> moves;
  std::vector<RankProgram> programs;
  std::vector<TileContent> contents;
  // By (pipeline * buffers + buffer, source * ranks + target).
  llvm::DenseMap<std::pair<int64_t, int64_t>, SlotContent> slotContents;
  llvm::DenseMap<int32_t, int64_t> tileBytes; // of one element of the tiles that an argument is read or written by
};

} // namespace pkb

#endif // PKB_ANALYSIS_TRANSFERMODEL_H
