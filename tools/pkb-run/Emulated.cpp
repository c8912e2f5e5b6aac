//===- Emulated.cpp - A program on emulated ranks -------------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Emulated.h"

#include "tools/pkb-run/Runtime.h"
#include "tools/pkb-run/Support.h"

#include "pkb_rt/layout.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <thread>

namespace pkb::run {

namespace {

constexpr int64_t guardBytes = 256; ///< poisoned memory behind every result
constexpr double graceSeconds = 8;  ///< how long the other ranks may take to notice that one failed

/// What the ranks and the main thread share; kept alive by every thread that uses it.
struct Shared {
  Shared(const Program &program, const Options &options) : program(program), options(options) {}
  const Program program;
  const Options options;
  std::string rendezvous;
  EmulatedResult result;
  std::mutex lock;
  std::condition_variable changed;
  std::shared_ptr<const Reference> reference;
  bool abandoned = false; ///< the reference failed: nothing will run
  int finished = 0;
  struct Rank {
    std::string step = "starting";
    int code = Right;
    std::string message;
  };
  std::vector<Rank> ranks;
};

int codeOf(pkb_status status) {
  switch (status) {
  case PKB_ERROR_GUARD:
    return FellBack;
  case PKB_ERROR_PEER_LOST:
  case PKB_ERROR_BOOTSTRAP:
    return Hang;
  default:
    return BadInput;
  }
}

/// Calls `visit(memory index, contiguous index)` for every element.
template <typename Visit>
void forEachElement(const std::vector<int64_t> &sizes, const int64_t *strides, Visit visit) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(at, i);
    for (size_t d = sizes.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < sizes[d]) {
        break;
      }
      at -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
}

std::vector<int64_t> sizesOf(const pkb_tensor &tensor) { return {tensor.sizes, tensor.sizes + tensor.ndim}; }

std::string gather(const pkb_tensor &tensor) {
  const NumberFormat &format = numberFormat(tensor.dtype);
  std::vector<int64_t> sizes = sizesOf(tensor);
  std::string out;
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  out.resize(size_t(count * format.bytes));
  const char *data = static_cast<const char *>(tensor.data);
  forEachElement(sizes, tensor.strides, [&](int64_t from, int64_t to) {
    std::memcpy(out.data() + to * format.bytes, data + from * format.bytes, size_t(format.bytes));
  });
  return out;
}

/// One emulated rank, on a thread of its own.
class Rank {
public:
  Rank(int rank, const pkb_driver *driver, Shared &shared)
      : rank(rank), program(shared.program), own(program.ofRank(rank)), options(shared.options), driver(driver), shared(shared) {}

  void run() {
    int code = Right;
    std::string message;
    try {
      body();
    } catch (const Failure &failure) {
      code = failure.code;
      message = failure.what();
    } catch (const std::exception &error) {
      code = BadInput;
      message = fmt::format("rank {}: {}", rank, error.what());
    }
    if (code != Right && context) {
      api.pkb_context_abort(context, message.c_str());
    }
    std::lock_guard<std::mutex> guard(shared.lock);
    shared.ranks[size_t(rank)].code = code;
    shared.ranks[size_t(rank)].message = message;
    ++shared.finished;
    shared.changed.notify_all();
  }

private:
  void step(const std::string &name) {
    std::lock_guard<std::mutex> guard(shared.lock);
    shared.ranks[size_t(rank)].step = name;
  }

  void check(pkb_status status) {
    if (status != PKB_OK) {
      const char *text = api.pkb_last_error();
      throw Failure(codeOf(status), text && *text ? text : fmt::format("rank {}: status {} without a message", rank, int(status)));
    }
  }

  void driverCheck(pkb_cu_result code, const char *what) {
    if (code != 0) {
      throw Failure(BadInput, fmt::format("rank {}: {} failed: {}", rank, what, driver->error_string(code)));
    }
  }

  void body() {
    step("meeting the other ranks");
    pkb_context_desc desc = {};
    desc.abi_version = PKB_ABI_VERSION;
    desc.rank = rank;
    desc.world_size = program.worldSize;
    desc.device = rank;
    desc.driver = driver;
    desc.rendezvous = shared.rendezvous.c_str();
    // No more than the program asks for, since clearing takes time; but what the group of all ranks needs, also if only smaller groups meet.
    desc.arena_bytes = std::max(program.manifest.value("region_bytes", int64_t(0)), int64_t(pkb_stage_offset(program.worldSize)) + PKB_CONTROL_BYTES);
    desc.timeout_s = options.timeout;
    desc.debug = 1;
    check(api.pkb_context_create(&desc, &context));
    step("loading the program");
    check(api.pkb_program_load(context, program.path.c_str(), nullptr, &loaded));
    if (const char *notes = api.pkb_program_notes(loaded); rank == 0 && *notes) {
      fmt::print(stderr, "pkb-run: note: {}\n", notes);
    }
    pkb_cu_device device = 0;
    pkb_cu_context current = nullptr;
    driverCheck(driver->device_get(&device, rank), "opening the device");
    driverCheck(driver->primary_ctx_retain(&current, device), "opening the device");
    driverCheck(driver->ctx_set_current(current), "opening the device");
    step("waiting for the reference");
    if (std::shared_ptr<const Reference> reference = waitForReference()) {
      call(*reference);
    }
    step("leaving");
    api.pkb_program_unload(loaded);
    api.pkb_context_destroy(context);
  }

