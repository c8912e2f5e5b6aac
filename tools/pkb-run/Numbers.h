//===- Numbers.h - Ranges of options and of batch files ---------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_NUMBERS_H
#define TOOLS_PKB_RUN_NUMBERS_H

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace pkb::run {

/// The numbers that an option takes, ends included. NaN is in no range.
struct Range {
  double low, high;

  bool holds(double value) const { return value >= low && value <= high; }
  std::string text() const { return fmt::format("{} to {}", low, high); }
};

inline constexpr Range kRanks = {1, 64}, kTrials = {1, 1000}, kSeeds = {0, 4294967295.0}, kSeconds = {0.001, 1e6}, kTolerances = {0, 1e30};

/// For CLI::Option::check, whose own Range takes NaN and prints ends of 309 digits.
inline CLI::Validator within(Range range) {
  return CLI::Validator(
      [range](std::string &text) {
        double value = 0;
        bool right = CLI::detail::lexical_cast(text, value) && range.holds(value);
        return right ? std::string() : fmt::format("must be {}, got: {}", range.text(), text.substr(0, 40));
      },
      range.text());
}

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_NUMBERS_H
