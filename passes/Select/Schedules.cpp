// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Schedules.cpp - legal schedules and their predicted times --------===//

#include "passes/Select/Schedules.h"

#include "pkb_rt/layout.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace pkb;
using namespace pkb::xfer;
using llvm::alignTo;
using llvm::divideCeil;

/// 1e3 bytes per microsecond are 1 GB/s.
static double microseconds(double bytes, double gbs) { return bytes / (gbs * 1e3); }

/// LL: packed lines, a thread for each vector of a block's one chunk, so that all lines are in flight at once.
static Choice chooseLL(mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine) {
  Choice choice{Mechanism::LL, {}, 0, {}};
  int64_t groups = divideCeil(std::max<int64_t>(exchange.messageBytes, 1), PKB_PACK_GROUP);
  int64_t chunk = divideCeil(groups, std::min<int64_t>(machine.sms < 32 ? machine.sms : machine.sms / 32 * 32, PKB_MAX_BLOCKS)) * PKB_PACK_GROUP;
  int64_t blocks = divideCeil(groups * PKB_PACK_GROUP, chunk), threads = std::min<int64_t>(chunk / PKB_PACK_BYTES, 256);
  choice.schedule = ScheduleAttr::get(context, Mechanism::LL, blocks, threads, chunk, /*depth=*/0, /*slots=*/1, /*unroll=*/1,
                                      divideCeil(blocks, machine.sms));
  double payload = static_cast<double>(exchange.messageBytes) * exchange.messages;
  choice.predictedUs = machine.rates.kernelUs + machine.rates.hopUs + machine.rates.orderUs +
                       microseconds(payload, machine.rates.llPeakGBs);
  return choice;
}

/// What the geometry of a staged exchange follows from.
struct Geometry {
  int64_t blocks, threads, chunk, depth, slots, unroll;
};

/// Up to 8 MiB one chunk per block, the push of all blocks filling the link; above that a ring of 16 KiB chunks per block, so that push, wait
/// and consumption overlap and the ring stays in the cache. Chunks are whole 512 bytes: a warp's worth of vectors.
static Geometry stagedGeometry(int64_t bytes, const Machine &machine) {
  constexpr int64_t align = 512, smallChunk = 8192, mediumChunk = 16384, largeChunk = 32768;
  int64_t few = std::min<int64_t>(machine.sms / 32 * 32, PKB_MAX_BLOCKS); // whole waves of the memory system's slices
  int64_t many = PKB_MAX_BLOCKS;
  few = std::max<int64_t>(few, 1);
  if (bytes <= few * mediumChunk) {
    int64_t chunk = std::max(smallChunk, static_cast<int64_t>(alignTo(divideCeil(bytes, few), align)));
    if (bytes < smallChunk)
      chunk = alignTo(bytes, 16);
    int64_t threads = std::clamp<int64_t>(alignTo(divideCeil(chunk, 16), 32), 32, 1024);
    return {static_cast<int64_t>(divideCeil(bytes, chunk)), threads, chunk, 0, 1, 1};
  }
  if (bytes <= many * largeChunk) {
    int64_t chunk = alignTo(divideCeil(bytes, many), align);
    return {static_cast<int64_t>(divideCeil(bytes, chunk)), 512, chunk, 0, 1, 2};
  }
  return {many, 512, mediumChunk, 1, 4, 2};
}

static Choice chooseLdSt(mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine) {
  Choice choice{Mechanism::LdSt, {}, 0, {}};
  Geometry geometry = stagedGeometry(std::max<int64_t>(exchange.messageBytes, 16), machine);
  auto staging = [&] { return exchange.ranks * geometry.blocks * geometry.slots * geometry.chunk; };
  int64_t half = pkb_stage_bytes(exchange.ranks, exchange.arenaBytes);
  // A smaller arena holds a ring of fewer bytes.
  if (staging() > half && geometry.depth == 0) {
    geometry.depth = 1;
    geometry.slots = 4;
  }
  while (staging() > half && geometry.chunk > 1024)
    geometry.chunk = alignTo(geometry.chunk / 2, 16);
  while (staging() > half && geometry.blocks > 1)
    geometry.blocks /= 2;
  choice.schedule = ScheduleAttr::get(context, Mechanism::LdSt, geometry.blocks, geometry.threads, geometry.chunk, geometry.depth,
                                      geometry.slots, geometry.unroll, divideCeil(geometry.blocks, machine.sms));
  double wire = static_cast<double>(exchange.messageBytes) * exchange.messages;
  double rate = std::min(machine.rates.ldstPeakGBs, machine.rates.ldstSmGBs * std::min(geometry.blocks, machine.sms));
  // Device memory: inputs, results, and what arrives, written and read once. A pipeline hides most of it behind the link.
  double memory = microseconds(exchange.localBytes + 2 * wire, machine.rates.hbmGBs);
  choice.predictedUs = machine.rates.kernelUs + 2 * machine.rates.hopUs + machine.rates.orderUs + microseconds(wire, rate) +
                       memory * (geometry.depth == 0 ? machine.rates.exposedMemory : machine.rates.exposedMemoryPipelined);
  return choice;
}

