// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When memory of a call may be used again: in the order of the call's stream, as with any operator of torch. An allocator that hands a freed tensor's
// memory to the next one on the same stream does right; one that hands it to another stream needs an event behind the call, which is what record_stream
// makes of it.
#include "HostTest.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace pkb_test;

namespace {

/// Where the next owner of a freed tensor's memory writes it.
enum class Next { SameStream, OtherStream, OtherStreamBehindEvent };

/// One rank: a call on a stream, then what the next owner of its input's memory does at once. `right`: its sums are.
void callAndWrite(const Machine &machine, const std::string &file, const std::string &meet, int rank, Next next, std::atomic<int> &ready, bool &right) {
  const pkb_driver *driver = machine.driver();
  Rank r(machine, meet, rank, 2);
  ASSERT_EQ(r.status, PKB_OK) << r.error;
  pkb_program *program = nullptr;
  ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &program), PKB_OK) << pkb_last_error();
  pkb_cu_stream stream = nullptr, other = nullptr;
  pkb_cu_event event = nullptr;
  ASSERT_EQ(driver->stream_create(&stream, 1), 0);
  ASSERT_EQ(driver->stream_create(&other, 1), 0);
  ASSERT_EQ(driver->event_create(&event, 0), 0);
  {
    Floats in(driver, 64), out(driver, 64);
    for (size_t i = 0; i < in.count; ++i) {
      in.data()[i] = float(rank + 1) * float(i);
    }
    pkb_tensor input = in.tensor(), output = out.tensor();
    ++ready; // what the ranks need is made before anything can go wrong
    for (int ms = 0; ready < 2 && ms < 30000; ++ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    // Where the other rank's mistake is found first, nothing runs any more.
    pkb_status status = pkb_program_call(program, stream, &input, 1, &output, 1);
    EXPECT_TRUE(status == PKB_OK || next == Next::OtherStream) << pkb_last_error();
    if (next == Next::OtherStreamBehindEvent) {
      EXPECT_EQ(driver->event_record(event, stream), 0);
      EXPECT_EQ(driver->stream_wait_event(other, event), 0);
    }
    driver->memset_d8_async(in.pointer, 0xff, in.count * sizeof(float), next == Next::SameStream ? stream : other);
    driver->stream_synchronize(stream);
    driver->stream_synchronize(other);
    right = true;
    for (size_t i = 0; i < out.count; ++i) {
      right &= out.data()[i] == 3 * float(i);
    }
  }
  driver->event_destroy(event);
  driver->stream_destroy(stream);
  driver->stream_destroy(other);
  pkb_program_unload(program);
}

/// What the emulator finds on two ranks. `right`: all sums are.
int finding(Next next, uint64_t seed, bool &right) {
  TempDir dir;
  Machine machine(2, [&](pkb_emu_options &options) {
    options.mode = PKB_EMU_PROOF;
    options.seed = seed;
    options.idle_s = 60;
    options.report = [](void *, int, const char *) {};
  });
  AllReduce program;
  program.length = 64;
  program.blocks = 1;
  std::string file = dir.write("p.cu", program.text()), meet = dir.make("meet");
  bool rights[2] = {};
  std::atomic<int> ready{0};
  onRanks(2, [&](int rank) { callAndWrite(machine, file, meet, rank, next, ready, rights[rank]); });
  right = rights[0] && rights[1];
  const char *text = "";
  return pkb_emu_result(machine.emu, &text);
}

constexpr uint64_t kSeeds = 4;

} // namespace

TEST(Memory, of_an_input_may_be_written_again_on_the_stream_of_the_call) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    bool right = false;
    EXPECT_EQ(finding(Next::SameStream, seed, right), PKB_EMU_OK);
    EXPECT_TRUE(right);
  }
}

TEST(Memory, that_another_stream_gets_needs_an_event_behind_the_call) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    bool right = false;
    EXPECT_EQ(finding(Next::OtherStreamBehindEvent, seed, right), PKB_EMU_OK);
    EXPECT_TRUE(right);
    EXPECT_EQ(finding(Next::OtherStream, seed, right), PKB_EMU_RACE);
  }
}
