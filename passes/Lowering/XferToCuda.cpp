// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferToCuda.cpp - from level L2 to level L3 -----------------------===//
//
// Pipelines become loops over a block's chunks, the token graph becomes barriers, releases and acquires. Tiles: XferTiles.cpp.
//
//===----------------------------------------------------------------------===//

#include "passes/Lowering/Passes.h"
#include "passes/Lowering/XferRows.h"
#include "pkb/Analysis/TransferModel.h"
#include "pkb_rt/layout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

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
  void chooseLayout(xfer::PipelineOp pipeline);
  void placeBuffers();
  int64_t sentBytes();
  LogicalResult expandPipeline(OpBuilder &builder, xfer::PipelineOp pipeline);
  LogicalResult expandRegion(OpBuilder &builder, Block &block, const ChunkFrame &chunk);
  LogicalResult expandBlock(OpBuilder &builder, Block &block);
  LogicalResult expandOp(OpBuilder &builder, Operation &op);
  Value tableEntry(OpBuilder &builder, Location loc, ArrayRef<int64_t> values, Value rank, Value other);
  Value isAmong(OpBuilder &builder, Location loc, ArrayRef<int64_t> ranks);
  void expandClip(OpBuilder &builder, xfer::ClipOp clip);
  void forTargets(OpBuilder &builder, Location loc, Value peer, function_ref<void(OpBuilder &, Value)> emit);
  void expandSignal(OpBuilder &builder, xfer::SignalOp signal);
  void expandWait(OpBuilder &builder, xfer::WaitOp wait);
  void expandSync(OpBuilder &builder, xfer::SyncOp sync);
  Value flagValue(OpBuilder &builder, Location loc, Value chunk);

  xfer::KernelOp kernel;
  KernelFrame frame;
  ElementLayout layout;
  IRMapping mapping;
  DenseMap<Value, ChunkFrame> chunks; // by value of type !xfer.chunk, of the region at hand
  Value counted;                      // chunks of earlier pipelines that this block's flags have counted; null for none
  int64_t stagingBytes = 0, syncs = 0;
};

} // namespace

/// Element type of the buffer that a pipeline uses; null if it uses none.
static Type bufferElementOf(xfer::PipelineOp pipeline) {
  Type element;
  pipeline.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto buffer = operand.getDefiningOp<xfer::SymmBufferOp>())
        element = buffer.getType().getElementType();
  });
  return element;
}

/// Kernels that compute have vectors of their element type, all others move bytes.
void KernelExpansion::chooseLayout(xfer::PipelineOp pipeline) {
  if (runsOverRows(pipeline)) {
    // The elements of the message are whole lines; without a message there is nothing to place.
    Type element = bufferElementOf(pipeline);
    if (!element)
      element = IntegerType::get(kernel.getContext(), 8);
    layout = {element, element, xfer::elementBytes(element), 1};
    return;
  }
  Type element;
  bool computes = kernel.getFused(), packed = false;
  pipeline.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto buffer = dyn_cast<xfer::SymmType>(operand.getType()))
        packed |= xfer::isPacked(buffer);
  });
  int64_t width = packed ? PKB_PACK_BYTES : 16;
  kernel.walk([&](Operation *op) {
    computes |= isa<xfer::MapOp>(op);
    if (auto load = dyn_cast<xfer::LoadOp>(op); load && !element)
      element = load.getTile().getType().getElementType();
  });
  if (Type moved = bufferElementOf(pipeline))
    element = moved;
  if (computes) {
    layout = {element, element, xfer::elementBytes(element), 1, width};
    return;
  }
  int64_t bytes = element ? xfer::elementBytes(element) : 1;
  layout = {IntegerType::get(kernel.getContext(), 8), element, 1, bytes, width};
}

void KernelExpansion::placeBuffers() {
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  int64_t lines = 0;
  for (auto buffer : kernel.getEntry().getOps<xfer::SymmBufferOp>()) {
    xfer::SymmType type = buffer.getType();
    bool staged = type.getProtocol() == xfer::Protocol::Staged;
    frame.bufferOffsets[buffer] = staged ? stagingBytes : lines;
    if (!staged)
      lines += xfer::linesOf(buffer);
    else
      stagingBytes += frame.size * schedule.getBlocks() * type.getSlots() * type.getChunk() *
                      xfer::elementBytes(type.getElementType());
  }
}

