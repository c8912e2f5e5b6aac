// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that NCCL carries out, on the emulator's NCCL.
#include "HostTest.h"
#include "pkb_rt/nccl.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

using namespace pkb_test;

namespace {

constexpr int64_t kLength = 840; // a multiple of every number of ranks up to 8

float valueOf(int rank, int64_t i) { return float((rank + 1) * 100 + i % 97); }

/// A program of one library step on a tensor of floats. A call is "function", a count, and what else it has.
struct Library {
  int ranks;
  std::string reduce, calls, factors;

  std::string text() const {
    std::string row, shape = R"("dtype": "float32", "sizes": [)" + std::to_string(kLength) + R"(], "strides": [1])";
    for (int rank = 0; rank < ranks; ++rank) {
      row += (rank ? ", " : "") + std::to_string(rank);
    }
    return R"(/* pkb-manifest
{"schema": "pkb-manifest", "version": [1, 0], "name": "library", "world_size": )" + std::to_string(ranks) + R"(, "data": null,
 "groups": [{"id": 0, "partition": [[)" + row + R"(]]}], "arguments": [{)" + shape + R"(}],
 "outputs": [{"slot": 1, "alias_of": null, )" + shape + R"(}],
 "slots": [{"id": 0, "kind": "argument", "index": 0, )" + shape + R"(}, {"id": 1, "kind": "output", "index": 0, )" + shape + R"(}],
 "steps": [{"kind": "library", "library": "nccl", "group": 0, "dtype": "float32", "source": "model.py:8", )" +
           (reduce.empty() ? "" : "\"reduce\": \"" + reduce + "\", ") + (factors.empty() ? "" : "\"factors\": [" + factors + "], ") +
           "\"calls\": [" + calls + "]}],\n \"kernels\": [], \"sites\": [], \"guards\": []}\n*/\n";
  }
};

std::string call(const std::string &function, int64_t count, const std::string &more = "", int64_t from = 0, int64_t to = 0) {
  return "{\"function\": \"" + function + "\", \"count\": " + std::to_string(count) + ", \"from\": {\"slot\": 0, \"offset\": " + std::to_string(4 * from) +
         "}, \"to\": {\"slot\": 1, \"offset\": " + std::to_string(4 * to) + "}" + (more.empty() ? "" : ", " + more) + "}";
}

std::string message(int source, int dest, int64_t count, int64_t from, int64_t to) {
  return call("message", count, "\"source\": " + std::to_string(source) + ", \"dest\": " + std::to_string(dest), from, to);
}

/// Runs the program on all ranks, twice directly and twice as a graph, and gives every result element to `expected(rank, element)`; NaN: not written.
void expectResult(const Library &library, const std::function<float(int, int64_t)> &expected) {
  TempDir dir;
  std::string file = dir.write("p.cu", library.text()), rendezvous = dir.make("meet");
  Machine machine(library.ranks);
  onRanks(library.ranks, [&](int rank) {
    Rank r(machine, rendezvous, rank, library.ranks);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *loaded = nullptr;
    ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
    const pkb_driver *driver = machine.driver();
    Floats in(driver, kLength), out(driver, kLength);
    pkb_tensor input = in.tensor(), output = out.tensor();
    pkb_cu_stream stream = nullptr;
    ASSERT_EQ(driver->stream_create(&stream, 1), 0);
    pkb_cu_graph graph = nullptr;
    pkb_cu_graph_exec exec = nullptr;
    ASSERT_EQ(driver->capture_begin(stream), 0);
    ASSERT_EQ(pkb_program_call(loaded, stream, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    ASSERT_EQ(driver->capture_end(stream, &graph), 0);
    ASSERT_EQ(driver->graph_instantiate(&exec, graph), 0);
    for (int turn = 0; turn < 4; ++turn) {
      for (int64_t i = 0; i < kLength; ++i) {
        in.data()[i] = valueOf(rank, i) + float(turn);
        out.data()[i] = NAN;
      }
      if (turn % 2) {
        ASSERT_EQ(driver->graph_launch(exec, stream), 0);
      } else {
        ASSERT_EQ(pkb_program_call(loaded, stream, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
      }
      ASSERT_EQ(pkb_context_synchronize(r.context, stream), PKB_OK) << pkb_last_error();
      for (int64_t i = 0; turn == 0 && i < kLength; ++i) {
        float want = expected(rank, i);
        ASSERT_TRUE(std::isnan(want) ? std::isnan(out.data()[i]) : out.data()[i] == want)
            << "rank " << rank << " element " << i << ": " << out.data()[i] << ", expected " << want;
      }
      for (int64_t i = 0; turn > 0 && i < kLength; ++i) {
        ASSERT_EQ(std::isnan(out.data()[i]), std::isnan(expected(rank, i))) << "rank " << rank << " element " << i << " turn " << turn;
      }
    }
    driver->graph_exec_destroy(exec);
    driver->graph_destroy(graph);
    pkb_program_unload(loaded);
    driver->stream_destroy(stream);
  });
}

class LibraryRanks : public testing::TestWithParam<int> {};

} // namespace

TEST_P(LibraryRanks, all_reduce_adds_up_over_all_ranks) {
  int size = GetParam();
  expectResult({size, "sum", call("all_reduce", kLength), ""}, [&](int, int64_t i) {
    float sum = 0;
    for (int rank = 0; rank < size; ++rank) {
      sum += valueOf(rank, i);
    }
    return sum;
  });
}

TEST_P(LibraryRanks, premul_sum_takes_the_factor_of_each_rank) {
  int size = GetParam();
  std::string factors;
  for (int rank = 0; rank < size; ++rank) {
    factors += (rank ? ", " : "") + std::to_string(rank + 2);
  }
  expectResult({size, "premul_sum", call("all_reduce", kLength), factors}, [&](int, int64_t i) {
    float sum = 0;
    for (int rank = 0; rank < size; ++rank) {
      sum += float(rank + 2) * valueOf(rank, i);
    }
    return sum;
  });
}

TEST_P(LibraryRanks, reduce_scatter_gives_each_rank_its_part) {
  int size = GetParam();
  int64_t part = kLength / size;
  expectResult({size, "max", call("reduce_scatter", part), ""}, [&](int rank, int64_t i) {
    return i < part ? valueOf(size - 1, rank * part + i) : NAN;
  });
}

TEST_P(LibraryRanks, all_gather_puts_the_ranks_one_after_the_other) {
  int size = GetParam();
  int64_t part = kLength / size;
  expectResult({size, "", call("all_gather", part), ""}, [&](int, int64_t i) { return valueOf(int(i / part), i % part); });
}

TEST_P(LibraryRanks, a_root_gives_to_all_and_gets_from_all) {
  int size = GetParam();
  std::string root = "\"root\": " + std::to_string(size - 1);
  expectResult({size, "", call("broadcast", kLength, root), ""}, [&](int, int64_t i) { return valueOf(size - 1, i); });
  expectResult({size, "min", call("reduce", kLength, root), ""}, [&](int rank, int64_t i) { return rank == size - 1 ? valueOf(0, i) : NAN; });
}

TEST_P(LibraryRanks, messages_pass_in_a_ring_and_to_oneself) {
  int size = GetParam();
  std::string calls;
  for (int rank = 0; rank < size; ++rank) {
    calls += (rank ? ", " : "") + message(rank, (rank + 1) % size, 100 + rank, 7, 11) + ", " + message(rank, rank, 5, 0, 300);
  }
  expectResult({size, "", calls, ""}, [&](int rank, int64_t i) {
    int source = (rank + size - 1) % size;
    if (i >= 11 && i < 111 + source) {
      return valueOf(source, i - 11 + 7);
    }
    return i >= 300 && i < 305 ? valueOf(rank, i - 300) : NAN;
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, LibraryRanks, testing::Values(1, 2, 3, 4, 5, 6, 8));

namespace {

/// Lets each rank make its own calls on a communicator of all; the emulator's finding.
std::string findingAfter(int ranks, const std::function<void(int, const pkb_nccl *, pkb_nccl_comm, pkb_cu_ptr)> &calls,
                         const std::function<void(int, pkb_cu_ptr)> &after = {}) {
  Machine machine(ranks, [](pkb_emu_options &options) {
    options.idle_s = 0.3;
    options.report = [](void *, int, const char *) {};
  });
  const pkb_driver *driver = machine.driver();
  const pkb_nccl *nccl = driver->nccl;
  pkb_nccl_id id = {};
  EXPECT_EQ(nccl->unique_id(&id), 0);
  onRanks(ranks, [&](int rank) {
    pkb_cu_context context = nullptr;
    ASSERT_EQ(driver->primary_ctx_retain(&context, rank), 0);
    ASSERT_EQ(driver->ctx_set_current(context), 0);
    pkb_cu_ptr memory = 0;
    ASSERT_EQ(driver->mem_alloc(&memory, 4096), 0);
    pkb_nccl_comm comm = nullptr;
    ASSERT_EQ(nccl->comm_init_rank(&comm, ranks, id, rank), 0);
    calls(rank, nccl, comm, memory);
    driver->stream_synchronize(nullptr);
    if (after) {
      after(rank, memory);
    }
    nccl->comm_destroy(comm);
  });
  const char *text = "";
  pkb_emu_result(machine.emu, &text);
  return text;
}

void *at(pkb_cu_ptr memory, size_t offset = 0) { return reinterpret_cast<void *>(uintptr_t(memory + offset)); }

} // namespace

TEST(Library, a_missing_call_is_a_deadlock_that_names_the_rank) {
  std::string text = findingAfter(3, [](int rank, const pkb_nccl *nccl, pkb_nccl_comm comm, pkb_cu_ptr memory) {
    if (rank != 1) {
      nccl->all_reduce(at(memory), at(memory), 16, PKB_NCCL_F32, PKB_NCCL_SUM, comm, nullptr);
    }
  });
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0 of a communicator of 3 ranks waits in nccl all_reduce of 16 elements of nccl type 7 (collective 0) for rank 1"), std::string::npos)
      << text;
}

TEST(Library, calls_that_do_not_match_are_found) {
  std::string text = findingAfter(2, [](int rank, const pkb_nccl *nccl, pkb_nccl_comm comm, pkb_cu_ptr memory) {
    nccl->all_reduce(at(memory), at(memory), rank == 0 ? 16 : 17, PKB_NCCL_F32, PKB_NCCL_SUM, comm, nullptr);
  });
  EXPECT_NE(text.find("rank 0 calls all_reduce of 16 elements of nccl type 7, and rank 1 calls all_reduce of 17"), std::string::npos) << text;
}

TEST(Library, a_send_without_a_receive_is_a_deadlock) {
  std::string text = findingAfter(2, [](int rank, const pkb_nccl *nccl, pkb_nccl_comm comm, pkb_cu_ptr memory) {
    if (rank == 0) {
      nccl->send(at(memory), 8, PKB_NCCL_I8, 1, comm, nullptr);
    }
  });
  EXPECT_NE(text.find("rank 0 of a communicator of 2 ranks waits in nccl send of 8 elements of nccl type 0 for rank 1"), std::string::npos) << text;
}

TEST(Library, grouped_sends_and_receives_may_come_in_any_order) {
  std::string text = findingAfter(2, [](int rank, const pkb_nccl *nccl, pkb_nccl_comm comm, pkb_cu_ptr memory) {
    nccl->group_start();
    if (rank == 0) {
      nccl->send(at(memory), 8, PKB_NCCL_I8, 1, comm, nullptr);
      nccl->receive(at(memory, 64), 8, PKB_NCCL_I8, 1, comm, nullptr);
    } else {
      nccl->receive(at(memory, 64), 8, PKB_NCCL_I8, 0, comm, nullptr);
      nccl->send(at(memory), 8, PKB_NCCL_I8, 0, comm, nullptr);
    }
    EXPECT_EQ(nccl->group_end(), 0);
  });
  EXPECT_EQ(text, "");
}

TEST(Library, half_precision_is_added_in_float_and_rounded_once) {
  // In bf16 the neighbour of 256 is 258: 256 + 1 + 1 would stay 256 if it were rounded after each step.
  std::string text = findingAfter(3, [](int rank, const pkb_nccl *nccl, pkb_nccl_comm comm, pkb_cu_ptr memory) {
    auto *element = static_cast<uint16_t *>(at(memory));
    *element = rank == 0 ? 0x4380 : 0x3f80;
    nccl->all_reduce(element, element, 1, PKB_NCCL_BF16, PKB_NCCL_SUM, comm, nullptr);
  }, [](int rank, pkb_cu_ptr memory) { EXPECT_EQ(*static_cast<uint16_t *>(at(memory)), 0x4381) << "rank " << rank; });
  EXPECT_EQ(text, "");
}

TEST(Library, a_rank_that_makes_no_call_ends_the_call_at_the_timeout) {
  Library library{2, "sum", call("all_reduce", kLength), ""};
  TempDir dir;
  std::string file = dir.write("p.cu", library.text()), rendezvous = dir.make("meet");
  Machine machine(2, [](pkb_emu_options &options) { options.idle_s = 60; });
  onRanks(2, [&](int rank) {
    Rank r(machine, rendezvous, rank, 2, /*timeout=*/1);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *loaded = nullptr;
    ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
    Floats in(machine.driver(), kLength), out(machine.driver(), kLength);
    pkb_tensor input = in.tensor(), output = out.tensor();
    for (int turn = 0; turn < 3; ++turn) { // those that end are not reported, however long ago they were
      ASSERT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
      ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
      std::this_thread::sleep_for(std::chrono::milliseconds(turn == 2 ? 1300 : 0));
    }
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(3)); // alive, but elsewhere
    } else {
      ASSERT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
      EXPECT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_ERROR_PEER_LOST);
      std::string text = pkb_last_error();
      EXPECT_NE(text.find("rank 0: a call of NCCL has not ended within 1 s (PKB_TIMEOUT_S): step 0 of 'library' (model.py:8), among ranks 0, 1; one of them makes another "
                          "call, or none"),
                std::string::npos)
          << text;
      EXPECT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_ERROR_PEER_LOST);
    }
    pkb_program_unload(loaded);
  });
}
