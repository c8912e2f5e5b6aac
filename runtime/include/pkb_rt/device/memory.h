/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Data movement: tensors (any alignment, any length), peers' staging, loops over vectors. Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_MEMORY_H
#define PKB_RT_DEVICE_MEMORY_H

namespace pkb {
namespace detail {

/* Moves a whole vec in accesses of min(16, size) bytes. */
template <class T, int N>
PKB_DEVICE vec<T, N> load_whole(const char *from) {
  constexpr int bytes = int(sizeof(T)) * N, width = bytes < 16 ? bytes : 16;
  struct Parts { Raw<width> part[bytes / width]; } parts;
  static_assert(bytes / width == 1 || width == 16, "");
  PKB_UNROLL for (int k = 0; k < bytes / width; ++k) parts.part[k] = prim::load_weak<width>(from + k * width);
  vec<T, N> v;
  __builtin_memcpy(&v, &parts, bytes);
  return v;
}
template <class T, int N>
PKB_DEVICE void store_whole(char *to, const vec<T, N> &v) {
  constexpr int bytes = int(sizeof(T)) * N, width = bytes < 16 ? bytes : 16;
  struct Parts { Raw<width> part[bytes / width]; } parts;
  __builtin_memcpy(&parts, &v, bytes);
  PKB_UNROLL for (int k = 0; k < bytes / width; ++k) prim::store_weak<width>(to + k * width, parts.part[k]);
}
template <class T>
PKB_DEVICE T load_one(const char *from) {
  const Raw<sizeof(T)> raw = prim::load_weak<sizeof(T)>(from);
  T x;
  __builtin_memcpy(&x, &raw, sizeof(T));
  return x;
}
template <class T>
PKB_DEVICE void store_one(char *to, const T &x) {
  Raw<sizeof(T)> raw{};
  __builtin_memcpy(&raw, &x, sizeof(T));
  prim::store_weak<sizeof(T)>(to, raw);
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

/* Vector i of the `len` elements at p (aligned to an element): elements i*N .. i*N+N-1, those at or past `len` are zero and not touched. */
template <class T, int N>
PKB_DEVICE vec<T, N> load(const char *p, int64_t i, int64_t len) {
  constexpr int bytes = int(sizeof(T)) * N;
  constexpr uintptr_t mask = (bytes < 16 ? bytes : 16) - 1;
  const char *from = p + i * bytes;
  if ((reinterpret_cast<uintptr_t>(p) & mask) == 0 && (i + 1) * N <= len)
    return detail::load_whole<T, N>(from);
  vec<T, N> v{};
  PKB_UNROLL for (int k = 0; k < N; ++k) {
    if (i * N + k < len)
      v.e[k] = detail::load_one<T>(from + k * int(sizeof(T)));
  }
  return v;
}

/* Vector i of the `len` elements at p; nothing is written at or past `len`. */
template <class T, int N>
PKB_DEVICE void store(char *p, int64_t i, int64_t len, const vec<T, N> &v) {
  constexpr int bytes = int(sizeof(T)) * N;
  constexpr uintptr_t mask = (bytes < 16 ? bytes : 16) - 1;
  char *to = p + i * bytes;
  if ((reinterpret_cast<uintptr_t>(p) & mask) == 0 && (i + 1) * N <= len) {
    detail::store_whole(to, v);
    return;
  }
  PKB_UNROLL for (int k = 0; k < N; ++k) {
    if (i * N + k < len)
      detail::store_one<T>(to + k * int(sizeof(T)), v.e[k]);
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

} // namespace pkb

#endif
