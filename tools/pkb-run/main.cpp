//===- main.cpp - Run, check and time an emitted program ------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Batch.h"
#include "tools/pkb-run/Gpu.h"
#include "tools/pkb-run/Process.h"
#include "tools/pkb-run/Reference.h"
#include "tools/pkb-run/Runtime.h"
#include "tools/pkb-run/Support.h"

#include <fmt/format.h>

using namespace pkb::run;

namespace {

/// True if `ranks` GPUs are to be used; throws where --device=gpu cannot be had. Notes in `options` why not where auto does without.
bool useGpus(Options &options, int ranks) {
  if (options.device == "emulated") {
    return false;
  }
  std::string why;
  int gpus = options.assumeGpus >= 0 ? options.assumeGpus : countGpus(why);
  if (options.device == "gpu" && gpus < ranks) {
    throw Failure(BadInput, fmt::format("the program needs {} GPUs, this machine has {}{}; use --device=emulated", ranks, gpus,
                                        why.empty() ? "" : " (" + why + ")"));
  }
  if (gpus < ranks) {
    options.whyEmulated = gpus == 0 ? "no GPU; " : fmt::format("{} GPU{} for {} ranks; ", gpus, gpus == 1 ? "" : "s", ranks);
  }
  return gpus >= ranks;
}

/// Fills `outcome` from `work`; a Failure becomes its code and message.
template <typename Work>
void guarded(Outcome &outcome, Work work) {
  try {
    work();
  } catch (const Failure &failure) {
    outcome.code = failure.code;
    outcome.message = failure.what();
    outcome.verdicts.clear();
  }
}

void runOnGpus(GpuPool &pool, const Options &options, Outcome &outcome) {
  Clock::time_point begin = Clock::now();
  if (outcome.job.check.empty()) {
    throw Failure(BadInput, "a run on GPUs needs --check X.pkb: the bundle says how to make the inputs");
  }
  pool.run(*outcome.program, outcome);
  if (options.time && outcome.times.empty() && outcome.notTimed.empty()) {
    outcome.notTimed = outcome.code == Wrong ? "the results are wrong" : "the ranks measured nothing";
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Jobs on GPUs where there are enough, the rest on emulated ranks.
void runBatch(Options &options, Report &report) {
  std::vector<JobSpec> emulated;
  std::unique_ptr<GpuPool> pool;
  for (const JobSpec &job : readBatch(options)) {
    Outcome outcome;
    outcome.job = job;
    outcome.device = "GPUs";
    bool done = true;
    guarded(outcome, [&] {
      outcome.program = openProgram(job);
      if (!useGpus(options, outcome.program->worldSize)) {
        done = false;
        return;
      }
      if (!pool) {
        std::string python = findPython();
        requireTorch(python);
        pool = std::make_unique<GpuPool>(python, options);
      }
      runOnGpus(*pool, options, outcome);
    });
    if (done) {
      report.add(outcome);
    } else {
      emulated.push_back(job);
    }
  }
  if (!emulated.empty()) {
    runEmulatedBatch(emulated, options, report);
  }
}

void runSingle(Options &options, Report &report) {
  Outcome outcome;
  outcome.job = options.job;
  guarded(outcome, [&] {
    outcome.program = openProgram(options.job);
    if (!useGpus(options, outcome.program->worldSize)) {
      return runOneEmulated(options, outcome);
    }
    std::string python = findPython();
    requireTorch(python);
    GpuPool pool(python, options);
    runOnGpus(pool, options, outcome);
  });
  report.add(outcome);
}

/// Writes the program as one Python file; the package does it.
void writeSolution(const Options &options) {
  std::string folder = makeTemporaryFolder("solution"), python = findPython();
  Child child({python, "-m", "pkb.solution", options.job.program, options.solution}, pythonEnvironment(), folder + "/log");
  std::optional<int> status = child.wait(after(options.timeout));
  if (status != 0) {
    std::string line = child.lastLogLine();
    const std::string prefix = "pkb-run: error: ";
    throw Failure(BadInput, status ? (line.rfind(prefix, 0) == 0 ? line.substr(prefix.size()) : line)
                                   : fmt::format("writing '{}' took longer than {} s", options.solution, options.timeout));
  }
  fmt::print("wrote {}\n", options.solution);
  flushStandardOutput();
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (int status = parseOptions(argc, argv, options); status >= 0) {
    return status;
  }
  installSignalCleanup();
  int code = BadInput;
  try {
    if (!options.json.empty() && options.json != "-") {
      requireWritable(options.json);
    }
    if (!options.solution.empty()) {
      requireWritable(options.solution);
      writeSolution(options);
      if (options.job.check.empty()) {
        endProcess(Right);
      }
    }
    Report report(options);
    options.batch.empty() ? runSingle(options, report) : runBatch(options, report);
    code = report.finish();
  } catch (const std::exception &error) {
    fmt::print(stderr, "pkb-run: error: {}\n", error.what());
    const auto *failure = dynamic_cast<const Failure *>(&error);
    code = failure ? failure->code : int(BadInput);
  }
  endProcess(code); // ends children and whatever thread still hangs
}
