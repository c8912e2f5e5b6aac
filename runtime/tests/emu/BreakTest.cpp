// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Breaking a right program: each of these must be caught, and by the check that is named. The program is compiled once; the mutant sits at a site.
#include "Ranks.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace pkb_test;

namespace {

// Sites of all_reduce_ldst.cu and of all_reduce_ll.cu.
enum Ldst { kBegin = 1, kPushed = 2, kSignal = 3, kWait = 4, kReady = 5, kEnd = 6 };
enum Ll { kLlBegin = 1, kLlStore = 2, kLlLoad = 3, kLlEnd = 4 };

struct Outcome {
  std::map<int, int> findings; // how often each
  int wrongValues = 0;
  std::string text; // of the last finding
};

Outcome breakIt(const std::string &program, int ranks, int64_t length, int site, int kind, int seeds = 6, bool races = true,
                int mode = PKB_EMU_PROOF, int device = -1) {
  Outcome outcome;
  for (int seed = 1; seed <= seeds; ++seed) {
    Ranks group(ranks, program, [&](pkb_emu_options &o) {
      o.mode = mode;
      o.seed = uint64_t(seed);
      o.races = races;
      o.mutant_site = site;
      o.mutant_kind = kind;
      o.mutant_device = device;
      o.idle_s = 0.05;
    });
    const int64_t wrong = runCollective(group, "all_reduce", length, 3, 5);
    ++outcome.findings[group.finding()];
    outcome.wrongValues += wrong > 0;
    if (group.finding() != PKB_EMU_OK)
      outcome.text = group.text();
  }
  return outcome;
}

TEST(Break, missing_wait_is_a_race) {
  const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, kWait, PKB_MUTANT_DROP);
  EXPECT_EQ(outcome.findings.count(PKB_EMU_OK), 0u);
  EXPECT_EQ(outcome.findings.count(PKB_EMU_DEADLOCK), 0u);
  EXPECT_NE(outcome.text.find("load_staged"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("region of device"), std::string::npos) << outcome.text;
}

// Without clocks the values alone show it, too.
TEST(Break, missing_wait_gives_wrong_values) {
  const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, kWait, PKB_MUTANT_DROP, 6, false);
  EXPECT_EQ(outcome.findings.at(PKB_EMU_OK), 6);
  EXPECT_EQ(outcome.wrongValues, 6);
}

TEST(Break, missing_signal_is_a_deadlock) {
  for (int mode : {PKB_EMU_PROOF, PKB_EMU_VALUE}) {
    const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, kSignal, PKB_MUTANT_DROP, 3, true, mode);
    EXPECT_EQ(outcome.findings.at(PKB_EMU_DEADLOCK), 3);
    EXPECT_NE(outcome.text.find("kernel all_reduce_0"), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("site 4, for flag (source "), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("expected 1:1, seen 0:0"), std::string::npos) << outcome.text;
  }
}

TEST(Break, missing_signal_of_one_rank_names_it) {
  const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, kSignal, PKB_MUTANT_DROP, 1, true, PKB_EMU_PROOF, 2);
  EXPECT_EQ(outcome.findings.at(PKB_EMU_DEADLOCK), 1);
  // The others wait for rank 2, and rank 2 some chunks later for them.
  EXPECT_NE(outcome.text.find("rank 0 waits, site 4, for flag (source 2, block "), std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.text.find("rank 0 waits, site 4, for flag (source 1, block "), std::string::npos) << outcome.text;
}

// All calls use one half of the staging: a fast rank overwrites what a slow one still reads.
TEST(Break, wrong_parity_is_a_race) {
  const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, kBegin, PKB_MUTANT_PARITY);
  EXPECT_EQ(outcome.findings.at(PKB_EMU_RACE), 6);
  EXPECT_NE(outcome.text.find("store_peer"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("is not ordered after the read"), std::string::npos) << outcome.text;
}

