//===- Gpu.cpp - Programs on GPU ranks ------------------------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Gpu.h"

#include "tools/pkb-run/Reference.h"

#include <algorithm>
#include <arpa/inet.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

using nlohmann::json;

namespace pkb::run {

/// One rank process and what it last said.
struct GpuPool::Rank {
  int index = 0;
  std::unique_ptr<Child> child;
  std::string log, step = "starting", device;
  bool ready = false, done = false;
  int code = Right;
  std::string message;
  bool peerFailed = false; ///< its message repeats another rank's
  bool checked = false;
  std::vector<Verdict> verdicts;
};

namespace {

constexpr double startSeconds = 180; ///< importing torch on a cold machine, NCCL's first communicator
constexpr double graceSeconds = 5;   ///< for the other ranks' messages after the first failure

/// A port that is free now, on the loopback interface.
int freePort() {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length) != 0) {
    throw Failure(BadInput, "no free port on the loopback interface for the ranks to meet");
  }
  close(fd);
  return ntohs(address.sin_port);
}

/// The variant whose failure costs only itself: the first word after the verb of the steps that job.py and timing.py announce.
std::string variantOf(const std::string &step) {
  if (step == "computing the oracle") {
    return "oracle";
  }
  for (const char *verb : {"preparing ", "warming up ", "timing "}) {
    if (step.rfind(verb, 0) == 0) {
      std::string rest = step.substr(std::string(verb).size());
      return rest.substr(0, rest.find(" ("));
    }
  }
  return step.rfind("counting the launches", 0) == 0 ? "launches" : "";
}

} // namespace

GpuPool::GpuPool(std::string python, const Options &options) : python(std::move(python)), options(options) {}

GpuPool::~GpuPool() { stop(); }

void GpuPool::stop() {
  // Ranks that are well leave together, in good order; all others are killed.
  bool well = std::all_of(ranks.begin(), ranks.end(), [](const auto &rank) { return rank->ready && rank->done && rank->code <= Wrong; });
  for (auto &rank : ranks) {
    well ? rank->child->closeInput() : rank->child->kill();
  }
  Clock::time_point deadline = after(graceSeconds);
  for (auto &rank : ranks) {
    rank->child->wait(deadline);
  }
  ranks.clear();
}

std::string GpuPool::deviceText() const {
  return ranks.empty() ? "GPUs" : fmt::format("{} x {}", ranks.size(), ranks[0]->device);
}

void GpuPool::start(int worldSize) {
  if (int(ranks.size()) == worldSize) {
    return;
  }
  stop();
  std::string folder = makeTemporaryFolder("ranks");
  std::map<std::string, std::string> environment = pythonEnvironment();
  environment["MASTER_ADDR"] = "127.0.0.1";
  environment["MASTER_PORT"] = std::to_string(freePort());
  environment["WORLD_SIZE"] = std::to_string(worldSize);
  environment["PKB_RENDEZVOUS"] = makeTemporaryFolder("meet");
  environment["PKB_WORKER_TIMEOUT_S"] = fmt::format("{}", options.timeout);
  if (!std::getenv("PKB_TIMEOUT_S")) {
    environment["PKB_TIMEOUT_S"] = fmt::format("{}", options.timeout);
  }
  for (int r = 0; r < worldSize; ++r) {
    environment["RANK"] = environment["LOCAL_RANK"] = std::to_string(r);
    auto rank = std::make_unique<Rank>();
    rank->index = r;
    rank->log = fmt::format("{}/rank{}.log", folder, r);
    rank->child = std::make_unique<Child>(std::vector<std::string>{python, "-m", "pkb.worker"}, environment, rank->log);
    ranks.push_back(std::move(rank));
  }
}

void GpuPool::handle(Rank &rank, const json &event, Outcome &outcome) {
  std::string kind = event.at("event");
  if (kind == "ready") {
    rank.ready = true;
    rank.device = event.at("device");
  } else if (kind == "step") {
    rank.step = event.at("step");
  } else if (kind == "check") {
    outcome.oracle = event.at("oracle");
    rank.checked = true;
    for (const json &verdict : event.at("verdicts")) {
      rank.verdicts.push_back(Verdict::fromJson(verdict));
    }
  } else if (kind == "time") {
    if (rank.index == 0) {
      outcome.times.push_back(event);
    }
  } else if (kind == "warning") {
    if (rank.index == 0) {
      outcome.warnings.push_back(event.at("message"));
    }
  } else if (kind == "done" || kind == "error") {
    rank.done = true;
    rank.code = event.at("code");
    rank.message = event.value("message", "");
    rank.peerFailed = event.value("peer", false);
  }
}

