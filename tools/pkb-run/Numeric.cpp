//===- Numeric.cpp - Elements of torch dtypes as numbers ------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Numeric.h"

#include "pkb_rt/pkb.h"
#include "tools/pkb-run/Support.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace pkb::run {

namespace {

using K = NumberKind;

const NumberFormat formats[] = {
    {"float64", PKB_F64, 8, K::Float, 0x1p-53, 0x1p-1074},
    {"float32", PKB_F32, 4, K::Float, 0x1p-24, 0x1p-150},
    {"float16", PKB_F16, 2, K::Float, 0x1p-11, 0x1p-25},
    {"bfloat16", PKB_BF16, 2, K::Float, 0x1p-8, 0x1p-134},
    {"int8", PKB_I8, 1, K::Integer, 0, 0},
    {"int16", PKB_I16, 2, K::Integer, 0, 0},
    {"int32", PKB_I32, 4, K::Integer, 0, 0},
    {"int64", PKB_I64, 8, K::Integer, 0, 0},
    {"uint8", PKB_U8, 1, K::Integer, 0, 0},
    {"bool", PKB_BOOL, 1, K::Integer, 0, 0},
    {"float8_e4m3fn", PKB_F8E4M3FN, 1, K::Float, 0x1p-4, 0x1p-10},
    {"float8_e5m2", PKB_F8E5M2, 1, K::Float, 0x1p-3, 0x1p-17},
    {"complex64", PKB_C64, 8, K::Complex, 0x1p-24, 0x1p-150},
    {"complex128", PKB_C128, 16, K::Complex, 0x1p-53, 0x1p-1074},
};

template <typename T>
T read(const char *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * int64_t(sizeof(T)), sizeof(T));
  return value;
}

/// A small IEEE-like float: `mantissa` explicit bits, `exponent` bits. `finiteTop`: e4m3fn, whose top exponent holds numbers.
double decodeSmall(uint32_t bits, int exponent, int mantissa, bool finiteTop) {
  uint32_t sign = bits >> (exponent + mantissa), mask = (1u << mantissa) - 1, top = (1u << exponent) - 1;
  uint32_t e = (bits >> mantissa) & top, m = bits & mask;
  int bias = (1 << (exponent - 1)) - 1;
  double value = 0;
  if (e == top && (!finiteTop || m == mask)) {
    value = m == 0 ? HUGE_VAL : std::nan("");
  } else if (e == 0) {
    value = std::ldexp(double(m), 1 - bias - mantissa);
  } else {
    value = std::ldexp(double(m | (1u << mantissa)), int(e) - bias - mantissa);
  }
  return sign ? -value : value;
}

/// The nearest small float, ties to even, by search between the two neighbours: exact, and only used to make inputs.
uint32_t encodeSmall(double value, int exponent, int mantissa, bool finiteTop) {
  uint32_t sign = std::signbit(value) ? 1u << (exponent + mantissa) : 0, top = (1u << exponent) - 1;
  if (std::isnan(value)) {
    return sign | (top << mantissa) | ((1u << mantissa) - 1);
  }
  double magnitude = std::fabs(value);
  uint32_t low = 0, high = finiteTop ? (top << mantissa) | ((1u << mantissa) - 2) : top << mantissa;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (decodeSmall(middle, exponent, mantissa, finiteTop) <= magnitude ? low : high) = middle;
  }
  double below = magnitude - decodeSmall(low, exponent, mantissa, finiteTop);
  double above = decodeSmall(high, exponent, mantissa, finiteTop) - magnitude;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

} // namespace

const NumberFormat *numberFormat(const std::string &name) {
  for (const NumberFormat &format : formats) {
    if (name == format.name) {
      return &format;
    }
  }
  return nullptr;
}

const NumberFormat &numberFormat(int dtype) {
  for (const NumberFormat &format : formats) {
    if (dtype == format.dtype) {
      return format;
    }
  }
  throw Failure(BadInput, fmt::format("the program has a tensor of unknown dtype {}", dtype));
}

double component(const NumberFormat &format, const char *data, int64_t i) {
  switch (format.dtype) {
  case PKB_F64:
  case PKB_C128:
    return read<double>(data, i);
  case PKB_F32:
  case PKB_C64:
    return read<float>(data, i);
  case PKB_F16:
    return decodeSmall(read<uint16_t>(data, i), 5, 10, false);
  case PKB_BF16: {
    uint32_t wide = uint32_t(read<uint16_t>(data, i)) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
  }
  case PKB_F8E4M3FN:
    return decodeSmall(read<uint8_t>(data, i), 4, 3, true);
  case PKB_F8E5M2:
    return decodeSmall(read<uint8_t>(data, i), 5, 2, false);
  case PKB_I8:
    return read<int8_t>(data, i);
  case PKB_I16:
    return read<int16_t>(data, i);
  case PKB_I32:
    return read<int32_t>(data, i);
  case PKB_I64:
    return double(read<int64_t>(data, i));
  default:
    return read<uint8_t>(data, i);
  }
}

void setComponent(const NumberFormat &format, char *data, int64_t i, double value) {
  auto write = [&](auto number) { std::memcpy(data + i * int64_t(sizeof number), &number, sizeof number); };
  switch (format.dtype) {
  case PKB_F64:
  case PKB_C128:
    return write(value);
  case PKB_F32:
  case PKB_C64:
    return write(float(value));
  case PKB_F16:
    return write(uint16_t(encodeSmall(value, 5, 10, false)));
  case PKB_BF16:
    return write(uint16_t(encodeSmall(value, 8, 7, false)));
  case PKB_F8E4M3FN:
    return write(uint8_t(encodeSmall(value, 4, 3, true)));
  case PKB_F8E5M2:
    return write(uint8_t(encodeSmall(value, 5, 2, false)));
  case PKB_I8:
    return write(int8_t(value));
  case PKB_I16:
    return write(int16_t(value));
  case PKB_I32:
    return write(int32_t(value));
  case PKB_I64:
    return write(int64_t(value));
  case PKB_BOOL:
    return write(uint8_t(value != 0));
  default:
    return write(uint8_t(value));
  }
}

} // namespace pkb::run
