/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Rows: the lanes of a warp share one row of a tensor. What a row has one of (a sum, a maximum) all its lanes hold, so no barrier and no shared memory
 * is needed. The order of a reduction depends on the row's length and the vector's width alone, not on the launch. Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_ROWS_H
#define PKB_RT_DEVICE_ROWS_H

namespace pkb {

enum class Reduce : int { sum, prod, max, min };

namespace detail {

constexpr int row_lanes = 32;

template <Reduce K> struct reduction;
template <> struct reduction<Reduce::sum> { using op = Add; };
template <> struct reduction<Reduce::prod> { using op = Mul; };
template <> struct reduction<Reduce::max> { using op = Max; };
template <> struct reduction<Reduce::min> { using op = Min; };

/* What changes nothing when combined; T is float or double. */
template <Reduce K, class T>
PKB_DEVICE T neutral() {
  static_assert(is_float<T>::value, "rows are reduced in float or double");
  constexpr bool wide = sizeof(T) == 8;
  using Bits = typename choose<wide, uint64_t, uint32_t>::type;
  const Bits infinity = wide ? Bits(0x7ff0000000000000ull) : Bits(0x7f800000u);
  if constexpr (K == Reduce::sum)
    return T(0);
  else if constexpr (K == Reduce::prod)
    return T(1);
  else if constexpr (K == Reduce::max)
    return bits_of<T>(Bits(infinity | Bits(1) << (sizeof(T) * 8 - 1)));
  else
    return bits_of<T>(infinity);
}

/* What `lane` contributes: its vectors lane, lane + 32, ... element by element, then the elements of the sum in order. */
template <Reduce K, int U, class Load, class Map>
PKB_DEVICE auto row_part(int64_t lane, int64_t length, Load load, Map map) {
  using L = typename plain<decltype(load(int64_t(0)))>::type;
  using V = typename plain<decltype(map(int64_t(0), declare<const L &>()))>::type;
  using T = typename V::element;
  using O = typename reduction<K>::op;
  constexpr int N = V::lanes;
  const T none = neutral<K, T>();
  V total = splat<T, N>(none);
  const int64_t vectors = (length + N - 1) / N;
  const auto take = [&](int64_t i, const L &loaded) {
    const V v = map(i, loaded);
    const int64_t left = length - i * N;
    PKB_UNROLL for (int k = 0; k < N; ++k) total.set(k, arith<O>(total[k], k < left ? v[k] : none));
  };
  int64_t i = lane;
  if constexpr (U > 1) {
    for (; i + (U - 1) * row_lanes < vectors; i += U * row_lanes) {
      L loaded[U];
      PKB_UNROLL for (int u = 0; u < U; ++u) loaded[u] = load(i + u * row_lanes);
      PKB_UNROLL for (int u = 0; u < U; ++u) take(i + u * row_lanes, loaded[u]);
    }
  }
  PKB_ROLLED
  for (; i < vectors; i += row_lanes) take(i, load(i));
  T part = total[0];
  PKB_UNROLL for (int k = 1; k < N; ++k) part = arith<O>(part, total[k]);
  return part;
}

} // namespace detail

/* For row = warp, warp + warps, ... below `rows`: body(row), by all lanes of a warp. A block of fewer than 32 threads is one warp; threads beyond the last
 * whole warp do nothing. */
template <class Body>
PKB_DEVICE void for_each_row(int64_t rows, Body body) {
  const int64_t warps = detail::prim::warps();
  for (int64_t row = detail::prim::warp(); row < rows; row += warps) body(row);
}

/* True in one lane of a row. */
PKB_DEVICE bool row_leader() { return detail::prim::lane() == 0; }

/* For the vectors i of a row, lane by lane: store(i, load(i)), U loads before the first of their stores. All lanes of the row call it. */
template <int U, class Load, class Store>
PKB_DEVICE void for_each_in_row(int64_t n, Load load, Store store) {
  using V = typename detail::plain<decltype(load(int64_t(0)))>::type;
  const int64_t step = detail::prim::lanes();
  int64_t i = detail::prim::lane();
  if constexpr (U > 1) {
    for (; i + (U - 1) * step < n; i += U * step) {
      V v[U];
      PKB_UNROLL for (int u = 0; u < U; ++u) v[u] = load(i + u * step);
      PKB_UNROLL for (int u = 0; u < U; ++u) store(i + u * step, v[u]);
    }
  }
  PKB_ROLLED
  for (; i < n; i += step) store(i, load(i));
}

/* The reduction of the `length` elements of a row, element e being element e % N of map(e / N, load(e / N)), a vec<T, N> of float or double. All lanes of the
 * row call it and get the result. Emulated, each thread runs all lanes. */
template <Reduce K, int U, class Load, class Map>
PKB_DEVICE auto row_reduce(int64_t length, Load load, Map map) {
  using O = typename detail::reduction<K>::op;
  using T = decltype(detail::row_part<K, U>(0, length, load, map));
#if defined(PKB_EMULATED) && PKB_EMULATED
  T part[detail::row_lanes];
  for (int lane = 0; lane < detail::row_lanes; ++lane) part[lane] = detail::row_part<K, U>(lane, length, load, map);
  for (int apart = detail::row_lanes / 2; apart > 0; apart /= 2)
    for (int lane = 0; lane < apart; ++lane) part[lane] = detail::arith<O>(part[lane], part[lane + apart]);
  return splat<T, 1>(part[0]);
#else
  T part = detail::row_part<K, U>(detail::prim::lane(), length, load, map);
  PKB_UNROLL for (int apart = detail::row_lanes / 2; apart > 0; apart /= 2)
    part = detail::arith<O>(part, detail::prim::shuffle_xor(part, apart));
  return splat<T, 1>(part);
#endif
}

/* Up to 16 bytes of single values as one vector; what is left is zero. */
template <class T, class... Rest>
PKB_DEVICE vec<T, 16 / int(sizeof(T))> line(const vec<T, 1> &first, const Rest &...rest) {
  static_assert((1 + sizeof...(Rest)) * sizeof(T) <= 16, "a line holds 16 bytes");
  vec<T, 16 / int(sizeof(T))> v{};
  int k = 0;
  v.set(k++, first[0]);
  (v.set(k++, rest[0]), ...);
  return v;
}
/* Element K of a vector. */
template <int K, class T, int N>
PKB_DEVICE vec<T, 1> part(const vec<T, N> &v) {
  static_assert(K >= 0 && K < N, "element of the vector");
  return splat<T, 1>(v[K]);
}
/* One value N times. */
template <int N, class T>
PKB_DEVICE vec<T, N> widen(const vec<T, 1> &v) {
  return splat<T, N>(v[0]);
}

} // namespace pkb

#endif
