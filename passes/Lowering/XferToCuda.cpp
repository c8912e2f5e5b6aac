// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferToCuda.cpp - from level L2 to level L3 -----------------------===//
//
// Pipelines become loops over a block's chunks, the token graph becomes barriers, releases and acquires. Tiles: XferTiles.cpp.
//
//===----------------------------------------------------------------------===//

#include "passes/Lowering/Passes.h"
#include "passes/Lowering/XferTiles.h"
#include "pkb_rt/layout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace pkb {
#define GEN_PASS_DEF_CONVERTXFERTOCUDAPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

namespace {

/// Expands one kernel.
class KernelExpansion {
public:
  KernelExpansion(xfer::KernelOp kernel, int64_t &nextSite) : kernel(kernel) {
    frame.source = kernel;
    frame.size = kernel.getGroupSize();
    frame.nextSite = &nextSite;
  }

  LogicalResult run(OpBuilder &builder);

private:
  void chooseLayout();
  void placeBuffers();
  int64_t sentBytes();
  LogicalResult expandPipeline(OpBuilder &builder, xfer::PipelineOp pipeline);
  LogicalResult expandBlock(OpBuilder &builder, Block &block, const ChunkFrame &chunk);
  void forTargets(OpBuilder &builder, Location loc, Value peer, function_ref<void(OpBuilder &, Value)> emit);
  void expandSignal(OpBuilder &builder, xfer::SignalOp signal, const ChunkFrame &chunk);
  void expandWait(OpBuilder &builder, xfer::WaitOp wait, const ChunkFrame &chunk);

  xfer::KernelOp kernel;
  KernelFrame frame;
  ElementLayout layout;
  IRMapping mapping;
  int64_t stagingBytes = 0;
};

} // namespace

/// Kernels that compute have vectors of their element type, all others move bytes.
void KernelExpansion::chooseLayout() {
  Type element;
  bool computes = false;
  kernel.walk([&](Operation *op) {
    computes |= isa<xfer::MapOp>(op);
    if (auto load = dyn_cast<xfer::LoadOp>(op))
      element = load.getTile().getType().getElementType();
  });
  if (computes) {
    layout = {element, xfer::elementBytes(element), 1};
    return;
  }
  int64_t bytes = element ? xfer::elementBytes(element) : 1;
  layout = {IntegerType::get(kernel.getContext(), 8), 1, bytes};
}

void KernelExpansion::placeBuffers() {
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  for (auto buffer : kernel.getEntry().getOps<xfer::SymmBufferOp>()) {
    xfer::SymmType type = buffer.getType();
    frame.bufferOffsets[buffer] = stagingBytes;
    if (type.getProtocol() == xfer::Protocol::Staged)
      stagingBytes += frame.size * schedule.getBlocks() * type.getSlots() * type.getChunk() *
                      xfer::elementBytes(type.getElementType());
  }
}

/// Bytes that one rank stores to its peers in one launch, as they cross the link.
int64_t KernelExpansion::sentBytes() {
  int64_t sum = 0;
  kernel.walk([&](xfer::PutOp put) {
    auto pipeline = put->getParentOfType<xfer::PipelineOp>();
    bool toAll = !put.getPeer() || put->getParentOfType<xfer::ForPeersOp>();
    int64_t wire = put.getMechanism() == xfer::Mechanism::LL ? 2 : 1; // a line is half epochs
    sum += pipeline.getElements() * xfer::elementBytes(put.getTile().getType().getElementType()) * wire *
           (toAll ? frame.size - 1 : 1);
  });
  return sum;
}

