// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferTokens.cpp - tokens, signals, room ---------------------===//
//
// Rules of pkb-verify-xfer that can be read off the kernel without running it.
//
//===----------------------------------------------------------------------===//

#include "passes/Contract/VerifyXferRules.h"
#include "pkb_rt/layout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pkb;

static bool isLines(Value buffer) {
  return cast<xfer::SymmType>(buffer.getType()).getProtocol() == xfer::Protocol::Lines;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

/// True if every rank that executes `before` executes `after`, too.
static bool runsWherever(Operation *before, Operation *after) {
  int64_t size = after->getParentOfType<xfer::KernelOp>().getGroupSize();
  auto runs = [](Operation *op, int64_t rank) {
    for (auto only = op->getParentOfType<xfer::OnRanksOp>(); only; only = only->getParentOfType<xfer::OnRanksOp>())
      if (!only.includes(rank))
        return false;
    return true;
  };
  for (int64_t rank = 0; rank < size; ++rank)
    if (runs(before, rank) && !runs(after, rank))
      return false;
  return true;
}

/// The first signal inside `op`, or `op` itself, that every rank which executes `put` executes.
static xfer::SignalOp signalIn(Operation *op, xfer::PutOp put) {
  xfer::SignalOp found;
  op->walk([&](xfer::SignalOp signal) {
    if (!runsWherever(put, signal))
      return WalkResult::advance();
    found = signal;
    return WalkResult::interrupt();
  });
  return found;
}

/// The signal that publishes `put`: the next one in program order, in its block or after the loops around it.
static xfer::SignalOp publisherOf(xfer::PutOp put) {
  for (Operation *from = put; !isa<xfer::PipelineOp>(from); from = from->getParentOp())
    for (Operation *op = from->getNextNode(); op; op = op->getNextNode())
      if (xfer::SignalOp signal = signalIn(op, put))
        return signal;
  return nullptr;
}

static void checkPuts(xfer::KernelOp kernel, TransferReporter &reporter) {
  DenseMap<Operation *, SmallVector<xfer::PutOp>> published;
  kernel.walk([&](xfer::PutOp put) {
    xfer::SignalOp signal = publisherOf(put);
    if (!signal) {
      reporter.report(TransferCode::PutUnpublished, put, "no xfer.signal comes after it in its region");
      return;
    }
    published[signal].push_back(put);
    // The token of a put inside a loop cannot leave it; there, and only there, the order of the operations must do.
    if (put->getBlock()->findAncestorOpInBlock(*signal) && !llvm::is_contained(signal.getAfter(), put.getToken()))
      reporter.report(TransferCode::PutNotInAfter, signal,
                      "its operands after `after` must include the token of each put before it", {{put, "the put"}});
  });
  kernel.walk([&](xfer::SignalOp signal) {
    ArrayRef<xfer::PutOp> puts = published[signal];
    if (signal.getInBand() && puts.empty())
      reporter.report(TransferCode::SignalBand, signal, "it is in band, but nothing is put before it");
    for (xfer::PutOp put : puts)
      if (isLines(put.getBuffer()) != signal.getInBand())
        reporter.report(TransferCode::SignalBand, signal,
                        Twine("it is ") + (signal.getInBand() ? "" : "not ") +
                            "in band, but what is put before it goes to a " +
                            xfer::stringifyProtocol(put.getBuffer().getType().getProtocol()) + " buffer",
                        {{put, "the put"}});
  });
}

/// The chunk of the pipeline's region that `chunk` is, or a piece of.
static Value wholeOf(Value chunk) {
  while (auto clip = chunk.getDefiningOp<xfer::ClipOp>())
    chunk = clip.getChunk();
  return chunk;
}

/// One read of a symmetric buffer: `source` is absent where all peers are read.
static void checkRead(Operation *op, Value buffer, Value source, Value chunk, ValueRange after,
                      TransferReporter &reporter) {
  bool waited = false;
  for (Value token : after) {
    auto wait = token.getDefiningOp<xfer::WaitOp>();
    if (!wait)
      continue;
    if (wait.getInBand() != isLines(buffer)) {
      reporter.report(TransferCode::WaitBand, wait,
                      Twine("it is ") + (wait.getInBand() ? "" : "not ") + "in band, but its token guards a " +
                          xfer::stringifyProtocol(cast<xfer::SymmType>(buffer.getType()).getProtocol()) + " buffer",
                      {{op, "the read"}});
      continue;
    }
    waited |= wholeOf(wait.getChunk()) == wholeOf(chunk) && (!wait.getPeer() || wait.getPeer() == source);
  }
  if (!waited)
    reporter.report(TransferCode::ReadWithoutToken, op,
                    source ? "`after` must name a wait of this band for this chunk of the same peer, or of all peers"
                           : "`after` must name a wait of this band for this chunk of all peers");
}

static void checkReads(xfer::KernelOp kernel, TransferReporter &reporter) {
  kernel.walk([&](Operation *op) {
    if (auto consume = dyn_cast<xfer::ConsumeOp>(op))
      checkRead(op, consume.getBuffer(), consume.getPeer(), consume.getChunk(), consume.getAfter(), reporter);
    else if (auto reads = dyn_cast<xfer::ContributionsOp>(op); reads && kernel.getGroupSize() > 1)
      checkRead(op, reads.getBuffer(), Value(), reads.getChunk(), reads.getAfter(), reporter);
    else if (auto wait = dyn_cast<xfer::WaitOp>(op); wait && wait.getInBand() && wait.getToken().use_empty())
      reporter.report(TransferCode::WaitBand, wait, "it is in band, but nothing is read after it");
  });
}

void pkb::checkTokens(xfer::KernelOp kernel, TransferReporter &reporter) {
  checkPuts(kernel, reporter);
  checkReads(kernel, reporter);
}

//===----------------------------------------------------------------------===//
// Room
//===----------------------------------------------------------------------===//

/// What every multiprocessor from sm_90 on holds.
static constexpr int64_t kThreadsPerSm = 2048, kBlocksPerSm = 32;

/// a * b for non-negative numbers, the largest number where that is too large.
static int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(std::min<uint64_t>(llvm::SaturatingMultiply<uint64_t>(a, b), INT64_MAX));
}

