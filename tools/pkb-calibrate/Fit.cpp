//===- Fit.cpp - From measurements to a machine file ------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-calibrate/Fit.h"

#include <algorithm>
#include <array>
#include <cmath>

using nlohmann::json;

namespace pkb::calibrate {

namespace {

/// Minimises the sum of ((intercept + slope * x - y) / y)^2; a line through one point is level.
struct Line {
  double intercept = 0, slope = 0;
};
Line fitLine(const std::vector<std::pair<double, double>> &points) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (auto [x, y] : points) {
    double weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  }
  double determinant = w * wxx - wx * wx;
  if (points.empty() || std::abs(determinant) < 1e-12 * w * wxx) {
    return {points.empty() ? 0 : wy / w, 0};
  }
  return {(wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant};
}

/// Minimises the sum of ((slope * x - y) / scale)^2, for points (x, y, scale).
double fitSlope(const std::vector<std::array<double, 3>> &points) {
  double xx = 0, xy = 0;
  for (auto [x, y, scale] : points) {
    xx += x * x / (scale * scale);
    xy += x * y / (scale * scale);
  }
  return xx > 0 ? xy / xx : 0;
}

double rounded(double value) {
  double unit = std::pow(10, std::floor(std::log10(std::abs(value) + 1e-300)) - 3);
  return std::round(value / unit) * unit;
}

} // namespace

json fitRates(const Basics &basics, const std::vector<Case> &cases, int ranks) {
  auto measured = [&](const std::string &mechanism, auto use) {
    for (const Case &c : cases) {
      if (c.mechanism == mechanism && c.measured > 0) {
        use(c);
      }
    }
  };
  constexpr double least = 0.01;
  double kernel = std::max(basics.launchInGraph, least), hop = std::max(basics.hop, least);

  // LL: kernel + hop + order + payload / ll_peak.
  std::vector<std::pair<double, double>> lines;
  measured("ll", [&](const Case &c) { lines.emplace_back(c.wire(ranks), c.measured); });
  Line ll = fitLine(lines);
  double order = std::max(ll.intercept - kernel - hop, least);

  // Stores: the plateau over numbers of blocks, and what one block brings where there are few.
  double peak = 0, perBlock = 0;
  for (const Basics::Push &push : basics.pushes) {
    peak = std::max(peak, push.rate());
    perBlock = std::max(perBlock, push.rate() / push.blocks);
  }
  double hbm = basics.localCopy;

  // ldst: kernel + 2 hop + order + wire / rate + exposed * memory / hbm, in one piece or as a pipeline of chunks.
  auto exposed = [&](bool pipelined) {
    std::vector<std::array<double, 3>> points;
    measured("ldst", [&](const Case &c) {
      if (c.pipelined() != pipelined) {
        return;
      }
      double rate = std::min(peak, perBlock * double(c.blocks)), wire = c.wire(ranks);
      double rest = c.measured - (kernel + 2 * hop + order + wire / rate * 1e-3);
      points.push_back({(c.local(ranks) + 2 * wire) / hbm * 1e-3, rest, c.measured});
    });
    return std::max(fitSlope(points), least);
  };

  std::vector<std::pair<double, double>> copies(basics.copies.begin(), basics.copies.end());
  Line copy = fitLine(copies);
  double largest = copies.empty() ? 0 : copies.back().first / copies.back().second * 1e-3;

  json entry = {{"kernel_us", rounded(kernel)},
                {"hop_us", rounded(hop)},
                {"order_us", rounded(order)},
                {"ldst_peak_gbs", rounded(peak)},
                {"ldst_sm_gbs", rounded(perBlock)},
                {"ll_peak_gbs", rounded(ll.slope > 0 ? 1e-3 / ll.slope : peak / 2)},
                {"hbm_gbs", rounded(hbm)},
                {"exposed_memory", rounded(exposed(false))},
                {"exposed_memory_pipelined", rounded(exposed(true))},
                {"copy_us", rounded(std::max(copy.intercept, least))},
                {"copy_peak_gbs", rounded(copy.slope > 0 ? 1e-3 / copy.slope : largest)}};
  json nccl = json::object();
  measured("nccl", [&](const Case &c) { nccl[c.collective].push_back({c.received(ranks), rounded(c.measured)}); });
  if (!nccl.empty()) {
    entry["nccl"] = nccl;
  }
  return entry;
}

} // namespace pkb::calibrate
