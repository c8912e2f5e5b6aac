// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Litmus tests: which outcomes the memory model allows, over many seeds. A forbidden outcome must never come, an allowed weak one must.
#include "Ranks.h"

#include <gtest/gtest.h>
#include <set>

using namespace pkb_test;

namespace {

using Outcomes = std::set<std::pair<uint64_t, uint64_t>>; // what rank 0 and rank 1 have read

Outcomes outcomes(const char *kernel, int memoryModel, int site, int kind, int seeds = 200) {
  Outcomes all;
  for (int seed = 1; seed <= seeds; ++seed) {
    Ranks group(2, "litmus", [&](pkb_emu_options &o) {
      o.mode = PKB_EMU_PROOF;
      o.seed = uint64_t(seed);
      o.memory_model = memoryModel;
      o.races = 0; // what is looked for here is the value
      o.mutant_site = site;
      o.mutant_kind = kind;
      o.proof_threads = 2;
    });
    std::vector<uint64_t *> seen;
    for (int rank = 0; rank < 2; ++rank) {
      seen.push_back(reinterpret_cast<uint64_t *>(group.memory(rank, 16)));
      *seen[rank] = 99;
      const auto stage = reinterpret_cast<pkb_cu_ptr>(group.regions[rank][rank] + pkb_stage_offset(2));
      EXPECT_EQ(group.driver->memset_d8_async(stage, 0, 4096, group.streams[rank]), 0);
    }
    EXPECT_EQ(group.synchronize(), 0);
    pkb_emu_hold(group.emu);
    group.launch(kernel, 1, [&](int rank) { return std::vector<char *>{reinterpret_cast<char *>(seen[rank])}; });
    pkb_emu_release(group.emu);
    EXPECT_EQ(group.synchronize(), 0) << group.text();
    all.insert({*seen[0], *seen[1]});
  }
  return all;
}

// Message passing: release and acquire at sys scope with barriers on both sides forbid the stale read.
TEST(Litmus, mp_with_release_and_acquire_never_reads_stale_data) { EXPECT_EQ(outcomes("mp_0", 1, -1, 0), (Outcomes{{99, 7}})); }

TEST(Litmus, mp_with_relaxed_signal_reads_stale_data_on_some_seeds) {
  EXPECT_EQ(outcomes("mp_0", 1, 3, PKB_MUTANT_RELAX), (Outcomes{{99, 0}, {99, 7}}));
}

TEST(Litmus, mp_with_gpu_scope_signal_reads_stale_data_or_sees_it_at_the_end) {
  const Outcomes seen = outcomes("mp_0", 1, 3, PKB_MUTANT_NARROW);
  EXPECT_TRUE(seen.count({99, 7}));
}

TEST(Litmus, mp_without_the_writers_barrier_reads_stale_data_on_some_seeds) {
  EXPECT_TRUE(outcomes("mp_0", 1, 2, PKB_MUTANT_DROP).count({99, 0}));
}

// With stores visible at once, MP is right even when the signal is relaxed: the store buffers make the difference, not the schedule.
TEST(Litmus, mp_relaxed_is_right_without_store_buffers) { EXPECT_EQ(outcomes("mp_0", 0, 3, PKB_MUTANT_RELAX), (Outcomes{{99, 7}})); }

// Store buffering: both may read 0; without buffers at least one reads 1.
TEST(Litmus, sb_allows_both_to_read_zero) {
  const Outcomes seen = outcomes("sb_0", 1, -1, 0);
  EXPECT_TRUE(seen.count({0, 0}));
  EXPECT_TRUE(seen.count({0, 1}) || seen.count({1, 0}));
}
TEST(Litmus, sb_without_store_buffers_is_sequential) {
  const Outcomes seen = outcomes("sb_0", 0, -1, 0);
  EXPECT_FALSE(seen.count({0, 0}));
  EXPECT_TRUE(seen.count({1, 0}) && seen.count({0, 1}));
}

} // namespace