  std::shared_ptr<const Reference> waitForReference() {
    std::unique_lock<std::mutex> guard(shared.lock);
    shared.changed.wait(guard, [&] { return shared.reference || shared.abandoned; });
    return shared.reference;
  }

  char *allocate(int64_t bytes) {
    pkb_cu_ptr memory = 0;
    driverCheck(driver->mem_alloc(&memory, size_t(std::max<int64_t>(bytes, 16))), "allocating memory");
    return reinterpret_cast<char *>(memory);
  }

  /// Device tensors of the trial's arguments, in program order; arguments that share a storage share memory.
  std::vector<pkb_tensor> arguments(const Reference &reference, const std::vector<TensorEntry> &entries) {
    std::vector<pkb_tensor> tensors(own.arguments.size());
    std::vector<char *> storages(entries.size(), nullptr);
    for (size_t leaf = 0; leaf < entries.size(); ++leaf) {
      const TensorEntry &entry = entries[leaf];
      size_t home = entry.storage >= 0 && size_t(entry.storage) <= leaf ? size_t(entry.storage) : leaf;
      if (!storages[home]) {
        storages[home] = allocate(entry.storageBytes);
        std::memset(storages[home], 0, size_t(entry.storageBytes));
      }
      char *base = storages[home] + entry.offset * entry.format->bytes;
      std::string data = reference.load(entry);
      const int64_t bytes = entry.format->bytes;
      forEachElement(entry.sizes, entry.strides.data(),
                     [&](int64_t to, int64_t from) { std::memcpy(base + to * bytes, data.data() + from * bytes, size_t(bytes)); });
      pkb_tensor &tensor = tensors[size_t(own.inputLeaves[leaf])];
      tensor.data = base;
      tensor.dtype = entry.format->dtype;
      tensor.ndim = int32_t(entry.sizes.size());
      std::copy(entry.sizes.begin(), entry.sizes.end(), tensor.sizes);
      std::copy(entry.strides.begin(), entry.strides.end(), tensor.strides);
    }
    return tensors;
  }

  /// Poisoned memory for every result that is not an argument.
  std::vector<pkb_tensor> outputs(std::vector<char *> &guards) {
    std::vector<pkb_tensor> tensors(size_t(api.pkb_program_output_count(loaded)));
    for (size_t i = 0; i < tensors.size(); ++i) {
      int32_t alias = -1;
      check(api.pkb_program_output(loaded, int32_t(i), &tensors[i], &alias));
      guards.push_back(nullptr);
      if (alias >= 0) {
        continue;
      }
      const NumberFormat &format = numberFormat(tensors[i].dtype);
      int64_t elements = 1;
      for (int d = 0; d < tensors[i].ndim; ++d) {
        elements = tensors[i].sizes[d] == 0 ? 0 : elements + (elements ? (tensors[i].sizes[d] - 1) * tensors[i].strides[d] : 0);
      }
      char *memory = allocate(elements * format.bytes + guardBytes);
      std::memset(memory, poisonByte(format), size_t(elements * format.bytes + guardBytes));
      tensors[i].data = memory;
      guards.back() = memory + elements * format.bytes;
    }
    return tensors;
  }

