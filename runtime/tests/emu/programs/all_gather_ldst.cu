/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * all_gather of LENGTH int32 per rank, push: chunks dealt to blocks round robin, a ring of slots per block.
 * RANKS, LENGTH, CHUNK (bytes), SLOTS and DEPTH come from the build. */
#include "pkb_rt/device.h"

static_assert(SLOTS >= 2 * DEPTH + 2, "a ring without credits needs 2 * DEPTH + 2 slots");

PKB_KERNEL(all_gather_0, 512, 1, RANKS, 2) {
  constexpr int64_t size = sizeof(int32_t), lanes = 16 / size;
  const uint64_t epoch = pkb::epoch(pkb::epoch_begin<1>(args));
  const int64_t parity = int64_t(epoch & 1);
  const int64_t me = pkb::rank(args);
  const int64_t block = pkb::block_index();
  const int64_t blocks = pkb::grid_blocks();
  const char *src = pkb::pointer(args, 0);
  char *dst = pkb::pointer(args, 1);
  const int64_t per = CHUNK / size;
  const int64_t chunks = (int64_t(LENGTH) + per - 1) / per;
  const int64_t mine = chunks > block ? (chunks - block + blocks - 1) / blocks : 0;
  const int64_t pushes = mine > 0 ? mine : 1;
  const int64_t slot_bytes = int64_t(RANKS) * CHUNK;
  const int64_t base = pkb::staging(args, parity) + block * SLOTS * slot_bytes;
  for (int64_t step = 0; step < pushes + DEPTH; ++step) {
    if (step < pushes) {
      const int64_t first = (block + step * blocks) * per;
      const int64_t left = step < mine ? (int64_t(LENGTH) - first < per ? int64_t(LENGTH) - first : per) : 0;
      const int64_t n = (left + lanes - 1) / lanes;
      const int64_t at = base + (step % SLOTS) * slot_bytes + me * CHUNK;
      for (int64_t hop = 1; hop < RANKS; ++hop) {
        const int64_t peer = (me + hop) % RANKS;
        char *to = pkb::region(args, peer, at);
        const char *from = src + (0 + first) * size;
        pkb::for_each<4>(n, [&](int64_t i) { return pkb::load<int32_t, lanes>(from, i, left); },
                         [&](int64_t i, const auto &v) { pkb::store_peer(to, i, v); });
      }
      const char *own = src + (0 + first) * size;
      char *here = dst + (me * LENGTH + first) * size;
      pkb::for_each<4>(n, [&](int64_t i) { return pkb::load<int32_t, lanes>(own, i, left); },
                       [&](int64_t i, const auto &v) { pkb::store(here, i, left, v); });
      pkb::block_barrier<2>(args);
      for (int64_t hop = 1; hop < RANKS; ++hop)
        pkb::signal<3>(args, (me + hop) % RANKS, block, (epoch << PKB_PROGRESS_BITS) + uint64_t(step + 1));
    }
    if (step >= DEPTH) {
      const int64_t turn = step - DEPTH;
      const int64_t first = (block + turn * blocks) * per;
      const int64_t left = turn < mine ? (int64_t(LENGTH) - first < per ? int64_t(LENGTH) - first : per) : 0;
      const int64_t n = (left + lanes - 1) / lanes;
      for (int64_t hop = 1; hop < RANKS; ++hop)
        pkb::wait<4>(args, (me + hop) % RANKS, block, (epoch << PKB_PROGRESS_BITS) + uint64_t(turn + 1));
      pkb::block_barrier<5>(args);
      for (int64_t hop = 1; hop < RANKS; ++hop) {
        const int64_t source = (me + hop) % RANKS;
        const char *stage = pkb::region(args, me, base + (turn % SLOTS) * slot_bytes + source * CHUNK);
        char *to = dst + (source * LENGTH + first) * size;
        pkb::for_each<4>(n, [&](int64_t i) { return pkb::load_staged<int32_t, lanes>(stage, i); },
                         [&](int64_t i, const auto &v) { pkb::store(to, i, left, v); });
      }
    }
  }
  pkb::epoch_end<6>(args, epoch);
}
