//===- Emulated.h - A program on emulated ranks -----------------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_EMULATED_H
#define TOOLS_PKB_RUN_EMULATED_H

#include "tools/pkb-run/Reference.h"

#include <functional>

namespace pkb::run {

/// What the ranks hold after all trials, contiguous: [trial][rank].
struct EmulatedResult {
  struct RankTrial {
    std::vector<std::string> outputs, arguments; ///< elements of program outputs and arguments, in program order
    std::vector<std::vector<int64_t>> outputSizes;
    std::vector<std::string> faults; ///< memory that must not have been written, was
  };
  std::vector<std::vector<RankTrial>> trials;
  uint64_t launches = 0, signals = 0, llLines = 0; ///< of the emulator, all ranks
};

/// Runs `program` on `program.worldSize` threads of this process. `reference` is called once, on this thread, while the ranks compile and
/// load the program; all trials then run back to back without waiting for the device. Throws Failure; threads may then still be stuck
/// in the run time (they own what they use), so the process must end through endProcess.
EmulatedResult runEmulated(const Program &program, const Options &options,
                           const std::function<std::shared_ptr<const Reference>()> &reference, Clock::time_point deadline);

/// Compares with the reference: one verdict per output and per argument.
std::vector<Verdict> judgeEmulated(const Program &program, const Reference &reference, const EmulatedResult &result);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_EMULATED_H