  void call(const Reference &reference) {
    size_t trials = reference.trials.size();
    std::vector<std::vector<pkb_tensor>> in, out;
    std::vector<std::vector<char *>> guards(trials);
    step("placing the inputs");
    for (size_t t = 0; t < trials; ++t) {
      in.push_back(arguments(reference, reference.trials[t][size_t(rank)].inputs));
      out.push_back(outputs(guards[t]));
    }
    for (size_t t = 0; t < trials; ++t) {
      step(fmt::format("call {}", t));
      check(api.pkb_program_call(loaded, nullptr, in[t].data(), int32_t(in[t].size()), out[t].data(), int32_t(out[t].size())));
    }
    step(fmt::format("waiting for the end of {} calls", trials));
    check(api.pkb_context_synchronize(context, nullptr));
    for (size_t t = 0; t < trials; ++t) {
      EmulatedResult::RankTrial &kept = shared.result.trials[t][size_t(rank)];
      for (size_t i = 0; i < out[t].size(); ++i) {
        kept.outputs.push_back(gather(out[t][i]));
        kept.outputSizes.push_back(sizesOf(out[t][i]));
        const char *guard = guards[t][i];
        unsigned char poison = poisonByte(numberFormat(out[t][i].dtype));
        bool intact = !guard || std::all_of(guard, guard + guardBytes, [&](char c) { return static_cast<unsigned char>(c) == poison; });
        kept.faults.push_back(intact ? "" : fmt::format("rank {} wrote behind the end of the result in trial {}", rank, t));
      }
      for (const pkb_tensor &argument : in[t]) {
        kept.arguments.push_back(gather(argument));
      }
    }
  }

  const RuntimeLibrary &api = RuntimeLibrary::get();
  int rank;
  const Program &program;
  const RankProgram &own;
  const Options &options;
  const pkb_driver *driver;
  Shared &shared;
  pkb_context *context = nullptr;
  pkb_program *loaded = nullptr;
};

/// The failure to report: the first rank's whose message is not about a lost peer, else the first rank's.
void throwWorst(const std::vector<Shared::Rank> &ranks) {
  const Shared::Rank *worst = nullptr;
  for (const Shared::Rank &rank : ranks) {
    if (rank.code != Right && (!worst || (worst->code == Hang && rank.code != Hang))) {
      worst = &rank;
    }
  }
  if (worst) {
    throw Failure(worst->code, worst->message);
  }
}

pkb_emu *createEmulator(const Program &program, const Options &options) {
  const EmulatorLibrary &api = EmulatorLibrary::get();
  pkb_emu_options settings;
  api.pkb_emu_default_options(&settings);
  settings.devices = program.worldSize;
  settings.seed = options.job.seed;
  settings.mode = options.mode == "proof" ? PKB_EMU_PROOF : PKB_EMU_VALUE;
  settings.idle_s = std::clamp(options.timeout / 4, 1.0, 5.0);
  settings.report = [](void *, int, const char *) {}; // pkb_emu_result has it
  const char *why = nullptr;
  pkb_emu *emulator = api.pkb_emu_create(&settings, &why);
  if (!emulator) {
    throw Failure(BadInput, fmt::format("the emulator cannot be made: {}", why ? why : "unknown reason"));
  }
  return emulator;
}

/// A finding of the emulator says more than the error that it makes the run time return.
void throwFinding(pkb_emu *emulator) {
  const char *text = "";
  int finding = EmulatorLibrary::get().pkb_emu_result(emulator, &text);
  if (finding != PKB_EMU_OK) {
    throw Failure(finding == PKB_EMU_DEADLOCK ? Hang : Wrong, text);
  }
}

} // namespace

EmulatedResult runEmulated(const Program &program, const Options &options,
                           const std::function<std::shared_ptr<const Reference>()> &reference, Clock::time_point deadline) {
  const EmulatorLibrary &api = EmulatorLibrary::get();
  RuntimeLibrary::get();
  pkb_emu *emulator = createEmulator(program, options);
  const pkb_driver *driver = api.pkb_emu_driver(emulator);
  auto shared = std::make_shared<Shared>(program, options);
  shared->rendezvous = makeTemporaryFolder("meet");
  shared->result.trials.assign(size_t(options.job.trials), std::vector<EmulatedResult::RankTrial>(size_t(program.worldSize)));
  shared->ranks.resize(size_t(program.worldSize));
  std::vector<std::thread> threads;
  for (int r = 0; r < program.worldSize; ++r) {
    threads.emplace_back([shared, driver, r] { Rank(r, driver, *shared).run(); });
  }
  std::exception_ptr noReference;
  std::shared_ptr<const Reference> made;
  try {
    made = reference();
  } catch (...) {
    noReference = std::current_exception();
  }
  auto finished = [&] { return shared->finished == program.worldSize; };
  auto failed = [&] {
    return std::any_of(shared->ranks.begin(), shared->ranks.end(), [](const Shared::Rank &rank) { return rank.code != Right; });
  };
  std::unique_lock<std::mutex> guard(shared->lock);
  shared->reference = made;
  shared->abandoned = noReference != nullptr;
  shared->changed.notify_all();
  shared->changed.wait_until(guard, noReference ? Clock::now() : deadline, [&] { return finished() || failed(); });
  bool all = shared->changed.wait_until(guard, std::min(deadline, after(failed() || noReference ? graceSeconds : 0)), finished);
  std::vector<Shared::Rank> ranks = shared->ranks;
  guard.unlock();
  for (std::thread &thread : threads) {
    all ? thread.join() : thread.detach();
  }
  removeTree(shared->rendezvous);
  if (noReference) {
    std::rethrow_exception(noReference);
  }
  throwFinding(emulator);
  throwWorst(ranks);
  if (!all) {
    auto stuck = std::find_if(ranks.begin(), ranks.end(), [](const Shared::Rank &rank) { return rank.step != "leaving"; });
    stuck = stuck == ranks.end() ? ranks.begin() : stuck;
    throw Failure(Hang, fmt::format("rank {} is still at '{}' after {} s; use --timeout to allow more", stuck - ranks.begin(), stuck->step,
                                    options.timeout));
  }
  pkb_emu_counts counts = {};
  api.pkb_emu_count(emulator, &counts);
  shared->result.launches = counts.launches;
  shared->result.signals = counts.signals;
  shared->result.llLines = counts.ll_lines;
  api.pkb_emu_destroy(emulator);
  return std::move(shared->result);
}

