// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CallTime.cpp - host time of one call through the C interface -----===//
//
// pkb-call-time X.pkx (or X.cu): one process per rank, each with its own GPU, enqueues batches of calls with outputs passed in and reads the host's clock. Prints
// per rank the median time of a call.
//
//===----------------------------------------------------------------------===//

#include "pkb_rt/driver.h"
#include "pkb_rt/pkb.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int kBatches = 41, kCalls = 64;

[[noreturn]] void die(int rank, const char *what) {
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, pkb_last_error());
  std::exit(1);
}

int64_t bytesOf(const pkb_tensor &tensor) {
  static const int widths[] = {8, 4, 2, 2, 1, 2, 4, 8, 1, 1, 1, 1, 8, 16};
  int64_t last = 0;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.sizes[i] == 0) {
      return 0;
    }
    last += (tensor.sizes[i] - 1) * tensor.strides[i];
  }
  return (last + 1) * widths[tensor.dtype];
}

/// Median over batches of the time of one `enqueue`, in microseconds; the stream is drained between batches.
template <typename Enqueue, typename Drain>
double medianUs(Enqueue enqueue, Drain drain) {
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) {
      enqueue();
    }
    auto end = std::chrono::steady_clock::now();
    drain();
    times.push_back(std::chrono::duration<double, std::micro>(end - start).count() / kCalls);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int runRank(const char *path, int rank, int ranks, const char *directory) {
  const char *why = "";
  const pkb_driver *driver = pkb_driver_real(&why);
  if (!driver) {
    std::fprintf(stderr, "no GPU here: %s\n", why);
    return 2;
  }
  pkb_context_desc desc{};
  desc.abi_version = PKB_ABI_VERSION;
  desc.rank = rank;
  desc.world_size = ranks;
  desc.device = rank;
  desc.rendezvous = directory;
  pkb_context *context = nullptr;
  if (pkb_context_create(&desc, &context) != PKB_OK) {
    die(rank, "context");
  }
  pkb_program *program = nullptr;
  if (pkb_program_load(context, path, nullptr, &program) != PKB_OK) {
    die(rank, "load");
  }
  std::vector<pkb_tensor> inputs(size_t(pkb_program_input_count(program))), outputs(size_t(pkb_program_output_count(program)));
  auto allocate = [&](pkb_tensor &tensor) {
    pkb_cu_ptr memory = 0;
    if (driver->mem_alloc(&memory, size_t(std::max<int64_t>(bytesOf(tensor), 16))) != 0 ||
        driver->memset_d8_async(memory, 0, size_t(bytesOf(tensor)), nullptr) != 0) {
      die(rank, "out of memory");
    }
    tensor.data = reinterpret_cast<void *>(uintptr_t(memory));
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    pkb_program_input(program, int32_t(i), &inputs[i]);
    allocate(inputs[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    int32_t alias = -1;
    pkb_program_output(program, int32_t(i), &outputs[i], &alias);
    if (alias < 0) {
      allocate(outputs[i]);
    }
  }
  pkb_cu_stream stream = nullptr;
  if (driver->stream_create(&stream, 1) != 0) {
    die(rank, "stream");
  }
  auto call = [&] {
    if (pkb_program_call(program, stream, inputs.data(), int32_t(inputs.size()), outputs.data(), int32_t(outputs.size())) != PKB_OK) {
      die(rank, "call");
    }
  };
  auto drain = [&] {
    if (pkb_context_synchronize(context, stream) != PKB_OK) {
      die(rank, "synchronize");
    }
  };
  call();
  drain();
  double ours = medianUs(call, drain);
  std::printf("rank %d: host time of a call %.2f us (%d launches, outputs passed in, median of %d batches of %d)\n", rank, ours,
              pkb_program_launch_count(program), kBatches, kCalls);
  std::fflush(stdout);
  pkb_program_unload(program);
  pkb_context_destroy(context);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3 || std::atoi(argv[2]) < 1) {
    std::fprintf(stderr, "usage: pkb-call-time X.pkx RANKS\n");
    return 2;
  }
  int ranks = std::atoi(argv[2]);
  char directory[] = "/tmp/pkb-call-XXXXXX";
  if (!mkdtemp(directory)) {
    std::perror("mkdtemp");
    return 2;
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t child = fork();
    if (child == 0) {
      std::exit(runRank(argv[1], rank, ranks, directory));
    }
    children.push_back(child);
  }
  int worst = 0;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 4);
  }
  std::string remove = std::string("rm -rf ") + directory;
  return std::system(remove.c_str()) == 0 ? worst : 2;
}
