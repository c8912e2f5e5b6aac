// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What goes wrong on a machine, rather than in an order: unwritten memory, bounds, barriers, residency, lost devices, the abort word.
#include "Ranks.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace pkb_test;

namespace {

struct Ended {
  int result, finding;
  std::string text;
};

Ended run(const char *kernel, unsigned grid, const std::function<void(pkb_emu_options &)> &change = {}) {
  Ranks group(2, "faults", [&](pkb_emu_options &o) {
    o.mode = PKB_EMU_PROOF;
    o.idle_s = 0.05;
    if (change)
      change(o);
  });
  std::vector<char *> memory{group.memory(0, 16), group.memory(1, 16)};
  group.launch(kernel, grid, [&](int rank) { return std::vector<char *>{memory[rank]}; });
  const int result = group.synchronize();
  // Sticky: what is asked for from now on fails as well, and nothing hangs.
  if (result != 0) {
    EXPECT_EQ(group.launchOn(0, kernel, 1, {memory[0]}), 719);
  }
  return {result, group.finding(), group.text()};
}

TEST(Fault, unwritten_staging_is_reported) {
  const Ended r = run("reads_unwritten_0", 1);
  EXPECT_EQ(r.result, 719);
  EXPECT_EQ(r.finding, PKB_EMU_UNINITIALISED);
  EXPECT_NE(r.text.find("which nobody has written"), std::string::npos) << r.text;
}

TEST(Fault, divergent_barrier_is_reported) {
  const Ended r = run("divergent_barrier_0", 1);
  EXPECT_EQ(r.finding, PKB_EMU_BARRIER);
  EXPECT_NE(r.text.find("barrier divergence: device "), std::string::npos) << r.text;
}

TEST(Fault, write_past_the_end_is_reported) {
  const Ended r = run("past_the_end_0", 1);
  EXPECT_EQ(r.finding, PKB_EMU_BOUNDS);
  EXPECT_NE(r.text.find("out of bounds: write of"), std::string::npos) << r.text;
}

TEST(Fault, two_writers_of_one_output_are_reported) {
  const Ended one = run("two_writers_0", 1);
  EXPECT_EQ(one.result, 0) << one.text;
  const Ended r = run("two_writers_0", 2);
  EXPECT_EQ(r.finding, PKB_EMU_RACE);
  EXPECT_NE(r.text.find("memory of device"), std::string::npos) << r.text;
}

// A grid that waits for its own last block needs all its blocks resident.
TEST(Fault, a_grid_that_is_not_resident_deadlocks) {
  for (int mode : {PKB_EMU_PROOF, PKB_EMU_VALUE}) {
    auto with = [&](int sms, int blocksPerSm) {
      return [=](pkb_emu_options &o) { o.sms = sms, o.blocks_per_sm = blocksPerSm, o.mode = mode; };
    };
    const Ended fits = run("needs_all_blocks_0", 6, with(3, 2));
    EXPECT_EQ(fits.result, 0) << fits.text;
    const Ended r = run("needs_all_blocks_0", 7, with(1, 1));
    EXPECT_EQ(r.result, 719);
    EXPECT_EQ(r.finding, PKB_EMU_DEADLOCK);
    EXPECT_NE(r.text.find("6 of 7 blocks cannot start, 1 are resident at once"), std::string::npos) << r.text;
  }
}

TEST(Fault, deadlock_waits_for_the_host) {
  // Rank 1's launch comes late, but within the idle time: no deadlock.
  Ranks group(2, "faults", [](pkb_emu_options &o) { o.idle_s = 2; });
  std::vector<char *> memory{group.memory(0, 16), group.memory(1, 16)};
  ASSERT_EQ(group.launchOn(0, "needs_all_blocks_0", 2, {memory[0]}), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(group.driver->stream_query(group.streams[0]), 600);
  ASSERT_EQ(group.launchOn(1, "needs_all_blocks_0", 2, {memory[1]}), 0);
  EXPECT_EQ(group.synchronize(), 0) << group.text();
}

TEST(Fault, the_abort_word_ends_a_spin) {
  for (int mode : {PKB_EMU_PROOF, PKB_EMU_VALUE}) {
    Ranks group(2, "faults", [&](pkb_emu_options &o) { o.mode = mode, o.idle_s = 30; });
    std::vector<char *> memory{group.memory(0, 16), group.memory(1, 16)};
    void *word;
    ASSERT_EQ(group.driver->mem_host_alloc(&word, 4, 0), 0);
    auto *abort = static_cast<volatile uint32_t *>(word);
    *abort = 0;
    group.launch("waits_for_ever_0", 1, [&](int rank) { return std::vector<char *>{memory[rank]}; }, abort);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(group.driver->stream_query(group.streams[0]), 600);
    *abort = 1;
    EXPECT_EQ(group.synchronize(), 0) << group.text();
    EXPECT_EQ(*reinterpret_cast<uint64_t *>(memory[0]), 5u); // the kernel ran on to its end
    EXPECT_EQ(group.finding(), PKB_EMU_OK);
  }
}

TEST(Fault, a_killed_device_fails_and_its_peers_wait) {
  Ranks group(2, "faults", [&](pkb_emu_options &o) { o.idle_s = 0.1; });
  std::vector<char *> memory{group.memory(0, 16), group.memory(1, 16)};
  group.launch("waits_for_ever_0", 1, [&](int rank) { return std::vector<char *>{memory[rank]}; });
  pkb_emu_kill_device(group.emu, 1);
  group.on(1);
  EXPECT_EQ(group.driver->stream_synchronize(group.streams[1]), 46);
  pkb_cu_ptr unused;
  EXPECT_EQ(group.driver->mem_alloc(&unused, 16), 46);
  group.on(0);
  EXPECT_EQ(group.driver->stream_synchronize(group.streams[0]), 719);
  EXPECT_EQ(group.finding(), PKB_EMU_DEADLOCK);
  EXPECT_NE(group.text().find("rank 0 waits, site 1, for flag (source 1, block 0)"), std::string::npos) << group.text();
  EXPECT_EQ(group.text().find("rank 1 waits"), std::string::npos) << group.text();
}

TEST(Fault, destroying_with_work_in_flight_does_not_hang) {
  Ranks group(2, "faults", [&](pkb_emu_options &o) { o.idle_s = 100; });
  std::vector<char *> memory{group.memory(0, 16), group.memory(1, 16)};
  group.launch("waits_for_ever_0", 4, [&](int rank) { return std::vector<char *>{memory[rank]}; });
}

TEST(Fault, bad_options_are_refused_with_a_reason) {
  auto why = [](const std::function<void(pkb_emu_options &)> &change) {
    pkb_emu_options options;
    pkb_emu_default_options(&options);
    change(options);
    const char *text = "";
    pkb_emu *emu = pkb_emu_create(&options, &text);
    EXPECT_EQ(emu, nullptr);
    pkb_emu_destroy(emu);
    return std::string(text);
  };
  EXPECT_EQ(why([](pkb_emu_options &o) { o.devices = 0; }), "the emulator has 1 to 64 devices");
  EXPECT_EQ(why([](pkb_emu_options &o) { o.devices = 65; }), "the emulator has 1 to 64 devices");
  EXPECT_EQ(why([](pkb_emu_options &o) { o.mode = 7; }), "the emulator's mode must be value, proof or auto");
  EXPECT_EQ(why([](pkb_emu_options &o) { o.idle_s = 0; }), "idle_s must be above 0");
  EXPECT_EQ(why([](pkb_emu_options &o) { o.proof_threads = 0; }), "proof_threads must be 1 to 1024");
  EXPECT_EQ(why([](pkb_emu_options &o) { o.sms = 0; }), "sms and blocks_per_sm must be at least 1");
  EXPECT_EQ(why([](pkb_emu_options &o) { o.mutant_kind = 99; }), "unknown kind of mutant");
  EXPECT_EQ(why([](pkb_emu_options &o) { o.struct_bytes = 8; }),
            "the emulator's options are of another version: start from pkb_emu_default_options");
}

TEST(Fault, too_many_emulators_are_refused) {
  pkb_emu_options options;
  pkb_emu_default_options(&options);
  std::vector<pkb_emu *> all;
  const char *why = "";
  for (int k = 0; k < PKB_EMU_MAX_INSTANCES; ++k)
    all.push_back(pkb_emu_create(&options, &why));
  EXPECT_NE(all.back(), nullptr);
  EXPECT_EQ(pkb_emu_create(&options, &why), nullptr);
  EXPECT_STREQ(why, "16 emulators exist in this process: destroy one first");
  for (pkb_emu *emu : all)
    pkb_emu_destroy(emu);
}

} // namespace
