//===- Program.cpp - The manifest of an emitted program -------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Program.h"
#include "tools/pkb-run/Runtime.h"

#include "pkb_rt/layout.h"

#include <filesystem>
#include <algorithm>
#include <fmt/format.h>

using nlohmann::json;

namespace pkb::run {

namespace {

constexpr const char *manifestHead = "/* pkb-manifest\n";

/// The emitted text: the whole file, or that member of an artefact, which the run time finds whole.
std::string readText(const std::string &path) {
  std::string bytes = readFile(path, "program");
  if (std::filesystem::path(path).extension() == ".pkb") {
    throw Failure(BadInput, fmt::format("'{}' is a bundle; compile it first: pkb-opt {} --pkb-pipeline=target=<machine>x<ranks> -o X.cu", path, path));
  }
  bool named = path.size() > 4 && path.compare(path.size() - 4, 4, ".pkx") == 0;
  if (!named && bytes.compare(0, 2, "PK") != 0) {
    return bytes;
  }
  const RuntimeLibrary &api = RuntimeLibrary::get();
  pkb_artefact *artefact = nullptr;
  const void *data = nullptr;
  size_t size = 0;
  if (api.pkb_artefact_open(path.c_str(), &artefact) != PKB_OK || api.pkb_artefact_member(artefact, "program.cu", &data, &size) != PKB_OK) {
    throw Failure(BadInput, api.pkb_last_error());
  }
  std::string text(static_cast<const char *>(data), size);
  api.pkb_artefact_close(artefact);
  return text;
}

/// The JSON text between the manifest's markers.
std::string manifestText(const std::string &path, const std::string &text) {
  size_t begin = text.find(manifestHead);
  if (begin == std::string::npos) {
    throw Failure(BadInput, fmt::format("program '{}' has no manifest (no '/* pkb-manifest' comment): "
                                        "pass a .cu or .pkx that pkb-opt wrote",
                                        path));
  }
  begin += std::string(manifestHead).size();
  size_t end = text.find("*/", begin);
  if (end == std::string::npos) {
    throw Failure(BadInput, fmt::format("program '{}' is truncated: its manifest does not end; emit it again", path));
  }
  return text.substr(begin, end - begin);
}

template <typename T>
T field(const json &object, const char *key, const std::string &path) {
  auto found = object.find(key);
  if (found == object.end()) {
    throw Failure(BadInput, fmt::format("manifest of '{}' lacks '{}'; emit it again with this version's pkb-opt", path, key));
  }
  try {
    return found->get<T>();
  } catch (const json::exception &) {
    throw Failure(BadInput, fmt::format("manifest of '{}': '{}' has the wrong type, got: {}", path, key, found->dump()));
  }
}

void collectLeaves(const json &node, std::vector<int> &leaves) {
  if (node.value("kind", "") == "tensor") {
    leaves.push_back(node.value("id", -1));
  }
  if (auto items = node.find("items"); items != node.end() && items->is_array()) {
    for (const json &item : *items) {
      collectLeaves(item, leaves);
    }
  }
}

/// Leaves of `treeKey`, or 0..count-1 where there is no tree.
std::vector<int> leavesOf(const json &program, const char *treeKey, size_t count, const std::string &path) {
  std::vector<int> leaves;
  auto tree = program.find(treeKey);
  if (tree == program.end() || tree->is_null()) {
    for (size_t i = 0; i < count; ++i) {
      leaves.push_back(int(i));
    }
    return leaves;
  }
  collectLeaves(*tree, leaves);
  for (int leaf : leaves) {
    if (leaf < 0 || size_t(leaf) >= count) {
      throw Failure(BadInput, fmt::format("manifest of '{}': {} names tensor {}, but there are {}", path, treeKey, leaf, count));
    }
  }
  return leaves;
}

/// `from` is the manifest, or an entry of its "programs".
RankProgram readRankProgram(const json &from, const std::string &path) {
  RankProgram program;
  program.arguments = field<json>(from, "arguments", path);
  program.outputs = field<json>(from, "outputs", path);
  program.steps = from.value("steps", json::array());
  if (!program.arguments.is_array() || !program.outputs.is_array() || !program.steps.is_array()) {
    throw Failure(BadInput, fmt::format("manifest of '{}': 'arguments', 'outputs' and 'steps' must be lists", path));
  }
  program.inputLeaves = leavesOf(from, "input_tree", program.arguments.size(), path);
  program.outputLeaves = leavesOf(from, "output_tree", program.outputs.size(), path);
  return program;
}

void readRankPrograms(Program &program) {
  auto list = program.manifest.find("programs");
  if (list == program.manifest.end()) {
    program.programs.push_back(readRankProgram(program.manifest, program.path));
    for (int rank = 0; rank < program.worldSize; ++rank) {
      program.programs[0].ranks.push_back(rank);
    }
    return;
  }
  std::vector<bool> seen(size_t(program.worldSize));
  for (const json &entry : field<std::vector<json>>(program.manifest, "programs", program.path)) {
    program.programs.push_back(readRankProgram(entry, program.path));
    program.programs.back().ranks = field<std::vector<int>>(entry, "ranks", program.path);
    for (int rank : program.programs.back().ranks) {
      if (rank < 0 || rank >= program.worldSize || seen[size_t(rank)]) {
        throw Failure(BadInput, fmt::format("manifest of '{}': 'programs' must have each of {} ranks once, got: rank {}", program.path,
                                            program.worldSize, rank));
      }
      seen[size_t(rank)] = true;
    }
  }
  for (int rank = 0; rank < program.worldSize; ++rank) {
    if (!seen[size_t(rank)]) {
      throw Failure(BadInput, fmt::format("manifest of '{}': 'programs' has none for rank {}", program.path, rank));
    }
  }
}

int64_t launchesOf(const RankProgram &program) {
  return std::count_if(program.steps.begin(), program.steps.end(), [](const json &step) { return step.value("kind", "") == "launch"; });
}

} // namespace

const RankProgram &Program::ofRank(int rank) const {
  return *std::find_if(programs.begin(), programs.end(), [&](const RankProgram &program) {
    return std::find(program.ranks.begin(), program.ranks.end(), rank) != program.ranks.end();
  });
}

int64_t Program::launches() const {
  int64_t most = 0;
  for (const RankProgram &program : programs) {
    most = std::max(most, launchesOf(program));
  }
  return most;
}

int64_t Program::libraryCalls() const {
  int64_t most = 0;
  for (const RankProgram &program : programs) {
    most = std::max(most, int64_t(program.steps.size()) - launchesOf(program));
  }
  return most;
}

Program readProgram(const std::string &path) {
  Program program;
  program.path = path;
  std::string text = readText(path);
  std::string head = manifestText(path, text);
  program.manifest = json::parse(head, nullptr, /*allow_exceptions=*/false);
  if (program.manifest.is_discarded() || !program.manifest.is_object()) {
    throw Failure(BadInput, fmt::format("manifest of '{}' is not JSON: the file is damaged; emit it again", path));
  }
  if (program.manifest.value("schema", json()) != "pkb-manifest") {
    throw Failure(BadInput, fmt::format("manifest of '{}' is not a pkb-manifest; pass a .cu or .pkx that pkb-opt wrote", path));
  }
  auto version = field<std::vector<int>>(program.manifest, "version", path);
  if (version.size() != 2 || version[0] != PKB_MANIFEST_MAJOR || version[1] > PKB_MANIFEST_MINOR) {
    throw Failure(BadInput, fmt::format("manifest of '{}' has version {}, this pkb-run reads {}.0 to {}.{}; emit it again", path,
                                        fmt::join(version, "."), PKB_MANIFEST_MAJOR, PKB_MANIFEST_MAJOR, PKB_MANIFEST_MINOR));
  }
  program.textHash = sha256Hex(text);
  program.name = program.manifest.contains("name") ? field<std::string>(program.manifest, "name", path) : "program";
  program.id = program.manifest.contains("program") ? field<std::string>(program.manifest, "program", path) : program.textHash;
  program.worldSize = field<int>(program.manifest, "world_size", path);
  program.target = program.manifest["target"].is_string() ? program.manifest["target"].get<std::string>() : "";
  program.bundleHash = program.manifest["bundle"].is_string() ? program.manifest["bundle"].get<std::string>() : "";
  if (program.worldSize < 1 || program.worldSize > PKB_MAX_RANKS) {
    throw Failure(BadInput, fmt::format("manifest of '{}': world_size must be 1..{}, got: {}", path, PKB_MAX_RANKS, program.worldSize));
  }
  readRankPrograms(program);
  return program;
}

void requireBundleOf(const Program &program, const std::string &bundlePath) {
  std::string bytes = readFile(bundlePath, "bundle");
  if (bytes.size() < 4 || bytes.compare(0, 2, "PK") != 0) {
    throw Failure(BadInput, fmt::format("bundle '{}' is not a .pkb (not a zip file); export it again", bundlePath));
  }
  if (program.bundleHash.empty()) {
    throw Failure(BadInput, fmt::format("program '{}' names no bundle, so it cannot be checked against '{}'", program.path, bundlePath));
  }
  std::string hash = sha256Hex(bytes);
  if (hash != program.bundleHash) {
    throw Failure(BadInput, fmt::format("program '{}' was made from bundle {}, but '{}' is {}; pass that bundle or compile this one",
                                        program.path, program.bundleHash.substr(0, 12), bundlePath, hash.substr(0, 12)));
  }
}

} // namespace pkb::run
