//===- Batch.cpp - Jobs on emulated ranks ---------------------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Batch.h"

#include "tools/pkb-run/Support.h"

#include <fmt/format.h>

using nlohmann::json;

namespace pkb::run {

Program openProgram(const JobSpec &job) {
  Program program = readProgram(job.program);
  if (job.ranks >= 0 && job.ranks != program.worldSize) {
    throw Failure(BadInput, fmt::format("program '{}' is for {} ranks, --ranks asks for {}; a program runs only at its bundle's world size",
                                        job.program, program.worldSize, job.ranks));
  }
  if (!job.check.empty()) {
    requireBundleOf(program, job.check);
  }
  if (!job.source.empty() && !isDirectory(job.source)) {
    throw Failure(BadInput, fmt::format("--source '{}' is not a folder", job.source));
  }
  return program;
}

std::string emulatedDevice(const Program &program, const Options &options) {
  return fmt::format("{} emulated ranks ({}threads of this machine, {} mode, seed {})", program.worldSize, options.whyEmulated, options.mode,
                     options.job.seed);
}

void runOneEmulated(const Options &options, Outcome &outcome) {
  Clock::time_point begin = Clock::now(), deadline = after(options.timeout);
  outcome.program = openProgram(outcome.job);
  const Program &program = *outcome.program;
  outcome.device = emulatedDevice(program, options);
  if (options.time) {
    outcome.notTimed = "emulated ranks";
  }
  std::unique_ptr<ReferenceRun> running;
  if (!outcome.job.check.empty() && options.reference.empty()) {
    std::string python = findPython();
    requireTorch(python);
    running = std::make_unique<ReferenceRun>(python, outcome.job, options.timeout);
  }
  std::shared_ptr<const Reference> reference;
  EmulatedResult result = runEmulated(
      program, options,
      [&] {
        Reference made = running ? readReference(running->finish(deadline), program, outcome.job)
                         : !options.reference.empty() ? readReference(options.reference, program, outcome.job)
                                                      : inventInputs(program, outcome.job);
        return reference = std::make_shared<const Reference>(std::move(made));
      },
      deadline);
  if (reference->hasResults) {
    outcome.oracle = reference->oracle;
    outcome.warnings = reference->warnings;
    outcome.verdicts = judgeEmulated(program, *reference, result);
    for (const Verdict &verdict : outcome.verdicts) {
      if (!verdict.right && outcome.code == Right) {
        outcome.code = Wrong;
        outcome.message = verdict.what + ": " + verdict.reason;
      }
    }
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
}

namespace {

/// `python -m pkb.export.refrun --serve`: answers come in the order of the requests.
class ReferenceServer {
public:
  explicit ReferenceServer(const std::string &python) : folder(makeTemporaryFolder("reference")) {
    std::map<std::string, std::string> environment = pythonEnvironment();
    environment["TMPDIR"] = folder; // whatever it leaves behind goes with our folder
    child = std::make_unique<Child>(std::vector<std::string>{python, "-m", "pkb.export.refrun", "--serve"}, environment, folder + "/log",
                                    Child::Wiring::Standard);
  }

  /// The folder that will hold the reference of `job`.
  std::string request(const JobSpec &job, double timeout) {
    std::string out = fmt::format("{}/{}", folder, count++);
    json fields = {{"bundle", job.check}, {"out", out},       {"trials", job.trials},
                   {"seed", job.seed},    {"oracle", true}, {"timeout", timeout}};
    if (!job.source.empty()) {
      fields["source"] = job.source;
    }
    child->sendLine(fields.dump());
    return out;
  }

  /// Waits for the next answer; throws Failure with its message.
  void answer(double timeout) {
    Clock::time_point deadline = after(timeout + 10);
    std::optional<std::string> line;
    while (!(line = child->receiveLine())) {
      if (child->finished() || Clock::now() > deadline) {
        child->kill();
        throw Failure(Hang, fmt::format("the reference runner does not answer: {}", child->lastLogLine()));
      }
      waitForAny({child.get()}, deadline);
    }
    json value = json::parse(*line, nullptr, false);
    if (!value.is_object() || value.contains("error")) {
      std::string message = value.is_object() ? value["error"].is_string() ? value["error"].get<std::string>() : value["error"].dump() : *line;
      int code = value.is_object() && value.contains("code") && value["code"].is_number() ? value["code"].get<int>() : int(BadInput);
      throw Failure(code == Hang ? Hang : BadInput, "running the original function: " + message);
    }
  }

private:
  std::string folder;
  std::unique_ptr<Child> child;
  int count = 0;
};

/// The child's command line for one job.
std::vector<std::string> commandOf(const JobSpec &job, const Options &options, const std::string &reference) {
  std::vector<std::string> command = {executableFolder() + "/pkb-run", job.program, "--device=emulated", "--json", "--mode", options.mode,
                                      "--trials", std::to_string(job.trials), "--seed", std::to_string(job.seed), "--timeout",
                                      fmt::format("{}", options.timeout)};
  auto more = [&](std::initializer_list<std::string> arguments) { command.insert(command.end(), arguments); };
  if (job.ranks >= 0) {
    more({"--ranks", std::to_string(job.ranks)});
  }
  if (!job.check.empty()) {
    more({"--check", job.check, "--reference", reference});
  }
  if (job.atol >= 0) {
    more({"--atol", fmt::format("{}", job.atol), "--rtol", fmt::format("{}", job.rtol)});
  }
  if (options.time) {
    more({"--time"});
  }
  return command;
}

/// Runs the child of one job and reads its JSON line into `outcome`.
void runChild(const std::vector<std::string> &command, const Options &options, Outcome &outcome) {
  std::string folder = makeTemporaryFolder("job");
  Child child(command, {}, folder + "/log", Child::Wiring::Standard);
  std::optional<int> status = child.wait(after(options.timeout + 20));
  std::optional<std::string> line = child.receiveLine();
  std::string last = child.lastLogLine();
  removeTree(folder);
  json value = line ? json::parse(*line, nullptr, false) : json();
  if (!status || !value.is_object()) {
    throw Failure(status && *status == BadInput ? BadInput : Hang, status ? fmt::format("ended with status {}: {}", *status, last)
                                                                          : "does not end");
  }
  outcome.code = value.at("exit");
  outcome.message = value.at("message");
  outcome.device = value.at("device");
  outcome.oracle = value.at("oracle");
  outcome.warnings = value.at("warnings").get<std::vector<std::string>>();
  outcome.notTimed = value.value("not_timed", "");
  for (const json &tensor : value.at("tensors")) {
    outcome.verdicts.push_back(Verdict::fromJson(tensor));
  }
}

} // namespace

void runEmulatedBatch(const std::vector<JobSpec> &jobs, const Options &options, Report &report) {
  std::unique_ptr<ReferenceServer> server;
  std::vector<std::string> references(jobs.size());
  std::vector<Outcome> outcomes(jobs.size());
  // Everything that can be refused at once is; the references of the rest are made one job ahead of the runs.
  for (size_t i = 0; i < jobs.size(); ++i) {
    outcomes[i].job = jobs[i];
    outcomes[i].device = "emulated ranks";
    try {
      outcomes[i].program = openProgram(jobs[i]);
      outcomes[i].device = emulatedDevice(*outcomes[i].program, options);
    } catch (const Failure &failure) {
      outcomes[i].code = failure.code;
      outcomes[i].message = failure.what();
    }
  }
  auto wants = [&](size_t i) { return i < jobs.size() && outcomes[i].code == Right && !jobs[i].check.empty(); };
  size_t requested = 0;
  auto requestUpTo = [&](size_t last) {
    for (; requested < jobs.size() && requested <= last; ++requested) {
      if (wants(requested)) {
        if (!server) {
          std::string python = findPython();
          requireTorch(python);
          server = std::make_unique<ReferenceServer>(python);
        }
        references[requested] = server->request(jobs[requested], options.timeout);
      }
    }
  };
  for (size_t i = 0; i < jobs.size(); ++i) {
    Outcome &outcome = outcomes[i];
    Clock::time_point begin = Clock::now();
    if (outcome.code == Right) {
      try {
        requestUpTo(i + 1);
        if (wants(i)) {
          server->answer(options.timeout);
        }
        runChild(commandOf(jobs[i], options, references[i]), options, outcome);
      } catch (const Failure &failure) {
        outcome.code = failure.code;
        outcome.message = failure.what();
        outcome.verdicts.clear();
      }
    }
    outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!references[i].empty()) {
      removeTree(references[i]);
    }
    report.add(outcome);
  }
}

} // namespace pkb::run
