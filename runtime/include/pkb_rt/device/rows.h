/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Rows: a team of lanes shares one row of a tensor, a warp (32) or more of a block (128, 256, 512, 1024). What a row has one of (a sum, a maximum) all its
 * lanes hold; in a warp that needs no barrier and no shared memory. The order of a reduction depends on the row's length, the vector's width and the team
 * alone. stream_rows keeps rows in registers from where they are read to where they are written. Part of pkb_rt/device.h. */
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

/* The vectors lane, lane + Team, ... below n, at most V of them, U loads before the first of their stores. */
template <int V, int U, int Team, class How, class Load, class Store>
PKB_DEVICE void for_each_lane(int64_t lane, int64_t n, How how, Load load, Store store) {
  using L = typename plain<decltype(load(int64_t(0), how))>::type;
  PKB_UNROLL for (int k = 0; k < V; k += U) {
    L v[U];
    PKB_UNROLL for (int u = 0; u < U; ++u) if (k + u < V && lane + (k + u) * Team < n) v[u] = load(lane + (k + u) * Team, how);
    PKB_UNROLL for (int u = 0; u < U; ++u) if (k + u < V && lane + (k + u) * Team < n) store(lane + (k + u) * Team, v[u], how);
  }
}

/* row_part where a lane has at most V vectors, U of them in flight: no loop, so that kept rows stay in registers. */
template <Reduce K, int V, int U, int Team, class How, class Load, class Map>
PKB_DEVICE auto row_part_once(int64_t lane, int64_t length, Load load, Map map) {
  using L = typename plain<decltype(load(int64_t(0), How{}))>::type;
  using M = typename plain<decltype(map(int64_t(0), declare<const L &>()))>::type;
  using T = typename M::element;
  using O = typename reduction<K>::op;
  constexpr int N = M::lanes;
  const T none = neutral<K, T>();
  M total = splat<T, N>(none);
  for_each_lane<V, U, Team>(
      lane, (length + N - 1) / N, How{}, load, [&](int64_t i, const L &loaded, auto) {
        const M v = map(i, loaded);
        const int64_t left = length - i * N;
        PKB_UNROLL for (int e = 0; e < N; ++e) total.set(e, arith<O>(total[e], How::value || e < left ? v[e] : none));
      });
  T part = total[0];
  PKB_UNROLL for (int e = 1; e < N; ++e) part = arith<O>(part, total[e]);
  return part;
}

/* What the lanes of a team hold, combined in all of them: first the lanes of a warp by halves, then the warps in order. Emulated, each thread runs all
 * lanes: part_of(lane). */
template <class O, int Team, class PartOf>
PKB_DEVICE auto combine_lanes(PartOf part_of) {
  using T = decltype(part_of(int64_t(0)));
#if defined(PKB_EMULATED) && PKB_EMULATED
  T whole{};
  for (int warp = 0; warp < Team; warp += warp_lanes) {
    T part[warp_lanes];
    for (int lane = 0; lane < warp_lanes; ++lane) part[lane] = part_of(warp + lane);
    for (int apart = warp_lanes / 2; apart > 0; apart /= 2)
      for (int lane = 0; lane < apart; ++lane) part[lane] = arith<O>(part[lane], part[lane + apart]);
    whole = warp == 0 ? part[0] : arith<O>(whole, part[0]);
  }
  return splat<T, 1>(whole);
#else
  T part = part_of(prim::lane<Team>());
  PKB_UNROLL for (int apart = warp_lanes / 2; apart > 0; apart /= 2) part = arith<O>(part, prim::shuffle_xor(part, apart));
  if constexpr (Team > warp_lanes)
    part = prim::combine_warps<Team>(part, [](T a, T b) { return arith<O>(a, b); });
  return splat<T, 1>(part);
#endif
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
  static_assert(Team == 32 || Team == 128 || Team == 256 || Team == 512 || Team == 1024, "a team is a warp or at least four");
  const auto part_of = [&](int64_t lane) {
    return aligned ? detail::row_part<K, U, Team, Aligned>(lane, length, load, map) : detail::row_part<K, 1, Team, Ragged>(lane, length, load, map);
  };
  return detail::combine_lanes<O, Team>(part_of);
}

