//===- Batch.h - Jobs on emulated ranks -------------------------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_BATCH_H
#define TOOLS_PKB_RUN_BATCH_H

#include "tools/pkb-run/Emulated.h"
#include "tools/pkb-run/Report.h"

namespace pkb::run {

/// Reads the program and checks what can be checked before anything starts: world size, bundle, folder of sources.
/// Throws Failure(BadInput).
Program openProgram(const JobSpec &job);

/// "4 emulated ranks (threads of this machine, value mode, seed 0)".
std::string emulatedDevice(const Program &program, const Options &options);

/// Runs one job in this process and fills `outcome`. Throws Failure, after which the process must end through endProcess (threads
/// may be stuck).
void runOneEmulated(const Options &options, Outcome &outcome);

/// Runs jobs on emulated ranks: one Python process that has imported torch makes every reference, and each job's ranks are threads of
/// a pkb-run of its own, so that a hang or a crash costs one job. Adds each outcome to `report`.
void runEmulatedBatch(const std::vector<JobSpec> &jobs, const Options &options, Report &report);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_BATCH_H
