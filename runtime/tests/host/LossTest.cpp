// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that die, leave or do not come while a call is in flight.
#include "HostTest.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace pkb_test;

namespace {

using Clock = std::chrono::steady_clock;

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << text

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Ranks with a loaded program and one right call behind them; then `body(rank, call)`, where call() enqueues one
/// more.
void afterOneCall(const Machine &machine, double timeout,
                  const std::function<void(int, Rank &, pkb_program *, const std::function<pkb_status()> &)> &body, int size = 2) {
  TempDir dir;
  AllReduce program;
  program.ranks = size;
  std::string file = dir.write("p.cu", program.text()), rendezvous = dir.make("meet");
  std::atomic<int> ready{0};
  onRanks(size, [&](int rank) {
    Floats *in = nullptr, *out = nullptr;
    {
      Rank r(machine, rendezvous, rank, size, timeout);
      ASSERT_EQ(r.status, PKB_OK) << r.error;
      pkb_program *loaded = nullptr;
      ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
      in = new Floats(machine.driver(), 1000);
      out = new Floats(machine.driver(), 1000);
      pkb_tensor input = in->tensor(), output = out->tensor();
      auto call = [&] { return pkb_program_call(loaded, nullptr, &input, 1, &output, 1); };
      ASSERT_EQ(call(), PKB_OK) << pkb_last_error();
      ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
      for (++ready; ready < size;) {
        std::this_thread::yield(); // nobody may break anything before both have seen the first call end
      }
      body(rank, r, loaded, call);
      pkb_program_unload(loaded);
    }
    delete in;
    delete out;
  });
}

} // namespace

TEST(Loss, a_peer_that_leaves_ends_the_call_within_seconds) {
  Machine machine(2, [](pkb_emu_options &options) { options.idle_s = 60; });
  afterOneCall(machine, 600, [&](int rank, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &call) {
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      pkb_context_abort(r.context, "ValueError: from the user's function");
      EXPECT_EQ(call(), PKB_ERROR_PEER_LOST);
      EXPECT_SAYS(pkb_last_error(), "rank 1 has left: ValueError: from the user's function");
      return;
    }
    auto begin = Clock::now();
    ASSERT_EQ(call(), PKB_OK) << pkb_last_error(); // waits for rank 1, which never calls
    EXPECT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_ERROR_PEER_LOST);
    EXPECT_SAYS(pkb_last_error(), "rank 1 has left: ValueError: from the user's function"); // its reason, not that it is gone
    EXPECT_LT(secondsSince(begin), 5);
    // From now on everything is refused, at once.
    EXPECT_EQ(call(), PKB_ERROR_PEER_LOST);
    pkb_program *again = nullptr;
    EXPECT_EQ(pkb_program_load(r.context, "/nonexistent.cu", nullptr, &again), PKB_ERROR_PEER_LOST);
  });
}

TEST(Loss, a_peer_that_does_not_call_ends_the_call_at_the_timeout) {
  Machine machine(2, [](pkb_emu_options &options) { options.idle_s = 60; });
  afterOneCall(machine, 1, [&](int rank, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &call) {
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(4)); // alive, but elsewhere
      return;
    }
    auto begin = Clock::now();
    ASSERT_EQ(call(), PKB_OK) << pkb_last_error();
    EXPECT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_ERROR_PEER_LOST);
    EXPECT_SAYS(pkb_last_error(), "rank 0: a call has not ended within 1 s (PKB_TIMEOUT_S): call 2 on its channel");
    EXPECT_SAYS(pkb_last_error(), "rank 1 has signalled call 1 chunk 1");
    // The spin that the abort word ended says where it was.
    EXPECT_SAYS(pkb_last_error(), "rank 0 waited in kernel all_reduce_0, wait of model.py:8 (site 4, block ");
    EXPECT_SAYS(pkb_last_error(), "for the flag of rank 1 of its group, expected call 2 chunk 1, seen call 1 chunk 1");
    EXPECT_GT(secondsSince(begin), 0.9);
    EXPECT_LT(secondsSince(begin), 4);
  });
}