/* row_reduce where no lane has more than V vectors, with the same result. */
template <Reduce K, int V, int U, int Team, class Load, class Map>
PKB_DEVICE auto row_reduce_once(int64_t length, bool aligned, Load load, Map map) {
  using O = typename detail::reduction<K>::op;
  return detail::combine_lanes<O, Team>([&](int64_t lane) {
    return aligned ? detail::row_part_once<K, V, U, Team, Aligned>(lane, length, load, map)
                   : detail::row_part_once<K, V, U, Team, Ragged>(lane, length, load, map);
  });
}

/* for_each_in_row where no lane has more than V vectors. */
template <int V, int U, int Team, class Load, class Store>
PKB_DEVICE void for_each_in_row_once(int64_t n, bool aligned, Load load, Store store) {
#if defined(PKB_EMULATED) && PKB_EMULATED /* fewer lanes than in the launch */
  for_each_in_row<U, Team>(n, aligned, load, store);
#else
  if (aligned)
    detail::for_each_lane<V, U, Team>(detail::prim::lane<Team>(), n, Aligned{}, load, store);
  else
    detail::for_each_lane<V, U, Team>(detail::prim::lane<Team>(), n, Ragged{}, load, store);
#endif
}

/* A row that its team keeps, V vectors of N elements in a lane. Emulated, where a thread runs all lanes, it is read again: the emulated row holds nothing. */
template <class T, int N, int V, int Team, class How>
struct Row {
#if defined(PKB_EMULATED) && PKB_EMULATED
  const char *at;
  int64_t length;
#else
  vec<T, N> vectors[V];
#endif
};
/* Reads the row of `length` elements at `at`, of which no lane has more than V vectors. */
template <class T, int N, int V, int Team, class How>
PKB_DEVICE Row<T, N, V, Team, How> keep_row(const char *at, int64_t length, How) {
#if defined(PKB_EMULATED) && PKB_EMULATED
  return {at, length};
#else
  Row<T, N, V, Team, How> row;
  const int64_t lane = detail::prim::lane<Team>(), n = (length + N - 1) / N;
  PKB_UNROLL for (int k = 0; k < V; ++k) if (lane + k * Team < n) row.vectors[k] = load<T, N>(at, lane + k * Team, length, How{});
  return row;
#endif
}
/* Vector i of a row, one of this lane's. */
template <class T, int N, int V, int Team, class How>
PKB_DEVICE vec<T, N> kept(const Row<T, N, V, Team, How> &row, int64_t i) {
#if defined(PKB_EMULATED) && PKB_EMULATED
  return load<T, N>(row.at, i, row.length, How{});
#else
  return row.vectors[(i - detail::prim::lane<Team>()) / Team]; /* a constant, in loops without a loop */
#endif
}

namespace detail {

/* stream_rows for rows that are all Aligned, or Ragged. */
template <int Team, int R, int Ahead, int Steps, int Full, class How, class Fetch, class Produce, class Consume>
PKB_DEVICE void stream_rows(int64_t first, int64_t stride, int64_t rows, How how, Fetch fetch, Produce produce, Consume consume) {
  using Kept = decltype(fetch(int64_t(0), int64_t(0), how));
  using Sent = decltype(produce(int64_t(0), int64_t(0), declare<const Kept &>(), how));
  constexpr int held = Ahead + 1;
  const auto chunk = [&](int64_t step) { return first + step * stride; };
  const auto has = [&](int64_t step, int64_t i) { return step < Full || (step < Steps && chunk(step) + i < rows); };
#if defined(PKB_EMULATED) && PKB_EMULATED
  Sent sent[held][R];
  const int64_t teams = prim::teams<Team>(), team = prim::team<Team>();
  for (int64_t step = 0; step < Steps + Ahead; ++step) {
    const int64_t behind = step - Ahead;
    for (int64_t i = team; i < R; i += teams)
      if (has(step, i))
        sent[step % held][i] = produce(chunk(step), i, fetch(chunk(step), i, how), how);
    for (int64_t i = team; behind >= 0 && i < R; i += teams)
      if (has(behind, i))
        consume(chunk(behind), i, fetch(chunk(behind), i, how), sent[behind % held][i], how);
  }
#else
  const int64_t i = prim::team<Team>();
  if (i >= R)
    return;
  Kept kept[held];
  Sent sent[held];
  PKB_UNROLL for (int k = 0; k < held; ++k) if (has(k, i)) kept[k] = fetch(chunk(k), i, how);
  PKB_UNROLL for (int k = 0; k < Ahead; ++k) if (has(k, i)) sent[k] = produce(chunk(k), i, kept[k], how);
  for (int round = 0; round < Steps; round += held) {
    PKB_UNROLL for (int k = 0; k < held; ++k) {
      const int behind = round + k, ahead = behind + Ahead, next = behind + held;
      if (has(ahead, i))
        sent[(k + Ahead) % held] = produce(chunk(ahead), i, kept[(k + Ahead) % held], how);
      if (has(behind, i))
        consume(chunk(behind), i, kept[k], sent[k], how);
      if (has(next, i))
        kept[k] = fetch(chunk(next), i, how);
    }
  }
#endif
}

} // namespace detail

