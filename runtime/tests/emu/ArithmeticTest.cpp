// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of the device header, emulated build: conversion exact one way, to nearest even the other, at every boundary there is.
#define PKB_EMULATED 1
#include "pkb_rt/device.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace {

template <class T> T ofBits(unsigned bits) {
  T x;
  x.bits = decltype(x.bits)(bits);
  return x;
}
template <class T> float wide(T x) { return pkb::detail::convert_one<float>(x); }
template <class T> unsigned narrow(float value) { return pkb::detail::convert_one<T>(value).bits; }

// The value of a format by its definition.
double define(unsigned bits, int exponentBits, int mantissaBits, int bias) {
  const unsigned exponent = bits >> mantissaBits & ((1u << exponentBits) - 1), mantissa = bits & ((1u << mantissaBits) - 1);
  const double value = exponent == 0 ? std::ldexp(double(mantissa), 1 - bias - mantissaBits)
                                     : std::ldexp(double(mantissa | 1u << mantissaBits), int(exponent) - bias - mantissaBits);
  return bits >> (exponentBits + mantissaBits) & 1 ? -value : value;
}

// `last`: bits of the largest finite value.
template <class T>
void checkFormat(int exponentBits, int mantissaBits, int bias, unsigned last, unsigned tooLarge) {
  const unsigned sign = 1u << (exponentBits + mantissaBits);
  for (unsigned bits = 0; bits <= last; ++bits) {
    for (unsigned s : {0u, sign}) {
      const float value = wide(ofBits<T>(bits | s));
      ASSERT_EQ(double(value), define(bits | s, exponentBits, mantissaBits, bias)) << bits;
      ASSERT_EQ(std::signbit(value), s != 0) << bits;
      ASSERT_EQ(narrow<T>(value), bits | s) << bits;
    }
    if (bits == last)
      break;
    // The middle between two neighbours goes to the even one, anything off it to the nearer.
    const double a = define(bits, exponentBits, mantissaBits, bias), b = define(bits + 1, exponentBits, mantissaBits, bias);
    const float middle = float((a + b) / 2);
    if (double(middle) != (a + b) / 2)
      continue; // below float's own range
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(narrow<T>(middle), even) << bits;
    ASSERT_EQ(narrow<T>(-middle), even | sign) << bits;
    ASSERT_EQ(narrow<T>(std::nextafterf(middle, 0)), bits);
    ASSERT_EQ(narrow<T>(std::nextafterf(middle, INFINITY)), bits + 1);
  }
  const double step = define(last, exponentBits, mantissaBits, bias) - define(last - 1, exponentBits, mantissaBits, bias);
  const float edge = float(define(last, exponentBits, mantissaBits, bias) + step / 2);
  EXPECT_EQ(narrow<T>(std::nextafterf(edge, 0)), last);
  EXPECT_EQ(narrow<T>(std::nextafterf(edge, INFINITY)), tooLarge);
  EXPECT_EQ(narrow<T>(-std::numeric_limits<float>::max()), tooLarge | sign);
  EXPECT_EQ(narrow<T>(INFINITY), tooLarge);
  EXPECT_TRUE(std::isnan(wide(ofBits<T>(narrow<T>(NAN)))));
  EXPECT_EQ(narrow<T>(-0.0f), sign);
}

TEST(Arithmetic, f16_rounds_to_nearest_even) { checkFormat<pkb::f16>(5, 10, 15, 0x7bff, 0x7c00); }
TEST(Arithmetic, bf16_rounds_to_nearest_even) { checkFormat<pkb::bf16>(8, 7, 127, 0x7f7f, 0x7f80); }
TEST(Arithmetic, f8e5m2_rounds_to_nearest_even) { checkFormat<pkb::f8e5m2>(5, 2, 15, 0x7b, 0x7c); }
TEST(Arithmetic, f8e4m3_rounds_to_nearest_even) { checkFormat<pkb::f8e4m3>(4, 3, 7, 0x7e, 0x7f); }

