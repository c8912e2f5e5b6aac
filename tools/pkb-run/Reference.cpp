//===- Reference.cpp - What the original function gave --------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Reference.h"

#include "tools/pkb-run/Support.h"

#include <cmath>
#include <fmt/format.h>
#include <random>

using nlohmann::json;

namespace pkb::run {

namespace {

constexpr const char *pinnedTorch = "2.11.0";

int64_t countOf(const std::vector<int64_t> &sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) {
    n *= size;
  }
  return n;
}

TensorEntry readEntry(const json &value, const JobSpec &job) {
  TensorEntry entry;
  entry.file = value.at("file").get<std::string>();
  std::string dtype = value.at("dtype").get<std::string>();
  entry.format = numberFormat(dtype);
  if (!entry.format) {
    throw Failure(BadInput, fmt::format("the original function has a tensor of dtype {}, which the run time does not know", dtype));
  }
  entry.sizes = value.at("sizes").get<std::vector<int64_t>>();
  entry.strides = value.at("strides").get<std::vector<int64_t>>();
  entry.offset = value.value("offset", int64_t(0));
  entry.storageBytes = value.value("storage_bytes", int64_t(0));
  if (auto storage = value.find("storage"); storage != value.end() && storage->is_number()) {
    entry.storage = storage->get<int>();
  }
  if (auto oracle = value.find("oracle"); oracle != value.end() && oracle->is_string()) {
    entry.oracleFile = oracle->get<std::string>();
  }
  entry.rule.comparison = value.value("rounding", false) ? Comparison::Bound : value.value("selected", false) ? Comparison::Values : Comparison::Bits;
  entry.rule.terms = value.value("terms", 1.0);
  entry.rule.roundings = value.value("roundings", 0.0);
  entry.rule.storage = value.value("roundoff", 0.0);
  entry.rule.atol = job.atol;
  entry.rule.rtol = job.rtol;
  return entry;
}

std::vector<TensorEntry> readEntries(const json &list, const JobSpec &job) {
  std::vector<TensorEntry> entries;
  for (const json &value : list) {
    entries.push_back(readEntry(value, job));
  }
  return entries;
}

} // namespace

std::string Reference::load(const TensorEntry &entry) const {
  std::string data = entry.file.empty() ? entry.data : readFile(folder + "/" + entry.file, "reference data");
  if (int64_t(data.size()) != countOf(entry.sizes) * entry.format->bytes) {
    throw Failure(BadInput, fmt::format("reference data '{}' has {} bytes, {} {} needs {}", entry.file, data.size(), entry.format->name,
                                        shapeText(entry.sizes), countOf(entry.sizes) * entry.format->bytes));
  }
  return data;
}

std::string Reference::loadOracle(const TensorEntry &entry) const {
  if (entry.oracleFile.empty()) {
    return "";
  }
  std::string data = readFile(folder + "/" + entry.oracleFile, "reference data");
  int64_t need = countOf(entry.sizes) * componentsOf(*entry.format) * 8;
  if (int64_t(data.size()) != need) {
    throw Failure(BadInput, fmt::format("reference data '{}' has {} bytes, expected {}", entry.oracleFile, data.size(), need));
  }
  return data;
}

Reference readReference(const std::string &folder, const Program &program, const JobSpec &job) {
  Reference reference;
  reference.folder = folder;
  json index = json::parse(readFile(folder + "/index.json", "reference index"), nullptr, false);
  try {
    for (const json &trial : index.at("trials")) {
      std::vector<RankTrial> ranks;
      for (const json &rank : trial.at("ranks")) {
        ranks.push_back({readEntries(rank.at("inputs"), job), readEntries(rank.at("args"), job), readEntries(rank.at("outputs"), job)});
      }
      reference.trials.push_back(std::move(ranks));
    }
    reference.oracle = index.value("oracle", false) ? "float64" : "none: " + index.value("oracle_reason", json("not asked for")).dump();
    reference.warnings = index.value("warnings", std::vector<std::string>());
  } catch (const json::exception &error) {
    throw Failure(BadInput, fmt::format("reference index in '{}' is not what this pkb-run reads: {}", folder, error.what()));
  }
  for (const auto &ranks : reference.trials) {
    if (int(ranks.size()) != program.worldSize) {
      throw Failure(BadInput, fmt::format("the bundle has {} ranks, program '{}' has {}", ranks.size(), program.path, program.worldSize));
    }
    for (size_t r = 0; r < ranks.size(); ++r) {
      const RankTrial &rank = ranks[r];
      const RankProgram &own = program.ofRank(int(r));
      if (rank.inputs.size() != own.inputLeaves.size() || rank.outputs.size() != own.outputLeaves.size()) {
        throw Failure(BadInput, fmt::format("on rank {} the original function takes {} tensors and gives {}, program '{}' takes {} and "
                                            "gives {}: compile the bundle again",
                                            r, rank.inputs.size(), rank.outputs.size(), program.path, own.inputLeaves.size(),
                                            own.outputLeaves.size()));
      }
    }
  }
  return reference;
}