int64_t pkb::chunksOf(xfer::PipelineOp pipeline) {
  uint64_t elements = pipeline.getElements(), chunk = pipeline.getChunk();
  return std::max<int64_t>(1, elements / chunk + (elements % chunk != 0));
}

/// The buffers that a pipeline pushes into or reads.
static SmallVector<xfer::SymmBufferOp> buffersOf(xfer::PipelineOp pipeline) {
  SmallVector<xfer::SymmBufferOp> found;
  pipeline.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto buffer = operand.getDefiningOp<xfer::SymmBufferOp>(); buffer && !llvm::is_contained(found, buffer))
        found.push_back(buffer);
  });
  return found;
}

/// `counted`: the chunks of block 0 that flags have counted up to here.
static void checkChunks(xfer::KernelOp kernel, xfer::PipelineOp pipeline, int64_t &counted,
                        TransferReporter &reporter) {
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  int64_t ranks = kernel.getGroupSize(), chunk = pipeline.getChunk();
  int64_t most = llvm::divideCeil(chunksOf(pipeline), schedule.getBlocks()), number = most;
  if (pipeline.countsByFlags())
    number = counted += most;
  if (number >= (int64_t(1) << PKB_PROGRESS_BITS))
    reporter.report(TransferCode::TooManyChunks, pipeline,
                    "block 0 has " + Twine(number) + " chunks, a flag counts to " +
                        Twine((1 << PKB_PROGRESS_BITS) - 1));
  for (xfer::SymmBufferOp buffer : buffersOf(pipeline)) {
    xfer::SymmType type = buffer.getType();
    int64_t bytes = xfer::elementBytes(type.getElementType());
    if (times(chunk, bytes) % 16 != 0)
      reporter.report(TransferCode::ChunkMismatch, pipeline,
                      "a chunk of " + Twine(chunk) + " elements of " + Twine(bytes) +
                          " bytes is no multiple of 16 bytes");
    if (type.getProtocol() == xfer::Protocol::Lines) {
      int64_t room = pkb_ll_slot_bytes(ranks);
      int64_t payload = std::min<int64_t>(times(pipeline.getElements(), bytes), INT64_MAX / 4);
      int64_t need = pkb_ll_line_bytes(payload, xfer::isPacked(type));
      if (xfer::isPacked(type) && times(chunk, bytes) % PKB_PACK_GROUP != 0)
        reporter.report(TransferCode::ChunkMismatch, pipeline,
                        "a chunk of " + Twine(times(chunk, bytes)) + " bytes cuts a group of packed lines, which carries " + Twine(PKB_PACK_GROUP) +
                            " bytes: it must be a multiple of that",
                        {{buffer, "the buffer"}});
      if (need > room)
        reporter.report(TransferCode::LLTooLarge, pipeline,
                        Twine(static_cast<int64_t>(pipeline.getElements())) + " elements of " + Twine(bytes) +
                            " bytes need " + Twine(need) + " bytes of lines per rank, there are " + Twine(room));
      continue;
    }
    if (chunk > type.getChunk())
      reporter.report(TransferCode::ChunkMismatch, pipeline,
                      "a chunk of " + Twine(chunk) + " elements does not fit a slot of " + Twine(type.getChunk()),
                      {{buffer, "the buffer"}});
    if (std::min(schedule.getSlots(), most) > type.getSlots())
      reporter.report(TransferCode::ChunkMismatch, pipeline,
                      "the schedule uses " + Twine(schedule.getSlots()) + " slots, the buffer has " +
                          Twine(type.getSlots()),
                      {{buffer, "the buffer"}});
  }
}

