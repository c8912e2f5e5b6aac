//===- Report.h - Tables and JSON lines -------------------------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_REPORT_H
#define TOOLS_PKB_RUN_REPORT_H

#include "tools/pkb-run/Judge.h"
#include "tools/pkb-run/Options.h"
#include "tools/pkb-run/Program.h"

#include <optional>

namespace pkb::run {

/// One job's outcome, from emulated ranks or GPUs.
struct Outcome {
  JobSpec job;
  std::optional<Program> program; ///< absent if it could not be read
  std::string device;             ///< "2 x NVIDIA H200", "4 emulated ranks (value mode)"
  std::string oracle;
  int code = Right;
  std::string message;             ///< why, if not right
  std::vector<std::string> warnings;
  std::vector<Verdict> verdicts;   ///< empty if nothing was compared
  std::vector<nlohmann::json> times; ///< one object a way, as the GPU worker sends them
  std::string notTimed;            ///< why there are no times though they were asked for
  double seconds = 0;
};

/// Collects outcomes, prints tables, writes JSON lines (fields: docs/Tools/pkb-run.md).
class Report {
public:
  explicit Report(const Options &options);
  void add(const Outcome &outcome);
  /// Writes the JSON file. Returns the exit status of the whole run: the largest of its jobs'. Throws Failure(BadInput) if the file, or what was
  /// printed before, could not be written.
  int finish();

private:
  void printTable(const Outcome &outcome);
  void printTimes(const Outcome &outcome);
  void addJson(const Outcome &outcome);

  const Options &options;
  std::string lines;
  std::string headersHash;
  int code = Right;
  bool first = true;
};

/// "right", "wrong", "bad input", "fell back", "hang".
const char *verdictWord(int code);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_REPORT_H