/// Whole messages in fixed slots: one chunk per block, so that a message lies in one piece.
static Choice chooseCopyEngine(mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine) {
  constexpr int64_t align = 512, threads = 512, smallChunk = 8192;
  int64_t bytes = std::max<int64_t>(exchange.messageBytes, 16);
  int64_t chunk = std::max<int64_t>(alignTo(std::min(bytes, smallChunk), 16), alignTo(divideCeil(bytes, PKB_MAX_BLOCKS), align));
  int64_t blocks = divideCeil(bytes, chunk);
  Choice choice{Mechanism::CopyEngine, {}, 0, {}};
  choice.schedule = ScheduleAttr::get(context, Mechanism::CopyEngine, blocks, threads, chunk, /*depth=*/0, /*slots=*/1, /*unroll=*/2,
                                      divideCeil(blocks, machine.sms));
  double peers = exchange.messages, wire = static_cast<double>(exchange.messageBytes) * peers;
  // A copy out reads and writes each message, a reduction reads them all and writes one.
  double memory = wire + exchange.messageBytes + (isReduction(exchange.collective) ? exchange.messageBytes : wire + exchange.messageBytes);
  // Three waits for peers: for their slots, for their data, for their having read ours. The copy out begins when all has come.
  choice.predictedUs = 2 * (machine.rates.kernelUs + machine.rates.orderUs) + 3 * machine.rates.hopUs + machine.rates.copyUs * peers +
                       microseconds(wire, machine.rates.copyPeakGBs) + microseconds(memory, machine.rates.hbmGBs);
  return choice;
}

/// Bytes that one rank receives where the library moves as little as it can.
static double receivedBytes(const Exchange &exchange) {
  double peers = exchange.ranks - 1, bytes = exchange.messageBytes;
  if (exchange.collective == Collective::AllReduce)
    return 2 * bytes * peers / exchange.ranks;
  bool oneMessage = exchange.collective == Collective::Broadcast || exchange.collective == Collective::Permute ||
                    exchange.collective == Collective::Reduce;
  return oneMessage ? bytes : bytes * peers;
}

/// The other fields of its schedule mean nothing.
static Choice chooseNccl(mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine) {
  Choice choice{Mechanism::Nccl, {}, 0, {}};
  choice.predictedUs = exchange.ranks == 1 ? machine.rates.kernelUs
                                           : ncclTime(machine.rates, stringifyCollective(exchange.collective), receivedBytes(exchange));
  if (choice.predictedUs < 0) {
    choice.reason = "the machine file has no times of NCCL";
    return choice;
  }
  choice.schedule = ScheduleAttr::get(context, Mechanism::Nccl, /*blocks=*/1, /*threads=*/1, /*chunk=*/16, /*depth=*/0, /*slots=*/1, /*unroll=*/1,
                                      /*perSm=*/1);
  return choice;
}

static Choice choose(Mechanism mechanism, mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine) {
  switch (mechanism) {
  case Mechanism::LdSt:
    return chooseLdSt(context, exchange, machine);
  case Mechanism::LL:
    return chooseLL(context, exchange, machine);
  case Mechanism::CopyEngine:
    return chooseCopyEngine(context, exchange, machine);
  case Mechanism::Nccl:
    return chooseNccl(context, exchange, machine);
  case Mechanism::Tma:
  case Mechanism::Nvls:
    break;
  }
  llvm_unreachable("kMechanisms has no others");
}

llvm::SmallVector<Choice> pkb::enumerateChoices(mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine) {
  llvm::SmallVector<Choice> choices;
  for (Mechanism mechanism : kMechanisms) {
    if (std::optional<std::string> reason = whyIllegal(mechanism, exchange))
      choices.push_back(Choice{mechanism, {}, 0, *reason});
    else
      choices.push_back(choose(mechanism, context, exchange, machine));
  }
  return choices;
}
