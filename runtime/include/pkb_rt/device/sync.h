/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Ordering: epochs, barrier of a block, signals, waits, LL lines. `Site` is the primitive's id in the manifest's site table; on a GPU it costs
 * nothing, in the emulated build it is where a mutant sits. Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_SYNC_H
#define PKB_RT_DEVICE_SYNC_H

namespace pkb {
namespace detail {

#if defined(PKB_EMULATED) && PKB_EMULATED
template <int Site> PKB_DEVICE bool mutant_is(int kind) { return prim::mutant<Site>() == kind; }
#define PKB_MUTANT_IS(Site, kind) detail::mutant_is<Site>(kind)
#else
#define PKB_MUTANT_IS(Site, kind) false
#endif

/* The thread that signals or waits for rank `other`: a warp each while there are enough, so that their fences and polls overlap. With one peer
 * there is nothing to overlap, and the first warp is 0.1 us earlier there. */
template <int W>
PKB_DEVICE bool my_turn(int64_t other) {
  const uint32_t threads = uint32_t(prim::threads()), thread = uint32_t(prim::thread());
  if constexpr (W <= 2)
    return thread == uint32_t(other) % threads;
  const uint32_t apart = uint32_t(other) * 32;
  return thread == (apart < threads ? apart : uint32_t(other) % threads);
}

} // namespace detail

/* The number of the last call on the channel, perhaps still under way from memory. */
struct Ticket {
  uint64_t last;
};

/* Asks for the number of this call on the channel; `epoch` tells it. All threads call it, before anything else that orders. Block 0 notes for the watchdog
 * that the call has started. */
template <int Site, int W, int P>
PKB_DEVICE Ticket epoch_begin(const Args<W, P> &args) {
  detail::prim::follow_predecessor();
  char *own = args.region[args.header.rank];
  const uint64_t last = detail::prim::epoch_load<Site>(own + PKB_EPOCH_OFFSET + 8 * detail::prim::block());
  if (detail::prim::block() == 0 && detail::prim::thread() == 0)
    detail::prim::note_start<Site>(own + PKB_STARTED_OFFSET, last);
  return {PKB_MUTANT_IS(Site, PKB_MUTANT_PARITY) ? 2 * last + 1 : last};
}

/* The number of this call on the channel: 1, 2, 3, ..., from what epoch_begin returned. Here, and no earlier, a thread waits for that load: what stands
 * before, like loads of its own, is under way at the same time. */
PKB_DEVICE uint64_t epoch(Ticket ticket) { return detail::prim::not_earlier(ticket.last) + 1; }

/* Every thread calls it, last, with the number of the call. The block bumps its share of the epoch cells once all of its threads have read
 * theirs; no block waits for another, and no atomic is needed. */
template <int Site, int W, int P>
PKB_DEVICE void epoch_end(const Args<W, P> &args, uint64_t epoch) {
  namespace prim = detail::prim;
  if (PKB_MUTANT_IS(Site, PKB_MUTANT_DROP))
    return;
  prim::barrier<detail::op_epoch_end, Site>();
  char *cells = args.region[args.header.rank] + PKB_EPOCH_OFFSET;
  const int64_t step = prim::blocks() * prim::threads();
  for (int64_t cell = prim::block() + prim::thread() * prim::blocks(); cell < PKB_MAX_BLOCKS; cell += step)
    prim::epoch_store<Site>(cells + 8 * cell, epoch);
}

/* Barrier of the block; orders memory between its threads. All threads call it. */
template <int Site, int W, int P>
PKB_DEVICE void block_barrier(const Args<W, P> &) {
  if (!PKB_MUTANT_IS(Site, PKB_MUTANT_DROP))
    detail::prim::barrier<detail::op_block_barrier, Site>();
}

/* Sets the flag (this rank, block) in `peer`'s region, by one thread (of a warp of its own, if there are enough): everything before it in that thread, and before the last barrier in
 * the others, is visible to who waits for `value`. */
template <int Site, int W, int P>
PKB_DEVICE void signal(const Args<W, P> &args, int64_t peer, int64_t block, uint64_t value) {
  if (!detail::my_turn<W>(peer) || PKB_MUTANT_IS(Site, PKB_MUTANT_DROP))
    return;
  if (PKB_MUTANT_IS(Site, PKB_MUTANT_VALUE))
    ++value;
  if (PKB_MUTANT_IS(Site, PKB_MUTANT_PEER))
    peer = (peer + 1) % W;
  detail::prim::flag_store<Site>(args.region[peer] + pkb_flag_offset(int(args.header.rank), block), value);
}

/* Waits, in one thread (of a warp of its own, if there are enough), until flag (source, block) of the own region has reached `value`. A barrier hands that on to the others.
 * Returns early if the abort word is set, or after the debug build's bound (which is then in the report). */
template <int Site, int W, int P>
PKB_DEVICE void wait(const Args<W, P> &args, int64_t source, int64_t block, uint64_t value) {
  if (!detail::my_turn<W>(source) || PKB_MUTANT_IS(Site, PKB_MUTANT_DROP))
    return;
  if (PKB_MUTANT_IS(Site, PKB_MUTANT_VALUE))
    --value;
  if (PKB_MUTANT_IS(Site, PKB_MUTANT_PEER))
    source = (source + 1) % W;
  const char *flag = args.region[args.header.rank] + pkb_flag_offset(int(source), block);
  uint64_t polls = 0;
  for (;;) {
    const uint64_t seen = detail::prim::flag_load<Site>(flag);
    if (seen >= value || !detail::prim::keep_spinning<detail::op_wait, Site>(args.header, polls, flag, source, block, value, seen))
      return;
  }
}

/* Waits until every block of this rank has set its flag for this rank itself to `value`: a thread polls the flag of a
 * block each. A barrier hands that on to the others. The whole grid must be resident. Returns early as wait does. */
template <int Site, int W, int P>
PKB_DEVICE void wait_blocks(const Args<W, P> &args, uint64_t value) {
  namespace prim = detail::prim;
  if (PKB_MUTANT_IS(Site, PKB_MUTANT_DROP))
    return;
  if (PKB_MUTANT_IS(Site, PKB_MUTANT_VALUE))
    --value;
  const int64_t rank = args.header.rank;
  for (int64_t block = prim::thread(); block < prim::blocks(); block += prim::threads()) {
    const char *flag = args.region[rank] + pkb_flag_offset(int(rank), block);
    uint64_t polls = 0;
    for (;;) {
      const uint64_t seen = prim::flag_load<Site>(flag);
      if (seen >= value)
        break;
      if (!prim::keep_spinning<detail::op_wait, Site>(args.header, polls, flag, rank, block, value, seen))
        return;
    }
  }
}

namespace detail {

/* LL lines of a vec: 16 bytes each, three payload words and the epoch, accessed as a whole. The epoch is xored with the words: whoever wants it must load
 * them all, where ptxas else takes a line of which it needs two words for two loads of four bytes. */
template <class T, int N>
struct Lines {
  static constexpr int words = (int(sizeof(T)) * N + 3) / 4;
  static_assert(words <= 4 || words == PKB_PACK_BYTES / 4, "LL lines carry vectors of up to 16 or of 48 bytes");
  static constexpr int count = (words + 2) / 3;
  static constexpr bool packed = words > 4;
  static constexpr int apart = packed ? count : 2; /* a vector of fewer words leaves the second line alone */
  /* Byte offset of line j of vector i. Packed: 32 vectors together, line by line, so that the lanes of a warp fill whole sectors. */
  PKB_DEVICE static int64_t offset(int64_t vector, int j) {
    const uint64_t i = uint64_t(vector);
    return int64_t(packed ? (i / 32 * 32 * count + uint64_t(j) * 32 + i % 32) * 16 : (i * apart + uint64_t(j)) * 16);
  }
};

} // namespace detail

/* The bytes of vector i as LL lines of the vectors at p: up to 12 in one (twice), 16 in two, 48 in four. Needs no signal: the reader sees by the epochs. */
template <int Site, class T, int N>
PKB_DEVICE void store_ll(char *p, int64_t i, const vec<T, N> &v, uint64_t epoch) {
  using Lines = detail::Lines<T, N>;
  if (PKB_MUTANT_IS(Site, PKB_MUTANT_DROP))
    return;
  const uint32_t mark = uint32_t(epoch) - (PKB_MUTANT_IS(Site, PKB_MUTANT_VALUE) ? 1u : 0u);
  PKB_UNROLL for (int j = 0; j < Lines::count; ++j) {
    detail::Raw<16> line{{0, 0, 0, mark}};
    PKB_UNROLL for (int k = 0; k < 3; ++k) if (3 * j + k < Lines::words) line.w[k] = v.w[3 * j + k];
    line.w[3] ^= line.w[0] ^ line.w[1] ^ line.w[2];
    detail::prim::store_ll<Site>(p + Lines::offset(i, j), line);
    if (Lines::count < Lines::apart) /* fills the sector: one written in part costs the link and the reader more */
      detail::prim::store_ll<Site>(p + Lines::offset(i, j) + 16, line);
  }
}

/* Spins until all lines of vector i carry `epoch`, then returns the vector. Any thread, no barrier needed. Leaves early as wait does. */
template <class T, int N, int Site, int W, int P>
PKB_DEVICE vec<T, N> load_ll(const Args<W, P> &args, const char *p, int64_t i, uint64_t epoch) {
  using Lines = detail::Lines<T, N>;
  const uint32_t mark = uint32_t(epoch) - (PKB_MUTANT_IS(Site, PKB_MUTANT_VALUE) ? 1u : 0u);
  uint64_t polls = 0;
  for (;;) {
    vec<T, N> v{};
    int late = Lines::count; /* a line that has not come */
    uint32_t seen = 0;
    detail::Raw<16> lines[Lines::count];
    PKB_UNROLL for (int j = 0; j < Lines::count; ++j) lines[j] = detail::prim::load_ll<Site>(p + Lines::offset(i, j));
    PKB_UNROLL for (int j = 0; j < Lines::count; ++j) {
      const uint32_t epoch_seen = lines[j].w[3] ^ lines[j].w[0] ^ lines[j].w[1] ^ lines[j].w[2];
      if (epoch_seen != mark) {
        late = j;
        seen = epoch_seen;
      }
      PKB_UNROLL for (int k = 0; k < 3; ++k) if (3 * j + k < Lines::words) v.w[3 * j + k] = lines[j].w[k];
    }
    if (late == Lines::count || PKB_MUTANT_IS(Site, PKB_MUTANT_DROP) ||
        !detail::prim::keep_spinning<detail::op_load_ll, Site>(args.header, polls, p + Lines::offset(i, late), -1, block_index(), mark, seen))
      return v;
  }
}

} // namespace pkb

#endif