/// The most bytes that a rank stores to its peers in one launch, as they cross the link.
int64_t KernelExpansion::sentBytes() {
  TransferModel model(kernel);
  TransferReporter silent; // what the model does not understand is no kernel, and the gate has said so
  silent.silence();
  if (failed(model.unroll(SmallVector<int64_t>(model.pipelines().size(), 1), silent)))
    return 0;
  int64_t most = 0;
  for (int64_t rank = 0; rank < frame.size; ++rank) {
    int64_t sum = 0;
    for (const TransferEvent &event : model.program(rank).events)
      if (auto put = dyn_cast<xfer::PutOp>(event.op)) {
        int64_t bytes = event.elements * xfer::elementBytes(put.getTile().getType().getElementType());
        if (event.lines) // whole vectors, whose lines carry the epoch too
          bytes = xfer::isPacked(cast<xfer::SymmType>(put.getBuffer().getType())) ? llvm::divideCeil(bytes, PKB_PACK_BYTES) * (PKB_PACK_BYTES / 3 * 4)
                                                                                 : llvm::divideCeil(bytes, 16) * 32;
        sum += bytes * (event.all() ? frame.size - 1 : event.peer != rank);
      }
    most = std::max(most, sum);
  }
  return most;
}

LogicalResult KernelExpansion::run(OpBuilder &builder) {
  for (auto pipeline : kernel.getEntry().getOps<xfer::PipelineOp>())
    if (runsOverRows(pipeline) && kernel.getSchedule().getThreads() % 32 != 0)
      return kernel.emitOpError() << "must have whole warps of 32 threads to work on rows, got: "
                                  << kernel.getSchedule().getThreads() << " threads";
  placeBuffers();
  Location loc = kernel.getLoc();
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  int64_t region = pkb_stage_offset(frame.size) + 2 * (stagingBytes + PKB_LINE_BYTES);
  std::string summary;
  int64_t phases = llvm::count_if(kernel.getEntry().getOps<xfer::PipelineOp>(), [](xfer::PipelineOp pipeline) { return !pipeline.isLocal(); });
  llvm::raw_string_ostream(summary) << (phases > 1 ? std::to_string(phases) + " pushes by " : "one-shot push by ") << stringifyMechanism(schedule.getMechanism()) << ", chunks of "
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
  frame.ticket = cuda::EpochBeginOp::create(body, loc, cuda::TicketType::get(builder.getContext()), frame.takeSite());
  frame.rank = createIndex<cuda::RankOp>(body, loc);
  frame.block = createIndex<cuda::BlockIndexOp>(body, loc);
  for (Operation &op : kernel.getEntry()) {
    if (isa<xfer::SymmBufferOp, xfer::FlagsOp, memref::ReinterpretCastOp>(op))
      continue;
    if (auto sync = dyn_cast<xfer::SyncOp>(op)) {
      expandSync(body, sync);
      continue;
    }
    auto pipeline = dyn_cast<xfer::PipelineOp>(op);
    if (!pipeline)
      return op.emitOpError() << "must not stand at the top of a kernel";
    if (failed(expandPipeline(body, pipeline)))
      return failure();
  }
  cuda::EpochEndOp::create(body, loc, frame.epochAt(body, loc), frame.takeSite());
  return success();
}