std::string GpuPool::attempt(const Program &program, Outcome &outcome, const std::vector<std::string> &skip) {
  start(program.worldSize);
  std::vector<std::string> ways;
  if (options.way != "graph") {
    ways.push_back("loop");
  }
  if (options.way != "loop") {
    ways.push_back("graph step");
  }
  std::string folder = makeTemporaryFolder("job");
  namespace fs = std::filesystem;
  json spec = {{"id", nextJob++},
               {"program", fs::absolute(program.path).string()},
               {"bundle", fs::absolute(outcome.job.check).string()},
               {"source", outcome.job.source.empty() ? json() : json(fs::absolute(outcome.job.source).string())},
               {"folder", folder},
               {"trials", outcome.job.trials},
               {"seed", outcome.job.seed},
               {"atol", outcome.job.atol >= 0 ? json(outcome.job.atol) : json()},
               {"rtol", outcome.job.rtol >= 0 ? json(outcome.job.rtol) : json()},
               {"time", options.time},
               {"ways", ways},
               {"compile", options.compile},
               {"skip", skip}};
  std::vector<Child *> children;
  for (auto &rank : ranks) {
    rank->done = false;
    rank->peerFailed = false;
    rank->code = Right;
    rank->message.clear();
    rank->checked = false;
    rank->verdicts.clear();
    rank->child->sendLine(spec.dump());
    children.push_back(rank->child.get());
  }
  outcome.times.clear();
  auto ready = [&] { return std::all_of(ranks.begin(), ranks.end(), [](const auto &rank) { return rank->ready; }); };
  bool started = ready();
  Clock::time_point deadline = after(started ? options.timeout : startSeconds);
  std::string lost;
  while (true) {
    bool all = true, failed = false;
    for (auto &rank : ranks) {
      while (std::optional<std::string> line = rank->child->receiveLine()) {
        json event = json::parse(*line, nullptr, false);
        if (event.is_object() && (event.value("job", json()).is_null() || event["job"] == spec["id"])) {
          handle(*rank, event, outcome);
        }
      }
      if (!rank->done && rank->child->poll() && rank->child->finished()) {
        rank->done = true;
        rank->code = rank->ready ? Hang : BadInput;
        rank->message = fmt::format("rank {} ended (status {}) at '{}': {}", rank->index, *rank->child->poll(), rank->step,
                                    rank->child->lastLogLine());
        lost = rank->step;
      }
      all = all && rank->done;
      failed = failed || (rank->done && rank->code != Right && rank->code != Wrong);
    }
    if (all) {
      break;
    }
    if (!started && ready()) {
      started = true;
      deadline = after(options.timeout);
    }
    if (failed) {
      deadline = std::min(deadline, after(graceSeconds));
    }
    if (Clock::now() >= deadline) {
      for (auto &rank : ranks) {
        if (!rank->done) {
          rank->code = Hang;
          rank->message = fmt::format("rank {} does not answer at '{}' after {} s{}", rank->index, rank->step,
                                      started ? options.timeout : startSeconds, started ? "; use --timeout to allow more" : "");
          rank->peerFailed = failed;
          lost = failed ? lost : rank->step;
        }
      }
      break;
    }
    waitForAny(children, deadline);
  }
  outcome.device = deviceText();
  // The rank that failed itself says more than those that waited for it, and a failure more than a wrong result.
  auto weight = [](const Rank &rank) { return rank.code == Right ? 0 : rank.code == Wrong ? 1 : rank.peerFailed ? 2 : 3; };
  const Rank &worst = **std::max_element(ranks.begin(), ranks.end(), [&](const auto &a, const auto &b) { return weight(*a) < weight(*b); });
  outcome.code = worst.code;
  outcome.message = worst.message.empty() || worst.message.rfind("rank ", 0) == 0 ? worst.message
                                                                                 : fmt::format("rank {}: {}", worst.index, worst.message);
  outcome.verdicts.clear();
  if (std::all_of(ranks.begin(), ranks.end(), [](const auto &rank) { return rank->checked; })) {
    std::vector<RankVerdicts> parts;
    for (const auto &rank : ranks) {
      parts.push_back({{rank->index}, rank->verdicts});
    }
    outcome.verdicts = mergeVerdicts(parts);
  }
  if (outcome.code != Right) {
    outcome.times.clear();
  }
  removeTree(folder);
  if (outcome.code != Right && outcome.code != Wrong) {
    stop();
  }
  return lost;
}

void GpuPool::run(const Program &program, Outcome &outcome) {
  std::vector<std::string> skip;
  const Outcome blank = outcome;
  for (int tries = 0; tries < 4; ++tries) {
    outcome = blank;
    std::string lost = attempt(program, outcome, skip);
    std::string variant = variantOf(lost);
    bool known = std::find(skip.begin(), skip.end(), variant) != skip.end();
    if (outcome.code != Hang || variant.empty() || variant == "ours" || known) {
      break;
    }
    fmt::print(stderr, "pkb-run: warning: {}; running again without {}\n", outcome.message, variant);
    skip.push_back(variant);
  }
  for (const Verdict &verdict : outcome.verdicts) {
    if (!verdict.right && outcome.code == Wrong && outcome.message.empty()) {
      outcome.message = verdict.what + ": " + verdict.reason;
    }
  }
}

} // namespace pkb::run
