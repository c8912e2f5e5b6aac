/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * vec<T, N>: N elements in registers, N a power of two. Indices are compile-time constants after unrolling, so nothing lands in local memory.
 * Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_VEC_H
#define PKB_RT_DEVICE_VEC_H

namespace pkb {

template <class T, int N>
struct alignas(sizeof(T) * N >= 16 ? 16 : sizeof(T) * N) vec {
  static_assert(N > 0 && (N & (N - 1)) == 0, "a vec has 1, 2, 4, ... elements");
  T e[N];
  PKB_DEVICE T &operator[](int k) { return e[k]; }
  PKB_DEVICE const T &operator[](int k) const { return e[k]; }
};

template <class T, int N, class X>
PKB_DEVICE vec<T, N> splat(X x) {
  vec<T, N> v;
  const T one = detail::convert_one<T>(x);
  PKB_UNROLL for (int k = 0; k < N; ++k) v.e[k] = one;
  return v;
}

template <class To, class From, int N>
PKB_DEVICE vec<To, N> convert(const vec<From, N> &v) {
  vec<To, N> to;
  if constexpr (N >= 2 && detail::same<From, float>::value && (detail::same<To, bf16>::value || detail::same<To, f16>::value)) {
    PKB_UNROLL for (int k = 0; k < N; k += 2) {
      uint32_t pair;
      if constexpr (detail::same<To, bf16>::value)
        pair = detail::to_bf16x2(v.e[k], v.e[k + 1]);
      else
        pair = detail::to_f16x2(v.e[k], v.e[k + 1]);
      to.e[k].bits = uint16_t(pair);
      to.e[k + 1].bits = uint16_t(pair >> 16);
    }
  } else {
    PKB_UNROLL for (int k = 0; k < N; ++k) to.e[k] = detail::convert_one<To>(v.e[k]);
  }
  return to;
}

#define PKB_VEC_BINARY(name, kind)                                                                                              \
  template <class T, int N>                                                                                                     \
  PKB_DEVICE vec<T, N> name(const vec<T, N> &a, const vec<T, N> &b) {                                                           \
    vec<T, N> v;                                                                                                                \
    PKB_UNROLL for (int k = 0; k < N; ++k) v.e[k] = detail::arith<detail::kind>(a.e[k], b.e[k]);                                \
    return v;                                                                                                                   \
  }
PKB_VEC_BINARY(operator+, Add)
PKB_VEC_BINARY(operator-, Sub)
PKB_VEC_BINARY(operator*, Mul)
PKB_VEC_BINARY(operator/, Div)
PKB_VEC_BINARY(max, Max)
PKB_VEC_BINARY(min, Min)
#undef PKB_VEC_BINARY

} // namespace pkb

#endif