/* The rows of the chunks first, first + stride, ... below `rows`, `Steps` of them and each of at most R rows, a team of the block for each row of a chunk:
 * produce(chunk, i, kept, how) runs Ahead chunks before consume(chunk, i, kept, sent, how), for row chunk + i. kept is what fetch(chunk, i, how) has read, as
 * early as there is room: the rows of Ahead + 1 chunks are held. sent is what produce has returned. In the first `Full` chunks every team of every block has a
 * row. The launch has a team for each of R rows; emulated, there may be fewer. */
template <int Team, int R, int Ahead, int Steps, int Full, class Fetch, class Produce, class Consume>
PKB_DEVICE void stream_rows(int64_t first, int64_t stride, int64_t rows, bool aligned, Fetch fetch, Produce produce, Consume consume) {
  if (aligned)
    detail::stream_rows<Team, R, Ahead, Steps, Full>(first, stride, rows, Aligned{}, fetch, produce, consume);
  else
    detail::stream_rows<Team, R, Ahead, Steps, Full>(first, stride, rows, Ragged{}, fetch, produce, consume);
}

/* Up to 16 bytes of single values as one vector of N elements; what is left is zero. */
template <int N, class T, class... Rest>
PKB_DEVICE vec<T, N> line(const vec<T, 1> &first, const Rest &...rest) {
  static_assert(N * sizeof(T) <= 16 && 1 + sizeof...(Rest) <= N, "a line holds 16 bytes");
  vec<T, N> v{};
  int k = 0;
  v.set(k++, first[0]);
  (v.set(k++, rest[0]), ...);
  return v;
}
/* What every rank has sent for a row, by the number of the rank. */
template <class V, int W>
struct Gathered {
  V of[W];
};
/* Waits until the lines of vector i of all other ranks carry `epoch`: those of rank 0 lie at p, and those of each other rank behind them. Every lane of the
 * team, a lane per rank of its first warp looking, has then all of them; `own` is this rank's. Leaves early as wait does. */
template <class T, int N, int Site, int Team, int W, int P>
PKB_DEVICE Gathered<vec<T, N>, W> gather_ll(const Args<W, P> &args, const char *p, int64_t i, uint64_t epoch, const vec<T, N> &own) {
  static_assert(W <= detail::warp_lanes, "a lane for each rank");
  const int me = int(rank(args));
  Gathered<vec<T, N>, W> all;
#if defined(PKB_EMULATED) && PKB_EMULATED
  for (int source = 0; source < W; ++source)
    all.of[source] = source == me ? own : load_ll<T, N, Site>(args, p + source * pkb_ll_slot_bytes(W), i, epoch);
#else
  const int lane = int(detail::prim::lane<Team>());
  vec<T, N> mine = own;
  if (lane < W && lane != me)
    mine = load_ll<T, N, Site>(args, p + lane * pkb_ll_slot_bytes(W), i, epoch);
  if constexpr (Team == detail::warp_lanes) {
    PKB_UNROLL for (int source = 0; source < W; ++source) PKB_UNROLL for (int k = 0; k < int(sizeof(own.w) / 4); ++k)
      all.of[source].w[k] = detail::prim::shuffle(mine.w[k], source);
  } else {
    detail::prim::share<Team, W>(mine, all.of);
  }
#endif
  return all;
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
