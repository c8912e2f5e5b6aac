// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device header that only writes down which addresses an emitted kernel touches: tensors and regions may be larger than any memory. Of each loop over
// vectors the first and the last one are run; what lies between is touched, too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "pkb_rt/layout.h"

namespace pkb {

using Ranges = std::vector<std::pair<int64_t, int64_t>>; // bytes, from and to
struct Trace {
  int64_t rank, block, stage_bytes;
  std::map<int64_t, Ranges> loaded, stored;  // by number of the tensor
  std::map<int64_t, int64_t> region;         // by rank: end of what is touched
};
inline Trace trace;
struct Args {};

// An address: what it is in, and where in it.
constexpr int kOffsetBits = 44;
constexpr uint64_t kRegion = uint64_t(1) << 62;
inline int64_t number_of(const char *p) { return int64_t((uint64_t(p) & ~kRegion) >> kOffsetBits); }
inline int64_t offset_of(const char *p) { return int64_t(uint64_t(p) & ((uint64_t(1) << kOffsetBits) - 1)); }
inline char *address(uint64_t flag, int64_t number, int64_t offset) {
  return reinterpret_cast<char *>(flag | uint64_t(number) << kOffsetBits | uint64_t(offset));
}
struct f16 { uint16_t bits; };
struct bf16 { uint16_t bits; };
template <class T, int N> struct vec {};

struct Ticket {};
template <int> Ticket epoch_begin(const Args &) { return {}; }
inline int64_t epoch(Ticket) { return 1; }
template <int> void epoch_end(const Args &, int64_t) {}
template <int> void block_barrier(const Args &) {}
template <int> void signal(const Args &, int64_t, int64_t, int64_t) {}
template <int> void wait(const Args &, int64_t, int64_t, int64_t) {}
inline int64_t rank(const Args &) { return trace.rank; }
inline int64_t block_index() { return trace.block; }
inline int64_t chunk_count(int64_t chunks, int64_t block, int64_t blocks) { return (chunks - 1 - block + blocks) / blocks; }
inline int64_t flag_value(int64_t, int64_t chunks) { return chunks; }
inline int64_t staging(const Args &, int64_t parity) { return pkb_stage_offset(RANKS) + parity * trace.stage_bytes; }
template <int64_t... Values> int64_t table(int64_t index) {
  const int64_t values[] = {Values...};
  return values[index];
}
inline char *pointer(const Args &, int64_t number) { return address(0, number, 0); }
inline char *region(const Args &, int64_t rank, int64_t offset) { return address(kRegion, rank, offset); }

inline void touch(std::map<int64_t, Ranges> &what, const char *p, int64_t from, int64_t to) { what[number_of(p)].emplace_back(offset_of(p) + from, offset_of(p) + to); }
struct How {};
template <class T, int N> vec<T, N> load(const char *p, int64_t i, int64_t length, How = {}) {
  touch(trace.loaded, p, i * N * int64_t(sizeof(T)), (length < (i + 1) * N ? length : (i + 1) * N) * int64_t(sizeof(T)));
  return {};
}
template <class T, int N> void store(const char *p, int64_t i, int64_t length, vec<T, N>, How = {}) {
  touch(trace.stored, p, i * N * int64_t(sizeof(T)), (length < (i + 1) * N ? length : (i + 1) * N) * int64_t(sizeof(T)));
}
inline void reach(const char *p, int64_t i) {
  int64_t &end = trace.region[number_of(p)];
  end = end < offset_of(p) + (i + 1) * 16 ? offset_of(p) + (i + 1) * 16 : end;
}
template <class T, int N> void store_peer(const char *p, int64_t i, vec<T, N>) { reach(p, i); }
template <class T, int N> vec<T, N> load_staged(const char *p, int64_t i) {
  reach(p, i);
  return {};
}

// The ranges that were added since `before` become one.
inline void fill(std::map<int64_t, Ranges> &what, std::map<int64_t, std::size_t> &before) {
  for (auto &[number, ranges] : what)
    if (ranges.size() > before[number]) {
      const int64_t from = ranges[before[number]].first, to = ranges.back().second;
      ranges.resize(before[number]);
      ranges.emplace_back(from, to);
    }
}
template <int N> int64_t vectors(int64_t length) { return (length + N - 1) / N; }
template <int, class... P> bool aligned(int64_t, P...) { return true; }
template <int, class Load, class Store> void for_each(int64_t count, bool, Load load, Store store) {
  std::map<int64_t, std::size_t> loads, stores;
  for (auto &[number, ranges] : trace.loaded)
    loads[number] = ranges.size();
  for (auto &[number, ranges] : trace.stored)
    stores[number] = ranges.size();
  for (int64_t i : {int64_t(0), count - 1})
    if (count > 0)
      store(i, load(i, How()), How());
  fill(trace.loaded, loads);
  fill(trace.stored, stores);
}
template <int U, class Load, class Store> void for_each_once(int64_t count, bool, Load load, Store store) { for_each<U>(count, true, load, store); }

} // namespace pkb

#define PKB_KERNEL(name, ...) void name(const pkb::Args &args)