LogicalResult KernelExpansion::expandPipeline(OpBuilder &builder, xfer::PipelineOp pipeline) {
  Location loc = pipeline.getLoc();
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  chooseLayout(pipeline);
  int64_t elements = pipeline.getElements() * layout.scale, chunk = pipeline.getChunk() * layout.scale;
  int64_t chunks = std::max<int64_t>(1, (elements + chunk - 1) / chunk);
  int64_t blocks = schedule.getBlocks();
  // A block that has one chunk at most has nothing to run ahead with.
  bool once = chunks <= blocks;
  int64_t depth = pipeline.getConsume().front().empty() || once ? 0 : schedule.getDepth();
  if (runsOverRows(pipeline) && llvm::hasSingleElement(kernel.getEntry().getOps<xfer::PipelineOp>())) {
    RowGroup rows(frame, this->chunks, layout, mapping);
    if (std::optional<RowStream> stream = rows.streamOf(pipeline, once))
      return rows.expandStream(builder, pipeline, *stream);
  }
  auto constant = [&](OpBuilder &at, int64_t value) { return indexConstant(at, loc, value); };

  // Chunks of this block: block, block + blocks, block + 2 * blocks, ...
  Value mine = chunks % blocks == 0 ? constant(builder, chunks / blocks)
                                    : createIndex<cuda::ChunkCountOp>(builder, loc, constant(builder, chunks), frame.block, constant(builder, blocks));
  OpBuilder inside = builder;
  Value step = constant(builder, 0);
  if (!once) {
    Value steps = depth > 0 ? arith::AddIOp::create(builder, loc, mine, constant(builder, depth)).getResult() : mine;
    auto loop = scf::ForOp::create(builder, loc, step, steps, constant(builder, 1));
    step = loop.getInductionVar();
    inside = OpBuilder::atBlockTerminator(loop.getBody());
  } else if (chunks < blocks) {
    Value has = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, frame.block, constant(builder, chunks));
    inside = scf::IfOp::create(builder, loc, has, /*withElseRegion=*/false).getThenBodyBuilder();
  }

  // Lines lie at their place in the message, in no slot of a ring.
  bool staged = llvm::any_of(kernel.getEntry().getOps<xfer::SymmBufferOp>(),
                             [](xfer::SymmBufferOp buffer) { return buffer.getType().getProtocol() == xfer::Protocol::Staged; });
  auto chunkAt = [&](OpBuilder &at, Value step) {
    Value number = frame.block;
    if (!once)
      number = arith::AddIOp::create(at, loc, arith::MulIOp::create(at, loc, step, constant(at, blocks)), number);
    Value start = arith::MulIOp::create(at, loc, number, constant(at, chunk));
    Value length = constant(at, chunk);
    if (elements % chunk != 0 || elements == 0)
      length = arith::MinSIOp::create(at, loc, arith::SubIOp::create(at, loc, constant(at, elements), start), length);
    Value slot = staged ? arith::RemUIOp::create(at, loc, step, constant(at, schedule.getSlots())).getResult() : Value();
    return ChunkFrame{start, length, step, slot, chunk};
  };
  auto guarded = [&](Value condition, Value step, Region &region) -> LogicalResult {
    OpBuilder at = inside;
    if (condition)
      at = scf::IfOp::create(inside, loc, condition, /*withElseRegion=*/false).getThenBodyBuilder();
    return expandRegion(at, region.front(), chunkAt(at, step));
  };
  auto expand = [&]() -> LogicalResult {
    if (depth == 0)
      return success(succeeded(guarded(nullptr, step, pipeline.getProduce())) &&
                     (pipeline.getConsume().front().empty() || succeeded(guarded(nullptr, step, pipeline.getConsume()))));
    Value pushes = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, step, mine);
    if (failed(guarded(pushes, step, pipeline.getProduce())))
      return failure();
    Value consumes = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::sge, step, constant(inside, depth));
    Value behind = arith::SubIOp::create(inside, loc, step, constant(inside, depth));
    return guarded(consumes, behind, pipeline.getConsume());
  };
  if (failed(expand()))
    return failure();
  if (pipeline.countsByFlags() && pipeline->getNextNode())
    counted = counted ? arith::AddIOp::create(builder, loc, counted, mine).getResult() : mine;
  return success();
}

LogicalResult KernelExpansion::expandRegion(OpBuilder &builder, Block &block, const ChunkFrame &chunk) {
  chunks.clear();
  chunks[block.getArgument(0)] = chunk;
  return expandBlock(builder, block);
}

LogicalResult KernelExpansion::expandBlock(OpBuilder &builder, Block &block) {
  auto pipeline = dyn_cast<xfer::PipelineOp>(block.getParentOp());
  if (!pipeline)
    pipeline = block.getParentOp()->getParentOfType<xfer::PipelineOp>();
  TileGroup elements(frame, chunks, layout, mapping);
  RowGroup rows(frame, chunks, layout, mapping);
  TileGroup &tiles = runsOverRows(pipeline) ? rows : elements;
  int64_t unroll = pipeline.isLocal() ? unrollOfRows(pipeline, kernel.getSchedule().getThreads()) : kernel.getSchedule().getUnroll();
  for (Operation &op : block) {
    if (TileGroup::takes(op)) {
      if (!tiles.fits(op) && failed(tiles.flush(builder, unroll)))
        return failure();
      tiles.add(op);
      continue;
    }
    // Numbers and choices do not part a group.
    if (!isa<xfer::SelectOp, xfer::OwnRankOp, xfer::TableOp, xfer::ClipOp>(op) && failed(tiles.flush(builder, unroll)))
      return failure();
    if (failed(expandOp(builder, op)))
      return failure();
  }
  return tiles.flush(builder, unroll);
}

