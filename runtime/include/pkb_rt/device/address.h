/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Offsets inside a region, values of flags, and packs: uniform arithmetic. Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_ADDRESS_H
#define PKB_RT_DEVICE_ADDRESS_H

namespace pkb {

/* Offset of a staging half; the same for every program on the channel, since it depends on the channel's size only. parity: 0 or 1. */
template <int W, int P>
PKB_DEVICE int64_t staging(const Args<W, P> &args, int64_t parity) {
  return pkb_stage_offset(W) + parity * args.header.stage_bytes;
}

/* Offset of the LL lines that `source` writes in calls of this parity. */
template <int W, int P>
PKB_DEVICE int64_t ll_slot(const Args<W, P> &, int64_t parity, int64_t source) {
  return pkb_ll_offset(W, int(parity), int(source));
}

/* Value of a flag after `chunks` chunks of call `epoch`. */
PKB_DEVICE uint64_t flag_value(uint64_t epoch, int64_t chunks) { return (epoch << PKB_PROGRESS_BITS) + uint64_t(chunks); }

/* How many of `chunks` chunks block `block` of `blocks` has: those numbered block, block + blocks, block + 2 * blocks, ... All below 2^31. */
PKB_DEVICE int64_t chunk_count(int64_t chunks, int64_t block, int64_t blocks) {
  return int64_t(uint32_t(chunks - 1 - block + blocks) / uint32_t(blocks));
}

/* How many vectors of N elements hold `length` elements, 0 <= length < 2^31. */
template <int N>
PKB_DEVICE int64_t vectors(int64_t length) {
  return int64_t((uint32_t(length) + uint32_t(N - 1)) / uint32_t(N));
}

/* Entry `index` of a table; a chain of selections, for an array would lie in local memory. */
template <int64_t... Values>
PKB_DEVICE int64_t table(int64_t index) {
  int64_t value = 0, number = 0;
  ((value = index == number++ ? Values : value), ...);
  return value;
}

/* Several values of one vector, from the load to the store of for_each. */
template <class... T> struct Pack;
template <> struct Pack<> {};
template <class T, class... Rest> struct Pack<T, Rest...> {
  T first;
  Pack<Rest...> rest;
};
PKB_DEVICE Pack<> pack() { return {}; }
template <class T, class... Rest>
PKB_DEVICE Pack<T, Rest...> pack(const T &first, const Rest &...rest) {
  return {first, pack(rest...)};
}
template <int I, class T, class... Rest>
PKB_DEVICE const auto &get(const Pack<T, Rest...> &values) {
  if constexpr (I == 0)
    return values.first;
  else
    return get<I - 1>(values.rest);
}

} // namespace pkb

#endif
