/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of real numbers, element by element, in the element's own type (float, double): the functions that ATen's kernels call. Integers have neg and
 * abs. Errors on a GPU are those of CUDA's math library (at most 2 units in the last place; rsqrt 2, tanh 2, erf 2). Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_MATH_H
#define PKB_RT_DEVICE_MATH_H

#if defined(PKB_EMULATED) && PKB_EMULATED
#include <math.h>
#endif

namespace pkb {
namespace detail {

PKB_DEVICE float rsqrt_one(float x) {
#if defined(PKB_EMULATED) && PKB_EMULATED
  return 1.0f / sqrtf(x);
#else
  return rsqrtf(x);
#endif
}
PKB_DEVICE double rsqrt_one(double x) {
#if defined(PKB_EMULATED) && PKB_EMULATED
  return 1.0 / sqrt(x);
#else
  return ::rsqrt(x);
#endif
}

#define PKB_REAL_FUNCTION(name)                                                                                                 \
  PKB_DEVICE float name##_one(float x) { return name##f(x); }                                                                   \
  PKB_DEVICE double name##_one(double x) { return ::name(x); }
PKB_REAL_FUNCTION(sqrt)
PKB_REAL_FUNCTION(exp)
PKB_REAL_FUNCTION(exp2)
PKB_REAL_FUNCTION(expm1)
PKB_REAL_FUNCTION(log)
PKB_REAL_FUNCTION(log2)
PKB_REAL_FUNCTION(log1p)
PKB_REAL_FUNCTION(tanh)
PKB_REAL_FUNCTION(erf)
PKB_REAL_FUNCTION(sin)
PKB_REAL_FUNCTION(cos)
PKB_REAL_FUNCTION(floor)
PKB_REAL_FUNCTION(ceil)
#undef PKB_REAL_FUNCTION
PKB_DEVICE float pow_one(float x, float y) { return powf(x, y); }
PKB_DEVICE double pow_one(double x, double y) { return ::pow(x, y); }

} // namespace detail

#define PKB_VEC_FUNCTION(name)                                                                                                  \
  template <class T, int N>                                                                                                     \
  PKB_DEVICE vec<T, N> name(const vec<T, N> &a) {                                                                               \
    vec<T, N> v{};                                                                                                              \
    PKB_UNROLL for (int k = 0; k < N; ++k) v.set(k, detail::name##_one(a[k]));                                                  \
    return v;                                                                                                                   \
  }
PKB_VEC_FUNCTION(rsqrt)
PKB_VEC_FUNCTION(sqrt)
PKB_VEC_FUNCTION(exp)
PKB_VEC_FUNCTION(exp2)
PKB_VEC_FUNCTION(expm1)
PKB_VEC_FUNCTION(log)
PKB_VEC_FUNCTION(log2)
PKB_VEC_FUNCTION(log1p)
PKB_VEC_FUNCTION(tanh)
PKB_VEC_FUNCTION(erf)
PKB_VEC_FUNCTION(sin)
PKB_VEC_FUNCTION(cos)
PKB_VEC_FUNCTION(floor)
PKB_VEC_FUNCTION(ceil)
#undef PKB_VEC_FUNCTION

template <class T, int N>
PKB_DEVICE vec<T, N> pow(const vec<T, N> &a, const vec<T, N> &b) {
  vec<T, N> v{};
  PKB_UNROLL for (int k = 0; k < N; ++k) v.set(k, detail::pow_one(a[k], b[k]));
  return v;
}
template <class T, int N>
PKB_DEVICE vec<T, N> neg(const vec<T, N> &a) {
  vec<T, N> v{};
  PKB_UNROLL for (int k = 0; k < N; ++k) v.set(k, T(-a[k]));
  return v;
}
template <class T, int N>
PKB_DEVICE vec<T, N> abs(const vec<T, N> &a) {
  vec<T, N> v{};
  PKB_UNROLL for (int k = 0; k < N; ++k) v.set(k, a[k] < T(0) || (detail::is_float<T>::value && a[k] == T(0)) ? T(T(0) - a[k]) : a[k]);
  return v;
}

#define PKB_VEC_COMPARE(name, symbol)                                                                                           \
  template <class T, int N>                                                                                                     \
  PKB_DEVICE vec<bool, N> name(const vec<T, N> &a, const vec<T, N> &b) {                                                        \
    vec<bool, N> v{};                                                                                                           \
    PKB_UNROLL for (int k = 0; k < N; ++k) v.set(k, a[k] symbol b[k]);                                                          \
    return v;                                                                                                                   \
  }
PKB_VEC_COMPARE(equal, ==)
PKB_VEC_COMPARE(not_equal, !=)
PKB_VEC_COMPARE(less, <)
PKB_VEC_COMPARE(less_equal, <=)
PKB_VEC_COMPARE(greater, >)
PKB_VEC_COMPARE(greater_equal, >=)
#undef PKB_VEC_COMPARE

/* a where the condition holds, else b. */
template <class T, int N>
PKB_DEVICE vec<T, N> select(const vec<bool, N> &condition, const vec<T, N> &a, const vec<T, N> &b) {
  vec<T, N> v{};
  PKB_UNROLL for (int k = 0; k < N; ++k) v.set(k, condition[k] ? a[k] : b[k]);
  return v;
}

} // namespace pkb

#endif
