// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"

#include "Environment.h"
#include "Error.h"
#include "Sha256.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace pkb_rt {
namespace {

bool isFile(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool isDirectory(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string findInPath(const std::string &name) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? name : "";
  }
  std::string path = environmentText("PATH");
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    std::string candidate = path.substr(begin, end - begin) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  return "";
}

/// Hash of every header below `directory`, by name and text.
void hashTree(Sha256 &hash, const std::string &directory) {
  std::vector<std::string> names;
  if (DIR *dir = opendir(directory.c_str())) {
    while (dirent *entry = readdir(dir)) {
      if (entry->d_name[0] != '.') {
        names.push_back(entry->d_name);
      }
    }
    closedir(dir);
  }
  std::sort(names.begin(), names.end());
  for (const std::string &name : names) {
    std::string path = directory + "/" + name;
    if (isDirectory(path)) {
      hashTree(hash, path);
    } else if (isFile(path)) {
      hash.update(name).update("\n").update(readFile(path)).update("\n");
    }
  }
}

std::string firstLines(const std::string &text, size_t count) {
  size_t at = 0;
  for (size_t i = 0; i < count && at != std::string::npos; ++i) {
    at = text.find('\n', at + (i ? 1 : 0));
  }
  std::string head = text.substr(0, at);
  while (!head.empty() && head.back() == '\n') {
    head.pop_back();
  }
  return head;
}

std::vector<std::string> compileOptions(const std::string &include) {
  std::vector<std::string> options = {"-std=c++17", "-I" + include};
  std::string extra = environmentText("PKB_COMPILE_OPTIONS");
  for (size_t begin = 0; begin < extra.size();) {
    size_t end = std::min(extra.find(' ', begin), extra.size());
    if (end > begin) {
      options.push_back(extra.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return options;
}

} // namespace

void checkIsFile(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    fail(PKB_ERROR_PROGRAM, "cannot read '", path, "': ", std::strerror(errno));
  }
  if (S_ISREG(status.st_mode)) {
    return;
  }
  const char *kind = S_ISDIR(status.st_mode)    ? "a directory"
                     : S_ISFIFO(status.st_mode) ? "a pipe"
                     : S_ISSOCK(status.st_mode) ? "a socket"
                                                : "a device";
  fail(PKB_ERROR_PROGRAM, "cannot read '", path, "': it is ", kind, ", not a file");
}

std::string readFile(const std::string &path) {
  checkIsFile(path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    fail(PKB_ERROR_PROGRAM, "cannot read '", path, "': ", std::strerror(errno));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad() || text.fail()) {
    return "";
  }
  return text.str();
}

std::string libraryDirectory() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&libraryDirectory), &info) && info.dli_fname) {
    char resolved[4096];
    std::string path = realpath(info.dli_fname, resolved) ? resolved : info.dli_fname;
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
  }
  return ".";
}

std::string includeDirectory() {
  std::string asked = environmentText("PKB_RT_INCLUDE");
  std::string library = libraryDirectory();
  std::vector<std::string> candidates = {library + "/../include", library + "/../runtime/include",
                                         library + "/include"};
#ifdef PKB_RT_SOURCE_INCLUDE
  candidates.push_back(PKB_RT_SOURCE_INCLUDE); // the build tree it was made from, if that is still there
#endif
  if (!asked.empty()) {
    candidates = {asked};
  }
  for (const std::string &candidate : candidates) {
    if (isFile(candidate + "/pkb_rt/device.h")) {
      return candidate;
    }
  }
  fail(PKB_ERROR_PROGRAM, "pkb_rt/device.h not found in '", candidates[0], "'",
       asked.empty() ? "; set PKB_RT_INCLUDE to the run time's include directory" : " (PKB_RT_INCLUDE)");
}

