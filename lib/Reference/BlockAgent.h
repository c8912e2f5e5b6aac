// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BlockAgent.h - one block of a kernel of level L2 ---------*- C++ -*-===//
//
// Private to lib/Reference.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_REFERENCE_BLOCKAGENT_H
#define PKB_LIB_REFERENCE_BLOCKAGENT_H

#include "RankProgram.h"

namespace pkb::reference {

/// The elements of one chunk, as a value: `lanes` numbers each.
struct Tile {
  ElementType element;
  int64_t lanes = 1;
  Bytes bytes;
};

/// One step of a pipeline.
struct Chunk {
  int64_t step = 0;   // among the chunks of the block
  int64_t start = 0;  // in elements of the pipeline
  int64_t length = 0; // elements
};

class BlockAgent : public Agent {
public:
  /// `position` is the rank's in its row; `tensors` are the kernel's arguments, those that exist on this rank.
  BlockAgent(RankProgram &owner, Channel &channel, xfer::KernelOp kernel, llvm::ArrayRef<std::optional<Window>> tensors,
             int64_t position, int64_t block, int64_t call);

  llvm::Expected<Progress> step() override;
  std::string waitingFor() override;

private:
  using Result = llvm::Expected<Progress>;

  /// A region being executed.
  struct Frame {
    mlir::Operation *owner;
    mlir::Block *body;
    mlir::Block::iterator next;
    int64_t turn; // for_peers: distance of the peer; pipeline: 2 * step, + 1 in `consume`
  };

  void enter(mlir::Operation *owner, mlir::Block &body, int64_t turn);
  bool enterPipeline(xfer::PipelineOp pipeline, int64_t turn);
  int64_t chunksOf(xfer::PipelineOp pipeline);
  int64_t flagValue(mlir::Value chunk) const { return counted + chunks.lookup(chunk).step + 1; }
  void leave();
  std::string describe();

  Result run(mlir::Operation *op);
  Result runLoad(xfer::LoadOp load);
  Result runStore(xfer::StoreOp store);
  Result runPut(xfer::PutOp put);
  Result runSignal(xfer::SignalOp signal);
  Result runWait(xfer::WaitOp wait);
  Result runSync(xfer::SyncOp sync);
  Result runConsume(xfer::ConsumeOp consume);
  Result runContributions(xfer::ContributionsOp contributions);
  Result runMap(xfer::MapOp map);
  // BlockRows.cpp
  Result runRowReduce(xfer::RowReduceOp reduce);
  Result runBroadcast(xfer::BroadcastOp broadcast);
  Result runLine(xfer::LineOp line);
  Result runPart(xfer::PartOp part);

  llvm::SmallVector<int64_t> targets(mlir::Value peer);
  /// Where a load or store finds its chunk in ordinary memory: bytes of what the window gathers.
  struct Place {
    const Window *window;
    int64_t begin, size;
  };
  llvm::Expected<Place> placeOfMessage(mlir::Value memory, mlir::Value part, mlir::Value at, mlir::Value chunk,
                                       const Tile &tile);
  Tile emptyTile(mlir::Value tile, mlir::Value chunk);
  SlotAddress slotOf(mlir::Value buffer, int64_t source, const Chunk &chunk);
  Result readSlots(mlir::Value buffer, llvm::ArrayRef<int64_t> sources, mlir::Value chunk,
                   llvm::MutableArrayRef<Tile> tiles);

  RankProgram &owner;
  BlockView view;
  xfer::KernelOp kernel;
  llvm::SmallVector<std::optional<Window>> tensors;
  llvm::DenseMap<mlir::Value, Window> views; // of arguments, with another order of their elements
  int64_t position, block, size, call;
  int64_t counted = 0; // chunks of earlier pipelines that its flags have counted
  int64_t syncs = 0;   // of all blocks, behind which this one is
  bool inSync = false; // it has come to the next one
  llvm::SmallVector<Frame> frames;
  llvm::DenseMap<mlir::Value, int64_t> numbers; // of type index
  llvm::DenseMap<mlir::Value, Chunk> chunks;
  llvm::DenseMap<mlir::Value, Tile> tiles;
  llvm::DenseMap<mlir::Value, int64_t> bufferOffsets; // bytes in a half of staging, or of payload in lines
  xfer::PipelineOp pipeline;                          // the one that runs, and its chunk
  mlir::Value currentChunk;
  mlir::Operation *blocked = nullptr;
};

} // namespace pkb::reference

#endif // PKB_LIB_REFERENCE_BLOCKAGENT_H
