/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Data movement: tensors (any alignment, any length), peers' staging, loops over vectors. Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_MEMORY_H
#define PKB_RT_DEVICE_MEMORY_H

namespace pkb {
namespace detail {

/* Bytes of the accesses that move a vec of so many: the widest of which it is a whole number. */
PKB_DEVICE constexpr int access_width(int bytes) { return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1; }

/* Moves a whole vec, of whole words or one access. */
template <class T, int N>
PKB_DEVICE vec<T, N> load_whole(const char *from) {
  constexpr int bytes = int(sizeof(T)) * N, width = access_width(bytes), words = width < 4 ? 1 : width / 4;
  vec<T, N> v;
  PKB_UNROLL for (int k = 0; k < bytes / width; ++k) {
    const Raw<width> raw = prim::load_weak<width>(from + k * width);
    PKB_UNROLL for (int j = 0; j < words; ++j) v.w[k * words + j] = raw.w[j];
  }
  return v;
}
template <class T, int N>
PKB_DEVICE void store_whole(char *to, const vec<T, N> &v) {
  constexpr int bytes = int(sizeof(T)) * N, width = access_width(bytes), words = width < 4 ? 1 : width / 4;
  PKB_UNROLL for (int k = 0; k < bytes / width; ++k) {
    Raw<width> raw;
    PKB_UNROLL for (int j = 0; j < words; ++j) raw.w[j] = v.w[k * words + j];
    prim::store_weak<width>(to + k * width, raw);
  }
}

/* Moves the words of a vec down by `bits` (< 32), with `top` coming in: a loop over elements then needs no index into registers. */
template <class T, int N>
PKB_DEVICE void shift_down(vec<T, N> &v, int bits, uint32_t top) {
  constexpr int words = int(sizeof(v.w) / 4);
  PKB_UNROLL for (int j = 0; j < words; ++j) {
    const uint32_t above = j + 1 < words ? v.w[j + 1] : top;
    v.w[j] = (v.w[j] >> bits) | above << (32 - bits);
  }
}
template <int Count, class T, int N>
PKB_DEVICE void shift_words(vec<T, N> &v, const uint32_t (&top)[Count]) {
  constexpr int words = int(sizeof(v.w) / 4);
  PKB_UNROLL for (int j = 0; j + Count < words; ++j) v.w[j] = v.w[j + Count];
  PKB_UNROLL for (int j = 0; j < Count; ++j) v.w[words - Count + j] = top[j];
}

/* The first `count` elements of a vec, one by one, the others zero; rolled loops, since few vectors need them. */
template <class T, int N>
PKB_DEVICE vec<T, N> load_elements(const char *from, int64_t count) {
  constexpr int size = int(sizeof(T));
  vec<T, N> v{};
  PKB_ROLLED
  for (int k = 0; k < N; ++k) {
    Raw<size> raw{};
    if (k < count)
      raw = prim::load_weak<size>(from + k * size);
    if constexpr (size * N < 4) /* they fill a part of one word */
      v.w[0] |= raw.w[0] << k * 8;
    else if constexpr (size < 4)
      shift_down(v, size * 8, raw.w[0]);
    else
      shift_words(v, raw.w);
  }
  return v;
}
template <class T, int N>
PKB_DEVICE void store_elements(char *to, int64_t count, vec<T, N> v) {
  constexpr int size = int(sizeof(T));
  PKB_ROLLED
  for (int k = 0; k < N; ++k) {
    Raw<size> raw;
    PKB_UNROLL for (int j = 0; j < int(sizeof(raw.w) / 4); ++j) raw.w[j] = v.w[j];
    if (k < count)
      prim::store_weak<size>(to + k * size, raw);
    if constexpr (N > 1 && size < 4)
      shift_down(v, size * 8, 0);
    else if constexpr (N > 1)
      shift_words(v, raw.w);
  }
}

/* Vector i (16 bytes) at p where p is aligned to an element only, 0 < i: the two aligned 16-byte lines around it, shifted. Both lie inside of the tensor. */
template <class T, int N>
PKB_DEVICE vec<T, N> load_shifted(const char *p, int64_t i) {
  const uint32_t off = uint32_t(reinterpret_cast<uintptr_t>(p)) & 15u;
  const char *line = p + i * 16 - off;
  const Raw<16> low = prim::load_weak<16>(line), high = prim::load_weak<16>(line + 16);
  uint32_t w[8] = {low.w[0], low.w[1], low.w[2], low.w[3], high.w[0], high.w[1], high.w[2], high.w[3]};
  PKB_UNROLL for (int j = 0; j < 6; ++j) w[j] = off & 8u ? w[j + 2] : w[j];
  PKB_UNROLL for (int j = 0; j < 5; ++j) w[j] = off & 4u ? w[j + 1] : w[j];
  vec<T, N> v;
  PKB_UNROLL for (int j = 0; j < 4; ++j) v.w[j] = uint32_t((uint64_t(w[j]) | uint64_t(w[j + 1]) << 32) >> (off & 3u) * 8);
  return v;
}

/* A vec of several accesses, one by one: what lies at or past `len` is zero and not touched. */
template <class T, int N, class Piece>
PKB_DEVICE vec<T, N> load_pieces(int64_t first, int64_t len, Piece piece) {
  constexpr int width = access_width(int(sizeof(T)) * N), M = width / int(sizeof(T)), pieces = N / M;
  vec<T, N> v{};
  PKB_UNROLL for (int k = 0; k < pieces; ++k) {
    if ((first + k) * M >= len)
      continue;
    const vec<T, M> part = piece(first + k);
    PKB_UNROLL for (int j = 0; j < width / 4; ++j) v.w[width / 4 * k + j] = part.w[j];
  }
  return v;
}
template <class T, int N, class Piece>
PKB_DEVICE void store_pieces(int64_t first, int64_t len, const vec<T, N> &v, Piece piece) {
  constexpr int width = access_width(int(sizeof(T)) * N), M = width / int(sizeof(T)), pieces = N / M;
  PKB_UNROLL for (int k = 0; k < pieces; ++k) {
    if ((first + k) * M >= len)
      continue;
    vec<T, M> part;
    PKB_UNROLL for (int j = 0; j < width / 4; ++j) part.w[j] = v.w[width / 4 * k + j];
    piece(first + k, part);
  }
}

} // namespace detail

/* Uniform values of the kernel. */
template <int W, int P> PKB_DEVICE int64_t rank(const Args<W, P> &args) { return int64_t(args.header.rank); }
PKB_DEVICE int64_t block_index() { return detail::prim::block(); }
PKB_DEVICE int64_t grid_blocks() { return detail::prim::blocks(); }
/* The k-th tensor pointer of the launch. */
template <int W, int P> PKB_DEVICE char *pointer(const Args<W, P> &args, int64_t k) { return args.pointer[k]; }
/* Address of byte `offset` of `peer`'s region (0 <= peer < W; the own rank too). */
template <int W, int P> PKB_DEVICE char *region(const Args<W, P> &args, int64_t peer, int64_t offset) { return args.region[peer] + offset; }

/* What a loop knows of its vectors, a type that its functions take. Aligned: all are whole, and what they lie in starts at a multiple of 16 bytes; then a load
 * or store is nothing but its accesses, and the loop is so short that it is not waited for. */
struct Aligned {
  static constexpr bool value = true;
};
struct Ragged {
  static constexpr bool value = false;
};
/* True if `length` elements (below 2^31) are whole vectors of N, and all of p are multiples of 16 bytes. */
template <int N, class... P>
PKB_DEVICE bool aligned(int64_t length, const P *...p) {
  return uint32_t(length) % uint32_t(N) == 0 && ((reinterpret_cast<uintptr_t>(p) | ...) & 15) == 0;
}

/* Vector i of the `len` elements at p (aligned to an element): elements i*N .. i*N+N-1, those at or past `len` are zero and not touched. */
template <class T, int N, class How = Ragged>
PKB_DEVICE vec<T, N> load(const char *p, int64_t i, int64_t len, How = {}) {
  constexpr int bytes = int(sizeof(T)) * N, width = detail::access_width(bytes), pieces = bytes / width;
  const char *from = p + i * bytes;
  if constexpr (pieces > 1 && width < 4) { /* accesses that are no words */
    vec<T, N> v{};
    PKB_UNROLL for (int k = 0; k < N; ++k) if (i * N + k < len) v.set(k, load<T, 1>(from, k, N)[0]);
    return v;
  } else {
    const bool aligned = (reinterpret_cast<uintptr_t>(p) & (width - 1)) == 0, whole = (i + 1) * N <= len;
    if (How::value || (aligned && whole))
      return detail::load_whole<T, N>(from);
    if constexpr (pieces > 1)
      return detail::load_pieces<T, N>(i * pieces, len, [&](int64_t piece) { return load<T, N / pieces>(p, piece, len); });
#if !(defined(PKB_EMULATED) && PKB_EMULATED)
    else if constexpr (width == 16) {
      if (i > 0 && (i + 2) * N <= len)
        return detail::load_shifted<T, N>(p, i);
    }
#endif
    return detail::load_elements<T, N>(from, len - i * N);
  }
}

/* Vector i of the `len` elements at p; nothing is written at or past `len`. */
template <class T, int N, class How = Ragged>
PKB_DEVICE void store(char *p, int64_t i, int64_t len, const vec<T, N> &v, How = {}) {
  constexpr int bytes = int(sizeof(T)) * N, width = detail::access_width(bytes), pieces = bytes / width;
  char *to = p + i * bytes;
  if constexpr (pieces > 1 && width < 4) {
    PKB_UNROLL for (int k = 0; k < N; ++k) if (i * N + k < len) store(to, k, N, splat<T, 1>(v[k]));
  } else {
    const bool aligned = (reinterpret_cast<uintptr_t>(p) & (width - 1)) == 0;
    if (How::value || (aligned && (i + 1) * N <= len))
      detail::store_whole(to, v);
    else if constexpr (pieces > 1)
      detail::store_pieces(i * pieces, len, v, [&](int64_t piece, const auto &part) { store(p, piece, len, part); });
    else
      detail::store_elements<T, N>(to, len - i * N, v);
  }
}

/* Vector i of 16 bytes at p, 16-byte aligned, in a region. Invisible to the peer until a signal after it. */
template <class T, int N>
PKB_DEVICE void store_peer(char *p, int64_t i, const vec<T, N> &v) {
  static_assert(sizeof(T) * N == 16, "store_peer moves 16 bytes");
  detail::prim::store_peer(p + i * 16, detail::bits_of<detail::Raw<16>>(v));
}

/* Vector i of 16 bytes at p in the own region, written by a peer whose signal has been waited for. Never served by a stale L1 line. */
template <class T, int N>
PKB_DEVICE vec<T, N> load_staged(const char *p, int64_t i) {
  static_assert(sizeof(T) * N == 16, "load_staged moves 16 bytes");
  return detail::bits_of<vec<T, N>>(detail::prim::load_staged(p + i * 16));
}

/* For i = thread, thread + threads, ... below n: store(i, load(i)). U loads are issued before the first of their stores, so in place is right as
 * long as store(i) touches nothing that load(j) reads, j != i. No barrier inside; every thread of the block may call it with any n. */
template <int U, class Load, class Store>
PKB_DEVICE void for_each(int64_t n, Load load, Store store) {
  using V = typename detail::plain<decltype(load(int64_t(0)))>::type;
  const int64_t step = detail::prim::threads();
  int64_t i = detail::prim::thread();
  if constexpr (U > 1) {
    for (; i + (U - 1) * step < n; i += U * step) {
      V v[U];
      PKB_UNROLL for (int u = 0; u < U; ++u) v[u] = load(i + u * step);
      PKB_UNROLL for (int u = 0; u < U; ++u) store(i + u * step, v[u]);
    }
    if (i < n) { /* fewer than U are left: one batch, predicated */
      V v[U];
      PKB_UNROLL for (int u = 0; u < U - 1; ++u) if (i + u * step < n) v[u] = load(i + u * step);
      PKB_UNROLL for (int u = 0; u < U - 1; ++u) if (i + u * step < n) store(i + u * step, v[u]);
    }
  } else {
    for (; i < n; i += step) store(i, load(i));
  }
}

namespace detail {

/* The loop of a thread over vectors of which some may be partial or badly aligned: one at a time, for it is long. */
template <class Load, class Store>
PKB_DEVICE void for_each_ragged(int64_t first, int64_t step, int64_t n, Load load, Store store) {
  PKB_ROLLED
  for (int64_t i = first; i < n; i += step) store(i, load(i, Ragged{}), Ragged{});
}

} // namespace detail

/* for_each with functions load(i, how) and store(i, value, how), `how` being Aligned or Ragged. */
template <int U, class Load, class Store>
PKB_DEVICE void for_each(int64_t n, bool aligned, Load load, Store store) {
  if (aligned)
    for_each<U>(n, [&](int64_t i) { return load(i, Aligned{}); }, [&](int64_t i, const auto &v) { store(i, v, Aligned{}); });
  else
    detail::for_each_ragged(detail::prim::thread(), detail::prim::threads(), n, load, store);
}

/* for_each where n is at most U * threads of the launch: no loop, so that the epoch can be waited for between the loads and the stores. */
template <int U, class Load, class Store>
PKB_DEVICE void for_each_once(int64_t n, bool aligned, Load load, Store store) {
#if defined(PKB_EMULATED) && PKB_EMULATED /* fewer threads than in the launch */
  for_each<U>(n, aligned, load, store);
#else
  using V = typename detail::plain<decltype(load(int64_t(0), Aligned{}))>::type;
  const int64_t step = detail::prim::threads(), i = detail::prim::thread();
  if (!aligned)
    return detail::for_each_ragged(i, step, n, load, store);
  V v[U];
  PKB_UNROLL for (int u = 0; u < U; ++u) if (i + u * step < n) v[u] = load(i + u * step, Aligned{});
  PKB_UNROLL for (int u = 0; u < U; ++u) if (i + u * step < n) store(i + u * step, v[u], Aligned{});
#endif
}

} // namespace pkb

#endif
