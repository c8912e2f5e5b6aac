/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Programs that are wrong on purpose, one rule each. */
#include "pkb_rt/device.h"

/* Reads staging that nobody has written. */
PKB_KERNEL(reads_unwritten_0, 32, 1, 2, 1) {
  const char *stage = pkb::region(args, pkb::rank(args), pkb_stage_offset(2));
  pkb::for_each<1>(1, [&](int64_t i) { return pkb::load_staged<uint64_t, 2>(stage, i); },
                   [&](int64_t, const auto &v) { pkb::store(pkb::pointer(args, 0), 0, 2, v); });
}

/* Thread 0 of rank 0 alone goes to the barrier: for_each gives the others no element. */
PKB_KERNEL(divergent_barrier_0, 32, 1, 2, 1) {
  pkb::for_each<1>(1, [&](int64_t) { return pkb::splat<uint64_t, 2>(0); }, [&](int64_t, const auto &) { pkb::block_barrier<1>(args); });
}

/* Writes past the end of the peer's region. */
PKB_KERNEL(past_the_end_0, 32, 1, 2, 1) {
  char *end = pkb::region(args, 1 - pkb::rank(args), REGION_BYTES - 8);
  pkb::for_each<1>(1, [&](int64_t) { return pkb::splat<uint64_t, 2>(0); }, [&](int64_t i, const auto &v) { pkb::store(end, i, 2, v); });
}

/* Two blocks write one output. */
PKB_KERNEL(two_writers_0, 32, 1, 2, 1) {
  pkb::for_each<1>(1, [&](int64_t) { return pkb::splat<uint64_t, 2>(uint64_t(pkb::block_index())); },
                   [&](int64_t i, const auto &v) { pkb::store(pkb::pointer(args, 0), i, 2, v); });
}

/* Waits for a signal that never comes; the host's abort word is the only way out. */
PKB_KERNEL(waits_for_ever_0, 32, 1, 2, 1) {
  pkb::wait<1>(args, 1 - pkb::rank(args), 0, 1);
  pkb::block_barrier<2>(args);
  pkb::for_each<1>(1, [&](int64_t) { return pkb::splat<uint64_t, 2>(5); },
                   [&](int64_t i, const auto &v) { pkb::store(pkb::pointer(args, 0), i, 2, v); });
}

/* Block b tells block b + 1: a grid that is not resident as a whole stops. */
PKB_KERNEL(needs_all_blocks_0, 32, 1, 2, 1) {
  const int64_t me = pkb::rank(args), block = pkb::block_index(), blocks = pkb::grid_blocks();
  if (block == 0)
    pkb::wait<1>(args, 1 - me, blocks - 1, 1);
  if (block == blocks - 1)
    pkb::signal<2>(args, 1 - me, block, 1);
}