int runProgram(const std::vector<std::string> &arguments, std::string &output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return -1;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::vector<char *> argv;
  for (const std::string &argument : arguments) {
    argv.push_back(const_cast<char *>(argument.c_str()));
  }
  argv.push_back(nullptr);
  pid_t pid = 0;
  int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed) {
    close(ends[0]);
    output = std::strerror(failed);
    return -1;
  }
  char buffer[4096];
  for (;;) {
    ssize_t n = read(ends[0], buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      break;
    }
    if (output.size() < (1 << 20)) {
      output.append(buffer, size_t(n));
    }
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string hostCompiler() {
  std::string asked = environmentText("PKB_CXX");
  if (!asked.empty()) {
    std::string found = findInPath(asked);
    if (found.empty()) {
      fail(PKB_ERROR_PROGRAM, "PKB_CXX names '", asked, "', which is not an executable");
    }
    return found;
  }
  for (const char *name : {"clang++-22", "clang++", "g++", "c++"}) {
    std::string found = findInPath(name);
    if (!found.empty()) {
      return found;
    }
  }
  fail(PKB_ERROR_PROGRAM,
       "no C++ compiler found to build a program for emulated ranks; install clang or g++, or set PKB_CXX");
}

std::string findNvcc() {
  std::string asked = environmentText("PKB_NVCC");
  if (asked == "none") {
    return "";
  }
  if (!asked.empty()) {
    std::string found = findInPath(asked);
    if (found.empty()) {
      fail(PKB_ERROR_PROGRAM, "PKB_NVCC names '", asked, "', which is not an executable; 'none' does without");
    }
    return found;
  }
  std::string home = environmentText("CUDA_HOME");
  for (const std::string &candidate : {home.empty() ? std::string("nvcc") : home + "/bin/nvcc", std::string("nvcc"),
                                       std::string("/usr/local/cuda/bin/nvcc")}) {
    std::string found = findInPath(candidate);
    if (!found.empty()) {
      return found;
    }
  }
  return "";
}

std::string architectureOf(int capability) { return cat("sm_", capability, capability >= 90 ? "a" : ""); }

void compileObject(ObjectKind kind, const std::string &path, const std::string &text, const std::string &compiler, const std::string &architecture,
                   const std::string &result) {
  TemporaryFolder folder;
  std::string source = folder.path + "/program.cu", output;
  writeFile(source, text);
  std::vector<std::string> arguments = {compiler};
  if (kind == ObjectKind::Host) {
    arguments.insert(arguments.end(), {"-x", "c++", "-O2", "-DPKB_EMULATED=1", "-shared", "-fPIC", "-w"});
  } else {
    arguments.insert(arguments.end(), {kind == ObjectKind::Cubin ? "-cubin" : "-ptx", "-arch=" + architecture, "-O3", "-x", "cu"});
  }
  for (const std::string &option : compileOptions(includeDirectory())) {
    arguments.push_back(option);
  }
  arguments.insert(arguments.end(), {source, "-o", result});
  int status = runProgram(arguments, output);
  if (status != 0 || !isFile(result)) {
    unlink(result.c_str());
    for (size_t at = 0; (at = output.find(source, at)) != std::string::npos; at += path.size()) {
      output.replace(at, source.size(), path);
    }
    fail(PKB_ERROR_PROGRAM, "'", path, "' does not compile with ", compiler, ":\n", firstLines(output, 12));
  }
}

Image compileProgram(const CompileRequest &request) {
  std::string include = includeDirectory(), compiler, nvcc, arch = architectureOf(request.capability);
  std::vector<std::string> options = compileOptions(include);
  if (request.emulated) {
    compiler = hostCompiler();
  } else {
    compiler = describeNvrtc(request.driverVersion);
    nvcc = compiler.empty() ? findNvcc() : "";
    if (compiler.empty() && nvcc.empty()) {
      fail(PKB_ERROR_PROGRAM, "neither NVRTC (libnvrtc.so.13 or .12) nor nvcc found to compile '", request.path,
           "'; install torch's nvidia-cuda-nvrtc or set PKB_NVRTC to the library");
    }
  }
  Sha256 hash;
  hash.update("image 1\n").update(request.text);
  for (size_t i = 0; i < options.size(); ++i) {
    hash.update(i == 1 ? "-I" : options[i]).update("\n"); // the headers count by content, not by place
  }
  hash.update(request.emulated ? "host " : arch + " ").update(compiler + nvcc).update("\n");
  hashTree(hash, include + "/pkb_rt");
  ImageRequest wanted;
  wanted.cacheDir = request.cacheDir;
  wanted.name = hash.hex() + (request.emulated ? ".so" : ".cubin");
  wanted.asFile = request.emulated;
  wanted.timeout = request.timeout;
  return cachedImage(wanted, [&](const std::string &result) {
    if (request.emulated || !nvcc.empty()) {
      compileObject(request.emulated ? ObjectKind::Host : ObjectKind::Cubin, request.path, request.text, request.emulated ? compiler : nvcc, arch, result);
      return;
    }
    options.push_back("--gpu-architecture=" + arch);
    options.push_back("-default-device"); // lambdas have no execution space of their own
    std::string image, reason;
    if (!compileWithNvrtc(request, options, image, reason)) {
      fail(PKB_ERROR_PROGRAM, "cannot compile '", request.path, "': ", reason);
    }
    writeFile(result, image);
  });
}

} // namespace pkb_rt
