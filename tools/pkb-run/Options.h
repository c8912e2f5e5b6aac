//===- Options.h - The command line of pkb-run ------------------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_OPTIONS_H
#define TOOLS_PKB_RUN_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace pkb::run {

/// One program to run. Empty strings and -1 mean "not given".
struct JobSpec {
  std::string name, program, check, source;
  int ranks = -1;
  int trials = 3;
  uint64_t seed = 0;
  double atol = -1, rtol = -1;
};

struct Options {
  JobSpec job;               ///< from the command line
  std::string batch;         ///< file with a JSON list of jobs
  std::string device = "auto"; ///< auto, gpu, emulated
  std::string mode = "value";  ///< of the emulator: value, proof
  bool time = false, compile = true;
  std::string way = "both";    ///< loop, graph, both
  std::string json;            ///< "" none, "-" standard output, else a file
  double timeout = 300;        ///< seconds a job may take
  std::string solution;        ///< write the program as one file for ParallelKernelBench
  std::string whyEmulated;     ///< set by main for --device=auto: what keeps the GPUs out
  int assumeGpus = -1;         ///< tests: take this number of GPUs for granted
  std::string reference;       ///< of a batch's child: folder with the reference, already made
};

/// Parses the command line. Returns -1 to go on, else the exit status (help was asked for, or a bad flag, already reported).
int parseOptions(int argc, char **argv, Options &options);

/// The jobs of `options.batch`, with the command line's values as defaults; paths are relative to the file.
std::vector<JobSpec> readBatch(const Options &options);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_OPTIONS_H
