/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tensors with any strides: element e of a window is that number e in row-major order over its sizes, wherever it lies. Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_STRIDED_H
#define PKB_RT_DEVICE_STRIDED_H

namespace pkb {

/* Sizes or strides of a window, known when the kernel is compiled. */
template <int64_t... V>
struct dims {
  static constexpr int rank = int(sizeof...(V));
  static constexpr int64_t values[rank > 0 ? rank : 1] = {V...};
  static constexpr int64_t last = rank > 0 ? values[rank > 0 ? rank - 1 : 0] : 1;
  /* What element e lies away from the window's first, in elements. */
  template <int64_t... S>
  PKB_DEVICE static int64_t place(dims<S...>, int64_t e) {
    constexpr int64_t sizes[] = {V...}, strides[] = {S...};
    int64_t sum = 0;
    PKB_UNROLL for (int k = rank - 1; k >= 0; --k) {
      const int64_t along = k > 0 ? e % sizes[k] : e;
      sum += along * strides[k];
      e /= sizes[k];
    }
    return sum;
  }
};

/* Elements first .. first+N-1 of a window at p of `Sizes` and `Strides` (pkb::dims of one length, in elements); those from `left` on are zero and not touched. */
template <class T, int N, class Sizes, class Strides>
PKB_DEVICE vec<T, N> load_strided(const char *p, int64_t first, int64_t left) {
  constexpr int size = int(sizeof(T));
  if constexpr (Strides::last == 1 && Sizes::last % N == 0) {
    if (first % N == 0) /* all in one innermost row */
      return load<T, N>(p + Sizes::place(Strides{}, first) * size, 0, left);
  }
  vec<T, N> v{};
  PKB_UNROLL for (int k = 0; k < N; ++k)
    if (k < left)
      v.set(k, detail::bits_of<vec<T, 1>>(detail::load_elements<T, 1>(p + Sizes::place(Strides{}, first + k) * size, 1))[0]);
  return v;
}

/* Writes the first `left` of N elements to elements first, first+1, ... of a window. */
template <class Sizes, class Strides, class T, int N>
PKB_DEVICE void store_strided(char *p, int64_t first, int64_t left, const vec<T, N> &v) {
  constexpr int size = int(sizeof(T));
  if constexpr (Strides::last == 1 && Sizes::last % N == 0) {
    if (first % N == 0) {
      store(p + Sizes::place(Strides{}, first) * size, 0, left, v);
      return;
    }
  }
  PKB_UNROLL for (int k = 0; k < N; ++k)
    if (k < left)
      detail::store_elements<T, 1>(p + Sizes::place(Strides{}, first + k) * size, 1, splat<T, 1>(v[k]));
}

} // namespace pkb

#endif
