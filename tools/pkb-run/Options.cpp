//===- Options.cpp - The command line of pkb-run --------------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Options.h"

#include "tools/pkb-run/Numbers.h"
#include "tools/pkb-run/Support.h"

#include <algorithm>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace pkb::run {

int parseOptions(int argc, char **argv, Options &options) {
  CLI::App app{"pkb-run: run an emitted program on GPUs or emulated ranks, check it against the original function, time it"};
  app.footer("exit status: 0 right, 1 wrong, 2 bad input, 3 fell back to the original, 4 hang or peer lost");
  JobSpec &job = options.job;
  app.add_option("program", job.program, "the .cu or .pkx that pkb-opt wrote");
  app.add_option("--ranks", job.ranks, "number of ranks; must be the program's world size (default: that)")->check(within(kRanks));
  app.add_option("--device", options.device, "auto: GPUs if there are enough, else emulated ranks")
      ->check(CLI::IsMember({"auto", "gpu", "emulated"}))
      ->capture_default_str();
  app.add_option("--check", job.check, "the bundle the program was made from: compare with its function on every rank");
  app.add_option("--source", job.source, "run the user's files from this folder instead of the bundle's copy");
  app.add_option("--trials", job.trials, "calls with inputs of trial 0, 1, ...")->check(within(kTrials))->capture_default_str();
  app.add_option("--seed", job.seed, "seed of the random generators and of the emulator's schedule")->check(within(kSeeds))->capture_default_str();
  app.add_flag("--time,!--no-time", options.time, "time the program and the baselines (GPUs only)");
  app.add_flag("--compile,!--no-compile", options.compile, "time torch.compile of the original too (default: yes)");
  app.add_option("--way", options.way, "what to time: loop (calls from Python), graph (steps of a CUDA graph), both")
      ->check(CLI::IsMember({"loop", "graph", "both"}))
      ->capture_default_str();
  app.add_flag("--json{-}", options.json, "JSON lines on standard output instead of tables, or, as --json=FILE, in a file as well");
  app.add_option("--timeout", options.timeout, "seconds after which a job is given up as hung")->check(within(kSeconds))->capture_default_str();
  app.add_option("--atol", job.atol, "with --rtol: accept |ours - oracle| <= atol + rtol * |oracle|")->check(within(kTolerances));
  app.add_option("--rtol", job.rtol, "see --atol")->check(within(kTolerances));
  app.add_option("--mode", options.mode, "of the emulator: value (fast) or proof (memory model, races; slow)")
      ->check(CLI::IsMember({"value", "proof"}))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "run the jobs of this file: a JSON list of {program, check, ranks, trials, seed, name}");
  app.add_option("--pkb-solution", options.solution,
                 "write the program as one Python file, a candidate for ParallelKernelBench; without --check, only that");
  app.add_option("--reference", options.reference, "folder that the reference runner has filled already")->group("");
  app.add_option("--assume-gpus", options.assumeGpus, "do not ask the driver how many GPUs there are (tests)")->group("");
  try {
    app.parse(argc, argv);
    if (options.batch.empty() == job.program.empty()) {
      throw CLI::ValidationError(job.program.empty() ? "no program given: name a .cu or .pkx file or use --batch"
                                                     : "give either a program or --batch, not both");
    }
    if (!options.solution.empty() && job.program.empty()) {
      throw CLI::ValidationError("--pkb-solution takes one program, not a batch");
    }
    if ((job.atol >= 0) != (job.rtol >= 0)) {
      throw CLI::ValidationError("--atol and --rtol must be given together");
    }
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return 0;
    }
    fmt::print(stderr, "pkb-run: {}\n", error.what());
    return BadInput;
  }
  return -1;
}

/// What an entry of a batch file may say.
static constexpr const char *kJobKeys[] = {"program", "check", "source", "ranks", "trials", "seed", "atol", "rtol", "name"};

/// The number under `key`, if there is one; throws Failure(BadInput) that begins with `where` if it is not in `range`.
template <typename T>
static void takeNumber(const json &entry, const char *key, Range range, T &value, const std::string &where) {
  if (!entry.contains(key)) {
    return;
  }
  const json &given = entry[key];
  bool whole = std::is_integral_v<T>;
  if (!(whole ? given.is_number_integer() : given.is_number()) || !range.holds(given.get<double>())) {
    throw Failure(BadInput, fmt::format("{}: {} must be {}{}, got: {}", where, key, whole ? "a whole number from " : "", range.text(), given.dump().substr(0, 40)));
  }
  value = given.get<T>();
}

std::vector<JobSpec> readBatch(const Options &options) {
  json list = json::parse(readFile(options.batch, "batch file"), nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) {
    throw Failure(BadInput, fmt::format("batch file '{}' is not a JSON list of jobs", options.batch));
  }
  if (list.empty()) {
    throw Failure(BadInput, fmt::format("batch file '{}' has no jobs: its list is empty", options.batch));
  }
  std::filesystem::path folder = std::filesystem::absolute(options.batch).parent_path();
  auto place = [&](const std::string &path) { return path.empty() ? path : (folder / path).lexically_normal().string(); };
  std::vector<JobSpec> jobs;
  for (const json &entry : list) {
    JobSpec job = options.job;
    auto where = [&] { return fmt::format("batch file '{}', job {}", options.batch, jobs.size()); };
    if (!entry.is_object()) {
      throw Failure(BadInput, fmt::format("{}: is no object, got: {}", where(), entry.dump()));
    }
    for (const auto &field : entry.items()) {
      if (std::find(std::begin(kJobKeys), std::end(kJobKeys), field.key()) == std::end(kJobKeys)) {
        throw Failure(BadInput, fmt::format("{}: unknown key '{}'; known: {}", where(), field.key(), fmt::join(kJobKeys, ", ")));
      }
    }
    if (!entry.contains("program")) {
      throw Failure(BadInput, fmt::format("{}: key 'program' is missing: the .cu or .pkx file to run", where()));
    }
    try {
      job.program = place(entry.at("program").get<std::string>());
      job.check = place(entry.value("check", ""));
      job.source = place(entry.value("source", ""));
      job.name = entry.value("name", std::filesystem::path(job.program).stem().string());
    } catch (const json::exception &error) {
      throw Failure(BadInput, fmt::format("{}: {}", where(), error.what()));
    }
    takeNumber(entry, "ranks", kRanks, job.ranks, where());
    takeNumber(entry, "trials", kTrials, job.trials, where());
    takeNumber(entry, "seed", kSeeds, job.seed, where());
    takeNumber(entry, "atol", kTolerances, job.atol, where());
    takeNumber(entry, "rtol", kTolerances, job.rtol, where());
    if ((job.atol >= 0) != (job.rtol >= 0)) {
      throw Failure(BadInput, fmt::format("{}: atol and rtol must be given together", where()));
    }
    jobs.push_back(job);
  }
  return jobs;
}

} // namespace pkb::run
