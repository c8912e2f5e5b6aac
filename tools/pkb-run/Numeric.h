//===- Numeric.h - Elements of torch dtypes as numbers ----------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_NUMERIC_H
#define TOOLS_PKB_RUN_NUMERIC_H

#include <cstdint>
#include <string>
#include <vector>

namespace pkb::run {

enum class NumberKind { Integer, Float, Complex };

/// What the judge needs to know of a dtype. Source of the constants: IEEE 754 and the OCP 8-bit formats.
struct NumberFormat {
  const char *name; ///< torch's name
  int dtype;        ///< pkb_dtype
  int64_t bytes;    ///< of one element
  NumberKind kind;
  double roundoff;  ///< unit roundoff u = 2^-p, p bits of significand; 0 for integers
  double tiny;      ///< half of the smallest subnormal: the largest rounding error near zero
};

/// The format by torch's name ("bfloat16"), or null.
const NumberFormat *numberFormat(const std::string &name);
/// The format of a pkb_dtype. Throws Failure(BadInput) for an unknown one.
const NumberFormat &numberFormat(int dtype);

/// Component `i` of an array of elements (complex numbers are two components), as a double: exact for every dtype but 64-bit
/// integers above 2^53, which the judge compares by their bits.
double component(const NumberFormat &format, const char *data, int64_t i);

/// Rounds `value` to the format, to nearest even, at component `i`.
void setComponent(const NumberFormat &format, char *data, int64_t i, double value);

/// 2 for complex dtypes, else 1.
inline int componentsOf(const NumberFormat &format) { return format.kind == NumberKind::Complex ? 2 : 1; }

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_NUMERIC_H