LogicalResult KernelExpansion::run(OpBuilder &builder) {
  chooseLayout();
  placeBuffers();
  Location loc = kernel.getLoc();
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  int64_t region = pkb_stage_offset(frame.size) + 2 * (stagingBytes + PKB_LINE_BYTES);
  std::string summary;
  llvm::raw_string_ostream(summary) << "one-shot push by " << stringifyMechanism(schedule.getMechanism()) << ", chunks of "
                                    << schedule.getChunk() << " bytes, " << schedule.getBlocks() << " blocks";
  if (std::optional<StringRef> given = kernel.getSummary())
    summary = given->str() + ", " + summary;
  auto target = cuda::KernelOp::create(
      builder, loc, kernel.getSymNameAttr(), kernel.getGroupAttr(), builder.getI64IntegerAttr(frame.size),
      builder.getI64IntegerAttr(kernel.getEntry().getNumArguments()), builder.getI64IntegerAttr(schedule.getBlocks()),
      builder.getI64IntegerAttr(schedule.getThreads()), builder.getI64IntegerAttr(schedule.getPerSm()), builder.getI64IntegerAttr(region),
      xfer::MechanismAttr::get(builder.getContext(), schedule.getMechanism()), builder.getStringAttr(summary), kernel.getPredictedUsAttr(),
      builder.getI64IntegerAttr(sentBytes()));
  OpBuilder body = OpBuilder::atBlockEnd(&target.getBody().emplaceBlock());
  frame.epoch = createIndex<cuda::EpochBeginOp>(body, loc, frame.takeSite());
  frame.parity = arith::AndIOp::create(body, loc, frame.epoch, indexConstant(body, loc, 1));
  frame.rank = createIndex<cuda::RankOp>(body, loc);
  frame.block = createIndex<cuda::BlockIndexOp>(body, loc);
  for (Operation &op : kernel.getEntry()) {
    if (isa<xfer::SymmBufferOp, xfer::FlagsOp>(op))
      continue;
    auto pipeline = dyn_cast<xfer::PipelineOp>(op);
    if (!pipeline)
      return op.emitOpError() << "must not stand at the top of a kernel";
    if (failed(expandPipeline(body, pipeline)))
      return failure();
  }
  cuda::EpochEndOp::create(body, loc, frame.epoch, frame.takeSite());
  return success();
}

LogicalResult KernelExpansion::expandPipeline(OpBuilder &builder, xfer::PipelineOp pipeline) {
  Location loc = pipeline.getLoc();
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  int64_t elements = pipeline.getElements() * layout.scale, chunk = pipeline.getChunk() * layout.scale;
  int64_t chunks = std::max<int64_t>(1, (elements + chunk - 1) / chunk);
  int64_t depth = schedule.getDepth();
  auto constant = [&](OpBuilder &at, int64_t value) { return indexConstant(at, loc, value); };

  // Chunks of this block: block, block + blocks, block + 2 * blocks, ...
  Value blocks = createIndex<cuda::GridBlocksOp>(builder, loc);
  Value mine = createIndex<cuda::ChunkCountOp>(builder, loc, constant(builder, chunks), frame.block, blocks);
  Value steps = mine;
  if (depth > 0)
    steps = arith::AddIOp::create(builder, loc, mine, constant(builder, depth));
  auto loop = scf::ForOp::create(builder, loc, constant(builder, 0), steps, constant(builder, 1));
  OpBuilder inside = OpBuilder::atBlockTerminator(loop.getBody());

  auto chunkAt = [&](OpBuilder &at, Value step) {
    Value number = arith::MulIOp::create(at, loc, step, blocks);
    number = arith::AddIOp::create(at, loc, number, frame.block);
    Value start = arith::MulIOp::create(at, loc, number, constant(at, chunk));
    Value left = arith::SubIOp::create(at, loc, constant(at, elements), start);
    Value length = arith::MinSIOp::create(at, loc, left, constant(at, chunk));
    Value slot = arith::RemUIOp::create(at, loc, step, constant(at, schedule.getSlots()));
    return ChunkFrame{start, length, step, slot};
  };
  auto guarded = [&](Value condition, Value step, Region &region) -> LogicalResult {
    OpBuilder at = inside;
    if (condition)
      at = scf::IfOp::create(inside, loc, condition, /*withElseRegion=*/false).getThenBodyBuilder();
    return expandBlock(at, region.front(), chunkAt(at, step));
  };
  Value step = loop.getInductionVar();
  if (depth == 0)
    return success(succeeded(guarded(nullptr, step, pipeline.getProduce())) &&
                   succeeded(guarded(nullptr, step, pipeline.getConsume())));
  Value pushes = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, step, mine);
  if (failed(guarded(pushes, step, pipeline.getProduce())))
    return failure();
  Value consumes = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::sge, step, constant(inside, depth));
  Value behind = arith::SubIOp::create(inside, loc, step, constant(inside, depth));
  return guarded(consumes, behind, pipeline.getConsume());
}

LogicalResult KernelExpansion::expandBlock(OpBuilder &builder, Block &block, const ChunkFrame &chunk) {
  TileGroup tiles(frame, chunk, layout, mapping);
  int64_t unroll = kernel.getSchedule().getUnroll();
  for (Operation &op : block) {
    if (tiles.add(op) || isa<xfer::SelectOp>(op))
      continue;
    if (auto own = dyn_cast<xfer::OwnRankOp>(op)) {
      mapping.map(own.getRank(), frame.rank);
      continue;
    }
    if (failed(tiles.flush(builder, unroll)))
      return failure();
    if (auto signal = dyn_cast<xfer::SignalOp>(op)) {
      expandSignal(builder, signal, chunk);
    } else if (auto wait = dyn_cast<xfer::WaitOp>(op)) {
      expandWait(builder, wait, chunk);
    } else if (auto peers = dyn_cast<xfer::ForPeersOp>(op)) {
      LogicalResult result = success();
      forTargets(builder, op.getLoc(), nullptr, [&](OpBuilder &at, Value peer) {
        mapping.map(peers.getBody().front().getArgument(0), peer);
        if (succeeded(result))
          result = expandBlock(at, peers.getBody().front(), chunk);
      });
      if (failed(result))
        return failure();
    } else {
      return op.emitOpError() << "must not stand in a pipeline";
    }
  }
  return tiles.flush(builder, unroll);
}

