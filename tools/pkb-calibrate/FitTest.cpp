//===- FitTest.cpp - The fit finds the constants that made the times ------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-calibrate/Fit.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace pkb::calibrate;

namespace {

constexpr double kKernel = 0.7, kHop = 1.2, kOrder = 0.8, kPeak = 360, kBlock = 46, kLL = 140, kHbm = 3700, kExposed = 0.6, kPipelined = 0.25,
                 kCopy = 1.5, kCopyPeak = 390;

Basics basics() {
  Basics b;
  b.launchInGraph = kKernel;
  b.hop = kHop;
  for (int blocks : {4, 8, 128}) {
    b.pushes.push_back({blocks, 64 << 20, double(64 << 20) / std::min(kPeak, kBlock * blocks) * 1e-3});
  }
  for (int64_t bytes : {4 << 10, 1 << 20, 256 << 20}) {
    b.copies[bytes] = kCopy + double(bytes) / kCopyPeak * 1e-3;
  }
  b.localCopy = kHbm;
  return b;
}

/// Times as the model has them, times `noise`.
std::vector<Case> cases(int ranks, double noise) {
  std::vector<Case> list;
  auto add = [&](const char *collective, const char *mechanism, int64_t message, int64_t chunk, int64_t blocks) {
    Case c;
    c.collective = collective;
    c.mechanism = mechanism;
    c.message = message;
    c.chunk = chunk;
    c.blocks = blocks;
    double wire = c.wire(ranks), exposed = c.pipelined() ? kPipelined : kExposed;
    c.measured = c.mechanism == "ll" ? kKernel + kHop + kOrder + wire / kLL * 1e-3
                 : c.mechanism == "nccl"
                     ? 10 + c.received(ranks) / 300 * 1e-3
                     : kKernel + 2 * kHop + kOrder + wire / std::min(kPeak, kBlock * double(blocks)) * 1e-3 + exposed * (c.local(ranks) + 2 * wire) / kHbm * 1e-3;
    c.measured *= list.size() % 2 ? noise : 1 / noise;
    list.push_back(c);
  };
  for (int64_t message : {1 << 10, 8 << 10, 64 << 10, 256 << 10}) {
    add("all_reduce", "ll", message, message / 16, 16);
  }
  for (const char *collective : {"all_reduce", "all_gather", "all_to_all"}) {
    add(collective, "ldst", 512 << 10, 8 << 10, 64);
    add(collective, "ldst", 2 << 20, 16 << 10, 128);
    add(collective, "ldst", 8 << 20, 32 << 10, 256);
    add(collective, "ldst", 32 << 20, 16 << 10, 256);
  }
  add("all_reduce", "nccl", 1 << 20, 0, 0);
  add("all_reduce", "nccl", 16 << 20, 0, 0);
  Case skipped;
  skipped.mechanism = "ll";
  skipped.message = 1 << 20;
  list.push_back(skipped); // was not measured
  return list;
}

void expectNear(const nlohmann::json &entry, const char *key, double value, double share) {
  EXPECT_NEAR(entry.at(key).get<double>(), value, share * value) << key;
}

} // namespace

TEST(Fit, finds_the_constants_of_exact_times) {
  for (int ranks : {2, 4, 8}) {
    nlohmann::json entry = fitRates(basics(), cases(ranks, 1), ranks);
    for (auto [key, value] : {std::pair<const char *, double>("kernel_us", kKernel), {"hop_us", kHop}, {"order_us", kOrder}, {"ldst_peak_gbs", kPeak},
                              {"ldst_sm_gbs", kBlock}, {"ll_peak_gbs", kLL}, {"hbm_gbs", kHbm}, {"exposed_memory", kExposed},
                              {"exposed_memory_pipelined", kPipelined}, {"copy_us", kCopy}, {"copy_peak_gbs", kCopyPeak}}) {
      expectNear(entry, key, value, 0.01);
    }
    ASSERT_EQ(entry.at("nccl").at("all_reduce").size(), 2u);
    EXPECT_EQ(entry.at("nccl").at("all_reduce")[0][0], 2.0 * (1 << 20) * (ranks - 1) / ranks);
  }
}

TEST(Fit, bears_noise) {
  nlohmann::json entry = fitRates(basics(), cases(2, 1.03), 2);
  expectNear(entry, "ll_peak_gbs", kLL, 0.15);
  expectNear(entry, "exposed_memory", kExposed, 0.35);
  EXPECT_GT(entry.at("order_us").get<double>(), 0);
}

TEST(Fit, a_machine_without_the_library_has_no_entry_for_it) {
  std::vector<Case> list = cases(2, 1);
  list.erase(std::remove_if(list.begin(), list.end(), [](const Case &c) { return c.mechanism == "nccl"; }), list.end());
  EXPECT_FALSE(fitRates(basics(), list, 2).contains("nccl"));
}
