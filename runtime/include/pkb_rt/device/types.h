/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Element types that C++ lacks, as their bits. To float: exact. From float: round to nearest even, the same bits on a GPU (PTX cvt) and in the
 * emulated build. A NaN becomes 0x7fff (f16, bf16, what PTX cvt gives) and sign|0x7f (f8); a value too large for e4m3 becomes NaN, for the others
 * infinity (as PyTorch converts, not PTX's saturation). Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_TYPES_H
#define PKB_RT_DEVICE_TYPES_H

namespace pkb {

struct f16 { uint16_t bits; };
struct bf16 { uint16_t bits; };
struct f8e4m3 { uint8_t bits; };
struct f8e5m2 { uint8_t bits; };
template <class T> struct alignas(2 * sizeof(T)) complex { T re, im; };

namespace detail {

/* A float rounded to nearest even into `Mantissa` bits with exponent bias `Bias`, subnormals included, sign not; `Top` is the first magnitude
 * that does not fit, `Over` what it becomes. */
template <int Mantissa, int Bias, uint32_t Over>
PKB_DEVICE uint32_t narrow(uint32_t magnitude, uint32_t top) {
  constexpr int drop = 23 - Mantissa;
  const uint32_t smallest_normal = uint32_t(127 - Bias + 1) << 23;
  uint32_t result;
  if (magnitude < smallest_normal) {
    /* Adding 2^(1 - Bias - Mantissa + 23) lets the float adder round at the subnormal's last place. */
    const uint32_t magic = uint32_t(127 + 1 - Bias - Mantissa + 23) << 23;
    result = bits_of<uint32_t>(bits_of<float>(magnitude) + bits_of<float>(magic)) - magic;
  } else {
    const uint32_t odd = (magnitude >> drop) & 1u;
    result = (magnitude - (uint32_t(127 - Bias) << 23) + ((1u << (drop - 1)) - 1u) + odd) >> drop;
  }
  return magnitude >= top || result > Over ? Over : result;
}

PKB_DEVICE float to_float(bf16 x) { return bits_of<float>(uint32_t(x.bits) << 16); }
PKB_DEVICE float to_float(f8e5m2 x);
PKB_DEVICE float to_float(f8e4m3 x) {
  const uint32_t sign = uint32_t(x.bits & 0x80u) << 24, low = x.bits & 0x7fu;
  if (low == 0x7fu)
    return bits_of<float>(sign | 0x7fc00000u);
  if (low < 8u) { /* zero and subnormals: low * 2^-9 */
    const float value = float(low) * bits_of<float>(118u << 23);
    return bits_of<float>(bits_of<uint32_t>(value) | sign);
  }
  return bits_of<float>(sign | ((low << 20) + (120u << 23)));
}

#if defined(PKB_EMULATED) && PKB_EMULATED
PKB_DEVICE float to_float(f16 x) {
  const uint32_t sign = uint32_t(x.bits & 0x8000u) << 16, low = x.bits & 0x7fffu;
  if (low >= 0x7c00u) /* infinity; a NaN is made canonical, as the GPU does */
    return bits_of<float>(low == 0x7c00u ? sign | 0x7f800000u : 0x7fffffffu);
  if (low < 0x400u) { /* zero and subnormals: low * 2^-24 */
    const float value = float(low) * bits_of<float>(103u << 23);
    return bits_of<float>(bits_of<uint32_t>(value) | sign);
  }
  return bits_of<float>(sign | ((low << 13) + (112u << 23)));
}
PKB_DEVICE f16 to_f16(float value) {
  const uint32_t bits = bits_of<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return f16{0x7fff};
  return f16{uint16_t(((bits >> 16) & 0x8000u) | narrow<10, 15, 0x7c00u>(magnitude, 0x47800000u))};
}
PKB_DEVICE bf16 to_bf16(float value) {
  const uint32_t bits = bits_of<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return bf16{0x7fff};
  return bf16{uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
/* Two conversions in one word, `low` in the low half. */
PKB_DEVICE uint32_t to_bf16x2(float low, float high) { return uint32_t(to_bf16(low).bits) | uint32_t(to_bf16(high).bits) << 16; }
PKB_DEVICE uint32_t to_f16x2(float low, float high) { return uint32_t(to_f16(low).bits) | uint32_t(to_f16(high).bits) << 16; }
#else
PKB_DEVICE float to_float(f16 x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}
PKB_DEVICE f16 to_f16(float value) {
  f16 x;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.bits) : "f"(value));
  return x;
}
PKB_DEVICE bf16 to_bf16(float value) {
  bf16 x;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x.bits) : "f"(value));
  return x;
}
PKB_DEVICE uint32_t to_bf16x2(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
PKB_DEVICE uint32_t to_f16x2(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
#endif
/* e5m2 is the upper byte of an f16. */
PKB_DEVICE float to_float(f8e5m2 x) { return to_float(f16{uint16_t(uint32_t(x.bits) << 8)}); }

PKB_DEVICE f8e4m3 to_f8e4m3(float value) {
  const uint32_t bits = bits_of<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const uint32_t low = magnitude > 0x7f800000u ? 0x7fu : narrow<3, 7, 0x7fu>(magnitude, 0x43f00000u);
  return f8e4m3{uint8_t(((bits >> 24) & 0x80u) | low)};
}
PKB_DEVICE f8e5m2 to_f8e5m2(float value) {
  const uint32_t bits = bits_of<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const uint32_t low = magnitude > 0x7f800000u ? 0x7fu : narrow<2, 15, 0x7cu>(magnitude, 0x47800000u);
  return f8e5m2{uint8_t(((bits >> 24) & 0x80u) | low)};
}

/* Kinds of element types: what their arithmetic is done in. */
template <class T> struct is_small_float { static constexpr bool value = false; };
template <> struct is_small_float<f16> { static constexpr bool value = true; };
template <> struct is_small_float<bf16> { static constexpr bool value = true; };
template <> struct is_small_float<f8e4m3> { static constexpr bool value = true; };
template <> struct is_small_float<f8e5m2> { static constexpr bool value = true; };
template <class T> struct is_complex { static constexpr bool value = false; };
template <class T> struct is_complex<complex<T>> { static constexpr bool value = true; };
template <class T> struct is_float { static constexpr bool value = same<T, float>::value || same<T, double>::value; };
template <class T> struct unsigned_of { using type = T; };
template <> struct unsigned_of<int8_t> { using type = uint32_t; };
template <> struct unsigned_of<uint8_t> { using type = uint32_t; };
template <> struct unsigned_of<int16_t> { using type = uint32_t; };
template <> struct unsigned_of<int32_t> { using type = uint32_t; };
template <> struct unsigned_of<int64_t> { using type = uint64_t; };
template <int Bytes> struct same_size_unsigned;
template <> struct same_size_unsigned<1> { using type = uint8_t; };
template <> struct same_size_unsigned<2> { using type = uint16_t; };
template <> struct same_size_unsigned<4> { using type = uint32_t; };
template <> struct same_size_unsigned<8> { using type = uint64_t; };

template <class To>
PKB_DEVICE To from_float(float value) {
  if constexpr (same<To, f16>::value)
    return to_f16(value);
  else if constexpr (same<To, bf16>::value)
    return to_bf16(value);
  else if constexpr (same<To, f8e4m3>::value)
    return to_f8e4m3(value);
  else
    return to_f8e5m2(value);
}

/* One element. Small floats go through float (a double is rounded to float first); a complex number to a real one keeps the real part. */
template <class To, class From>
PKB_DEVICE To convert_one(From x) {
  if constexpr (same<To, From>::value)
    return x;
  else if constexpr (is_complex<From>::value) {
    if constexpr (is_complex<To>::value)
      return To{convert_one<decltype(To::re)>(x.re), convert_one<decltype(To::re)>(x.im)};
    else
      return convert_one<To>(x.re);
  } else if constexpr (is_complex<To>::value)
    return To{convert_one<decltype(To::re)>(x), decltype(To::re)(0)};
  else if constexpr (is_small_float<From>::value)
    return convert_one<To>(to_float(x));
  else if constexpr (is_small_float<To>::value)
    return from_float<To>(float(x));
  else if constexpr (same<To, bool>::value)
    return x != From(0);
  else
    return To(x);
}

/* A product that is rounded before anything is added to it, as between two operators of ATen. */
#if defined(PKB_EMULATED) && PKB_EMULATED
PKB_DEVICE float product(float a, float b) { return a * b; }
PKB_DEVICE double product(double a, double b) { return a * b; }
#else
PKB_DEVICE float product(float a, float b) { return __fmul_rn(a, b); }
PKB_DEVICE double product(double a, double b) { return __dmul_rn(a, b); }
#endif

struct Add {}; struct Sub {}; struct Mul {}; struct Div {}; struct Max {}; struct Min {}; struct MaxNumber {}; struct MinNumber {}; struct MaxUnsigned {}; struct MinUnsigned {};
struct DivUnsigned {};

/* One element of arithmetic. Integers wrap; division by an integer 0 gives 0; small floats are computed in float and rounded once; max and min give
 * NaN if either is NaN, max_number and min_number the other then (what NCCL gives), and of two zeros any; bool is 0/1 with saturating addition. */
template <class O, class T>
PKB_DEVICE T arith(T a, T b) {
  if constexpr (is_small_float<T>::value)
    return from_float<T>(arith<O>(to_float(a), to_float(b)));
  else if constexpr (is_complex<T>::value) {
    if constexpr (same<O, Add>::value)
      return T{a.re + b.re, a.im + b.im};
    else if constexpr (same<O, Sub>::value)
      return T{a.re - b.re, a.im - b.im};
    else if constexpr (same<O, Mul>::value)
      return T{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    else {
      static_assert(same<O, Div>::value, "complex numbers have no order");
      const auto d = b.re * b.re + b.im * b.im;
      return T{(a.re * b.re + a.im * b.im) / d, (a.im * b.re - a.re * b.im) / d};
    }
  } else if constexpr (same<O, MaxUnsigned>::value || same<O, MinUnsigned>::value) {
    using U = typename same_size_unsigned<sizeof(T)>::type;
    return (U(a) > U(b)) == same<O, MaxUnsigned>::value ? a : b;
  } else if constexpr (same<O, DivUnsigned>::value) {
    using U = typename same_size_unsigned<sizeof(T)>::type;
    return T(b == T(0) ? U(0) : U(U(a) / U(b)));
  } else if constexpr (same<O, Max>::value) {
    if constexpr (is_float<T>::value)
      return a != a ? a : b != b ? b : a > b ? a : b;
    else
      return a > b ? a : b;
  } else if constexpr (same<O, Min>::value) {
    if constexpr (is_float<T>::value)
      return a != a ? a : b != b ? b : a < b ? a : b;
    else
      return a < b ? a : b;
  } else if constexpr (same<O, MaxNumber>::value) {
    return a != a ? b : b != b ? a : a > b ? a : b;
  } else if constexpr (same<O, MinNumber>::value) {
    return a != a ? b : b != b ? a : a < b ? a : b;
  } else if constexpr (same<T, bool>::value) {
    if constexpr (same<O, Add>::value)
      return a || b;
    else if constexpr (same<O, Sub>::value)
      return a != b;
    else
      return a && b;
  } else if constexpr (is_float<T>::value) {
    if constexpr (same<O, Add>::value)
      return a + b;
    else if constexpr (same<O, Sub>::value)
      return a - b;
    else if constexpr (same<O, Mul>::value)
      return product(a, b);
    else
      return a / b;
  } else {
    using U = typename unsigned_of<T>::type;
    if constexpr (same<O, Add>::value)
      return T(U(a) + U(b));
    else if constexpr (same<O, Sub>::value)
      return T(U(a) - U(b));
    else if constexpr (same<O, Mul>::value)
      return T(U(a) * U(b));
    else
      return b == T(0) ? T(0) : b == T(-1) ? T(U(0) - U(a)) : T(a / b);
  }
}

} // namespace detail
} // namespace pkb

#endif