/// Runs `emit` for `peer`, or for every other rank, starting at the next one.
void KernelExpansion::forTargets(OpBuilder &builder, Location loc, Value peer,
                                 function_ref<void(OpBuilder &, Value)> emit) {
  if (peer)
    return emit(builder, mapping.lookup(peer));
  if (frame.size < 2)
    return;
  auto loop = scf::ForOp::create(builder, loc, indexConstant(builder, loc, 1), indexConstant(builder, loc, frame.size),
                                 indexConstant(builder, loc, 1));
  OpBuilder inside = OpBuilder::atBlockTerminator(loop.getBody());
  Value sum = arith::AddIOp::create(inside, loc, frame.rank, loop.getInductionVar());
  emit(inside, arith::RemUIOp::create(inside, loc, sum, indexConstant(inside, loc, frame.size)));
}

void KernelExpansion::expandSignal(OpBuilder &builder, xfer::SignalOp signal, const ChunkFrame &chunk) {
  if (signal.getInBand())
    return;
  Location loc = signal.getLoc();
  // All threads' stores come before the one release; it publishes them to the peer by cumulativity.
  cuda::BlockBarrierOp::create(builder, loc, frame.takeSite());
  Value count = arith::AddIOp::create(builder, loc, chunk.step, indexConstant(builder, loc, 1));
  Value value = createIndex<cuda::FlagValueOp>(builder, loc, frame.epoch, count);
  forTargets(builder, loc, signal.getPeer(), [&](OpBuilder &at, Value peer) {
    cuda::SignalOp::create(at, loc, peer, frame.block, value, frame.takeSite());
  });
}

void KernelExpansion::expandWait(OpBuilder &builder, xfer::WaitOp wait, const ChunkFrame &chunk) {
  if (wait.getInBand())
    return;
  Location loc = wait.getLoc();
  Value count = arith::AddIOp::create(builder, loc, chunk.step, indexConstant(builder, loc, 1));
  Value value = createIndex<cuda::FlagValueOp>(builder, loc, frame.epoch, count);
  forTargets(builder, loc, wait.getPeer(), [&](OpBuilder &at, Value peer) {
    cuda::WaitOp::create(at, loc, peer, frame.block, value, frame.takeSite());
  });
  // What the acquiring threads have seen, the others see after the barrier.
  cuda::BlockBarrierOp::create(builder, loc, frame.takeSite());
}

namespace {

struct ConvertXferToCudaPass : pkb::impl::ConvertXferToCudaPassBase<ConvertXferToCudaPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t nextSite = 1;
    for (auto kernel : llvm::make_early_inc_range(module.getOps<xfer::KernelOp>())) {
      OpBuilder builder(kernel);
      if (failed(KernelExpansion(kernel, nextSite).run(builder)))
        return signalPassFailure();
      kernel.erase();
    }
    SmallVector<Operation *> steps;
    module.walk([&](Operation *op) {
      if (isa<xfer::LaunchOp, xfer::LibraryCallOp, xfer::TransferOp>(op))
        steps.push_back(op);
    });
    for (Operation *step : steps) {
      OpBuilder builder(step);
      if (auto launch = dyn_cast<xfer::LaunchOp>(step))
        cuda::LaunchOp::create(builder, launch.getLoc(), launch.getKernelAttr(), launch.getOperands());
      else if (auto call = dyn_cast<xfer::LibraryCallOp>(step))
        cuda::LibraryCallOp::create(builder, call.getLoc(), call.getOperands(), call.getGroupAttr(), call.getReduceAttr(), call.getFactorsAttr(),
                                    call.getCallsAttr(), call.getPredictedUsAttr());
      else if (auto transfer = dyn_cast<xfer::TransferOp>(step))
        cuda::TransferOp::create(builder, transfer.getLoc(), transfer.getOperands(), transfer.getGroupAttr(), transfer.getCallsAttr());
      step->erase();
    }
  }
};

} // namespace