TEST(Loss, a_call_that_one_rank_alone_refuses_is_an_error_on_all) {
  Machine machine(2, [](pkb_emu_options &options) { options.idle_s = 60; });
  afterOneCall(machine, 60, [&](int rank, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &call) {
    auto begin = Clock::now();
    if (rank == 1) {
      Floats in(machine.driver(), 999), out(machine.driver(), 1000);
      pkb_tensor input = in.tensor(), output = out.tensor();
      EXPECT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_ERROR_PEER_LOST);
      EXPECT_SAYS(
          pkb_last_error(),
          "rank 1 refused call 2, which not all ranks did: input 0 of 'all_reduce' must have sizes [1000], got: [999]");
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(300)); // the refusal is there before the call
      ASSERT_EQ(call(), PKB_OK) << pkb_last_error();
      EXPECT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_ERROR_PEER_LOST);
      EXPECT_SAYS(
          pkb_last_error(),
          "rank 1 refused call 2, which rank 0 accepted: input 0 of 'all_reduce' must have sizes [1000], got: [999]");
    }
    EXPECT_LT(secondsSince(begin), 5);
  });
}

/// Whoever of the others learns of it first, none waits for the time limit: not the rank that refuses either, which asks them one after the other.
TEST(Loss, one_of_four_ranks_that_refuses_is_told_at_once) {
  for (int refuser = 0; refuser < 4; ++refuser) {
    Machine machine(4, [](pkb_emu_options &options) { options.idle_s = 60; });
    afterOneCall(
        machine, 60,
        [&](int rank, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &call) {
          auto begin = Clock::now();
          if (rank == refuser) {
            EXPECT_EQ(pkb_program_refuse(loaded, "no tensor"), PKB_ERROR_PEER_LOST);
            EXPECT_SAYS(pkb_last_error(), "refused call 2, which not all ranks did: no tensor");
          } else {
            ASSERT_EQ(call(), PKB_OK) << pkb_last_error();
            EXPECT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_ERROR_PEER_LOST);
            EXPECT_SAYS(pkb_last_error(), "rank " + std::to_string(refuser) + " refused call 2, which ");
          }
          EXPECT_LT(secondsSince(begin), 20);
        },
        4);
  }
}

TEST(Loss, a_call_that_all_ranks_refuse_leaves_them_in_step) {
  Machine machine(2);
  afterOneCall(machine, 60, [&](int rank, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &call) {
    for (int round = 0; round < 5; ++round) {
      if (round % 2 == 0) {
        ASSERT_EQ(pkb_program_refuse(loaded, "not tensors"), PKB_ERROR_GUARD);
        EXPECT_STREQ(pkb_last_error(), "not tensors");
      } else { // refused in different ways, at different times
        std::this_thread::sleep_for(std::chrono::milliseconds(300 * rank));
        pkb_tensor input = {}, output = {};
        ASSERT_EQ(rank ? pkb_program_call(loaded, nullptr, &input, 1, &output, 1) : pkb_program_refuse(loaded, "x"),
                  PKB_ERROR_GUARD)
            << pkb_last_error();
      }
      ASSERT_EQ(call(), PKB_OK) << pkb_last_error();
    }
    ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
  });
}

TEST(Loss, a_long_reason_of_a_refusal_is_clipped) {
  Machine machine(2);
  afterOneCall(machine, 60, [&](int, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &call) {
    std::string reason = "begin";
    for (int i = 0; i < 50000; ++i) {
      reason += "\u00e9";
    }
    ASSERT_EQ(pkb_program_refuse(loaded, reason.c_str()), PKB_ERROR_GUARD) << pkb_last_error();
    std::string told = pkb_last_error();
    EXPECT_EQ(told.substr(0, 5), "begin");
    EXPECT_LT(told.size(), size_t(5000));
    EXPECT_SAYS(told, "\u00e9... (100005 bytes)");
    ASSERT_EQ(call(), PKB_OK) << pkb_last_error();
    ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
  });
}

