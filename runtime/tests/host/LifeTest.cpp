// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts and programs over the life of a process: many at once, on several streams, made and dropped again and again.
#include "HostTest.h"

#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace pkb_test;

namespace {

/// A context on the emulator whose rank need not be its device.
pkb_context *makeContext(const Machine &machine, const std::string &meet, int rank, int device) {
  pkb_context_desc desc = {};
  desc.abi_version = PKB_ABI_VERSION;
  desc.rank = rank;
  desc.device = device;
  desc.world_size = 2;
  desc.driver = machine.driver();
  desc.rendezvous = meet.c_str();
  desc.arena_bytes = 32 << 20;
  desc.timeout_s = 60;
  pkb_context *context = nullptr;
  EXPECT_EQ(pkb_context_create(&desc, &context), PKB_OK) << pkb_last_error();
  return context;
}

/// Memory of one call of an all-reduce over two ranks, whose inputs depend on a number.
class Sum {
public:
  Sum(const pkb_driver *driver, size_t length) : in(driver, length), out(driver, length) {}

  void call(pkb_program *program, int rank, int number, pkb_cu_stream stream) {
    for (size_t i = 0; i < in.count; ++i) {
      in.data()[i] = float(rank * 5000 + number % 1000 + int(i % 7));
      out.data()[i] = -1;
    }
    pkb_tensor input = in.tensor(), output = out.tensor();
    ASSERT_EQ(pkb_program_call(program, stream, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
  }
  void check(int number) {
    for (size_t i = 0; i < in.count; ++i) {
      ASSERT_EQ(out.data()[i], float(5000 + 2 * (number % 1000 + int(i % 7)))) << "call " << number << " element " << i;
    }
  }

private:
  Floats in, out;
};

size_t residentBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * size_t(sysconf(_SC_PAGESIZE));
}

size_t openFiles() {
  size_t count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (readdir(folder)) {
    ++count;
  }
  closedir(folder);
  return count;
}

size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    ++count;
  }
  return count;
}

int numberFrom(const char *name, int fallback) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : fallback;
}

std::string artefactOf(const TempDir &dir, const AllReduce &program) {
  std::string text = program.text(), path = dir.path + "/" + program.name + ".pkx";
  setenv("PKB_NVCC", "none", 1);
  pkb_artefact_desc desc = {};
  desc.text = text.data();
  desc.text_bytes = text.size();
  EXPECT_EQ(pkb_artefact_write(&desc, path.c_str()), PKB_OK) << pkb_last_error();
  return path;
}

} // namespace

TEST(Life, two_streams_at_once_share_nothing) {
  TempDir dir;
  Machine machine(2);
  AllReduce small, large;
  small.name = "small";
  small.length = 40;
  large.name = "large";
  large.length = 3000;
  std::string smallPath = artefactOf(dir, small), largePath = artefactOf(dir, large), meet = dir.make("meet");
  const int calls = numberFrom("PKB_TEST_CALLS", 1000);
  onRanks(2, [&](int rank) {
    Rank r(machine, meet, rank, 2);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *programs[2] = {};
    ASSERT_EQ(pkb_program_load(r.context, smallPath.c_str(), nullptr, &programs[0]), PKB_OK) << pkb_last_error();
    ASSERT_EQ(pkb_program_load(r.context, largePath.c_str(), nullptr, &programs[1]), PKB_OK) << pkb_last_error();
    pkb_cu_stream streams[2] = {};
    constexpr int kDepth = 4; // calls in flight on each stream
    std::vector<std::unique_ptr<Sum>> sums[2];
    for (int s = 0; s < 2; ++s) {
      ASSERT_EQ(machine.driver()->stream_create(&streams[s], 1), 0);
      for (int i = 0; i < kDepth; ++i) {
        sums[s].push_back(std::make_unique<Sum>(machine.driver(), s ? 3000 : 40));
      }
    }
    for (int call = 0; call < calls; call += kDepth) {
      for (int i = 0; i < kDepth; ++i) {
        for (int s = 0; s < 2; ++s) { // after the first calls, the ranks enqueue in another order of streams
          int stream = rank && call > 0 ? 1 - s : s;
          ASSERT_NO_FATAL_FAILURE(sums[stream][size_t(i)]->call(programs[stream], rank, call + i, streams[stream]));
        }
      }
      for (int s = 0; s < 2; ++s) {
        ASSERT_EQ(pkb_context_synchronize(r.context, streams[s]), PKB_OK) << pkb_last_error();
        for (int i = 0; i < kDepth; ++i) {
          ASSERT_NO_FATAL_FAILURE(sums[s][size_t(i)]->check(call + i));
        }
      }
    }
    for (int s = 0; s < 2; ++s) {
      pkb_program_unload(programs[s]);
      machine.driver()->stream_destroy(streams[s]);
    }
  });
}

