//===- Measure.cpp - Ranks that call programs and read the clock -----===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-calibrate/Measure.h"

#include "pkb_rt/layout.h"
#include "tools/pkb-run/Runtime.h"
#include "tools/pkb-run/Support.h"

#include <algorithm>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <thread>
#include <utility>

namespace pkb::calibrate {

using run::BadInput;
using run::EmulatorLibrary;
using run::Failure;
using run::Hang;
using run::RuntimeLibrary;

namespace {

constexpr int kRuns = 7;                           ///< timed runs of which the median counts
constexpr int64_t kEmulatedArena = int64_t(96) << 20;
constexpr int64_t kMostMemory = int64_t(6) << 30; ///< of the tensors of one measurement, per rank

int64_t bytesOf(const pkb_tensor &tensor) {
  static constexpr int64_t widths[PKB_DTYPE_COUNT] = {8, 4, 2, 2, 1, 2, 4, 8, 1, 1, 1, 1, 8, 16};
  int64_t elements = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    elements *= tensor.sizes[i];
  }
  return elements * widths[tensor.dtype];
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

} // namespace

struct Ranks::Rank {
  int number = 0;
  pkb_context *context = nullptr;
  pkb_cu_context device = nullptr;
  pkb_cu_stream stream = nullptr;
  pkb_program *program = nullptr;
  int calls = 0;
  std::vector<pkb_cu_ptr> memory;
  std::vector<std::vector<pkb_tensor>> inputs; // by call
  std::vector<pkb_tensor> outputs;
};

/// Where the ranks' threads wait for each other; all leave when one has failed.
struct Ranks::Meeting {
  explicit Meeting(int size) : size(size) {}
  void wait() {
    std::unique_lock<std::mutex> guard(lock);
    uint64_t mine = round;
    if (++arrived == size) {
      arrived = 0;
      ++round;
      changed.notify_all();
    }
    changed.wait(guard, [&] { return failed || round != mine; });
    if (failed) {
      throw Failure(Hang, "another rank has failed");
    }
  }
  void fail() {
    std::lock_guard<std::mutex> guard(lock);
    failed = true;
    changed.notify_all();
  }
  int size, arrived = 0;
  uint64_t round = 0;
  bool failed = false;
  std::mutex lock;
  std::condition_variable changed;
};

namespace {

void check(pkb_status status, int rank) {
  if (status != PKB_OK) {
    const char *text = RuntimeLibrary::get().pkb_last_error();
    bool lost = status == PKB_ERROR_PEER_LOST || status == PKB_ERROR_BOOTSTRAP;
    throw Failure(lost ? Hang : BadInput, fmt::format("rank {}: {}", rank, text && *text ? text : "an error without a message"));
  }
}

void check(const pkb_driver *driver, pkb_cu_result result, int rank, const char *what) {
  if (result != 0) {
    throw Failure(BadInput, fmt::format("rank {}: {} failed: {}", rank, what, driver->error_string(result)));
  }
}

} // namespace

Ranks::Ranks(int count, bool emulated, double seconds) : count(count), meeting(std::make_unique<Meeting>(count)) {
  if (emulated) {
    const EmulatorLibrary &api = EmulatorLibrary::get();
    pkb_emu_options settings;
    api.pkb_emu_default_options(&settings);
    settings.devices = count;
    settings.mode = PKB_EMU_VALUE;
    settings.idle_s = 5;
    const char *why = nullptr;
    emulator = api.pkb_emu_create(&settings, &why);
    if (!emulator) {
      throw Failure(BadInput, fmt::format("the emulator cannot be made: {}", why ? why : "unknown reason"));
    }
    driver = api.pkb_emu_driver(emulator);
  } else {
    const char *why = nullptr;
    driver = RuntimeLibrary::get().pkb_driver_real(&why);
    if (!driver) {
      throw Failure(BadInput, fmt::format("there is no CUDA driver: {}", why ? why : "unknown reason"));
    }
  }
  rendezvous = run::makeTemporaryFolder("calibrate");
  for (int rank = 0; rank < count; ++rank) {
    ranks.push_back(std::make_unique<Rank>());
    ranks.back()->number = rank;
  }
  each([&](Rank &rank) {
    pkb_context_desc desc = {};
    desc.abi_version = PKB_ABI_VERSION;
    desc.rank = rank.number;
    desc.world_size = this->count;
    desc.device = rank.number;
    desc.driver = driver;
    desc.rendezvous = rendezvous.c_str();
    desc.arena_bytes = emulator ? kEmulatedArena : 0;
    desc.timeout_s = seconds;
    check(RuntimeLibrary::get().pkb_context_create(&desc, &rank.context), rank.number);
    pkb_cu_device device = 0;
    check(driver, driver->device_get(&device, rank.number), rank.number, "opening the device");
    check(driver, driver->primary_ctx_retain(&rank.device, device), rank.number, "opening the device");
    check(driver, driver->ctx_set_current(rank.device), rank.number, "opening the device");
    check(driver, driver->stream_create(&rank.stream, /*non-blocking*/ 1), rank.number, "making a stream");
    meeting->wait();
    for (const auto &peer : ranks) { // for copies between tensors; already enabled is no error
      if (peer.get() != &rank) {
        driver->ctx_enable_peer_access(peer->device);
      }
    }
    if (rank.number == 0) {
      char name[256] = {};
      check(driver, driver->device_name(name, sizeof(name), device), 0, "asking for the device's name");
      facts.name = name;
      // CUdevice_attribute: MULTIPROCESSOR_COUNT, MAX_THREADS_PER_MULTIPROCESSOR, ASYNC_ENGINE_COUNT, COMPUTE_CAPABILITY_MAJOR
      for (auto [attribute, value] : {std::pair<int, int *>(16, &facts.sms), {39, &facts.threadsPerSm}, {40, &facts.copyEngines}, {75, &facts.capability}}) {
        check(driver, driver->device_attribute(value, attribute, device), 0, "asking for the device's attributes");
      }
    }
  });
}

Ranks::~Ranks() {
  try {
    each([&](Rank &rank) {
      if (rank.stream) {
        driver->stream_destroy(rank.stream);
      }
      RuntimeLibrary::get().pkb_context_destroy(rank.context);
    });
  } catch (const std::exception &) {
    // the ranks have been told by the runtime already
  }
  if (emulator) {
    EmulatorLibrary::get().pkb_emu_destroy(emulator);
  }
  run::removeTree(rendezvous);
}

void Ranks::each(const std::function<void(Rank &)> &body) {
  std::vector<std::exception_ptr> errors(ranks.size());
  std::vector<std::thread> threads;
  meeting = std::make_unique<Meeting>(count);
  for (size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        if (ranks[i]->device) {
          check(driver, driver->ctx_set_current(ranks[i]->device), int(i), "choosing the device");
        }
        body(*ranks[i]);
      } catch (...) {
        errors[i] = std::current_exception();
        meeting->fail();
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  std::exception_ptr worst;
  for (const std::exception_ptr &error : errors) {
    try {
      if (error) {
        std::rethrow_exception(error);
      }
    } catch (const Failure &failure) {
      worst = !worst || failure.code != Hang ? error : worst; // who failed first says more than who was left waiting
    } catch (...) {
      worst = error;
    }
  }
  if (worst) {
    std::rethrow_exception(worst);
  }
}

double Ranks::clock(Way way, int calls, const std::function<void(Rank &, int)> &enqueue, const std::function<void(Rank &)> &prepare,
                    const std::function<void(Rank &)> &finish) {
  std::vector<double> slowest(size_t(count), 0);
  each([&](Rank &rank) {
    const RuntimeLibrary &api = RuntimeLibrary::get();
    prepare(rank);
    auto drain = [&] { check(api.pkb_context_synchronize(rank.context, rank.stream), rank.number); };
    for (int call = 0; call < std::min(calls, 2); ++call) {
      enqueue(rank, call);
    }
    drain();
    meeting->wait();
    pkb_cu_graph graph = nullptr;
    pkb_cu_graph_exec exec = nullptr;
    int perRun = way == Way::Alone ? 1 : calls;
    if (way != Way::BackToBack) {
      check(driver, driver->capture_begin(rank.stream), rank.number, "beginning a capture");
      for (int call = 0; call < perRun; ++call) {
        enqueue(rank, call);
      }
      check(driver, driver->capture_end(rank.stream, &graph), rank.number, "ending a capture");
      check(driver, driver->graph_instantiate(&exec, graph), rank.number, "making a graph");
    }
    pkb_cu_event begin = nullptr, end = nullptr;
    check(driver, driver->event_create(&begin, 0), rank.number, "making an event");
    check(driver, driver->event_create(&end, 0), rank.number, "making an event");
    std::vector<double> times;
    for (int turn = 0; turn < (emulator ? 1 : kRuns + 2); ++turn) {
      meeting->wait();
      check(driver, driver->event_record(begin, rank.stream), rank.number, "recording an event");
      for (int call = 0; !exec && call < perRun; ++call) {
        enqueue(rank, call);
      }
      if (exec) {
        check(driver, driver->graph_launch(exec, rank.stream), rank.number, "launching a graph");
      }
      check(driver, driver->event_record(end, rank.stream), rank.number, "recording an event");
      drain();
      float ms = 0;
      check(driver, driver->event_elapsed_ms(&ms, begin, end), rank.number, "reading an event");
      if (turn >= 2) { // the first ones warm up
        times.push_back(double(ms) * 1e3 / perRun);
      }
    }
    meeting->wait();
    driver->event_destroy(begin);
    driver->event_destroy(end);
    if (exec) {
      driver->graph_exec_destroy(exec);
      driver->graph_destroy(graph);
    }
    finish(rank);
    slowest[size_t(rank.number)] = times.empty() ? 0 : median(times);
  });
  return *std::max_element(slowest.begin(), slowest.end());
}

double Ranks::time(const std::string &path, Way way) {
  const RuntimeLibrary &api = RuntimeLibrary::get();
  auto allocate = [&](Rank &rank, int64_t bytes) {
    pkb_cu_ptr memory = 0;
    check(driver, driver->mem_alloc(&memory, size_t(std::max<int64_t>(bytes, 16))), rank.number, "allocating memory");
    check(driver, driver->memset_d8_async(memory, 0, size_t(std::max<int64_t>(bytes, 16)), rank.stream), rank.number, "clearing memory");
    rank.memory.push_back(memory);
    return reinterpret_cast<void *>(uintptr_t(memory));
  };
  constexpr int kCalls = 20;
  auto prepare = [&](Rank &rank) {
    check(api.pkb_program_load(rank.context, path.c_str(), nullptr, &rank.program), rank.number);
    std::vector<pkb_tensor> shapes(size_t(api.pkb_program_input_count(rank.program)));
    rank.outputs.resize(size_t(api.pkb_program_output_count(rank.program)));
    int64_t bytes = 1;
    for (size_t i = 0; i < shapes.size(); ++i) {
      check(api.pkb_program_input(rank.program, int32_t(i), &shapes[i]), rank.number);
      bytes += bytesOf(shapes[i]);
    }
    for (size_t i = 0; i < rank.outputs.size(); ++i) {
      int32_t alias = -1;
      check(api.pkb_program_output(rank.program, int32_t(i), &rank.outputs[i], &alias), rank.number);
      if (alias < 0) {
        rank.outputs[i].data = allocate(rank, bytesOf(rank.outputs[i]));
      }
    }
    // Each call reads inputs of its own, so that none lies in the cache from the call before.
    size_t sets = size_t(std::clamp<int64_t>(kMostMemory / bytes, 1, kCalls));
    rank.inputs.assign(sets, shapes);
    for (auto &set : rank.inputs) {
      for (pkb_tensor &tensor : set) {
        tensor.data = allocate(rank, bytesOf(tensor));
      }
    }
  };
  auto enqueue = [&](Rank &rank, int call) {
    auto &set = rank.inputs[size_t(call) % rank.inputs.size()];
    check(api.pkb_program_call(rank.program, rank.stream, set.data(), int32_t(set.size()), rank.outputs.data(), int32_t(rank.outputs.size())), rank.number);
  };
  auto finish = [&](Rank &rank) {
    for (pkb_cu_ptr memory : rank.memory) {
      driver->mem_free(memory);
    }
    rank.memory.clear();
    rank.inputs.clear();
    rank.outputs.clear();
    api.pkb_program_unload(std::exchange(rank.program, nullptr));
  };
  return clock(way, emulator ? 2 : kCalls, enqueue, prepare, finish);
}

double Ranks::timeCopy(int64_t bytes, bool all, bool local) {
  auto prepare = [&](Rank &rank) {
    for (int i = 0; i < 2; ++i) {
      pkb_cu_ptr memory = 0;
      check(driver, driver->mem_alloc(&memory, size_t(bytes)), rank.number, "allocating memory");
      rank.memory.push_back(memory);
      check(driver, driver->memset_d8_async(memory, 1, size_t(bytes), rank.stream), rank.number, "clearing memory");
    }
    check(driver, driver->stream_synchronize(rank.stream), rank.number, "clearing memory");
    meeting->wait(); // the peers' addresses are known
  };
  auto enqueue = [&](Rank &rank, int) {
    const Rank &next = local ? rank : *ranks[size_t((rank.number + 1) % count)];
    if (all || rank.number == 0) {
      check(driver, driver->memcpy_async(next.memory[1], rank.memory[0], size_t(bytes), rank.stream), rank.number, "copying");
    }
  };
  auto finish = [&](Rank &rank) {
    meeting->wait();
    for (pkb_cu_ptr memory : rank.memory) {
      driver->mem_free(memory);
    }
    rank.memory.clear();
  };
  return clock(Way::Graph, emulator ? 2 : 20, enqueue, prepare, finish);
}

} // namespace pkb::calibrate
