//===- Support.cpp - Errors, files and paths of pkb-run -------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Support.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <sstream>
#include <unistd.h>

namespace fs = std::filesystem;

namespace pkb::run {

std::string readFile(const std::string &path, const std::string &what) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Failure(BadInput, fmt::format("{} '{}' does not exist", what, path));
  }
  if (fs::is_directory(path, error)) {
    throw Failure(BadInput, fmt::format("{} '{}' is a folder, not a file", what, path));
  }
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || (!text && in.peek() != EOF)) {
    throw Failure(BadInput, fmt::format("{} '{}' cannot be read: {}", what, path, std::strerror(errno)));
  }
  return text.str();
}

void writeFileAtomically(const std::string &path, const std::string &text) {
  std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::ofstream out(temporary, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out) {
    fs::rename(temporary, path, error);
  }
  if (!out || error) {
    std::string reason = error ? error.message() : std::strerror(errno);
    fs::remove(temporary, error);
    throw Failure(BadInput, fmt::format("cannot write '{}': {}", path, reason));
  }
}

namespace {

constexpr std::array<uint32_t, 64> roundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotateRight(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

void sha256Block(std::array<uint32_t, 8> &state, const uint8_t *block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 | uint32_t(block[4 * i + 2]) << 8 | block[4 * i + 3];
  }
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = rotateRight(w[i - 15], 7) ^ rotateRight(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = rotateRight(w[i - 2], 17) ^ rotateRight(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  std::array<uint32_t, 8> v = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t s1 = rotateRight(v[4], 6) ^ rotateRight(v[4], 11) ^ rotateRight(v[4], 25);
    uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + roundConstants[i] + w[i];
    uint32_t s0 = rotateRight(v[0], 2) ^ rotateRight(v[0], 13) ^ rotateRight(v[0], 22);
    uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    v = {t1 + t2, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
  }
  for (int i = 0; i < 8; ++i) {
    state[i] += v[i];
  }
}

} // namespace

std::string sha256Hex(const std::string &data) {
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto *bytes = reinterpret_cast<const uint8_t *>(data.data());
  size_t whole = data.size() / 64 * 64;
  for (size_t i = 0; i < whole; i += 64) {
    sha256Block(state, bytes + i);
  }
  std::string tail = data.substr(whole);
  tail.push_back(char(0x80));
  tail.resize(tail.size() <= 56 ? 56 : 120, '\0');
  uint64_t bits = uint64_t(data.size()) * 8;
  for (int i = 7; i >= 0; --i) {
    tail.push_back(char(bits >> (8 * i)));
  }
  for (size_t i = 0; i < tail.size(); i += 64) {
    sha256Block(state, reinterpret_cast<const uint8_t *>(tail.data()) + i);
  }
  std::string hex;
  for (uint32_t word : state) {
    hex += fmt::format("{:08x}", word);
  }
  return hex;
}

bool isFile(const std::string &path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool isDirectory(const std::string &path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

void removeTree(const std::string &path) {
  std::error_code error;
  fs::remove_all(path, error);
}

std::string executableFolder() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string(".") : self.parent_path().string();
}

namespace {

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Folders to try in turn: an override from the environment, places beside the executable, the tree this was built from.
std::vector<std::string> candidates(const char *variable, std::initializer_list<const char *> beside, const char *inSource) {
  std::vector<std::string> folders;
  if (std::string override = environment(variable); !override.empty()) {
    folders.push_back(override);
  }
  for (const char *folder : beside) {
    folders.push_back((fs::path(executableFolder()) / folder).lexically_normal().string());
  }
#ifdef PKB_SOURCE_FOLDER
  folders.push_back((fs::path(PKB_SOURCE_FOLDER) / inSource).string());
#endif
  return folders;
}

} // namespace

std::string libraryFolder() { return (fs::path(executableFolder()) / "../lib").lexically_normal().string(); }

std::string findLibrary(const std::string &name) {
  std::string folder = libraryFolder();
  for (const std::string &path : {folder + "/" + name, executableFolder() + "/" + name}) {
    if (isFile(path)) {
      return path;
    }
  }
  throw Failure(BadInput, fmt::format("{} is not in '{}': build the run time or keep bin/ and lib/ side by side", name, folder));
}

std::string findPythonPackage() {
  for (const std::string &folder : candidates("PKB_PYTHONPATH", {"../python", "../runtime/torch", "../../runtime/torch"}, "runtime/torch")) {
    if (isFile(folder + "/pkb/__init__.py")) {
      return folder;
    }
  }
  throw Failure(BadInput, "the Python package 'pkb' was not found beside pkb-run: set PKB_PYTHONPATH to the folder that holds it");
}

std::string findRuntimeHeaders() {
  for (const std::string &folder : candidates("PKB_RT_INCLUDE", {"../include", "../../runtime/include"}, "runtime/include")) {
    if (isFile(folder + "/pkb_rt/layout.h")) {
      return folder;
    }
  }
  return "";
}

std::string runtimeHeadersHash() {
  std::string folder = findRuntimeHeaders();
  if (folder.empty()) {
    return "";
  }
  std::vector<fs::path> files;
  for (const auto &entry : fs::recursive_directory_iterator(folder + "/pkb_rt")) {
    if (entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::string all;
  for (const fs::path &file : files) {
    all += fs::relative(file, folder).string() + "\n" + readFile(file.string(), "run-time header") + "\n";
  }
  return sha256Hex(all);
}

std::string findPython() {
  if (std::string python = environment("PKB_PYTHON"); !python.empty()) {
    return python;
  }
  std::vector<std::string> places = {(fs::path(executableFolder()) / "../venv/bin/python").lexically_normal().string(),
                                     "build/venv/bin/python"};
#ifdef PKB_SOURCE_FOLDER
  places.push_back(PKB_SOURCE_FOLDER "/build/venv/bin/python");
#endif
  for (const std::string &place : places) {
    if (access(place.c_str(), X_OK) == 0) {
      return place;
    }
  }
  return "python3";
}

namespace {
std::mutex temporariesLock;
std::vector<std::string> temporaries;
} // namespace

std::string makeTemporaryFolder(const std::string &hint) {
  std::string base = environment("TMPDIR");
  if (base.empty() || base.size() > 48 || !isDirectory(base)) {
    base = "/tmp";
  }
  std::string name = fmt::format("{}/pkb-{}.XXXXXX", base, hint);
  if (!mkdtemp(name.data())) {
    throw Failure(BadInput, fmt::format("cannot make a folder under '{}': {}", base, std::strerror(errno)));
  }
  std::lock_guard<std::mutex> lock(temporariesLock);
  temporaries.push_back(name);
  return name;
}

void removeTemporaries() {
  std::lock_guard<std::mutex> lock(temporariesLock);
  for (const std::string &path : temporaries) {
    removeTree(path);
  }
  temporaries.clear();
}

std::string shapeText(const std::vector<int64_t> &sizes) {
  return sizes.empty() ? "scalar" : fmt::format("{}", fmt::join(sizes, "x"));
}

} // namespace pkb::run