LogicalResult KernelExpansion::expandOp(OpBuilder &builder, Operation &op) {
  Location loc = op.getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([](xfer::SelectOp) { return success(); }) // expanded where it is used
      .Case([&](xfer::OwnRankOp own) {
        mapping.map(own.getRank(), frame.rank);
        return success();
      })
      .Case([&](xfer::TableOp table) {
        Value other = table.getOther() ? mapping.lookup(table.getOther()) : Value();
        mapping.map(table.getValue(), tableEntry(builder, loc, table.getValues(), mapping.lookup(table.getRank()), other));
        return success();
      })
      .Case([&](xfer::ClipOp clip) {
        expandClip(builder, clip);
        return success();
      })
      .Case([&](xfer::SignalOp signal) {
        expandSignal(builder, signal);
        return success();
      })
      .Case([&](xfer::WaitOp wait) {
        expandWait(builder, wait);
        return success();
      })
      .Case([&](xfer::OnRanksOp only) {
        auto branch = scf::IfOp::create(builder, loc, isAmong(builder, loc, only.getRanks()), /*withElseRegion=*/false);
        OpBuilder inside = branch.getThenBodyBuilder();
        return expandBlock(inside, only.getBody().front());
      })
      .Case([&](xfer::ForPeersOp peers) {
        LogicalResult result = success();
        forTargets(builder, loc, nullptr, [&](OpBuilder &at, Value peer) {
          mapping.map(peers.getBody().front().getArgument(0), peer);
          result = expandBlock(at, peers.getBody().front());
        });
        return result;
      })
      .Default([](Operation *other) { return other->emitOpError() << "must not stand in a pipeline"; });
}

/// The entry of a table for `rank`, or for `rank` and `other`.
Value KernelExpansion::tableEntry(OpBuilder &builder, Location loc, ArrayRef<int64_t> values, Value rank, Value other) {
  if (llvm::all_equal(values))
    return indexConstant(builder, loc, values.front());
  Value index = rank;
  if (other) {
    index = arith::MulIOp::create(builder, loc, rank, indexConstant(builder, loc, frame.size));
    index = arith::AddIOp::create(builder, loc, index, other);
  }
  return createIndex<cuda::TableOp>(builder, loc, index, builder.getDenseI64ArrayAttr(values));
}

/// Whether this rank is one of `ranks`.
Value KernelExpansion::isAmong(OpBuilder &builder, Location loc, ArrayRef<int64_t> ranks) {
  if (ranks.size() == 1)
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, frame.rank, indexConstant(builder, loc, ranks.front()));
  SmallVector<int64_t> member(frame.size, 0);
  for (int64_t rank : ranks)
    member[rank] = 1;
  if (static_cast<int64_t>(ranks.size()) == frame.size - 1) {
    int64_t absent = llvm::find(member, 0) - member.begin();
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, frame.rank, indexConstant(builder, loc, absent));
  }
  Value entry = tableEntry(builder, loc, member, frame.rank, Value());
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, entry, indexConstant(builder, loc, 0));
}

