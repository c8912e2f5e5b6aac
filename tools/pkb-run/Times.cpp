//===- Times.cpp - What the GPU ranks measured ----------------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Times.h"

#include <fmt/format.h>

using nlohmann::json;

namespace pkb::run {

namespace {

std::string launchText(const json &counts) {
  if (!counts.is_object() || counts.contains("error")) {
    return "?";
  }
  int64_t copies = counts.value("copies", int64_t(0)), nccl = counts.value("nccl", int64_t(0));
  std::string text = fmt::format("{}", counts.value("kernels", int64_t(0)));
  if (copies > 0) {
    text += fmt::format("+{} copies", copies);
  }
  return nccl > 0 ? text + fmt::format(" ({} NCCL)", nccl) : text;
}

/// Bytes that steps of a kind send to peers in one call of the first rank, if all of them say in the manifest: "launch" is our kernels, "library" NCCL.
int64_t sentBytes(const Program &program, const std::string &kind) {
  int64_t sum = 0;
  for (const json &step : program.ofRank(0).steps) {
    if (step.value("kind", "") != kind) {
      continue;
    }
    if (!step.contains("sent_bytes") || !step["sent_bytes"].is_number()) {
      return -1;
    }
    sum += step["sent_bytes"].get<int64_t>();
  }
  return sum;
}

double predictedUs(const Program &program) {
  if (auto total = program.manifest.find("predicted_us"); total != program.manifest.end() && total->is_number()) {
    return total->get<double>();
  }
  double sum = 0;
  for (const json &step : program.ofRank(0).steps) {
    if (auto value = step.find("predicted_us"); value != step.end() && value->is_number()) {
      sum += value->get<double>();
    }
  }
  return sum;
}

} // namespace

TimeTable summarise(const json &event, const Program &program) {
  TimeTable table;
  table.raw = event;
  table.way = event.at("way").get<std::string>();
  for (const auto &[name, value] : event.at("variants").items()) {
    TimeRow row;
    row.name = name;
    row.error = value.value("error", "");
    if (row.error.empty()) {
      row.us = value.at("us");
      row.low = value.at("low");
      row.high = value.at("high");
      row.calls = value.at("calls");
      if (name == "ours") {
        table.ours = row.us;
      } else if (table.best == 0 || row.us < table.best) {
        table.best = row.us;
        table.bestName = name;
      }
    }
    name == "ours" ? void(table.rows.insert(table.rows.begin(), row)) : table.rows.push_back(row);
  }
  for (const json &name : event.value("skipped", json::array())) {
    table.rows.push_back({name.get<std::string>(), "skipped: it hung in an earlier attempt, or was not asked for"});
  }
  table.linkBytes = event.value("link_bytes", int64_t(0));
  table.linkRate = event.value("link_rate", 0.0);
  table.roofline = table.linkRate > 0 ? double(table.linkBytes) / table.linkRate * 1e6 : 0;
  table.predicted = predictedUs(program);
  int64_t sent = sentBytes(program, "launch"), nccl = sentBytes(program, "library");
  table.oursBytes = sent < 0 ? "?" : fmt::format("{}", sent);
  table.ncclBytes = nccl < 0 ? "?" : fmt::format("{}", nccl);
  json launches = event.value("launches", json::object());
  table.oursLaunches = launchText(launches.value("ours", json()));
  table.originalLaunches = launchText(launches.value("eager", json()));
  json host = event.value("host", json::object());
  if (host.contains("call_us")) {
    table.host = fmt::format("{:.2f} µs a call from Python, {:.2f} with outputs passed in", host.value("call_us", 0.0), host.value("call_out_us", 0.0));
  }
  std::string unchecked = event.value("unchecked", "");
  table.checked = unchecked.empty() ? fmt::format("{} timed calls checked bit for bit", event.value("calls_checked", int64_t(0)))
                                    : fmt::format("timed calls not checked: {}", unchecked);
  return table;
}

json TimeTable::json() const {
  nlohmann::json variants = raw.at("variants");
  return {{"way", way},
          {"variants", variants},
          {"ours_us", ours > 0 ? nlohmann::json(ours) : nlohmann::json()},
          {"best_us", best > 0 ? nlohmann::json(best) : nlohmann::json()},
          {"best", bestName},
          {"speedup", ours > 0 && best > 0 ? nlohmann::json(best / ours) : nlohmann::json()},
          {"roofline_us", roofline > 0 ? nlohmann::json(roofline) : nlohmann::json()},
          {"roofline_share", roofline > 0 && ours > 0 ? nlohmann::json(roofline / ours) : nlohmann::json()},
          {"predicted_us", predicted > 0 ? nlohmann::json(predicted) : nlohmann::json()},
          {"link_bytes", linkBytes},
          {"link_rate", linkRate},
          {"kernel_bytes", oursBytes == "?" ? nlohmann::json() : nlohmann::json(std::stoll(oursBytes))},
          {"nccl_bytes", ncclBytes == "?" ? nlohmann::json() : nlohmann::json(std::stoll(ncclBytes))},
          {"host", raw.value("host", nlohmann::json::object())},
          {"counted", raw.value("launches", nlohmann::json::object())},
          {"rotating_groups", raw.value("rotating_groups", 1)},
          {"calls_checked", raw.value("calls_checked", 0)},
          {"skipped", raw.value("skipped", nlohmann::json::array())}};
}

} // namespace pkb::run
