//===- Cases.cpp - Collectives as the compiler emits them -------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-calibrate/Cases.h"

#include "tools/pkb-run/Process.h"
#include "tools/pkb-run/Support.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <regex>

using nlohmann::json;
using pkb::run::BadInput;
using pkb::run::Failure;

namespace pkb::calibrate {

namespace {

constexpr int64_t KiB = 1024, MiB = 1024 * KiB;

std::string sizeText(int64_t bytes) {
  return bytes >= MiB ? fmt::format("{} MiB", bytes / MiB) : bytes >= KiB ? fmt::format("{} KiB", bytes / KiB) : fmt::format("{} B", bytes);
}

/// The program at level L1.
std::string source(const Case &c, int ranks) {
  int64_t part = c.message / 2;
  std::string group, small = fmt::format("tensor<{}xbf16>", part), large = fmt::format("tensor<{}xbf16>", part * ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    group += (rank ? ", " : "") + std::to_string(rank);
  }
  std::string from = c.collective == "all_to_all" || c.collective == "reduce_scatter" ? large : small;
  std::string to = c.collective == "all_gather" || c.collective == "all_to_all" ? large : small;
  bool reduces = c.collective == "all_reduce" || c.collective == "reduce_scatter";
  std::string type = c.collective == "all_reduce" ? small : fmt::format("({}) -> {}", from, to);
  return fmt::format("module attributes {{comm.mesh = #comm.mesh<size = {0}>}} {{\n  func.func @main(%in: {1}) -> {2} {{\n"
                     "    %out = comm.{3} {4}%in in <[[{5}]]> {6}: {7}\n    return %out : {2}\n  }}\n}}\n",
                     ranks, from, to, c.collective, reduces ? "sum " : "", group, reduces ? "accumulate f32 deterministic " : "", type);
}

} // namespace

std::string Case::name() const { return fmt::format("{} {} by {}", collective, sizeText(message), mechanism); }

double Case::received(int ranks) const {
  double peers = ranks - 1;
  return collective == "all_reduce" ? 2 * double(message) * peers / ranks : double(message) * peers;
}

double Case::local(int ranks) const {
  double whole = double(message) * ranks, part = double(message);
  return collective == "all_reduce" ? 2 * part : collective == "all_to_all" ? 2 * whole : part + whole;
}

std::vector<Case> plannedCases(bool emulated) {
  std::vector<Case> cases;
  auto add = [&](const std::string &collective, const std::string &mechanism, const std::vector<int64_t> &messages) {
    for (int64_t message : messages) {
      Case c;
      c.collective = collective;
      c.mechanism = mechanism;
      c.message = message;
      cases.push_back(c);
    }
  };
  if (emulated) { // the same code on sizes that take no time
    add("all_reduce", "ll", {KiB});
    add("all_reduce", "ldst", {KiB, 64 * KiB});
    add("all_gather", "ldst", {KiB});
    add("all_gather", "copy_engine", {KiB});
    add("all_reduce", "nccl", {KiB});
    add("all_to_all", "nccl", {KiB});
    return cases;
  }
  add("all_reduce", "ll", {KiB, 8 * KiB, 64 * KiB, 256 * KiB, 512 * KiB, MiB});
  add("all_gather", "ll", {16 * KiB, 256 * KiB});
  add("all_reduce", "ldst", {64 * KiB, 512 * KiB, MiB, 2 * MiB, 4 * MiB, 8 * MiB, 16 * MiB, 32 * MiB});
  add("all_gather", "ldst", {64 * KiB, 512 * KiB, 2 * MiB, 8 * MiB, 32 * MiB});
  add("all_to_all", "ldst", {512 * KiB, 2 * MiB, 8 * MiB, 32 * MiB});
  add("all_gather", "copy_engine", {64 * KiB, MiB, 8 * MiB, 32 * MiB});
  for (const char *collective : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
    add(collective, "nccl", {8 * KiB, 128 * KiB, MiB, 4 * MiB, 16 * MiB, 64 * MiB, 512 * MiB});
  }
  return cases;
}

Emitter::Emitter(int ranks, int64_t arenaBytes)
    : ranks(ranks), arenaBytes(arenaBytes), folder(run::makeTemporaryFolder("cases")), compiler(run::executableFolder() + "/pkb-opt") {
  if (!run::isFile(compiler)) {
    throw Failure(BadInput, fmt::format("pkb-opt is not beside pkb-calibrate ('{}'): build it, or keep bin/ together", compiler));
  }
}

std::string Emitter::emit(Case &c, const std::string &machineFile) {
  std::string base = fmt::format("{}/{}_{}_{}{}", folder, c.collective, c.mechanism, c.message, machineFile.empty() ? "" : "_predicted");
  run::writeFileAtomically(base + ".mlir", source(c, ranks));
  std::string pipeline = fmt::format("--pkb-pipeline=target=h200x{} mechanism={} arena-bytes={}{}", ranks, c.mechanism, arenaBytes,
                                     machineFile.empty() ? "" : " target-file=" + machineFile);
  run::Child child({compiler, base + ".mlir", pipeline, "-o", base + ".cu"}, {}, base + ".log");
  std::optional<int> status = child.wait(run::after(60));
  if (!status || *status != 0) {
    std::string log = child.log();
    size_t at = log.find("error: ");
    c.skipped = at == std::string::npos ? "pkb-opt failed: " + child.lastLogLine() : log.substr(at + 7, log.find('\n', at) - at - 7);
    return "";
  }
  std::string text = run::readFile(base + ".cu", "emitted program");
  std::smatch found;
  if (std::regex_search(text, found, std::regex(R"(chunks of (\d+) bytes, (\d+) blocks)"))) {
    c.chunk = std::stoll(found[1]);
    c.blocks = std::stoll(found[2]);
  }
  if (!machineFile.empty()) {
    c.predicted = 0;
    size_t open = text.find('{'), close = text.find("*/");
    json manifest = json::parse(text.substr(open, close - open));
    for (const json &step : manifest.at("steps")) {
      c.predicted += step.value("predicted_us", 0.0);
    }
  }
  return base + ".cu";
}

} // namespace pkb::calibrate
