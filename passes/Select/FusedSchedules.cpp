// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FusedSchedules.cpp - schedules of kernels over rows --------------===//
//
// A team of lanes takes a row and sends one line of 16 bytes for it, so such a kernel is as long as its pass over memory.
//
//===----------------------------------------------------------------------===//

#include "passes/Select/Schedules.h"

#include "pkb/Analysis/RowOperators.h"
#include "pkb_rt/layout.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace pkb;
using namespace pkb::xfer;
using llvm::divideCeil;

/// Bytes of the line that a rank sends to one other for each row.
static constexpr int64_t kLineBytes = 16;

/// Bytes that LL lines for so many rows need.
static int64_t llBytesOf(int64_t rows) { return 2 * rows * kLineBytes; }

static double predict(const RowExchange &exchange, const Machine &machine, Mechanism mechanism) {
  double wire = static_cast<double>(exchange.rows) * kLineBytes * (exchange.ranks - 1);
  bool lines = mechanism == Mechanism::LL;
  // A line of a row is not packed: half of what crosses the link is payload, not three quarters.
  double rate = lines ? machine.rates.llPeakGBs * 2 / 3 : machine.rates.ldstPeakGBs;
  return machine.rates.kernelUs + (lines ? 1 : 2) * machine.rates.hopUs + machine.rates.orderUs + wire / (rate * 1e3) +
         exchange.localBytes / (machine.rates.hbmGBs * 1e3);
}

namespace {

/// Blocks, threads and chunks of a kernel over rows.
struct RowGeometry {
  int64_t blocks = 1, threads = 32, perSm = 1;
  int64_t perChunk = 1, depth = 0, slots = 1;
};

} // namespace

static constexpr int64_t kMostThreads = 512;

/// Two blocks on a multiprocessor where there are rows enough, a warp for each of a block's rows, or more lanes where rows are long and few.
static RowGeometry wholeGeometry(const RowExchange &exchange, const Machine &machine) {
  constexpr int64_t rowsInFlight = 4, vectorsPerLane = 4;
  RowGeometry geometry;
  int64_t rows = std::max<int64_t>(exchange.rows, 1);
  geometry.blocks = std::min<int64_t>({static_cast<int64_t>(divideCeil(rows, rowsInFlight)), 2 * machine.sms, PKB_MAX_BLOCKS});
  geometry.perChunk = divideCeil(rows, geometry.blocks);
  geometry.blocks = divideCeil(rows, geometry.perChunk);
  int64_t lanes = rowLanesFor(exchange.rowBytes, vectorsPerLane, kMostThreads / geometry.perChunk);
  geometry.threads = std::min(geometry.perChunk * lanes, kMostThreads);
  geometry.perSm = divideCeil(geometry.blocks, machine.sms);
  return geometry;
}

/// Where a block has more rows than teams that can keep theirs in registers, its rows follow each other: a chunk is a row for each team, and the lines of
/// `depth` chunks are on their way while their rows are kept. `geometry` stays where there is one chunk only, or where rows are too long.
static RowGeometry streamGeometry(RowGeometry geometry, const RowExchange &exchange) {
  constexpr int64_t vectorBytes = 16, vectorsKept = 8, mostPerLane = 4, mostDepth = 3; // of 64 registers, two blocks of 512 threads on a multiprocessor
  int64_t team = 32;
  while (team < kMostThreads && team * mostPerLane * vectorBytes < exchange.rowBytes)
    team = team == 32 ? 128 : 2 * team; // two warps have no barrier of their own
  int64_t perLane = std::max<int64_t>(1, divideCeil(exchange.rowBytes, team * vectorBytes)), teams = kMostThreads / team;
  if (perLane > mostPerLane || geometry.perChunk <= teams)
    return geometry;
  geometry.threads = kMostThreads;
  geometry.slots = divideCeil(geometry.perChunk, teams);
  geometry.perChunk = teams;
  geometry.depth = std::clamp<int64_t>(vectorsKept / perLane - 1, 1, mostDepth);
  return geometry;
}

static llvm::SmallVector<Choice> enumerate(mlir::MLIRContext *context, const RowExchange &exchange, const Machine &machine, bool alone) {
  int64_t rows = std::max<int64_t>(exchange.rows, 1);
  RowGeometry whole = wholeGeometry(exchange, machine);
  llvm::SmallVector<Choice> choices;
  for (Mechanism mechanism : {Mechanism::LdSt, Mechanism::LL}) {
    Choice choice{mechanism, {}, 0, {}};
    int64_t need = mechanism == Mechanism::LL ? llBytesOf(rows) : exchange.ranks * whole.blocks * whole.perChunk * kLineBytes;
    int64_t room = mechanism == Mechanism::LL ? pkb_ll_slot_bytes(exchange.ranks) : pkb_stage_bytes(exchange.ranks, exchange.arenaBytes);
    if (need > room) {
      choice.reason = llvm::formatv("{0} rows need {1} bytes of {2}, there are {3}", rows, need,
                                    mechanism == Mechanism::LL ? "LL lines" : "staging", room);
    } else {
      RowGeometry geometry = mechanism == Mechanism::LL && alone ? streamGeometry(whole, exchange) : whole;
      choice.schedule = ScheduleAttr::get(context, mechanism, geometry.blocks, geometry.threads, geometry.perChunk * kLineBytes, geometry.depth,
                                          geometry.slots, /*unroll=*/4, geometry.perSm);
      choice.predictedUs = predict(exchange, machine, mechanism);
    }
    choices.push_back(choice);
  }
  return choices;
}

llvm::SmallVector<Choice> pkb::enumerateRowChoices(mlir::MLIRContext *context, const RowExchange &exchange, const Machine &machine) {
  return enumerate(context, exchange, machine, /*alone=*/true);
}

llvm::SmallVector<Choice> pkb::enumerateRowChainChoices(mlir::MLIRContext *context, llvm::ArrayRef<RowExchange> phases, const Machine &machine) {
  // The phase with the most rows makes the schedule; each has buffers of its own.
  RowExchange most = *llvm::max_element(phases, [](const RowExchange &a, const RowExchange &b) { return a.rows < b.rows; });
  int64_t headroom = pkb_stage_offset(most.ranks), count = phases.size();
  most.arenaBytes = headroom + (most.arenaBytes - headroom) / count;
  llvm::SmallVector<Choice> choices = enumerate(context, most, machine, /*alone=*/false);
  for (Choice &choice : choices) {
    if (!choice.schedule)
      continue;
    choice.predictedUs = machine.rates.kernelUs;
    int64_t lines = 0;
    for (const RowExchange &phase : phases) {
      choice.predictedUs += predict(phase, machine, choice.mechanism) - machine.rates.kernelUs;
      lines += llBytesOf(phase.rows);
    }
    choice.predictedUs += machine.rates.orderUs * static_cast<double>(count - 1);
    if (int64_t room = pkb_ll_slot_bytes(most.ranks); choice.mechanism == Mechanism::LL && lines > room) {
      choice.schedule = {};
      choice.reason = llvm::formatv("{0} exchanges of rows need {1} bytes of LL lines, there are {2}", count, lines, room);
    }
  }
  return choices;
}
