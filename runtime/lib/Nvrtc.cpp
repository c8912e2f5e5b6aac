// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVRTC, found at run time: a system library, a CUDA toolkit, or the wheels that stand beside torch.
#include "Compile.h"
#include "Environment.h"
#include "Error.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

namespace pkb_rt {
namespace {

using NvrtcProgram = struct NvrtcProgramOpaque *;

struct Nvrtc {
  const char *(*errorString)(int);
  int (*version)(int *, int *);
  int (*createProgram)(NvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *);
  int (*destroyProgram)(NvrtcProgram *);
  int (*compile)(NvrtcProgram, int, const char *const *);
  int (*cubinSize)(NvrtcProgram, size_t *);
  int (*cubin)(NvrtcProgram, char *);
  int (*logSize)(NvrtcProgram, size_t *);
  int (*log)(NvrtcProgram, char *);
  std::string path;
};

template <typename Function>
bool lookUp(void *library, Function &function, const char *name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

void addMatches(std::vector<std::string> &result, const std::string &pattern) {
  glob_t found = {};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = found.gl_pathc; i-- > 0;) {
      result.push_back(found.gl_pathv[i]); // newest version first
    }
  }
  globfree(&found);
}

/// site-packages directories: of the torch in this process, of $PKB_PYTHON, of $VIRTUAL_ENV and of the build's own
/// venv.
std::vector<std::string> sitePackages() {
  std::vector<std::string> roots;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        std::string path = info->dlpi_name ? info->dlpi_name : "";
        size_t at = path.find("/torch/lib/lib");
        if (at != std::string::npos) {
          static_cast<std::vector<std::string> *>(data)->push_back(path.substr(0, at));
          return 1;
        }
        return 0;
      },
      &roots);
  std::vector<std::string> prefixes;
  std::string python = environmentText("PKB_PYTHON");
  if (size_t slash = python.rfind("/bin/"); slash != std::string::npos) {
    prefixes.push_back(python.substr(0, slash));
  }
  prefixes.push_back(environmentText("VIRTUAL_ENV"));
  prefixes.push_back(libraryDirectory() + "/../venv");
  prefixes.push_back("/usr/local");
  for (const std::string &prefix : prefixes) {
    if (!prefix.empty()) {
      addMatches(roots, prefix + "/lib/python3*/site-packages");
      addMatches(roots, prefix + "/lib/python3*/dist-packages");
    }
  }
  return roots;
}

std::vector<std::string> candidates(int driverVersion) {
  std::string asked = environmentText("PKB_NVRTC");
  if (!asked.empty()) {
    return {asked};
  }
  // A compiler newer than the driver makes code that the driver does not load.
  std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12"};
  if (driverVersion != 0 && driverVersion < 13000) {
    names.erase(names.begin());
  }
  std::vector<std::string> result;
  for (const std::string &name : names) {
    for (const std::string &root : sitePackages()) {
      addMatches(result, root + "/nvidia/*/lib/" + name);
    }
    result.push_back(name);
    std::string home = environmentText("CUDA_HOME");
    if (!home.empty()) {
      result.push_back(home + "/lib64/" + name);
    }
    result.push_back("/usr/local/cuda/lib64/" + name);
    addMatches(result, "/usr/local/cuda-1*/lib64/" + name);
  }
  return result;
}

bool load(int driverVersion, Nvrtc &nvrtc, std::string &reason) {
  for (const std::string &path : candidates(driverVersion)) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char *text = dlerror();
      reason = text ? text : path;
      continue;
    }
    bool complete =
        lookUp(library, nvrtc.errorString, "nvrtcGetErrorString") && lookUp(library, nvrtc.version, "nvrtcVersion") &&
        lookUp(library, nvrtc.createProgram, "nvrtcCreateProgram") &&
        lookUp(library, nvrtc.destroyProgram, "nvrtcDestroyProgram") &&
        lookUp(library, nvrtc.compile, "nvrtcCompileProgram") &&
        lookUp(library, nvrtc.cubinSize, "nvrtcGetCUBINSize") && lookUp(library, nvrtc.cubin, "nvrtcGetCUBIN") &&
        lookUp(library, nvrtc.logSize, "nvrtcGetProgramLogSize") && lookUp(library, nvrtc.log, "nvrtcGetProgramLog");
    if (complete) {
      nvrtc.path = path;
      return true;
    }
    reason = path + " is not a complete NVRTC";
    dlclose(library);
  }
  return false;
}

} // namespace

std::string describeNvrtc(int driverVersion) {
  Nvrtc nvrtc;
  std::string reason;
  if (!load(driverVersion, nvrtc, reason)) {
    if (!environmentText("PKB_NVRTC").empty()) {
      fail(PKB_ERROR_PROGRAM, "PKB_NVRTC cannot be used: ", reason);
    }
    return "";
  }
  int major = 0, minor = 0;
  nvrtc.version(&major, &minor);
  return cat("nvrtc ", major, ".", minor);
}

bool compileWithNvrtc(const CompileRequest &request, const std::vector<std::string> &options, std::string &image,
                      std::string &reason) {
  Nvrtc nvrtc;
  if (!load(request.driverVersion, nvrtc, reason)) {
    return false;
  }
  NvrtcProgram program = nullptr;
  int result = nvrtc.createProgram(&program, request.text.c_str(), request.path.c_str(), 0, nullptr, nullptr);
  if (result != 0) {
    fail(PKB_ERROR_PROGRAM, "NVRTC (", nvrtc.path, ") failed: ", nvrtc.errorString(result));
  }
  std::vector<const char *> arguments;
  for (const std::string &option : options) {
    arguments.push_back(option.c_str());
  }
  result = nvrtc.compile(program, int(arguments.size()), arguments.data());
  if (result != 0) {
    size_t bytes = 0;
    std::string log;
    if (nvrtc.logSize(program, &bytes) == 0 && bytes > 1) {
      log.resize(bytes);
      nvrtc.log(program, log.data());
      log.resize(std::strlen(log.c_str()));
    }
    nvrtc.destroyProgram(&program);
    fail(PKB_ERROR_PROGRAM, "'", request.path, "' does not compile with ", nvrtc.path, ": ", nvrtc.errorString(result),
         "\n", log.substr(0, 2000));
  }
  size_t bytes = 0;
  result = nvrtc.cubinSize(program, &bytes);
  if (result == 0 && bytes > 0) {
    image.resize(bytes);
    result = nvrtc.cubin(program, image.data());
  }
  nvrtc.destroyProgram(&program);
  if (result != 0 || bytes == 0) {
    fail(PKB_ERROR_PROGRAM, "NVRTC (", nvrtc.path, ") made no cubin of '", request.path,
         "': ", nvrtc.errorString(result));
  }
  return true;
}

} // namespace pkb_rt
