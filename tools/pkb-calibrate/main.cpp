//===- main.cpp - Measure a machine for the cost model ----------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-calibrate/Fit.h"
#include "tools/pkb-calibrate/Kernels.h"
#include "tools/pkb-calibrate/Measure.h"

#include "pkb_rt/layout.h"
#include "tools/pkb-run/Numbers.h"
#include "tools/pkb-run/Process.h"
#include "tools/pkb-run/Runtime.h"
#include "tools/pkb-run/Support.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <thread>

using nlohmann::json;
using namespace pkb;
using namespace pkb::calibrate;
using run::BadInput;
using run::Failure;

namespace {

struct Options {
  int ranks = 2;
  std::string device = "auto", output, machine;
  double timeout = 240;
};

constexpr int64_t kArena = PKB_DEFAULT_ARENA_BYTES;

std::string rateText(double rate, bool timed) { return timed ? fmt::format("{:.0f} GB/s", rate) : "not timed"; }
std::string timeText(double us, bool timed) { return timed ? fmt::format("{:.2f} us", us) : "not timed"; }

void line(const std::string &what, const std::string &value) { fmt::print("{:<58} {}\n", what, value); }

Basics measureBasics(Ranks &ranks) {
  Basics basics;
  bool timed = !ranks.emulated();
  std::string folder = run::makeTemporaryFolder("kernels");
  int next = 0;
  auto place = [&](const std::string &text) {
    std::string path = fmt::format("{}/{}.cu", folder, next++);
    run::writeFileAtomically(path, text);
    return path;
  };
  std::string empty = place(emptyProgram(ranks.size()));
  basics.launchAlone = ranks.time(empty, Way::Alone);
  basics.launchBackToBack = ranks.time(empty, Way::BackToBack);
  basics.launchInGraph = ranks.time(empty, Way::Graph);
  line("launch of an empty kernel: a graph of one", timeText(basics.launchAlone, timed));
  line("launch of an empty kernel: back to back", timeText(basics.launchBackToBack, timed));
  line("launch of an empty kernel: step of a graph of 20", timeText(basics.launchInGraph, timed));
  int few = timed ? 20 : 1, many = timed ? 220 : 3;
  double shortTime = ranks.time(place(pingPongProgram(ranks.size(), few))), longTime = ranks.time(place(pingPongProgram(ranks.size(), many)));
  basics.hop = (longTime - shortTime) / (many - few) / 2;
  line("flag, one way", timeText(basics.hop, timed));
  basics.barrier = ranks.time(place(barrierProgram(ranks.size())));
  line("barrier of all ranks in a kernel, step of a graph of 20", timeText(basics.barrier, timed));
  int64_t bytes = timed ? int64_t(64) << 20 : int64_t(1) << 20;
  for (int blocks : timed ? std::vector<int>{4, 8, 16, 32, 64, 128} : std::vector<int>{4, 16}) {
    Basics::Push push{blocks, bytes, ranks.time(place(pushProgram(ranks.size(), bytes, blocks, true)))};
    basics.pushes.push_back(push);
    line(fmt::format("stores to the next rank, all ranks at once, {} blocks", blocks), rateText(push.rate(), timed));
  }
  basics.pushOneWay = double(bytes) * 1e-3 / ranks.time(place(pushProgram(ranks.size(), bytes, timed ? 128 : 4, false)));
  line("stores to the next rank, rank 0 alone", rateText(basics.pushOneWay, timed));
  for (int64_t size : timed ? std::vector<int64_t>{4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20} : std::vector<int64_t>{4 << 10, 64 << 10}) {
    basics.copies[size] = ranks.timeCopy(size, true, false);
    line(fmt::format("copy engine to the next rank, all ranks at once, {} KiB", size >> 10),
         timed ? fmt::format("{:.2f} us, {:.0f} GB/s", basics.copies[size], double(size) * 1e-3 / basics.copies[size]) : "not timed");
  }
  int64_t large = timed ? int64_t(256) << 20 : int64_t(64) << 10;
  basics.copyOneWay = double(large) * 1e-3 / ranks.timeCopy(large, false, false);
  line("copy engine to the next rank, rank 0 alone", rateText(basics.copyOneWay, timed));
  basics.localCopy = 2 * double(large) * 1e-3 / ranks.timeCopy(large, true, true);
  line("copy inside a device's memory, read plus written", rateText(basics.localCopy, timed));
  return basics;
}

void measureCases(Ranks &ranks, Emitter &emitter, std::vector<Case> &cases) {
  bool ncclMissing = false;
  for (Case &c : cases) {
    std::string path;
    if (c.mechanism == "nccl" && ncclMissing) {
      c.skipped = "see above";
    } else {
      path = emitter.emit(c);
    }
    try {
      c.measured = path.empty() ? 0 : ranks.time(path);
    } catch (const Failure &failure) {
      // A machine without the library has a file without it; everything else is a failure.
      if (c.mechanism != "nccl" || failure.code != BadInput) {
        throw;
      }
      ncclMissing = true;
      c.skipped = failure.what();
    }
    line(c.name(), !c.skipped.empty() ? "skipped: " + c.skipped : timeText(c.measured, !ranks.emulated()));
    std::fflush(stdout);
  }
}

/// Compares what the new file predicts with what was measured; prints a table and the median error.
void compare(Emitter &emitter, std::vector<Case> &cases, const std::string &file) {
  fmt::print("\n{:<40} {:>12} {:>12} {:>8}\n", "predicted by the new file", "measured us", "predicted us", "error");
  std::vector<double> errors;
  for (Case &c : cases) {
    if (c.measured <= 0 || emitter.emit(c, file).empty()) {
      continue;
    }
    double error = c.predicted / c.measured - 1;
    if (c.mechanism != "nccl") { // those are read off the measurements
      errors.push_back(std::abs(error));
    }
    fmt::print("{:<40} {:>12.2f} {:>12.2f} {:>+7.1f}%\n", c.name(), c.measured, c.predicted, error * 100);
  }
  if (!errors.empty()) {
    std::sort(errors.begin(), errors.end());
    fmt::print("median error of {} predictions by our kernels: {:.1f} %\n", errors.size(), errors[errors.size() / 2] * 100);
  }
}

std::string today() {
  std::time_t now = std::time(nullptr);
  char text[32] = {};
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
  return text;
}

/// "NVIDIA H200" is machine h200.
std::string machineName(const std::string &device) {
  std::string name = device.substr(device.rfind(' ') + 1);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::isalnum(c) ? char(std::tolower(c)) : '_'; });
  return name;
}