TEST(Arithmetic, pairs_convert_as_singles_do) {
  pkb::vec<float, 4> v;
  const float values[4] = {1.00390625f, -2.5e-41f, 65519.99f, NAN};
  for (int k = 0; k < 4; ++k)
    v.set(k, values[k]);
  const auto half = pkb::convert<pkb::f16>(v);
  const auto brain = pkb::convert<pkb::bf16>(v);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(half[k].bits, narrow<pkb::f16>(values[k]));
    EXPECT_EQ(brain[k].bits, narrow<pkb::bf16>(values[k]));
  }
}

template <class T> T add(T a, T b) { return (pkb::splat<T, 1>(a) + pkb::splat<T, 1>(b))[0]; }
template <class T> T mul(T a, T b) { return (pkb::splat<T, 1>(a) * pkb::splat<T, 1>(b))[0]; }
template <class T> T divide(T a, T b) { return (pkb::splat<T, 1>(a) / pkb::splat<T, 1>(b))[0]; }

TEST(Arithmetic, integers_wrap) {
  EXPECT_EQ(add<int8_t>(127, 1), -128);
  EXPECT_EQ(mul<int16_t>(300, 300), int16_t(300 * 300));
  EXPECT_EQ(add<int32_t>(INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(add<int64_t>(INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(mul<int32_t>(INT32_MAX, 2), -2);
  EXPECT_EQ(add<uint8_t>(250, 10), 4);
  EXPECT_EQ(divide<int32_t>(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(divide<int32_t>(5, 0), 0);
  EXPECT_EQ(add<bool>(true, true), true);
}

TEST(Arithmetic, small_floats_round_once) {
  const pkb::bf16 one = pkb::detail::to_bf16(1.0f), ulp = pkb::detail::to_bf16(0.00390625f); // half a step above 1
  EXPECT_EQ(add(one, ulp).bits, one.bits);
  EXPECT_EQ(add(pkb::detail::to_bf16(1.0078125f), ulp).bits, pkb::detail::to_bf16(1.015625f).bits);
}

TEST(Arithmetic, complex_numbers) {
  const pkb::complex<float> a{1, 2}, b{3, -1};
  EXPECT_EQ(add(a, b).re, 4);
  EXPECT_EQ(mul(a, b).re, 5);
  EXPECT_EQ(mul(a, b).im, 5);
  EXPECT_FLOAT_EQ(divide(mul(a, b), b).im, 2);
}

TEST(Arithmetic, max_and_min_keep_nan) {
  const auto x = pkb::splat<float, 2>(NAN), y = pkb::splat<float, 2>(1.0f);
  EXPECT_TRUE(std::isnan(pkb::max(x, y)[0]) && std::isnan(pkb::max(y, x)[0]) && std::isnan(pkb::min(y, x)[1]));
  EXPECT_EQ(pkb::max(pkb::splat<int64_t, 2>(-3), pkb::splat<int64_t, 2>(2))[0], 2);
}

TEST(Arithmetic, integers_without_sign) {
  const auto a = pkb::splat<int8_t, 4>(int8_t(-1)), b = pkb::splat<int8_t, 4>(int8_t(1)); // 255 and 1
  EXPECT_EQ(pkb::max_unsigned(a, b)[3], -1);
  EXPECT_EQ(pkb::min_unsigned(a, b)[3], 1);
  EXPECT_EQ(pkb::min_unsigned(pkb::splat<int64_t, 2>(INT64_MIN), pkb::splat<int64_t, 2>(INT64_MAX))[0], INT64_MAX);
}

TEST(Arithmetic, bits) {
  const auto a = pkb::splat<int16_t, 8>(int16_t(0x0ff0)), b = pkb::splat<int16_t, 8>(int16_t(0x00ff));
  EXPECT_EQ((a & b)[7], 0x00f0);
  EXPECT_EQ((a | b)[7], 0x0fff);
  EXPECT_EQ((a ^ b)[0], 0x0f0f);
}

TEST(Arithmetic, tables) {
  for (int64_t k = 0; k < 4; ++k)
    EXPECT_EQ((pkb::table<7, -1, int64_t(1) << 40, 0>(k)), (std::vector<int64_t>{7, -1, int64_t(1) << 40, 0})[size_t(k)]);
}

} // namespace
