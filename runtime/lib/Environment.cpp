// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Environment.h"

#include "Error.h"

#include <cmath>
#include <cstdlib>

namespace pkb_rt {

double environmentNumber(const char *name, double fallback, double least, double most) {
  const char *text = std::getenv(name);
  if (!text || !*text) {
    return fallback;
  }
  char *end = nullptr;
  double value = std::strtod(text, &end);
  if (*end || !std::isfinite(value) || value < least || value > most) {
    std::string bound = most < std::numeric_limits<double>::infinity() ? cat(" and at most ", most) : "";
    fail(PKB_ERROR_ARGUMENT, name, " must be a number of at least ", least, bound, ", got: '", text, "'");
  }
  return value;
}

std::string environmentText(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

} // namespace pkb_rt