TEST(Life, several_groups_and_programs_live_in_one_process) {
  // Two contexts on each device, in which the devices have other ranks, and two programs in each: all calls are in flight together.
  TempDir dir;
  Machine machine(2);
  AllReduce one, two;
  two.name = "other";
  two.length = 500;
  std::string first = artefactOf(dir, one), second = artefactOf(dir, two), meets[2] = {dir.make("a"), dir.make("b")};
  onRanks(2, [&](int device) {
    pkb_context *contexts[2] = {makeContext(machine, meets[0], device, device), makeContext(machine, meets[1], 1 - device, device)};
    for (int round = 0; round < 3; ++round) {
      pkb_program *programs[2][2] = {};
      std::vector<std::unique_ptr<Sum>> sums;
      for (int c = 0; c < 2; ++c) {
        for (int p = 0; p < 2; ++p) {
          ASSERT_EQ(pkb_program_load(contexts[c], (p ? second : first).c_str(), nullptr, &programs[c][p]), PKB_OK) << pkb_last_error();
          sums.push_back(std::make_unique<Sum>(machine.driver(), p ? 500 : 1000));
          ASSERT_NO_FATAL_FAILURE(sums.back()->call(programs[c][p], c ? 1 - device : device, 10 * round + 2 * c + p, nullptr));
        }
      }
      for (int c = 0; c < 2; ++c) {
        ASSERT_EQ(pkb_context_synchronize(contexts[c], nullptr), PKB_OK) << pkb_last_error();
        for (int p = 0; p < 2; ++p) {
          ASSERT_NO_FATAL_FAILURE(sums[size_t(2 * c + p)]->check(10 * round + 2 * c + p));
          pkb_program_unload(programs[c][p]);
        }
      }
    }
    pkb_context_destroy(contexts[0]);
    pkb_context_destroy(contexts[1]);
  });
}

TEST(Life, contexts_can_be_made_again) {
  TempDir dir;
  Machine machine(2);
  std::string path = artefactOf(dir, {});
  for (int round = 0; round < 3; ++round) {
    std::string meet = dir.make("meet" + std::to_string(round));
    onRanks(2, [&](int rank) {
      pkb_context *context = makeContext(machine, meet, rank, rank);
      pkb_program *program = nullptr;
      ASSERT_EQ(pkb_program_load(context, path.c_str(), nullptr, &program), PKB_OK) << pkb_last_error();
      Sum sum(machine.driver(), 1000);
      // From a thread that has never seen the device, as a data loader's or an executor's may be.
      std::thread([&] {
        sum.call(program, rank, round, nullptr);
        EXPECT_EQ(pkb_context_synchronize(context, nullptr), PKB_OK) << pkb_last_error();
      }).join();
      sum.check(round);
      pkb_program_unload(program);
      pkb_context_destroy(context);
    });
  }
}

TEST(Life, loads_and_unloads_leave_nothing_behind) {
  TempDir dir;
  Machine machine(2);
  std::string path = artefactOf(dir, {}), meet = dir.make("meet");
  const int loads = numberFrom("PKB_TEST_LOADS", 300), warm = loads / 3;
  size_t bytes[2] = {}, files[2] = {}, maps[2] = {};
  onRanks(2, [&](int rank) {
    Rank r(machine, meet, rank, 2);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    Sum sum(machine.driver(), 1000);
    for (int i = 0; i < loads; ++i) {
      pkb_program *program = nullptr;
      ASSERT_EQ(pkb_program_load(r.context, path.c_str(), nullptr, &program), PKB_OK) << pkb_last_error();
      ASSERT_NO_FATAL_FAILURE(sum.call(program, rank, i, nullptr));
      ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
      ASSERT_NO_FATAL_FAILURE(sum.check(i));
      pkb_program_unload(program);
      if (rank == 0 && (i == warm || i == loads - 1)) {
        bytes[i != warm] = residentBytes();
        files[i != warm] = openFiles();
        maps[i != warm] = mappings();
      }
    }
  });
  std::printf("%d loads, calls and unloads on 2 ranks: resident %.1f MB after %d, %.1f MB after all; files %zu, %zu; mappings %zu, %zu\n", loads,
              double(bytes[0]) / 1e6, warm + 1, double(bytes[1]) / 1e6, files[0], files[1], maps[0], maps[1]);
  EXPECT_LE(bytes[1], bytes[0] + (1 << 20));
  EXPECT_LE(files[1], files[0] + 2); // the other rank may be in the middle of one
  EXPECT_LE(maps[1], maps[0] + 8);
}
