// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Schedules.cpp - legal schedules and their predicted times --------===//

#include "Schedules.h"

#include "pkb_rt/layout.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace pkb;
using namespace pkb::xfer;
using llvm::alignTo;
using llvm::divideCeil;

/// 1e3 bytes per microsecond are 1 GB/s.
static double microseconds(double bytes, double gbs) { return bytes / (gbs * 1e3); }

/// LL: every thread moves a few 16-byte vectors, so that all lines are in flight at once; one chunk per block.
static Choice chooseLL(mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine) {
  Choice choice{Mechanism::LL, {}, 0, {}};
  int64_t capacity = pkb_ll_slot_bytes(exchange.ranks) / 2;
  if (exchange.messageBytes > capacity) {
    choice.reason = llvm::formatv("message of {0} bytes exceeds the {1} bytes of an LL slot", exchange.messageBytes, capacity);
    return choice;
  }
  constexpr int64_t threads = 512, vectorBytes = 16;
  int64_t vectors = divideCeil(std::max<int64_t>(exchange.messageBytes, 1), vectorBytes);
  int64_t blocks = std::clamp<int64_t>(divideCeil(vectors, threads), 1, std::min<int64_t>(machine.sms, 64));
  int64_t chunk = alignTo(divideCeil(vectors, blocks) * vectorBytes, vectorBytes);
  choice.schedule = ScheduleAttr::get(context, Mechanism::LL, blocks, threads, chunk, /*depth=*/0, /*slots=*/1, /*unroll=*/2);
  double wire = 2.0 * exchange.messageBytes * (exchange.ranks - 1);
  choice.predictedUs = machine.rates.kernelUs + machine.rates.hopUs + microseconds(wire, 2 * machine.rates.llPeakGBs) +
                       microseconds(exchange.localBytes, machine.rates.hbmGBs);
  return choice;
}

/// Staged stores: enough blocks to fill the link; small messages one chunk per block, large ones a ring of chunks so that push, wait and
/// consumption overlap.
static Choice chooseLdSt(mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine) {
  Choice choice{Mechanism::LdSt, {}, 0, {}};
  constexpr int64_t threads = 512, minChunk = 4096, maxChunk = 65536;
  int64_t bytes = std::max<int64_t>(exchange.messageBytes, 16);
  int64_t blocks = std::clamp<int64_t>(divideCeil(bytes, minChunk), 1, std::min<int64_t>(machine.sms, PKB_MAX_BLOCKS));
  int64_t chunk = alignTo(divideCeil(bytes, blocks), 16);
  int64_t chunks = 1;
  if (chunk > maxChunk) {
    chunks = divideCeil(chunk, maxChunk);
    chunk = alignTo(divideCeil(bytes, blocks * chunks), 512);
    chunks = divideCeil(divideCeil(bytes, chunk), blocks);
  }
  int64_t depth = chunks == 1 ? 0 : 1;
  int64_t slots = std::min<int64_t>(chunks, 2 * depth + 2);
  // Fewer bytes in flight where the arena is small.
  int64_t half = pkb_stage_bytes(exchange.ranks, exchange.arenaBytes);
  while (exchange.ranks * blocks * slots * chunk > half && chunk > minChunk) {
    chunk = alignTo(chunk / 2, 16);
    depth = 1;
    slots = 2 * depth + 2;
  }
  while (exchange.ranks * blocks * slots * chunk > half && blocks > 1)
    blocks /= 2;
  if (exchange.ranks * blocks * slots * chunk > half) {
    choice.reason = llvm::formatv("staging of {0} bytes exceeds the {1} bytes of the arena's half",
                                  exchange.ranks * blocks * slots * chunk, half);
    return choice;
  }
  choice.schedule = ScheduleAttr::get(context, Mechanism::LdSt, blocks, threads, chunk, depth, slots, /*unroll=*/4);
  double wire = static_cast<double>(exchange.messageBytes) * (exchange.ranks - 1);
  double rate = std::min(machine.rates.ldstPeakGBs, machine.rates.ldstSmGBs * blocks);
  // What arrives is written and read once in device memory; half of that hides behind the link.
  double memory = microseconds(exchange.localBytes + 2 * wire, machine.rates.hbmGBs);
  choice.predictedUs = machine.rates.kernelUs + machine.rates.hopUs + machine.rates.barrierUs + microseconds(wire, rate) + memory / 2;
  return choice;
}

llvm::SmallVector<Choice> pkb::enumerateChoices(mlir::MLIRContext *context, const Exchange &exchange, const Machine &machine) {
  return {chooseLdSt(context, exchange, machine), chooseLL(context, exchange, machine)};
}
