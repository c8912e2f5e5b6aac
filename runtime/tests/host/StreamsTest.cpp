// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that first call programs on their streams in different orders: paired right, or an error on all.
#include "HostTest.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace pkb_test;

namespace {

/// One call: a program on a stream, by number.
struct First {
  int program, stream;
};
using Order = std::vector<First>;

constexpr int kStreams = 3, kPrograms = 3;

/// A rank's programs, streams and memory.
class Caller {
public:
  Caller(const Machine &machine, Rank &r, const std::vector<std::string> &files, int rank, int size) : driver(machine.driver()), r(r), rank(rank), size(size) {
    for (const std::string &file : files) {
      programs.emplace_back();
      EXPECT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &programs.back()), PKB_OK) << pkb_last_error();
    }
    for (pkb_cu_stream &stream : streams) {
      EXPECT_EQ(driver->stream_create(&stream, 1), 0);
    }
  }
  ~Caller() {
    for (pkb_program *program : programs) {
      pkb_program_unload(program);
    }
    for (pkb_cu_graph_exec graph : graphs) {
      driver->graph_exec_destroy(graph);
    }
    for (pkb_cu_stream stream : streams) {
      driver->stream_destroy(stream);
    }
  }

  /// Enqueues a call whose sum tells which program on which stream it was.
  pkb_status call(First first) {
    pkb_tensor shape;
    pkb_program_input(programs[size_t(first.program)], 0, &shape);
    memory.push_back({std::make_unique<Floats>(driver, size_t(shape.sizes[0])), std::make_unique<Floats>(driver, size_t(shape.sizes[0])), first});
    auto &[in, out, what] = memory.back();
    for (size_t i = 0; i < in->count; ++i) {
      in->data()[i] = float((rank + 1) * number(first, i));
      out->data()[i] = -1;
    }
    pkb_tensor input = in->tensor(), output = out->tensor();
    return pkb_program_call(programs[size_t(first.program)], streams[first.stream], &input, 1, &output, 1);
  }

  /// Captures a call and launches the graph.
  void capture(First first) {
    graphs.emplace_back();
    pkb_cu_graph graph = nullptr;
    ASSERT_EQ(driver->capture_begin(streams[first.stream]), 0);
    ASSERT_EQ(call(first), PKB_OK) << pkb_last_error();
    ASSERT_EQ(driver->capture_end(streams[first.stream], &graph), 0);
    ASSERT_EQ(driver->graph_instantiate(&graphs.back(), graph), 0);
    ASSERT_EQ(driver->graph_destroy(graph), 0);
    ASSERT_EQ(driver->graph_launch(graphs.back(), streams[first.stream]), 0);
  }

  /// Launches the last graph again.
  void replay() { ASSERT_EQ(driver->graph_launch(graphs.back(), streams[memory.back().what.stream]), 0); }

  /// All sums are right.
  void check() {
    for (pkb_cu_stream stream : streams) {
      ASSERT_EQ(pkb_context_synchronize(r.context, stream), PKB_OK) << pkb_last_error();
    }
    for (auto &[in, out, first] : memory) {
      for (size_t i = 0; i < out->count; ++i) {
        ASSERT_EQ(out->data()[i], float(size * (size + 1) / 2 * number(first, i))) << "program " << first.program << " on stream " << first.stream;
      }
    }
    memory.clear();
  }

  /// The rank's error: of a call, or of the next synchronize within seconds.
  std::string untilLost(const Order &order) {
    pkb_status status = PKB_OK;
    for (size_t i = 0; i < order.size() && status == PKB_OK; ++i) {
      status = call(order[i]);
    }
    for (int stream = 0; stream < kStreams && status == PKB_OK; ++stream) {
      status = pkb_context_synchronize(r.context, streams[stream]);
    }
    EXPECT_EQ(status, PKB_ERROR_PEER_LOST) << pkb_last_error();
    return pkb_last_error();
  }

  pkb_cu_stream streams[kStreams] = {};
  std::vector<pkb_program *> programs;

private:
  static int number(First first, size_t i) { return first.program * 100 + first.stream * 10 + int(i % 7); }
  struct Memory {
    std::unique_ptr<Floats> in, out;
    First what;
  };
  const pkb_driver *driver;
  Rank &r;
  int rank, size;
  std::vector<Memory> memory;
  std::vector<pkb_cu_graph_exec> graphs;
};

/// `body` on ranks with three programs 'p0', 'p1', 'p2', of sizes of their own, or of one.
void onCallers(int size, const std::function<void(int, Caller &)> &body, bool alike = false) {
  TempDir dir;
  Machine machine(size, [](pkb_emu_options &options) { options.idle_s = 60; });
  std::vector<std::string> files;
  for (int i = 0; i < kPrograms; ++i) {
    AllReduce program;
    program.ranks = size;
    program.name = "p" + std::to_string(i);
    program.length = 300 + (alike ? 0 : 100 * i);
    files.push_back(dir.write(program.name + ".cu", program.text()));
  }
  std::string meet = dir.make("meet");
  onRanks(size, [&](int rank) {
    Rank r(machine, meet, rank, size, 60);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    Caller caller(machine, r, files, rank, size);
    body(rank, caller);
  });
}

