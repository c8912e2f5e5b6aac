// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Right programs run right: every mechanism, several world sizes, both modes, several seeds, calls back to back on changing inputs.
#include "Ranks.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace pkb_test;

namespace {

struct Case {
  const char *program, *kind;
  int64_t length;
  unsigned grid;
};
const Case kCases[] = {{"all_reduce_ldst", "all_reduce", 5003, 3},
                       {"all_reduce_ll", "all_reduce", 1003, 4},
                       {"all_gather_ldst", "all_gather", 2001, 3},
                       {"all_to_all_ldst", "all_to_all", 1501, 2}};

class Programs : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Programs, value_mode_is_right) {
  const auto [index, ranks] = GetParam();
  const Case &c = kCases[index];
  for (uint64_t seed : {1, 2, 3}) {
    Ranks group(ranks, std::string(c.program) + "_" + std::to_string(ranks), [&](pkb_emu_options &o) { o.seed = seed; });
    EXPECT_EQ(runCollective(group, c.kind, c.length, c.grid, 4), 0) << "seed " << seed << ": " << group.text();
    EXPECT_EQ(group.counts().proof, 0);
  }
}

TEST_P(Programs, proof_mode_finds_nothing) {
  const auto [index, ranks] = GetParam();
  const Case &c = kCases[index];
  for (uint64_t seed = 1; seed <= (ranks <= 4 ? 10u : 4u); ++seed) {
    Ranks group(ranks, std::string(c.program) + "_" + std::to_string(ranks), [&](pkb_emu_options &o) {
      o.seed = seed;
      o.mode = PKB_EMU_PROOF;
      o.proof_threads = seed % 3 == 0 ? 3 : 4;
    });
    EXPECT_EQ(runCollective(group, c.kind, c.length, c.grid, 4), 0) << "seed " << seed << ": " << group.text();
    EXPECT_EQ(group.finding(), PKB_EMU_OK) << group.text();
    EXPECT_GT(group.counts().races_checked, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::Combine(testing::Range(0, 4), testing::Values(1, 2, 3, 4, 5, 8)), [](const auto &info) {
  return std::string(kCases[std::get<0>(info.param)].program) + "_" + std::to_string(std::get<1>(info.param));
});

TEST(Program, more_blocks_than_chunks_is_right) {
  for (int mode : {PKB_EMU_VALUE, PKB_EMU_PROOF}) {
    Ranks group(4, "all_reduce_ldst_4", [&](pkb_emu_options &o) { o.mode = mode; });
    EXPECT_EQ(runCollective(group, "all_reduce", 5003, 48, 3), 0) << group.text();
  }
}

TEST(Program, deep_ring_is_right) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Ranks group(4, "all_reduce_deep_4", [&](pkb_emu_options &o) { o.mode = PKB_EMU_PROOF, o.seed = seed; });
    EXPECT_EQ(runCollective(group, "all_reduce", 3001, 2, 3), 0) << group.text();
  }
}

// A ring with fewer than 2 * DEPTH + 2 slots overwrites what a peer still reads.
TEST(Program, short_ring_is_a_race) {
  int races = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Ranks group(4, "all_reduce_short_ring_4", [&](pkb_emu_options &o) { o.mode = PKB_EMU_PROOF, o.seed = seed; });
    runCollective(group, "all_reduce", 3001, 2, 3);
    races += group.finding() == PKB_EMU_RACE;
  }
  EXPECT_EQ(races, 8);
}

TEST(Program, empty_call_still_meets_the_peers) {
  for (int mode : {PKB_EMU_VALUE, PKB_EMU_PROOF}) {
    Ranks group(3, "all_reduce_empty_3", [&](pkb_emu_options &o) { o.mode = mode; });
    EXPECT_EQ(runCollective(group, "all_reduce", 0, 2, 3), 0) << group.text();
    EXPECT_GT(group.counts().signals, 0u);
  }
}

TEST(Program, a_megabyte_on_eight_ranks_is_right) {
  Ranks group(8, "all_reduce_large_8");
  EXPECT_EQ(runCollective(group, "all_reduce", 1 << 20, 2, 1), 0) << group.text();
}

