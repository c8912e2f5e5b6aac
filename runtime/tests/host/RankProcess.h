// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks as processes, each with a fake driver of its own, so that one can really die.
#ifndef PKB_RUNTIME_TESTS_HOST_RANKPROCESS_H
#define PKB_RUNTIME_TESTS_HOST_RANKPROCESS_H

#include "HostTest.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <poll.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace pkb_test {

inline constexpr double kHang = 30; // seconds after which a fault counts as not reported

inline void sleepFor(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// One rank, in a process of its own.
class RankProcess {
public:
  /// `arrived`: a counter that the processes share, zero at first.
  RankProcess(int rank, int size, const std::string &meet, std::atomic<int> &arrived) : rank(rank), size(size), meet(meet), arrived(arrived) {}

  pkb_emu_options options = [] {
    pkb_emu_options defaults;
    pkb_emu_default_options(&defaults);
    defaults.idle_s = kHang;
    return defaults;
  }();
  double timeout = 20;
  int64_t arenaBytes = 32 << 20;
  int worldSize = 0; // 0: the number of processes
  uint32_t abi = PKB_ABI_VERSION;
  std::function<void(pkb_driver &)> change; // of the driver's table

  /// Starts the clock: what is reported from here on counts.
  void start() { begin = std::chrono::steady_clock::now(); }

  pkb_status open() {
    options.devices = size;
    const char *why = "";
    emu = pkb_emu_create(&options, &why);
    table = *pkb_emu_driver(emu);
    if (change) {
      change(table);
    }
    pkb_context_desc desc = {};
    desc.abi_version = abi;
    desc.rank = desc.device = rank;
    desc.world_size = worldSize ? worldSize : size;
    desc.driver = &table;
    desc.rendezvous = meet.c_str();
    desc.arena_bytes = arenaBytes;
    desc.timeout_s = timeout;
    start();
    return pkb_context_create(&desc, &context);
  }

  pkb_status load(const std::string &path) {
    start();
    return pkb_program_load(context, path.c_str(), nullptr, &program);
  }

  pkb_status call(size_t length = 1000, pkb_cu_stream stream = nullptr);

  /// Opened and loaded, with one right call behind it on every rank.
  void ready(const std::string &path) {
    if (open() != PKB_OK || load(path) != PKB_OK || call() != PKB_OK) {
      std::_Exit(98);
    }
    for (++arrived; arrived < size;) {
      sleepFor(0.001);
    }
    start();
  }

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }

  const int rank, size;
  pkb_emu *emu = nullptr;
  pkb_driver table = {};
  pkb_context *context = nullptr;
  pkb_program *program = nullptr;

private:
  std::string meet;
  std::atomic<int> &arrived;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

/// One call with memory of its own. `length`: elements of the argument, which the program wants to be 1000.
class Call {
public:
  explicit Call(RankProcess &process, size_t length = 1000) : r(process), in(&process.table, length), out(&process.table, 1000) {
    for (size_t i = 0; i < length; ++i) {
      in.data()[i] = float(int(i) * (r.rank + 1));
    }
  }
  /// Enqueues it and waits for its end.
  pkb_status run(pkb_cu_stream stream = nullptr) {
    pkb_tensor input = in.tensor(), output = out.tensor();
    pkb_status status = pkb_program_call(r.program, stream, &input, 1, &output, 1);
    if (status != PKB_OK || (status = pkb_context_synchronize(r.context, stream)) != PKB_OK) {
      return status;
    }
    for (size_t i = 0; i < 1000; ++i) {
      if (out.data()[i] != float(int(i) * (r.size == 2 ? 3 : 1))) {
        std::_Exit(99); // wrong bits
      }
    }
    return PKB_OK;
  }

private:
  RankProcess &r;
  Floats in, out;
};

inline pkb_status RankProcess::call(size_t length, pkb_cu_stream stream) { return Call(*this, length).run(stream); }

/// What a rank was told.
struct Told {
  int status = -1; // pkb_status; -1: nothing, in time
  std::string text;
  double seconds = 0;
  Told() = default;
  /// A status with the run time's message, or after a load that succeeded its notes.
  Told(pkb_status status) : status(status), text(status == PKB_OK ? "" : pkb_last_error()) {}
};

/// Runs `body` in a process per rank; what rank 0 was told. The other ranks stay until rank 0 is done: only a fault of the body's own ends one before.
inline Told onProcesses(int size, const std::function<Told(RankProcess &)> &body) {
  TempDir dir;
  std::string meet = dir.make("meet");
  int ends[2];
  if (pipe(ends) != 0) {
    std::perror("pipe");
    std::exit(2);
  }
  void *shared = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    std::perror("mmap");
    std::exit(2);
  }
  std::atomic<int> &arrived = *new (shared) std::atomic<int>(0);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    children.push_back(fork());
    if (children.back() == 0) {
      close(ends[0]);
      if (rank != 0) {
        close(ends[1]); // the parent reads until rank 0 is done
      }
      RankProcess process(rank, size, meet, arrived);
      Told told = body(process);
      if (rank == 0) {
        dprintf(ends[1], "%d %.3f %s", told.status, process.seconds(), told.text.c_str());
        std::_Exit(0);
      }
      sleepFor(kHang);
      std::_Exit(0);
    }
  }
  close(ends[1]);
  Told report;
  std::string said;
  pollfd wait = {ends[0], POLLIN, 0};
  char buffer[4096];
  while (poll(&wait, 1, int(kHang * 1000)) > 0) {
    ssize_t n = read(ends[0], buffer, sizeof(buffer));
    if (n <= 0) {
      break;
    }
    said.append(buffer, size_t(n));
  }
  close(ends[0]);
  for (pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  munmap(shared, sizeof(arrived));
  std::istringstream in(said);
  if (in >> report.status >> report.seconds) {
    std::getline(in >> std::ws, report.text, '\0');
  }
  return report;
}

} // namespace pkb_test

#endif // PKB_RUNTIME_TESTS_HOST_RANKPROCESS_H