TEST(Break, wrong_peer_is_a_deadlock) {
  for (int site : {int(kSignal), int(kWait)}) {
    const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, site, PKB_MUTANT_PEER, 3);
    EXPECT_EQ(outcome.findings.at(PKB_EMU_DEADLOCK), 3) << "site " << site;
  }
}

// Weaker than right: only the memory model and the clocks can tell.
TEST(Break, weakened_ordering_is_a_race) {
  for (int site : {int(kPushed), int(kSignal), int(kWait), int(kReady)}) {
    const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, site, PKB_MUTANT_RELAX);
    EXPECT_EQ(outcome.findings.at(PKB_EMU_RACE), 6) << "site " << site;
  }
}

TEST(Break, relaxed_signal_gives_stale_values) {
  const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, kSignal, PKB_MUTANT_RELAX, 8, false);
  EXPECT_GT(outcome.wrongValues, 0);
}

TEST(Break, narrow_scope_is_a_race) {
  for (int site : {int(kSignal), int(kWait)}) {
    const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, site, PKB_MUTANT_NARROW);
    EXPECT_EQ(outcome.findings.at(PKB_EMU_RACE), 6) << "site " << site;
  }
}

TEST(Break, missing_barrier_is_a_race) {
  for (int site : {int(kPushed), int(kReady)}) {
    const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, site, PKB_MUTANT_DROP);
    EXPECT_EQ(outcome.findings.count(PKB_EMU_OK), 0u) << "site " << site;
  }
}

TEST(Break, signal_off_by_one_is_caught) {
  for (int site : {int(kSignal), int(kWait)}) {
    const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, site, PKB_MUTANT_VALUE);
    EXPECT_EQ(outcome.findings.count(PKB_EMU_OK), 0u) << "site " << site;
  }
}

TEST(Break, epoch_never_bumped_is_caught) {
  const Outcome outcome = breakIt("all_reduce_ldst_4", 4, 5003, kEnd, PKB_MUTANT_DROP);
  EXPECT_EQ(outcome.findings.count(PKB_EMU_OK), 0u);
}

// The bump of a block's epoch cell must come after the reading of it by all threads. (In the ldst program other barriers see to that as well.)
TEST(Break, relaxed_epoch_end_is_a_race) {
  const Outcome outcome = breakIt("all_reduce_ll_3", 3, 1003, kLlEnd, PKB_MUTANT_RELAX);
  EXPECT_EQ(outcome.findings.at(PKB_EMU_RACE), 6);
  EXPECT_NE(outcome.text.find("epoch_begin"), std::string::npos) << outcome.text;
}

TEST(Break, ll_lines) {
  EXPECT_EQ(breakIt("all_reduce_ll_3", 3, 1003, kLlStore, PKB_MUTANT_DROP, 3).findings.at(PKB_EMU_DEADLOCK), 3);
  EXPECT_GT(breakIt("all_reduce_ll_3", 3, 1003, kLlLoad, PKB_MUTANT_DROP, 6, false).wrongValues, 0);
  EXPECT_EQ(breakIt("all_reduce_ll_3", 3, 1003, kLlLoad, PKB_MUTANT_DROP).findings.count(PKB_EMU_OK), 0u);
  EXPECT_EQ(breakIt("all_reduce_ll_3", 3, 1003, kLlStore, PKB_MUTANT_VALUE, 3).findings.at(PKB_EMU_DEADLOCK), 3);
  EXPECT_EQ(breakIt("all_reduce_ll_3", 3, 1003, kLlLoad, PKB_MUTANT_NARROW, 3).findings.at(PKB_EMU_RACE), 3);
  EXPECT_EQ(breakIt("all_reduce_ll_3", 3, 1003, kLlStore, PKB_MUTANT_NARROW, 3).findings.at(PKB_EMU_RACE), 3);
  const Outcome parity = breakIt("all_reduce_ll_3", 3, 1003, kLlBegin, PKB_MUTANT_PARITY, 12);
  EXPECT_EQ(parity.findings.count(PKB_EMU_OK), 0u) << "one LL half for all calls must be found";
}

} // namespace
