/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Litmus tests on two ranks. Pointer 0 takes what a rank has seen (u64). Cells lie in the staging area, 128 bytes apart. */
#include "pkb_rt/device.h"

namespace {
constexpr int kRanks = 2;
constexpr int64_t kData = 0, kFlag = 128;
PKB_DEVICE int64_t cell(int64_t at) { return pkb_stage_offset(kRanks) + at; }
PKB_DEVICE pkb::vec<uint64_t, 2> both(uint64_t value) { return pkb::splat<uint64_t, 2>(value); }
} // namespace

/* MP: rank 0 writes data and signals; rank 1 waits for the signal and reads the data. */
PKB_KERNEL(mp_0, 32, 1, 2, 1) {
  if (pkb::rank(args) == 0) {
    if (pkb::block_index() == 0) {
      pkb::for_each<1>(1, [&](int64_t) { return both(7); },
                       [&](int64_t i, const auto &v) { pkb::store_peer(pkb::region(args, 1, cell(kData)), i, v); });
      pkb::block_barrier<2>(args);
      pkb::signal<3>(args, 1, 0, 1);
    }
  } else {
    pkb::wait<4>(args, 0, 0, 1);
    pkb::block_barrier<5>(args);
    pkb::for_each<1>(1, [&](int64_t i) { return pkb::load_staged<uint64_t, 2>(pkb::region(args, 1, cell(kData)), i); },
                     [&](int64_t, const auto &v) { pkb::store(pkb::pointer(args, 0), 0, 2, v); });
  }
}

/* SB: each rank writes the other's cell, then reads its own. Both may read 0. */
PKB_KERNEL(sb_0, 32, 1, 2, 1) {
  const int64_t me = pkb::rank(args);
  pkb::for_each<1>(1, [&](int64_t) { return both(1); },
                   [&](int64_t i, const auto &v) { pkb::store_peer(pkb::region(args, 1 - me, cell(kFlag)), i, v); });
  pkb::for_each<1>(1, [&](int64_t i) { return pkb::load_staged<uint64_t, 2>(pkb::region(args, me, cell(kFlag)), i); },
                   [&](int64_t, const auto &v) { pkb::store(pkb::pointer(args, 0), 0, 2, v); });
}
