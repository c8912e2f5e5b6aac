//===- Gpu.h - Programs on GPU ranks ----------------------------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_GPU_H
#define TOOLS_PKB_RUN_GPU_H

#include "tools/pkb-run/Process.h"
#include "tools/pkb-run/Report.h"

#include <memory>

namespace pkb::run {

/// One set of rank processes (`python -m pkb.worker`), one per GPU, that runs many jobs. After a failure the set is ended, and the next job
/// starts a fresh one.
class GpuPool {
public:
  GpuPool(std::string python, const Options &options);
  ~GpuPool();

  /// Checks (and times) one program. Fills verdicts, times, code and message of `outcome`; never throws for what a job does.
  void run(const Program &program, Outcome &outcome);

private:
  struct Rank;
  void start(int worldSize);
  void stop();
  /// One attempt. Returns the step at which it hung or a rank was lost, "" if all ranks answered.
  std::string attempt(const Program &program, Outcome &outcome, const std::vector<std::string> &skip);
  void handle(Rank &rank, const nlohmann::json &event, Outcome &outcome);
  std::string deviceText() const;

  std::string python;
  const Options &options;
  std::vector<std::unique_ptr<Rank>> ranks;
  int nextJob = 0;
};

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_GPU_H
