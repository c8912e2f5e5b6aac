/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * all_reduce sum of LENGTH bf16 through LL lines: no barrier, no flag. RANKS and LENGTH come from the build. */
#include "pkb_rt/device.h"

PKB_KERNEL(all_reduce_0, 512, 1, RANKS, 2) {
  const uint64_t epoch = pkb::epoch(pkb::epoch_begin<1>(args));
  const int64_t parity = int64_t(epoch & 1);
  const int64_t me = pkb::rank(args);
  const int64_t block = pkb::block_index();
  const int64_t blocks = pkb::grid_blocks();
  const char *src = pkb::pointer(args, 0);
  char *dst = pkb::pointer(args, 1);
  /* At least one line, so that each rank hears of every peer in each call. */
  const int64_t vectors = LENGTH > 0 ? (int64_t(LENGTH) + 7) / 8 : 1;
  const int64_t per = (vectors + blocks - 1) / blocks;
  const int64_t first = block * per < vectors ? block * per : vectors;
  const int64_t n = vectors - first < per ? vectors - first : per;
  for (int64_t hop = 1; hop < RANKS; ++hop) {
    char *to = pkb::region(args, (me + hop) % RANKS, pkb::ll_slot(args, parity, me));
    pkb::for_each<2>(n, [&](int64_t i) { return pkb::load<pkb::bf16, 8>(src, first + i, LENGTH); },
                     [&](int64_t i, const auto &v) { pkb::store_ll<2>(to, first + i, v, epoch); });
  }
  pkb::for_each<1>(
      n,
      [&](int64_t i) {
        pkb::vec<float, 8> acc = pkb::splat<float, 8>(0.0f);
        for (int64_t source = 0; source < RANKS; ++source) {
          const char *lines = pkb::region(args, me, pkb::ll_slot(args, parity, source));
          acc = acc + (source == me ? pkb::convert<float>(pkb::load<pkb::bf16, 8>(src, first + i, LENGTH))
                                    : pkb::convert<float>(pkb::load_ll<pkb::bf16, 8, 3>(args, lines, first + i, epoch)));
        }
        return pkb::convert<pkb::bf16>(acc);
      },
      [&](int64_t i, const auto &v) { pkb::store(dst, first + i, LENGTH, v); });
  pkb::epoch_end<4>(args, epoch);
}