TEST(Loss, a_tensor_on_another_device_is_refused_by_name) {
  Machine machine(2, [](pkb_emu_options &options) { options.idle_s = 60; });
  std::atomic<void *> memory[2] = {nullptr, nullptr};
  afterOneCall(machine, 60, [&](int rank, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &call) {
    Floats in(machine.driver(), 1000), out(machine.driver(), 1000);
    std::vector<float> onHost(1000);
    memory[rank] = in.data();
    while (!memory[1 - rank]) {
      std::this_thread::yield();
    }
    pkb_tensor input = in.tensor(), output = out.tensor();
    input.data = memory[1 - rank];
    EXPECT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_ERROR_ARGUMENT); // all ranks refuse it
    std::string own = std::to_string(rank), other = std::to_string(1 - rank);
    EXPECT_EQ(std::string(pkb_last_error()), "input 0 of 'all_reduce' must be on device " + own + " of rank " + own + ", got memory of device " + other);
    input.data = in.data();
    output.data = memory[1 - rank];
    EXPECT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_ERROR_ARGUMENT);
    EXPECT_SAYS(pkb_last_error(), "output 0 of 'all_reduce' must be on device ");
    input.data = onHost.data(); // what an emulated device may use
    output.data = out.data();
    EXPECT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    EXPECT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
    ASSERT_EQ(call(), PKB_OK) << pkb_last_error();
    EXPECT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
    memory[rank] = nullptr;
    while (memory[1 - rank]) { // freed by neither before both are done
      std::this_thread::yield();
    }
  });
}

TEST(Loss, a_slow_peer_is_waited_for) {
  Machine machine(2, [](pkb_emu_options &options) { options.idle_s = 60; });
  afterOneCall(machine, 3, [&](int rank, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &call) {
    for (int i = 0; i < 3; ++i) { // together longer than the timeout, each less
      if (rank == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1200));
      }
      ASSERT_EQ(call(), PKB_OK) << pkb_last_error();
      ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
    }
  });
}

TEST(Loss, a_replayed_graph_is_watched_too) {
  Machine machine(2, [](pkb_emu_options &options) { options.idle_s = 60; });
  afterOneCall(machine, 1, [&](int rank, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &) {
    const pkb_driver *driver = machine.driver();
    Floats in(driver, 1000), out(driver, 1000);
    pkb_tensor input = in.tensor(), output = out.tensor();
    pkb_cu_stream stream = nullptr;
    pkb_cu_graph graph = nullptr;
    pkb_cu_graph_exec exec = nullptr;
    ASSERT_EQ(driver->stream_create(&stream, 1), 0);
    ASSERT_EQ(driver->capture_begin(stream), 0);
    ASSERT_EQ(pkb_program_call(loaded, stream, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    ASSERT_EQ(driver->capture_end(stream, &graph), 0);
    ASSERT_EQ(driver->graph_instantiate(&exec, graph), 0);
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(3));
    } else {
      ASSERT_EQ(driver->graph_launch(exec, stream), 0);
      EXPECT_EQ(pkb_context_synchronize(r.context, stream), PKB_ERROR_PEER_LOST);
      EXPECT_SAYS(pkb_last_error(), "a call has not ended within 1 s");
    }
    driver->graph_exec_destroy(exec);
    driver->graph_destroy(graph);
    driver->stream_destroy(stream);
  });
}

TEST(Loss, a_device_that_dies_is_a_device_error) {
  Machine machine(2, [](pkb_emu_options &options) { options.idle_s = 60; });
  afterOneCall(machine, 20, [&](int rank, Rank &r, pkb_program *loaded, const std::function<pkb_status()> &call) {
    if (rank == 1) {
      pkb_emu_kill_device(machine.emu, 1);
      EXPECT_EQ(call(), PKB_ERROR_DEVICE);
      EXPECT_SAYS(pkb_last_error(), "launch of kernel 'all_reduce_0' (model.py:8) failed: ");
      EXPECT_EQ(call(), PKB_ERROR_PEER_LOST); // half a call ends the context
      return;
    }
    pkb_status status = call(); // it may know already
    EXPECT_EQ(status == PKB_OK ? pkb_context_synchronize(r.context, nullptr) : status, PKB_ERROR_PEER_LOST);
    EXPECT_SAYS(pkb_last_error(), "rank 1 has left: launch of kernel 'all_reduce_0' (model.py:8) failed: ");
  });
}