/// What is to be written where, known before anything is measured.
struct Place {
  std::string path, machine;
  json worlds = json::object(); ///< entries of an existing file of the same machine
};

/// Throws Failure(BadInput) if the file cannot be written, or is another machine's.
Place placeOf(const Options &options, const Device &device) {
  Place place;
  place.machine = options.machine.empty() ? machineName(device.name) : options.machine;
  place.path = options.output.empty() ? place.machine + ".json" : options.output;
  run::requireWritable(place.path);
  if (!options.output.empty() && run::isFile(options.output)) {
    json old = json::parse(run::readFile(options.output, "machine file"), nullptr, /*allow_exceptions=*/false);
    if (!old.is_object() || old.value("schema", "") != "pkb-machine" || old.value("machine", "") != place.machine) {
      throw Failure(BadInput, fmt::format("'{}' is not a machine file of {}: name another file with -o", options.output, place.machine));
    }
    place.worlds = old.value("worlds", json::object());
  }
  return place;
}

/// The file with the new entry; the entries of other world sizes stay.
json machineFile(const Place &place, const Ranks &ranks, const Basics &basics, const std::vector<Case> &cases) {
  const Device &device = ranks.device();
  json worlds = place.worlds;
  worlds[std::to_string(ranks.size())] = fitRates(basics, cases, ranks.size());
  return {{"schema", "pkb-machine"},
          {"version", {1, 0}},
          {"machine", place.machine},
          {"device", device.name},
          {"source", fmt::format("pkb-calibrate on {} x {}, {}", ranks.size(), device.name, today())},
          {"sms", device.sms},
          {"threads_per_sm", device.threadsPerSm},
          {"multicast", false},
          {"link", basics.pushOneWay > 100 ? "nvlink" : "pcie"},
          {"copy_engines", device.copyEngines},
          {"worlds", worlds}};
}

