/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * all_reduce sum of LENGTH bf16, one-shot push: chunks dealt to blocks round robin, a ring of slots per block, DEPTH chunks ahead.
 * RANKS, LENGTH, CHUNK (bytes), SLOTS and DEPTH come from the build. */
#include "pkb_rt/device.h"

#ifndef SHORT_RING /* one test takes a ring that is too short */
static_assert(SLOTS >= 2 * DEPTH + 2, "a ring without credits needs 2 * DEPTH + 2 slots");
#endif

PKB_KERNEL(all_reduce_0, 512, 1, RANKS, 2) {
  const uint64_t epoch = pkb::epoch(pkb::epoch_begin<1>(args));
  const int64_t parity = int64_t(epoch & 1);
  const int64_t me = pkb::rank(args);
  const int64_t block = pkb::block_index();
  const int64_t blocks = pkb::grid_blocks();
  const char *src = pkb::pointer(args, 0);
  char *dst = pkb::pointer(args, 1);
  const int64_t per = CHUNK / 2;
  const int64_t chunks = (int64_t(LENGTH) + per - 1) / per;
  const int64_t mine = chunks > block ? (chunks - block + blocks - 1) / blocks : 0;
  /* The peers' blocks of this index have as many chunks: all ranks launch the same grid. A block without chunks still signals once. */
  const int64_t pushes = mine > 0 ? mine : 1;
  const int64_t slot_bytes = int64_t(RANKS) * CHUNK;
  const int64_t base = pkb::staging(args, parity) + block * SLOTS * slot_bytes;
  for (int64_t step = 0; step < pushes + DEPTH; ++step) {
    if (step < pushes) {
      const int64_t chunk = block + step * blocks;
      const int64_t first = chunk * per;
      const int64_t left = step < mine ? (int64_t(LENGTH) - first < per ? int64_t(LENGTH) - first : per) : 0;
      const int64_t n = (left + 7) / 8;
      const int64_t at = base + (step % SLOTS) * slot_bytes + me * CHUNK;
      for (int64_t hop = 1; hop < RANKS; ++hop) {
        const int64_t peer = (me + hop) % RANKS;
        char *to = pkb::region(args, peer, at);
        pkb::for_each<4>(n, [&](int64_t i) { return pkb::load<pkb::bf16, 8>(src + first * 2, i, left); },
                         [&](int64_t i, const auto &v) { pkb::store_peer(to, i, v); });
      }
      pkb::block_barrier<2>(args);
      for (int64_t hop = 1; hop < RANKS; ++hop)
        pkb::signal<3>(args, (me + hop) % RANKS, block, (epoch << PKB_PROGRESS_BITS) + uint64_t(step + 1));
    }
    if (step >= DEPTH) {
      const int64_t turn = step - DEPTH;
      const int64_t chunk = block + turn * blocks;
      const int64_t first = chunk * per;
      const int64_t left = turn < mine ? (int64_t(LENGTH) - first < per ? int64_t(LENGTH) - first : per) : 0;
      const int64_t n = (left + 7) / 8;
      const char *stage = pkb::region(args, me, base + (turn % SLOTS) * slot_bytes);
      for (int64_t source = 0; source < RANKS; ++source)
        if (source != me)
          pkb::wait<4>(args, source, block, (epoch << PKB_PROGRESS_BITS) + uint64_t(turn + 1));
      pkb::block_barrier<5>(args);
      pkb::for_each<2>(
          n,
          [&](int64_t i) {
            pkb::vec<float, 8> acc = pkb::splat<float, 8>(0.0f);
            for (int64_t source = 0; source < RANKS; ++source)
              acc = acc + (source == me ? pkb::convert<float>(pkb::load<pkb::bf16, 8>(src + first * 2, i, left))
                                        : pkb::convert<float>(pkb::load_staged<pkb::bf16, 8>(stage + source * CHUNK, i)));
            return pkb::convert<pkb::bf16>(acc);
          },
          [&](int64_t i, const auto &v) { pkb::store(dst + first * 2, i, left, v); });
    }
  }
  pkb::epoch_end<6>(args, epoch);
}
