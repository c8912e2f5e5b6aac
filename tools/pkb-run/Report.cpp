//===- Report.cpp - Tables and JSON lines ---------------------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Report.h"

#include "tools/pkb-run/Times.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

using nlohmann::json;

namespace pkb::run {

namespace {

std::string today() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

/// Shapes and dtype of the first rank's arguments, the key under which results are kept.
json shapesOf(const Program &program) {
  json shapes = json::array();
  for (const json &argument : program.ofRank(0).arguments) {
    shapes.push_back(argument.value("sizes", json::array()));
  }
  return shapes;
}

std::string dtypeOf(const Program &program) {
  const json &arguments = program.ofRank(0).arguments;
  return arguments.empty() ? "" : arguments[0].value("dtype", "");
}

std::string pad(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

/// Rows with columns as wide as their widest cell.
std::string table(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  }
  std::string text;
  for (const auto &row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      line += c + 1 < row.size() ? pad(row[c], widths[c] + 2) : row[c];
    }
    text += line + "\n";
  }
  return text;
}

} // namespace

const char *verdictWord(int code) {
  switch (code) {
  case Right:
    return "right";
  case Wrong:
    return "wrong";
  case FellBack:
    return "fell back";
  case Hang:
    return "hang";
  default:
    return "bad input";
  }
}

Report::Report(const Options &options) : options(options), headersHash(runtimeHeadersHash()) {}

void Report::add(const Outcome &outcome) {
  code = std::max(code, outcome.code);
  for (const std::string &warning : outcome.warnings) {
    fmt::print(stderr, "pkb-run: warning: {}\n", warning);
  }
  if (outcome.code != Right && outcome.verdicts.empty()) {
    fmt::print(stderr, "pkb-run: error: {}{}\n", outcome.job.name.empty() ? "" : outcome.job.name + ": ", outcome.message);
  }
  if (options.json != "-") {
    printTable(outcome);
  }
  addJson(outcome);
  std::fflush(stdout);
}

void Report::printTable(const Outcome &outcome) {
  if (!outcome.program || (outcome.code != Right && outcome.verdicts.empty())) {
    return;
  }
  const Program &program = *outcome.program;
  fmt::print("{}device: {}\n", first ? "" : "\n", outcome.device);
  first = false;
  fmt::print("program: {} {} ({}), {} launches and {} library calls\n", program.name, program.id.substr(0, 12), program.path,
             program.launches(), program.libraryCalls());
  if (outcome.verdicts.empty()) {
    fmt::print("results: not checked, because no bundle was given (--check)\n");
  } else {
    std::vector<std::vector<std::string>> rows = {{"tensor", "dtype", "shape", "rule", "max error / bound", "original's", "verdict"}};
    for (const Verdict &v : outcome.verdicts) {
      rows.push_back({v.what, v.dtype, shapeText(v.sizes), v.rule(), v.summary(),
                      v.exact() ? "" : fmt::format("{:.3g}", v.referenceRatio),
                      v.right ? (v.exact() || v.worstRank < 0
                                     ? "right"
                                     : fmt::format("right (worst: rank {}, trial {}, element [{}])", v.worstRank, v.worstTrial,
                                                   fmt::join(v.worstIndex, ",")))
                              : "wrong: " + v.reason});
    }
    fmt::print("{}", table(rows));
    fmt::print("oracle: {}\n", outcome.oracle);
  }
  printTimes(outcome);
  fmt::print("verdict: {}, {} trials on {} ranks, {:.1f} s\n", outcome.verdicts.empty() ? "ran, not checked" : verdictWord(outcome.code),
             outcome.job.trials, program.worldSize, outcome.seconds);
}

