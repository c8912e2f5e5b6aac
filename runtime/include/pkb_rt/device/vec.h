/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * vec<T, N>: N elements in registers, N a power of two or three times one, packed in 32-bit words as they lie in memory. Packed, because a load must not be consumed
 * before the next one of its batch is issued: unpacking belongs to the arithmetic. Indices are compile-time constants after unrolling, so
 * nothing lands in local memory. Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_VEC_H
#define PKB_RT_DEVICE_VEC_H

namespace pkb {

template <class T, int N>
struct alignas(sizeof(T) * N >= 16 ? 16 : sizeof(T) * N <= 4 ? 4 : 8) vec {
  static_assert(N > 0 && ((N & (N - 1)) == 0 || (N % 3 == 0 && (N / 3 & (N / 3 - 1)) == 0)), "a vec has 1, 2, 4, ... elements, or three times as many");
  using element = T;
  static constexpr int lanes = N;
  static constexpr int bytes = int(sizeof(T)) * N;
  uint32_t w[(bytes + 3) / 4];

  PKB_DEVICE T operator[](int k) const {
    if constexpr (sizeof(T) == 1)
      return detail::bits_of<T>(uint8_t(w[k / 4] >> k % 4 * 8));
    else if constexpr (sizeof(T) == 2)
      return detail::bits_of<T>(uint16_t(w[k / 2] >> k % 2 * 16));
    else {
      struct { uint32_t w[sizeof(T) / 4]; } part;
      PKB_UNROLL for (int j = 0; j < int(sizeof(T) / 4); ++j) part.w[j] = w[k * int(sizeof(T) / 4) + j];
      return detail::bits_of<T>(part);
    }
  }
  PKB_DEVICE void set(int k, const T &x) {
    if constexpr (sizeof(T) == 1)
      w[k / 4] = (w[k / 4] & ~(0xffu << k % 4 * 8)) | uint32_t(detail::bits_of<uint8_t>(x)) << k % 4 * 8;
    else if constexpr (sizeof(T) == 2)
      w[k / 2] = (w[k / 2] & ~(0xffffu << k % 2 * 16)) | uint32_t(detail::bits_of<uint16_t>(x)) << k % 2 * 16;
    else {
      struct Part { uint32_t w[sizeof(T) / 4]; };
      const Part part = detail::bits_of<Part>(x);
      PKB_UNROLL for (int j = 0; j < int(sizeof(T) / 4); ++j) w[k * int(sizeof(T) / 4) + j] = part.w[j];
    }
  }
};

template <class T, int N, class X>
PKB_DEVICE vec<T, N> splat(X x) {
  vec<T, N> v{};
  const T one = detail::convert_one<T>(x);
  PKB_UNROLL for (int k = 0; k < N; ++k) v.set(k, one);
  return v;
}

template <class To, class From, int N>
PKB_DEVICE vec<To, N> convert(const vec<From, N> &v) {
  using detail::same;
  vec<To, N> to{};
  if constexpr (same<To, From>::value) {
    return v;
  } else if constexpr (N >= 2 && same<From, bf16>::value && same<To, float>::value) {
    PKB_UNROLL for (int k = 0; k < N; k += 2) { /* a bf16 is the upper half of its float */
      to.w[k] = v.w[k / 2] << 16;
      to.w[k + 1] = v.w[k / 2] & 0xffff0000u;
    }
  } else if constexpr (N >= 2 && same<From, float>::value && same<To, bf16>::value) {
    PKB_UNROLL for (int k = 0; k < N; k += 2) to.w[k / 2] = detail::to_bf16x2(v[k], v[k + 1]);
  } else if constexpr (N >= 2 && same<From, float>::value && same<To, f16>::value) {
    PKB_UNROLL for (int k = 0; k < N; k += 2) to.w[k / 2] = detail::to_f16x2(v[k], v[k + 1]);
  } else {
    PKB_UNROLL for (int k = 0; k < N; ++k) to.set(k, detail::convert_one<To>(v[k]));
  }
  return to;
}

#define PKB_VEC_BINARY(name, kind)                                                                                              \
  template <class T, int N>                                                                                                     \
  PKB_DEVICE vec<T, N> name(const vec<T, N> &a, const vec<T, N> &b) {                                                           \
    vec<T, N> v{};                                                                                                              \
    PKB_UNROLL for (int k = 0; k < N; ++k) v.set(k, detail::arith<detail::kind>(a[k], b[k]));                                   \
    return v;                                                                                                                   \
  }
PKB_VEC_BINARY(operator+, Add)
PKB_VEC_BINARY(operator-, Sub)
PKB_VEC_BINARY(operator*, Mul)
PKB_VEC_BINARY(operator/, Div)
PKB_VEC_BINARY(max, Max)
PKB_VEC_BINARY(min, Min)
PKB_VEC_BINARY(max_number, MaxNumber) /* floats */
PKB_VEC_BINARY(min_number, MinNumber)
PKB_VEC_BINARY(max_unsigned, MaxUnsigned) /* integers, taken as having no sign */
PKB_VEC_BINARY(min_unsigned, MinUnsigned)
PKB_VEC_BINARY(div_unsigned, DivUnsigned)
#undef PKB_VEC_BINARY

/* Bit by bit, word by word. */
#define PKB_VEC_BITWISE(symbol)                                                                                                 \
  template <class T, int N>                                                                                                     \
  PKB_DEVICE vec<T, N> operator symbol(const vec<T, N> &a, const vec<T, N> &b) {                                                \
    vec<T, N> v;                                                                                                                \
    PKB_UNROLL for (int j = 0; j < int(sizeof(v.w) / 4); ++j) v.w[j] = a.w[j] symbol b.w[j];                                    \
    return v;                                                                                                                   \
  }
PKB_VEC_BITWISE(&)
PKB_VEC_BITWISE(|)
PKB_VEC_BITWISE(^)
#undef PKB_VEC_BITWISE

} // namespace pkb

#endif
