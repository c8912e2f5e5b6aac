//===- Support.cpp - Errors, files and paths of pkb-run -------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Support.h"

#include "runtime/lib/OutputFile.h"
#include "runtime/lib/Sha256.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
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
  if (std::string why = pkb_rt::writeWholeFile(path, text); !why.empty()) {
    throw Failure(BadInput, fmt::format("cannot write '{}': {}", path, why));
  }
}

void requireWritable(const std::string &path) {
  if (std::string why = pkb_rt::whyNotWritable(path); !why.empty()) {
    throw Failure(BadInput, fmt::format("cannot write '{}': {}", path, why));
  }
}

void flushStandardOutput() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    throw Failure(BadInput, fmt::format("cannot write to standard output{}{}", errno ? ": " : "", errno ? std::strerror(errno) : ""));
  }
}

std::string sha256Hex(const std::string &data) { return pkb_rt::sha256Hex(data); }

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
