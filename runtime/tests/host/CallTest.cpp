// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of a loaded program through the C interface, on emulated ranks.
#include "HostTest.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace pkb_test;

namespace {

float valueOf(int rank, int call, size_t i) { return float((rank + 1) * 1000 + call * 37 + int(i % 101)); }

float sumOf(int size, int call, size_t i) {
  float sum = 0;
  for (int rank = 0; rank < size; ++rank) {
    sum += valueOf(rank, call, i);
  }
  return sum;
}

class Ranks : public testing::TestWithParam<int> {};

/// Loads the program and hands everything to `body(rank, context, program, driver)`; all of it must succeed.
void withProgram(int size, const AllReduce &program,
                 const std::function<void(int, pkb_context *, pkb_program *, const pkb_driver *)> &body) {
  TempDir dir;
  std::string file = dir.write("p.cu", program.text()), rendezvous = dir.make("meet");
  Machine machine(size);
  onRanks(size, [&](int rank) {
    Rank r(machine, rendezvous, rank, size);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *loaded = nullptr;
    ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
    body(rank, r.context, loaded, machine.driver());
    pkb_program_unload(loaded);
  });
}

} // namespace

TEST_P(Ranks, back_to_back_calls_sum_over_all_ranks) {
  int size = GetParam();
  AllReduce program;
  program.ranks = size;
  program.length = 1003;
  withProgram(size, program, [&](int rank, pkb_context *context, pkb_program *loaded, const pkb_driver *driver) {
    constexpr int kCalls = 7;
    std::vector<std::unique_ptr<Floats>> in, out;
    for (int call = 0; call < kCalls; ++call) {
      in.push_back(std::make_unique<Floats>(driver, 1003));
      out.push_back(std::make_unique<Floats>(driver, 1003));
      for (size_t i = 0; i < 1003; ++i) {
        in.back()->data()[i] = valueOf(rank, call, i);
        out.back()->data()[i] = NAN;
      }
    }
    for (int call = 0; call < kCalls; ++call) {
      pkb_tensor input = in[call]->tensor(), output = out[call]->tensor();
      ASSERT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    }
    ASSERT_EQ(pkb_context_synchronize(context, nullptr), PKB_OK) << pkb_last_error();
    for (int call = 0; call < kCalls; ++call) {
      for (size_t i = 0; i < 1003; ++i) {
        ASSERT_EQ(out[call]->data()[i], sumOf(size, call, i))
            << "rank " << rank << " call " << call << " element " << i;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Ranks, testing::Values(1, 2, 3, 4, 5, 8));

TEST(Call, other_streams_and_a_captured_graph_give_the_same_sums) {
  AllReduce program;
  withProgram(2, program, [&](int rank, pkb_context *context, pkb_program *loaded, const pkb_driver *driver) {
    Floats in(driver, 1000), out(driver, 1000);
    pkb_tensor input = in.tensor(), output = out.tensor();
    auto fill = [&](int call) {
      for (size_t i = 0; i < 1000; ++i) {
        in.data()[i] = valueOf(rank, call, i);
        out.data()[i] = NAN;
      }
    };
    auto matches = [&](int call) {
      for (size_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(out.data()[i], sumOf(2, call, i)) << "element " << i;
      }
    };
    fill(1);
    ASSERT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    ASSERT_EQ(pkb_context_synchronize(context, nullptr), PKB_OK) << pkb_last_error();
    matches(1);
    // The first call on this stream happens under capture: the spare channel makes that possible.
    pkb_cu_stream stream = nullptr;
    ASSERT_EQ(driver->stream_create(&stream, 1), 0);
    ASSERT_EQ(driver->capture_begin(stream), 0);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(pkb_program_call(loaded, stream, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    }
    pkb_cu_graph graph = nullptr;
    pkb_cu_graph_exec exec = nullptr;
    ASSERT_EQ(driver->capture_end(stream, &graph), 0);
    ASSERT_EQ(driver->graph_instantiate(&exec, graph), 0);
    for (int call = 2; call < 5; ++call) {
      fill(call);
      ASSERT_EQ(driver->graph_launch(exec, stream), 0);
      ASSERT_EQ(pkb_context_synchronize(context, stream), PKB_OK) << pkb_last_error();
      matches(call);
    }
    // A third stream: no channel is left, so capture refuses it in one line, and a plain call makes one.
    pkb_cu_stream third = nullptr;
    ASSERT_EQ(driver->stream_create(&third, 1), 0);
    ASSERT_EQ(driver->capture_begin(third), 0);
    EXPECT_EQ(pkb_program_call(loaded, third, &input, 1, &output, 1), PKB_ERROR_ARGUMENT);
    EXPECT_NE(std::string(pkb_last_error()).find("call the program once on this stream before the capture"),
              std::string::npos)
        << pkb_last_error();
    pkb_cu_graph empty = nullptr;
    driver->capture_end(third, &empty);
    fill(6);
    ASSERT_EQ(pkb_program_call(loaded, third, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    ASSERT_EQ(pkb_context_synchronize(context, third), PKB_OK) << pkb_last_error();
    matches(6);
    driver->graph_exec_destroy(exec);
    driver->graph_destroy(graph);
    driver->stream_destroy(stream);
    driver->stream_destroy(third);
  });
}

TEST(Call, tensors_outside_of_the_program_are_refused_with_both_values) {
  AllReduce program;
  withProgram(2, program, [&](int rank, pkb_context *context, pkb_program *loaded, const pkb_driver *driver) {
    Floats in(driver, 2000), out(driver, 2000);
    pkb_tensor good = in.tensor(), goodOut = out.tensor();
    good.sizes[0] = goodOut.sizes[0] = 1000;
    auto refused = [&](pkb_tensor input, pkb_tensor output, pkb_status status, const char *text) {
      EXPECT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), status);
      EXPECT_NE(std::string(pkb_last_error()).find(text), std::string::npos) << pkb_last_error();
    };
    pkb_tensor bad = good;
    bad.dtype = PKB_BF16;
    refused(bad, goodOut, PKB_ERROR_GUARD, "input 0 of 'all_reduce' must have dtype float32, got: bfloat16");
    bad = good;
    bad.sizes[0] = 999;
    refused(bad, goodOut, PKB_ERROR_GUARD, "must have sizes [1000], got: [999]");
    bad.ndim = 2;
    bad.sizes[0] = 1000;
    bad.sizes[1] = 1;
    refused(bad, goodOut, PKB_ERROR_GUARD, "must have sizes [1000], got: [1000, 1]");
    bad = good;
    bad.strides[0] = 2;
    refused(bad, goodOut, PKB_ERROR_GUARD, "must have strides [1], got: [2]");
    bad = good;
    bad.data = nullptr;
    refused(bad, goodOut, PKB_ERROR_ARGUMENT, "input 0 of 'all_reduce' has no memory");
    bad = good;
    bad.data = static_cast<char *>(bad.data) + 2;
    refused(bad, goodOut, PKB_ERROR_ARGUMENT, "must be aligned to its elements of 4 bytes");
    bad = goodOut;
    bad.sizes[0] = 1;
    refused(good, bad, PKB_ERROR_GUARD, "output 0 of 'all_reduce' must have sizes [1000], got: [1]");
    bad = goodOut;
    bad.data = in.data() + 500;
    refused(good, bad, PKB_ERROR_ARGUMENT, "output 0 of 'all_reduce' overlaps input 0");
    EXPECT_EQ(pkb_program_call(loaded, nullptr, &good, 1, nullptr, 0), PKB_ERROR_GUARD);
    EXPECT_NE(std::string(pkb_last_error()).find("takes 1 inputs and 1 outputs, got: 1 and 0"), std::string::npos)
        << pkb_last_error();
    // Nothing was launched by any of these: the next call is in step.
    for (size_t i = 0; i < 1000; ++i) {
      in.data()[i] = valueOf(rank, 0, i);
    }
    ASSERT_EQ(pkb_program_call(loaded, nullptr, &good, 1, &goodOut, 1), PKB_OK) << pkb_last_error();
    ASSERT_EQ(pkb_context_synchronize(context, nullptr), PKB_OK) << pkb_last_error();
    EXPECT_EQ(out.data()[999], sumOf(2, 0, 999));
  });
}

TEST(Call, memory_that_is_aligned_to_elements_only_is_accepted) {
  AllReduce program;
  program.length = 37;
  withProgram(2, program, [&](int rank, pkb_context *context, pkb_program *loaded, const pkb_driver *driver) {
    Floats in(driver, 40), out(driver, 40);
    for (size_t i = 0; i < 37; ++i) {
      in.data()[i + 1] = valueOf(rank, 3, i);
    }
    out.data()[2] = out.data()[40 - 1] = -7;
    pkb_tensor input = in.tensor(), output = out.tensor();
    input.sizes[0] = output.sizes[0] = 37;
    input.data = in.data() + 1;
    output.data = out.data() + 3 - 1;
    ASSERT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    ASSERT_EQ(pkb_context_synchronize(context, nullptr), PKB_OK) << pkb_last_error();
    for (size_t i = 0; i < 37; ++i) {
      ASSERT_EQ(out.data()[i + 2], sumOf(2, 3, i)) << "element " << i;
    }
    EXPECT_EQ(out.data()[39], -7);
  });
}

TEST(Call, an_output_that_is_an_argument_needs_no_memory) {
  AllReduce program;
  std::string text = program.text();
  // The kernel writes back into its argument, and the output is the second half of it.
  auto replace = [&](const std::string &from, const std::string &to) {
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("\"outputs\": [{\"slot\": 1, \"alias_of\": null, \"dtype\": \"float32\", \"sizes\": [1000]",
          "\"outputs\": [{\"slot\": 1, \"alias_of\": 0, \"dtype\": \"float32\", \"sizes\": [500]");
  replace("{\"id\": 1, \"kind\": \"output\", \"index\": 0, \"dtype\": \"float32\", \"sizes\": [1000]",
          "{\"id\": 1, \"kind\": \"view\", \"of\": 0, \"offset\": 500, \"dtype\": \"float32\", \"sizes\": [500]");
  replace("{\"slot\": 1, \"offset\": 0}", "{\"slot\": 0, \"offset\": 0}");
  TempDir dir;
  std::string file = dir.write("p.cu", text), rendezvous = dir.make("meet");
  Machine machine(2);
  onRanks(2, [&](int rank) {
    Rank r(machine, rendezvous, rank, 2);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *loaded = nullptr;
    ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
    pkb_tensor shape;
    int32_t alias = -2;
    ASSERT_EQ(pkb_program_output(loaded, 0, &shape, &alias), PKB_OK);
    EXPECT_EQ(alias, 0);
    EXPECT_EQ(shape.sizes[0], 500);
    Floats in(machine.driver(), 1000);
    for (size_t i = 0; i < 1000; ++i) {
      in.data()[i] = valueOf(rank, 0, i);
    }
    pkb_tensor input = in.tensor(), output = {};
    ASSERT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
    ASSERT_EQ(output.data, in.data() + 500);
    EXPECT_EQ(output.sizes[0], 500);
    for (size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(in.data()[i], sumOf(2, 0, i)) << "element " << i;
    }
    pkb_program_unload(loaded);
  });
}

namespace {
int launches = 0;
int countedLaunch(pkb_cu_function, unsigned, unsigned, unsigned, pkb_cu_stream, const void *, size_t) {
  return ++launches, 0;
}
} // namespace

/// Reports what the call path itself costs, with a driver whose launch does nothing.
TEST(Call, host_time_of_a_call) {
  TempDir dir;
  AllReduce program;
  program.ranks = 1;
  std::string file = dir.write("p.cu", program.text());
  Machine machine(1);
  pkb_driver table = *machine.driver();
  table.launch = countedLaunch;
  table.stream_is_capturing = [](pkb_cu_stream, int *capturing) { return *capturing = 0; };
  pkb_context_desc desc = {};
  desc.abi_version = PKB_ABI_VERSION;
  desc.world_size = 1;
  desc.driver = &table;
  desc.arena_bytes = 8 << 20;
  pkb_context *context = nullptr;
  ASSERT_EQ(pkb_context_create(&desc, &context), PKB_OK) << pkb_last_error();
  pkb_program *loaded = nullptr;
  ASSERT_EQ(pkb_program_load(context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
  Floats in(machine.driver(), 1000), out(machine.driver(), 1000);
  pkb_tensor input = in.tensor(), output = out.tensor();
  constexpr int kCalls = 200000;
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK);
  }
  double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / kCalls;
  EXPECT_EQ(launches, kCalls);
  RecordProperty("ns_per_call", std::to_string(ns));
  std::printf("call path over the driver's launch: %.0f ns\n", ns);
  pkb_context_abort(context, "the launches above did not run, so there is nothing to wait for");
  pkb_program_unload(loaded);
  pkb_context_destroy(context);
}