/// The chunk of a shorter message: what is left of it at the chunk's start, if anything.
void KernelExpansion::expandClip(OpBuilder &builder, xfer::ClipOp clip) {
  Location loc = clip.getLoc();
  ChunkFrame chunk = chunks.lookup(clip.getChunk());
  Value elements = arith::MulIOp::create(builder, loc, mapping.lookup(clip.getElements()), indexConstant(builder, loc, layout.scale));
  Value left = arith::SubIOp::create(builder, loc, elements, chunk.start);
  left = arith::MaxSIOp::create(builder, loc, left, indexConstant(builder, loc, 0));
  chunk.length = arith::MinSIOp::create(builder, loc, left, chunk.length);
  chunks[clip.getClipped()] = chunk;
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

/// The value of a flag when `chunk` has been signalled.
Value KernelExpansion::flagValue(OpBuilder &builder, Location loc, Value chunk) {
  Value count = arith::AddIOp::create(builder, loc, chunks.lookup(chunk).step, indexConstant(builder, loc, 1));
  if (counted)
    count = arith::AddIOp::create(builder, loc, counted, count);
  return createIndex<cuda::FlagValueOp>(builder, loc, frame.epochAt(builder, loc), count);
}

/// The flags of a rank for itself count its syncs.
void KernelExpansion::expandSync(OpBuilder &builder, xfer::SyncOp sync) {
  Location loc = sync.getLoc();
  cuda::BlockBarrierOp::create(builder, loc, frame.takeSite());
  if (sync.getScope() == xfer::SyncScope::Block)
    return;
  Value value = createIndex<cuda::FlagValueOp>(builder, loc, frame.epochAt(builder, loc), indexConstant(builder, loc, ++syncs));
  cuda::SignalOp::create(builder, loc, frame.rank, frame.block, value, frame.takeSite());
  cuda::WaitBlocksOp::create(builder, loc, value, frame.takeSite());
  cuda::BlockBarrierOp::create(builder, loc, frame.takeSite());
}

void KernelExpansion::expandSignal(OpBuilder &builder, xfer::SignalOp signal) {
  if (signal.getInBand())
    return;
  Location loc = signal.getLoc();
  // All threads' stores come before the one release; it publishes them to the peer by cumulativity.
  cuda::BlockBarrierOp::create(builder, loc, frame.takeSite());
  Value value = flagValue(builder, loc, signal.getChunk());
  forTargets(builder, loc, signal.getPeer(), [&](OpBuilder &at, Value peer) {
    cuda::SignalOp::create(at, loc, peer, frame.block, value, frame.takeSite());
  });
}

void KernelExpansion::expandWait(OpBuilder &builder, xfer::WaitOp wait) {
  if (wait.getInBand())
    return;
  Location loc = wait.getLoc();
  Value value = flagValue(builder, loc, wait.getChunk());
  forTargets(builder, loc, wait.getPeer(), [&](OpBuilder &at, Value peer) {
    cuda::WaitOp::create(at, loc, peer, frame.block, value, frame.takeSite());
  });
  // What the acquiring threads have seen, the others see after the barrier.
  cuda::BlockBarrierOp::create(builder, loc, frame.takeSite());
}

/// Elements that a rank sends at least in one call of a library: a ring's share of a collective, a message whole.
static int64_t sentElements(xfer::CallAttr call, int64_t rank, int64_t ranks) {
  int64_t count = call.getCount();
  switch (call.getFunction()) {
  case xfer::LibraryFunction::AllReduce:
    return 2 * count * (ranks - 1) / ranks;
  case xfer::LibraryFunction::AllGather:
  case xfer::LibraryFunction::ReduceScatter:
    return count * (ranks - 1);
  case xfer::LibraryFunction::Broadcast:
  case xfer::LibraryFunction::Reduce:
    return ranks > 1 ? count : 0;
  case xfer::LibraryFunction::Message:
    return call.getSource() == rank && call.getDest() != rank ? count : 0;
  }
  return 0;
}

/// Bytes that the rank which sends most sends at least.
static int64_t sentByLibrary(xfer::LibraryCallOp op) {
  int64_t ranks = op.getGroup().getSize(), most = 0;
  for (int64_t row = 0; row < op.getGroup().getNumRows(); ++row)
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t sum = 0;
      for (auto call : op.getCalls().getAsRange<xfer::CallAttr>())
        if (call.getRow() < 0 || call.getRow() == row)
          sum += sentElements(call, rank, ranks);
      most = std::max(most, sum);
    }
  return most * xfer::elementBytes(cast<MemRefType>(op.getOperands().front().getType()).getElementType());
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
                                    call.getCallsAttr(), call.getPredictedUsAttr(), builder.getI64IntegerAttr(sentByLibrary(call)));
      else if (auto transfer = dyn_cast<xfer::TransferOp>(step))
        cuda::TransferOp::create(builder, transfer.getLoc(), transfer.getOperands(), transfer.getGroupAttr(), transfer.getCallsAttr());
      step->erase();
    }
    module.walk([](xfer::HostReadOp read) {
      OpBuilder builder(read);
      read.replaceAllUsesWith(cuda::HostReadOp::create(builder, read.getLoc(), read.getResult().getType(), read.getSource()).getResult());
      read.erase();
    });
    module.walk([](xfer::BitcastOp bitcast) {
      OpBuilder builder(bitcast);
      bitcast.replaceAllUsesWith(cuda::BitcastOp::create(builder, bitcast.getLoc(), bitcast.getResult().getType(), bitcast.getSource()).getResult());
      bitcast.erase();
    });
    module.walk([](xfer::AbsentOp absent) {
      OpBuilder builder(absent);
      absent.replaceAllUsesWith(cuda::AbsentOp::create(builder, absent.getLoc(), absent.getResult().getType()).getResult());
      absent.erase();
    });
  }
};

} // namespace
