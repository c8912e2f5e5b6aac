//===- Times.h - What the GPU ranks measured --------------------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_TIMES_H
#define TOOLS_PKB_RUN_TIMES_H

#include "tools/pkb-run/Program.h"

namespace pkb::run {

/// One variant in one way. Microseconds per call.
struct TimeRow {
  std::string name, error;
  double us = 0, low = 0, high = 0;
  int64_t calls = 0;
};

struct TimeTable {
  std::string way; ///< "loop" or "graph step"
  std::vector<TimeRow> rows;
  double ours = 0, best = 0; ///< 0: not measured
  std::string bestName;
  int64_t linkBytes = 0;     ///< bytes that one rank must receive in a call, at least
  double linkRate = 0;       ///< measured, bytes per second
  double roofline = 0, predicted = 0; ///< microseconds, 0: unknown
  std::string oursBytes;     ///< of our kernels, from the manifest, "?" if it does not say
  std::string ncclBytes;     ///< of steps that NCCL carries out, likewise
  std::string oursLaunches, originalLaunches, checked;
  std::string host; // host time of a call from Python; empty if it was not measured
  nlohmann::json raw;

  nlohmann::json json() const;
};

/// The table of a `time` event of the worker (runtime/torch/pkb/worker/job.py).
TimeTable summarise(const nlohmann::json &event, const Program &program);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_TIMES_H