/// All ranks are told `part` within seconds.
void expectAllTold(int size, const std::function<Order(int)> &orderOf, const std::string &part, bool alike = false) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> told(static_cast<size_t>(size));
  onCallers(size, [&](int rank, Caller &caller) { told[size_t(rank)] = caller.untilLost(orderOf(rank)); }, alike);
  for (const std::string &text : told) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 30);
}

class Streams : public testing::TestWithParam<int> {};

} // namespace

TEST_P(Streams, of_different_programs_are_paired_in_any_order) {
  onCallers(GetParam(), [&](int rank, Caller &caller) {
    for (int i = 0; i < kStreams; ++i) { // the third one makes a channel with the other ranks
      int which = (i + rank) % kStreams;
      ASSERT_EQ(caller.call({which, which}), PKB_OK) << pkb_last_error();
    }
    ASSERT_NO_FATAL_FAILURE(caller.check());
    for (int call = 0; call < 30; ++call) { // and stay so, with other programs on them too
      for (int i = 0; i < kStreams; ++i) {
        int stream = (i + call * rank) % kStreams;
        ASSERT_EQ(caller.call({(stream + call) % (call < 10 ? 1 : kPrograms), stream}), PKB_OK) << pkb_last_error();
      }
      if (call < 10 + kPrograms) { // a first call has ended everywhere before the next round
        ASSERT_NO_FATAL_FAILURE(caller.check());
      }
    }
    ASSERT_NO_FATAL_FAILURE(caller.check());
  });
}

TEST_P(Streams, first_used_in_a_capture_are_paired_in_any_order) {
  onCallers(GetParam(), [&](int rank, Caller &caller) {
    for (int i = 0; i < 2; ++i) {
      int which = (i + rank) % 2;
      ASSERT_NO_FATAL_FAILURE(caller.capture({which, which}));
    }
    ASSERT_NO_FATAL_FAILURE(caller.check());
  });
}

TEST_P(Streams, one_stream_with_two_programs_in_another_order_is_an_error_on_all) {
  int last = GetParam() - 1;
  expectAllTold(GetParam(), [=](int rank) { return rank == last ? Order{{1, 0}, {0, 0}} : Order{{0, 0}, {1, 0}}; }, "makes its first call of 'p");
}

TEST_P(Streams, a_later_program_in_another_order_is_an_error_on_all) {
  int last = GetParam() - 1;
  expectAllTold(
      GetParam(), [=](int rank) { return rank == last ? Order{{0, 0}, {2, 0}, {1, 0}} : Order{{0, 0}, {1, 0}, {2, 0}}; },
      "on a stream that is stream 0 of ranks 0, 1");
}

TEST_P(Streams, a_program_on_two_streams_in_another_order_is_an_error_on_all) {
  int last = GetParam() - 1;
  expectAllTold(
      GetParam(), [=](int rank) { return rank == last ? Order{{0, 0}, {1, 1}, {2, 1}, {2, 0}} : Order{{0, 0}, {1, 1}, {2, 0}, {2, 1}}; },
      "makes its first call of 'p2' ");
}

/// Programs of one size, all called before: their kernels meet in any order, and only the order of the calls tells that they take each other's data.
TEST_P(Streams, known_programs_in_another_order_are_an_error_on_all) {
  int last = GetParam() - 1;
  auto orderOf = [=](int rank) {
    Order order;
    for (int i = 0; i < 300; ++i) {
      order.push_back({i % 2, 0});
    }
    order.push_back({rank == last ? 1 : 0, 0});
    order.push_back({rank == last ? 0 : 1, 0});
    return order;
  };
  expectAllTold(GetParam(), orderOf, "call 301 on stream", true);
}

TEST_P(Streams, a_call_that_one_rank_leaves_out_is_an_error_on_all) {
  int last = GetParam() - 1;
  auto orderOf = [=](int rank) { return rank == last ? Order{{0, 0}, {1, 0}, {1, 0}, {0, 0}} : Order{{0, 0}, {1, 0}, {0, 0}, {1, 0}, {0, 0}}; };
  expectAllTold(GetParam(), orderOf, "'s call 3 on stream", true);
}

/// A graph that is replayed stands for calls that are not counted.
TEST_P(Streams, one_rank_may_replay_what_the_others_call) {
  onCallers(GetParam(), [&](int rank, Caller &caller) {
    for (int round = 0; round < 3; ++round) {
      for (int program = 0; program < 2; ++program) {
        if (rank == 0) {
          ASSERT_NO_FATAL_FAILURE(caller.capture({program, 1}));
          ASSERT_NO_FATAL_FAILURE(caller.replay());
        } else {
          ASSERT_EQ(caller.call({program, 1}), PKB_OK) << pkb_last_error();
          ASSERT_EQ(caller.call({program, 1}), PKB_OK) << pkb_last_error();
        }
      }
      ASSERT_NO_FATAL_FAILURE(caller.check());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Streams, testing::Values(2, 3), [](const auto &info) { return std::to_string(info.param); });