namespace {

/// The verdict of one tensor on `ranks`. `entryOf` gives the reference's entry, `bytesOf` our bytes of a trial and rank.
template <typename Entry, typename Bytes, typename Sizes, typename Fault>
Verdict judgeOne(const std::string &what, const std::vector<int> &ranks, const Reference &reference, const EmulatedResult &result,
                 Entry entryOf, Bytes bytesOf, Sizes sizesOfOurs, Fault faultOf) {
  const TensorEntry &first = entryOf(reference.trials[0][size_t(ranks[0])]);
  Judge judge(what, *first.format, first.rule);
  for (size_t t = 0; t < reference.trials.size(); ++t) {
    std::vector<Sample> samples;
    std::vector<std::string> data, oracle;
    data.reserve(ranks.size());
    oracle.reserve(ranks.size());
    for (int rank : ranks) {
      const TensorEntry &entry = entryOf(reference.trials[t][size_t(rank)]);
      const EmulatedResult::RankTrial &kept = result.trials[t][size_t(rank)];
      const std::string &ours = bytesOf(kept);
      if (std::string fault = faultOf(kept); !fault.empty()) {
        judge.fault(fault);
      }
      if (sizesOfOurs(kept, entry) != entry.sizes || entry.format != first.format) {
        judge.fault(fmt::format("has shape {} on rank {}, the original gives {} {}", shapeText(sizesOfOurs(kept, entry)), rank,
                                entry.format->name, shapeText(entry.sizes)));
        return judge.finish();
      }
      data.push_back(reference.load(entry));
      oracle.push_back(reference.loadOracle(entry));
      samples.push_back({ours.data(), data.back().data(), oracle.back().empty() ? nullptr : oracle.back().data(), entry.sizes, rank});
    }
    judge.add(int(t), samples);
  }
  return judge.finish();
}

/// All results, then all arguments of the ranks that run one program.
std::vector<Verdict> judgeProgram(const RankProgram &program, const Reference &reference, const EmulatedResult &result) {
  using Kept = EmulatedResult::RankTrial;
  std::vector<Verdict> verdicts;
  for (size_t j = 0; j < program.outputLeaves.size(); ++j) {
    size_t index = size_t(program.outputLeaves[j]);
    verdicts.push_back(judgeOne(
        fmt::format("output {}", j), program.ranks, reference, result,
        [j](const RankTrial &r) -> const TensorEntry & { return r.outputs[j]; },
        [index](const Kept &k) -> const std::string & { return k.outputs[index]; },
        [index](const Kept &k, const TensorEntry &) { return k.outputSizes[index]; }, [index](const Kept &k) { return k.faults[index]; }));
  }
  for (size_t j = 0; j < program.inputLeaves.size(); ++j) {
    size_t index = size_t(program.inputLeaves[j]);
    verdicts.push_back(judgeOne(
        fmt::format("argument {}", j), program.ranks, reference, result,
        [j](const RankTrial &r) -> const TensorEntry & { return r.arguments[j]; },
        [index](const Kept &k) -> const std::string & { return k.arguments[index]; },
        [](const Kept &, const TensorEntry &entry) { return entry.sizes; }, [](const Kept &) { return std::string(); }));
  }
  return verdicts;
}

} // namespace

std::vector<Verdict> judgeEmulated(const Program &program, const Reference &reference, const EmulatedResult &result) {
  std::vector<RankVerdicts> parts;
  for (const RankProgram &part : program.programs) {
    parts.push_back({part.ranks, judgeProgram(part, reference, result)});
  }
  return mergeVerdicts(parts);
}

} // namespace pkb::run