/// Ends the process if the measurement hangs: kernels that wait for a peer cannot be taken back.
void startAlarm(double seconds) {
  std::thread([seconds] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    fmt::print(stderr, "pkb-calibrate: error: not finished after {} s; use --timeout to allow more\n", seconds);
    run::endProcess(run::Hang);
  }).detach();
}

int measureMachine(const Options &options) {
  std::string why;
  int gpus = options.device == "emulated" ? 0 : run::countGpus(why);
  bool emulated = options.device == "emulated" || (options.device == "auto" && gpus < options.ranks);
  if (!emulated && gpus < options.ranks) {
    throw Failure(BadInput, fmt::format("{} GPUs are asked for, this machine has {}{}; give --ranks, or --device=emulated to try the tool", options.ranks,
                                        gpus, why.empty() ? "" : " (" + why + ")"));
  }
  if (!options.output.empty()) {
    run::requireWritable(options.output);
  }
  auto begin = run::Clock::now();
  Emitter emitter(options.ranks, kArena);
  Ranks ranks(options.ranks, emulated, /*seconds=*/60);
  fmt::print("{} x {}{}\n\n", options.ranks, ranks.device().name, emulated ? ": nothing is timed and no file is written" : "");
  Place place = emulated ? Place() : placeOf(options, ranks.device());
  Basics basics = measureBasics(ranks);
  std::vector<Case> cases = plannedCases(emulated);
  measureCases(ranks, emitter, cases);
  if (!emulated) {
    run::writeFileAtomically(place.path, machineFile(place, ranks, basics, cases).dump(2) + "\n");
    compare(emitter, cases, place.path);
    fmt::print("wrote {}\n", place.path);
  }
  fmt::print("{} measurements in {:.0f} s\n", cases.size(), std::chrono::duration<double>(run::Clock::now() - begin).count());
  run::flushStandardOutput();
  return run::Right;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app{"pkb-calibrate: measure a machine and write its file for the cost model"};
  app.footer("exit status: 0 done, 2 bad input, 4 hang or peer lost");
  app.add_option("--ranks", options.ranks, "number of ranks, one GPU each")->check(run::within({2, 64}))->capture_default_str();
  app.add_option("--device", options.device, "auto: GPUs if there are enough, else emulated ranks, which time and write nothing")
      ->check(CLI::IsMember({"auto", "gpu", "emulated"}))
      ->capture_default_str();
  app.add_option("-o,--output", options.output, "machine file to write; entries of other numbers of ranks in it stay (default: MACHINE.json)");
  app.add_option("--machine", options.machine, "name of the machine in the file (default: the last word of the device's name)");
  app.add_option("--timeout", options.timeout, "seconds after which it gives up")->check(run::within(run::kSeconds))->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);
    }
    fmt::print(stderr, "pkb-calibrate: error: {}\n", error.what());
    return BadInput;
  }
  run::installSignalCleanup();
  startAlarm(options.timeout);
  int code = BadInput;
  try {
    code = measureMachine(options);
  } catch (const std::exception &error) {
    std::fflush(stdout);
    fmt::print(stderr, "pkb-calibrate: error: {}\n", error.what());
    const auto *failure = dynamic_cast<const Failure *>(&error);
    code = failure ? failure->code : int(BadInput);
  }
  std::fflush(stdout);
  run::endProcess(code);
}
