//===- Reference.h - What the original function gave ------------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs, results and float64 results of the original function on emulated ranks, as `python -m pkb.export.refrun` writes them
// (docs/Tools/pkb-export.md).
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_REFERENCE_H
#define TOOLS_PKB_RUN_REFERENCE_H

#include "tools/pkb-run/Judge.h"
#include "tools/pkb-run/Options.h"
#include "tools/pkb-run/Process.h"
#include "tools/pkb-run/Program.h"

#include <memory>

namespace pkb::run {

/// A tensor of one rank in one trial.
struct TensorEntry {
  std::string file, oracleFile; ///< relative to the reference's folder; oracleFile "" if there is none
  std::string data;             ///< the elements in row-major order, where there is no file
  const NumberFormat *format = nullptr;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;           ///< elements from the start of its storage
  int storage = -1;             ///< inputs: the first input that shares the storage
  int64_t storageBytes = 0;
  Rule rule;
};

struct RankTrial {
  std::vector<TensorEntry> inputs, arguments, outputs; ///< flat, in tree order; arguments are the inputs after the call
};

struct Reference {
  std::string folder;
  std::vector<std::vector<RankTrial>> trials; ///< [trial][rank]
  bool hasResults = true;                     ///< false for made-up inputs: nothing to compare with
  std::string oracle;                         ///< "float64" or why there is none
  std::vector<std::string> warnings;

  std::string load(const TensorEntry &entry) const;       ///< bytes of the elements
  std::string loadOracle(const TensorEntry &entry) const; ///< "" if there is none
};

/// Reads `folder`/index.json. Throws Failure naming what is wrong with it.
Reference readReference(const std::string &folder, const Program &program, const JobSpec &job);

/// Random inputs after the program's own argument specification, the same seed giving the same data.
Reference inventInputs(const Program &program, const JobSpec &job);

/// Environment of every Python that pkb-run starts.
std::map<std::string, std::string> pythonEnvironment();

/// Refuses a Python that is missing or whose torch is not the pinned one, without importing torch.
void requireTorch(const std::string &python);

/// The reference run of one job in the background.
class ReferenceRun {
public:
  ReferenceRun(const std::string &python, const JobSpec &job, double timeout);
  /// Waits for the end; throws Failure with the runner's message.
  std::string finish(Clock::time_point deadline);

private:
  std::string folder;
  std::unique_ptr<Child> child;
  double timeout;
};

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_REFERENCE_H
