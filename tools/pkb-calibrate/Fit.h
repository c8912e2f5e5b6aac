//===- Fit.h - From measurements to a machine file ------------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_CALIBRATE_FIT_H
#define TOOLS_PKB_CALIBRATE_FIT_H

#include "tools/pkb-calibrate/Cases.h"

#include <map>
#include <nlohmann/json.hpp>

namespace pkb::calibrate {

/// What was measured besides collectives. Times in microseconds.
struct Basics {
  double launchAlone = 0, launchBackToBack = 0, launchInGraph = 0;
  double hop = 0;     ///< a flag, from store at one rank to seen at another
  double barrier = 0; ///< a kernel in which every rank signals every other, in a graph
  struct Push {
    int blocks = 0;
    int64_t bytes = 0;
    double us = 0;
    double rate() const { return double(bytes) / us * 1e-3; }
  };
  std::vector<Push> pushes; ///< both directions busy, by number of blocks
  double pushOneWay = 0;    ///< 1e9 bytes per second
  std::map<int64_t, double> copies; ///< by bytes, both directions busy
  double copyOneWay = 0;            ///< 1e9 bytes per second
  double localCopy = 0;             ///< 1e9 bytes per second, read plus written
};

/// The entry of a world size in a machine file (lib/Target/Machines). The model is that of docs/Rationale/CostModel.md; fits weigh relative errors.
nlohmann::json fitRates(const Basics &basics, const std::vector<Case> &cases, int ranks);

} // namespace pkb::calibrate

#endif // TOOLS_PKB_CALIBRATE_FIT_H