void Report::printTimes(const Outcome &outcome) {
  if (!outcome.notTimed.empty()) {
    fmt::print("times: not timed ({})\n", outcome.notTimed);
  }
  for (const json &way : outcome.times) {
    TimeTable times = summarise(way, *outcome.program);
    fmt::print("times, {} (µs per call, median and extremes of alternating runs, slowest rank):\n", times.way);
    std::vector<std::vector<std::string>> rows = {{"  variant", "µs", "lowest", "highest", "calls", "note"}};
    for (const TimeRow &row : times.rows) {
      rows.push_back(row.error.empty() ? std::vector<std::string>{"  " + row.name, fmt::format("{:.2f}", row.us), fmt::format("{:.2f}", row.low),
                                                                  fmt::format("{:.2f}", row.high), fmt::format("{}", row.calls), ""}
                                       : std::vector<std::string>{"  " + row.name, "-", "-", "-", "-", row.error});
    }
    fmt::print("{}", table(rows));
    if (times.ours > 0 && times.best > 0) {
      fmt::print("  best baseline {} ({:.2f} µs): ours is {:.2f}x\n", times.bestName, times.best, times.best / times.ours);
    }
    if (times.roofline > 0) {
      fmt::print("  roofline {:.2f} µs ({} bytes a rank over the link at {:.0f} GB/s): ours reaches {:.0f} %\n", times.roofline,
                 times.linkBytes, times.linkRate * 1e-9, times.ours > 0 ? 100 * times.roofline / times.ours : 0.0);
    }
    if (times.predicted > 0) {
      fmt::print("  predicted {:.2f} µs\n", times.predicted);
    }
    std::string library = times.ncclBytes == "0" ? "" : fmt::format(" and {} by NCCL", times.ncclBytes);
    fmt::print("  launches: ours {}, original {}; bytes a rank sends: ours {}{}, original at least {}; {}\n", times.oursLaunches,
               times.originalLaunches, times.oursBytes, library, times.linkBytes, times.checked);
    if (!times.host.empty()) {
      fmt::print("  host time of ours: {}\n", times.host);
    }
  }
}

void Report::addJson(const Outcome &outcome) {
  json base = {{"schema", "pkb-result"},
               {"version", {1, 0}},
               {"date", today()},
               {"name", outcome.job.name.empty() ? std::filesystem::path(outcome.job.program).stem().string() : outcome.job.name},
               {"device", outcome.device},
               {"verdict", verdictWord(outcome.code)},
               {"exit", outcome.code},
               {"message", outcome.message},
               {"trials", outcome.job.trials},
               {"seed", outcome.job.seed},
               {"runtime_headers", headersHash}};
  if (outcome.program) {
    const Program &program = *outcome.program;
    base.update({{"text", program.textHash},
                 {"program", program.id},
                 {"bundle", program.bundleHash},
                 {"target", program.target},
                 {"world_size", program.worldSize},
                 {"shapes", shapesOf(program)},
                 {"dtype", dtypeOf(program)},
                 {"launches", program.launches()},
                 {"library_calls", program.libraryCalls()}});
  }
  json check = base;
  check["kind"] = "check";
  check["checked"] = !outcome.verdicts.empty();
  check["oracle"] = outcome.oracle;
  check["warnings"] = outcome.warnings;
  check["seconds"] = outcome.seconds;
  check["tensors"] = json::array();
  for (const Verdict &verdict : outcome.verdicts) {
    check["tensors"].push_back(verdict.json());
  }
  if (!outcome.notTimed.empty()) {
    check["not_timed"] = outcome.notTimed;
  }
  std::string text = check.dump() + "\n";
  for (const json &way : outcome.times) {
    json row = base;
    row["kind"] = "time";
    row.update(summarise(way, *outcome.program).json());
    text += row.dump() + "\n";
  }
  if (options.json == "-") {
    fmt::print("{}", text);
  }
  lines += text;
}

int Report::finish() {
  if (!options.json.empty() && options.json != "-") {
    writeFileAtomically(options.json, lines);
  }
  flushStandardOutput();
  return code;
}

} // namespace pkb::run