void pkb::checkRoom(xfer::KernelOp kernel, const XferLimits &limits, TransferReporter &reporter) {
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  int64_t ranks = kernel.getGroupSize(), blocks = schedule.getBlocks();
  bool waits = llvm::any_of(kernel.getEntry().getOps<xfer::SyncOp>(),
                            [](xfer::SyncOp sync) { return sync.getScope() == xfer::SyncScope::Grid; });
  if (ranks > 1)
    kernel.walk([&](xfer::WaitOp) { waits = true; });
  // Launch bounds make the compiler fit the registers of `per_sm` blocks of so many threads; kernels use no shared
  // memory.
  int64_t perSm = std::min({schedule.getPerSm(), kThreadsPerSm / schedule.getThreads(), kBlocksPerSm});
  if (waits && (blocks - 1) / perSm >= limits.sms)
    reporter.report(TransferCode::NotResident, kernel,
                    Twine(blocks) + " blocks of " + Twine(schedule.getThreads()) + " threads wait, " +
                        Twine(limits.sms * perSm) + " are certain to be resident (" + Twine(perSm) + " on each of " +
                        Twine(limits.sms) + " multiprocessors" + (limits.smsAsked ? ", by option sms)" : ")"));
  if (blocks > PKB_MAX_BLOCKS)
    reporter.report(TransferCode::TooManyBlocks, kernel,
                    "it has " + Twine(blocks) + ", there are " + Twine(PKB_MAX_BLOCKS));
  if (ranks > PKB_MAX_RANKS) {
    reporter.report(TransferCode::TooManyRanks, kernel,
                    "its group has " + Twine(ranks) + ", there is room for " + Twine(PKB_MAX_RANKS));
    return;
  }

  int64_t staging = 0, lines = 0, buffersOfLines = 0;
  for (auto buffer : kernel.getEntry().getOps<xfer::SymmBufferOp>()) {
    xfer::SymmType type = buffer.getType();
    if (type.getProtocol() == xfer::Protocol::Staged) {
      int64_t ring = times(times(type.getSlots(), type.getChunk()), xfer::elementBytes(type.getElementType()));
      int64_t need = times(times(ranks, blocks), ring);
      staging = need > INT64_MAX - staging ? INT64_MAX : staging + need;
      continue;
    }
    lines = std::min(lines, INT64_MAX / 2) + xfer::linesOf(buffer);
    ++buffersOfLines;
  }
  if (buffersOfLines > 1 && lines > pkb_ll_slot_bytes(ranks))
    reporter.report(TransferCode::SeveralLineBuffers, kernel,
                    Twine(buffersOfLines) + " need " + Twine(lines) + " bytes of lines per rank, there are " +
                        Twine(pkb_ll_slot_bytes(ranks)));
  int64_t room = pkb_stage_bytes(ranks, limits.arenaBytes);
  if (staging > room)
    reporter.report(TransferCode::StagingTooLarge, kernel,
                    "they need " + Twine(staging) + " bytes per parity, an arena of " + Twine(limits.arenaBytes) +
                        " has " + Twine(room));
  int64_t counted = 0;
  for (auto pipeline : kernel.getEntry().getOps<xfer::PipelineOp>())
    checkChunks(kernel, pipeline, counted, reporter);

  if (kernel.getFused()) // its maps say what becomes what
    return;
  Type element;
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<xfer::TileType>(type)) {
        if (element && element != tile.getElementType()) {
          std::string first, other;
          llvm::raw_string_ostream(first) << element;
          llvm::raw_string_ostream(other) << tile.getElementType();
          reporter.report(TransferCode::MixedElements, op, "here " + other + ", before " + first);
          return WalkResult::interrupt();
        }
        element = tile.getElementType();
      }
    return WalkResult::advance();
  });
}
