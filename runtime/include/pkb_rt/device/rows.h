/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Rows: a team of lanes shares one row of a tensor, a warp (32) or more of a block (128, 256, 512, 1024). What a row has one of (a sum, a maximum) all its
 * lanes hold; in a warp that needs no barrier and no shared memory. The order of a reduction depends on the row's length, the vector's width and the team
 * alone. Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_ROWS_H
#define PKB_RT_DEVICE_ROWS_H

namespace pkb {

enum class Reduce : int { sum, prod, max, min };

namespace detail {

constexpr int warp_lanes = 32;

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

/* What `lane` of a team contributes: its vectors lane, lane + Team, ... element by element, then the elements of the sum in order. */
template <Reduce K, int U, int Team, class How, class Load, class Map>
PKB_DEVICE auto row_part(int64_t lane, int64_t length, Load load, Map map) {
  using L = typename plain<decltype(load(int64_t(0), How{}))>::type;
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
    PKB_UNROLL for (int k = 0; k < N; ++k) total.set(k, arith<O>(total[k], How::value || k < left ? v[k] : none));
  };
  int64_t i = lane;
  if constexpr (U > 1) {
    for (; i + (U - 1) * Team < vectors; i += U * Team) {
      L loaded[U];
      PKB_UNROLL for (int u = 0; u < U; ++u) loaded[u] = load(i + u * Team, How{});
      PKB_UNROLL for (int u = 0; u < U; ++u) take(i + u * Team, loaded[u]);
    }
  }
  PKB_ROLLED
  for (; i < vectors; i += Team) take(i, load(i, How{}));
  T part = total[0];
  PKB_UNROLL for (int k = 1; k < N; ++k) part = arith<O>(part, total[k]);
  return part;
}

} // namespace detail

/* For row = team, team + teams, ... below `rows`: body(row), by all lanes of a team. A block of fewer threads than a team is one team; threads beyond the
 * last whole team do nothing. */
template <int Team, class Body>
PKB_DEVICE void for_each_row(int64_t rows, Body body) {
  const int64_t teams = detail::prim::teams<Team>();
  for (int64_t row = detail::prim::team<Team>(); row < rows; row += teams) body(row);
}

/* True in one lane of a row. */
template <int Team> PKB_DEVICE bool row_leader() { return detail::prim::lane<Team>() == 0; }

/* For the vectors i of a row, lane by lane: store(i, load(i, how), how), U loads before the first of their stores. All lanes of the row call it. */
template <int U, int Team, class Load, class Store>
PKB_DEVICE void for_each_in_row(int64_t n, bool aligned, Load load, Store store) {
  using V = typename detail::plain<decltype(load(int64_t(0), Aligned{}))>::type;
  const int64_t step = detail::prim::lanes<Team>();
  int64_t i = detail::prim::lane<Team>();
  if (!aligned)
    return detail::for_each_ragged(i, step, n, load, store);
  if constexpr (U > 1) {
    for (; i + (U - 1) * step < n; i += U * step) {
      V v[U];
      PKB_UNROLL for (int u = 0; u < U; ++u) v[u] = load(i + u * step, Aligned{});
      PKB_UNROLL for (int u = 0; u < U; ++u) store(i + u * step, v[u], Aligned{});
    }
  }
  PKB_ROLLED
  for (; i < n; i += step) store(i, load(i, Aligned{}), Aligned{});
}

/* The reduction of the `length` elements of a row, element e being element e % N of map(e / N, load(e / N, how)), a vec<T, N> of float or double. All lanes
 * of the row call it and get the result: first the lanes of a warp by halves, then the warps in order. Emulated, each thread runs all lanes. */
template <Reduce K, int U, int Team, class Load, class Map>
PKB_DEVICE auto row_reduce(int64_t length, bool aligned, Load load, Map map) {
  using O = typename detail::reduction<K>::op;
  using T = decltype(detail::row_part<K, U, Team, Aligned>(0, length, load, map));
  static_assert(Team == 32 || Team == 128 || Team == 256 || Team == 512 || Team == 1024, "a team is a warp or at least four");
  const auto part_of = [&](int64_t lane) {
    return aligned ? detail::row_part<K, U, Team, Aligned>(lane, length, load, map) : detail::row_part<K, 1, Team, Ragged>(lane, length, load, map);
  };
#if defined(PKB_EMULATED) && PKB_EMULATED
  T whole{};
  for (int warp = 0; warp < Team; warp += detail::warp_lanes) {
    T part[detail::warp_lanes];
    for (int lane = 0; lane < detail::warp_lanes; ++lane) part[lane] = part_of(warp + lane);
    for (int apart = detail::warp_lanes / 2; apart > 0; apart /= 2)
      for (int lane = 0; lane < apart; ++lane) part[lane] = detail::arith<O>(part[lane], part[lane + apart]);
    whole = warp == 0 ? part[0] : detail::arith<O>(whole, part[0]);
  }
  return splat<T, 1>(whole);
#else
  T part = part_of(detail::prim::lane<Team>());
  PKB_UNROLL for (int apart = detail::warp_lanes / 2; apart > 0; apart /= 2)
    part = detail::arith<O>(part, detail::prim::shuffle_xor(part, apart));
  if constexpr (Team > detail::warp_lanes)
    part = detail::prim::combine_warps<Team>(part, [](T a, T b) { return detail::arith<O>(a, b); });
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