// The same launch, replayed with frozen arguments: epochs live in device memory.
TEST(Program, graph_replay_is_right) {
  for (int mode : {PKB_EMU_VALUE, PKB_EMU_PROOF}) {
    const int W = 3;
    const int64_t length = 5003;
    Ranks group(W, "all_reduce_ldst_3", [&](pkb_emu_options &o) { o.mode = mode; });
    std::vector<char *> input, output;
    std::vector<std::vector<char *>> fresh(3), kept(3);
    std::vector<pkb_cu_graph_exec> execs(W);
    for (int rank = 0; rank < W; ++rank) {
      input.push_back(group.memory(rank, length * 2));
      output.push_back(group.memory(rank, length * 2));
      pkb_cu_graph graph;
      ASSERT_EQ(group.driver->capture_begin(group.streams[rank]), 0);
      int capturing = 0;
      ASSERT_EQ(group.driver->stream_is_capturing(group.streams[rank], &capturing), 0);
      EXPECT_EQ(capturing, 1);
      ASSERT_EQ(group.launchOn(rank, "all_reduce_0", 3, {input[rank], output[rank]}), 0);
      ASSERT_EQ(group.driver->capture_end(group.streams[rank], &graph), 0);
      ASSERT_EQ(group.driver->graph_instantiate(&execs[rank], graph), 0);
      ASSERT_EQ(group.driver->graph_destroy(graph), 0);
      for (int call = 0; call < 3; ++call) {
        fresh[call].push_back(group.memory(rank, length * 2));
        kept[call].push_back(group.memory(rank, length * 2));
        for (int64_t k = 0; k < length; ++k)
          reinterpret_cast<uint16_t *>(fresh[call][rank])[k] = bf16Of(float(valueOf(rank, k, call)));
      }
    }
    EXPECT_EQ(group.counts().launches, 0u); // capturing runs nothing
    for (int call = 0; call < 3; ++call)
      for (int rank = 0; rank < W; ++rank) {
        group.on(rank);
        auto at = [](char *p) { return reinterpret_cast<pkb_cu_ptr>(p); };
        ASSERT_EQ(group.driver->memcpy_async(at(input[rank]), at(fresh[call][rank]), length * 2, group.streams[rank]), 0);
        ASSERT_EQ(group.driver->graph_launch(execs[rank], group.streams[rank]), 0);
        ASSERT_EQ(group.driver->memcpy_async(at(kept[call][rank]), at(output[rank]), length * 2, group.streams[rank]), 0);
        if (call == 1) { // an eager call between two replays
          ASSERT_EQ(group.launchOn(rank, "all_reduce_0", 3, {input[rank], output[rank]}), 0);
        }
      }
    ASSERT_EQ(group.synchronize(), 0) << group.text();
    EXPECT_EQ(group.counts().graph_launches, 9u);
    int64_t wrong = 0;
    for (int call = 0; call < 3; ++call)
      for (int rank = 0; rank < W; ++rank)
        for (int64_t k = 0; k < length; ++k) {
          int expected = 0;
          for (int source = 0; source < W; ++source)
            expected += valueOf(source, k, call);
          wrong += int(floatOf(reinterpret_cast<uint16_t *>(kept[call][rank])[k])) != expected;
        }
    EXPECT_EQ(wrong, 0);
  }
}

// A seed decides a run: the same one gives the same counts, another one others.
TEST(Program, a_seed_repeats_exactly) {
  auto run = [](uint64_t seed) {
    Ranks group(4, "all_reduce_ldst_4", [&](pkb_emu_options &o) { o.mode = PKB_EMU_PROOF, o.seed = seed; });
    EXPECT_EQ(runCollective(group, "all_reduce", 5003, 3, 2), 0);
    const pkb_emu_counts c = group.counts();
    return std::vector<uint64_t>{c.switches, c.polls, c.drains, c.races_checked};
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

// Memory given back and taken again, many times over: nothing of what the old owner did counts against the new one.
TEST(Program, freed_memory_is_forgotten) {
  Ranks group(2, "all_reduce_ll_2", [&](pkb_emu_options &o) { o.mode = PKB_EMU_PROOF; });
  for (int call = 0; call < 40; ++call) {
    std::vector<char *> in, out;
    for (int rank = 0; rank < 2; ++rank) {
      in.push_back(group.memory(rank, 2006));
      out.push_back(group.memory(rank, 2006));
    }
    group.launch("all_reduce_0", 2, [&](int rank) { return std::vector<char *>{in[rank], out[rank]}; });
    ASSERT_EQ(group.synchronize(), 0) << group.text();
    for (char *p : {in[0], in[1], out[0], out[1]})
      ASSERT_EQ(group.driver->mem_free(reinterpret_cast<pkb_cu_ptr>(p)), 0);
  }
}

TEST(Program, auto_mode_takes_proof_for_small_tensors_only) {
  for (int64_t bytes : {64, 4 << 20}) {
    Ranks group(1, "all_reduce_ldst_1", [&](pkb_emu_options &o) { o.mode = PKB_EMU_AUTO; });
    group.memory(0, size_t(bytes));
    EXPECT_EQ(runCollective(group, "all_reduce", 5003, 3, 2), 0) << group.text();
    EXPECT_EQ(group.counts().proof, bytes == 64);
  }
}

} // namespace