Reference inventInputs(const Program &program, const JobSpec &job) {
  Reference reference;
  reference.hasResults = false;
  for (int t = 0; t < job.trials; ++t) {
    std::vector<RankTrial> ranks;
    for (int r = 0; r < program.worldSize; ++r) {
      std::mt19937_64 random(job.seed * 1000003 + uint64_t(t) * 4099 + uint64_t(r));
      std::normal_distribution<double> normal;
      RankTrial trial;
      const RankProgram &own = program.ofRank(r);
      for (size_t leaf = 0; leaf < own.inputLeaves.size(); ++leaf) {
        const json &argument = own.arguments[size_t(own.inputLeaves[leaf])];
        TensorEntry entry;
        entry.format = numberFormat(argument.value("dtype", ""));
        if (!entry.format) {
          throw Failure(BadInput, fmt::format("manifest of '{}': argument has unknown dtype {}", program.path, argument.value("dtype", "")));
        }
        entry.sizes = argument.at("sizes").get<std::vector<int64_t>>();
        entry.strides = argument.at("strides").get<std::vector<int64_t>>();
        entry.storage = int(leaf);
        int64_t n = countOf(entry.sizes), last = n ? 1 : 0;
        for (size_t d = 0; n && d < entry.sizes.size(); ++d) {
          last += (entry.sizes[d] - 1) * entry.strides[d];
        }
        entry.storageBytes = last * entry.format->bytes;
        entry.data.resize(size_t(n * entry.format->bytes));
        for (int64_t i = 0; i < n * componentsOf(*entry.format); ++i) {
          double x = normal(random);
          setComponent(*entry.format, entry.data.data(), i, entry.format->kind == NumberKind::Integer ? std::floor(std::fabs(x) * 8) : x);
        }
        trial.inputs.push_back(std::move(entry));
      }
      ranks.push_back(std::move(trial));
    }
    reference.trials.push_back(std::move(ranks));
  }
  return reference;
}

std::map<std::string, std::string> pythonEnvironment() {
  const char *inherited = std::getenv("PYTHONPATH");
  std::string path = findPythonPackage();
  return {{"PYTHONPATH", inherited && *inherited ? path + ":" + inherited : path},
          {"PYTHONUNBUFFERED", "1"},
          {"PKB_LIBRARY_DIR", libraryFolder()},
          {"NCCL_NVLS_ENABLE", "0"},
          {"TORCH_SYMM_MEM_DISABLE_MULTICAST", "1"},
          {"NVSHMEM_DISABLE_NVLS", "1"}};
}

void requireTorch(const std::string &python) {
  std::string folder = makeTemporaryFolder("python");
  Child child({python, "-c", "import importlib.metadata as m; print(m.version('torch'))"}, {}, folder + "/log");
  std::optional<int> status = child.wait(after(60));
  std::string last = child.lastLogLine();
  removeTree(folder);
  if (!status) {
    throw Failure(BadInput, fmt::format("Python '{}' does not answer; set PKB_PYTHON to one with torch {}", python, pinnedTorch));
  }
  if (*status != 0) {
    throw Failure(BadInput, fmt::format("Python '{}' has no torch {} ({}); set PKB_PYTHON to one that has", python, pinnedTorch, last));
  }
  if (last.substr(0, last.find('+')) != pinnedTorch) {
    throw Failure(BadInput, fmt::format("Python '{}' has torch {}, but torch {} is needed; set PKB_PYTHON", python, last, pinnedTorch));
  }
}

ReferenceRun::ReferenceRun(const std::string &python, const JobSpec &job, double timeout) : timeout(timeout) {
  folder = makeTemporaryFolder("reference");
  std::vector<std::string> command = {python, "-m", "pkb.export.refrun", "--bundle", job.check, "--trials", std::to_string(job.trials),
                                      "--seed", std::to_string(job.seed), "--out", folder + "/data", "--oracle", "--timeout",
                                      fmt::format("{}", timeout)};
  if (!job.source.empty()) {
    command.insert(command.end(), {"--source", job.source});
  }
  std::map<std::string, std::string> environment = pythonEnvironment();
  environment["TMPDIR"] = folder; // whatever it leaves behind goes with our folder
  child = std::make_unique<Child>(command, environment, folder + "/log");
}

std::string ReferenceRun::finish(Clock::time_point deadline) {
  std::optional<int> status = child->wait(deadline);
  if (!status) {
    child->kill();
    throw Failure(Hang, fmt::format("the original function did not end within {} s", timeout));
  }
  if (*status != 0) {
    std::string message = child->lastLogLine();
    for (const char *prefix : {"pkb-reference: error: "}) {
      if (message.rfind(prefix, 0) == 0) {
        message.erase(0, std::string(prefix).size());
      }
    }
    throw Failure(*status == Hang ? Hang : BadInput, "running the original function: " + message);
  }
  return folder + "/data";
}

} // namespace pkb::run
