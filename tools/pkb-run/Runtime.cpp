//===- Runtime.cpp - The run time and the emulator, loaded when needed ----===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Runtime.h"

#include "tools/pkb-run/Support.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace pkb::run {

namespace {

void *openLibrary(const std::string &name) {
  std::string path = findLibrary(name);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    throw Failure(BadInput, fmt::format("cannot load '{}': {}", path, dlerror()));
  }
  return library;
}

template <typename T>
void bind(void *library, const char *symbol, T &function) {
  function = reinterpret_cast<T>(dlsym(library, symbol));
  if (!function) {
    throw Failure(BadInput, fmt::format("the run-time libraries are of another version: {} is missing; build them again", symbol));
  }
}

} // namespace

const RuntimeLibrary &RuntimeLibrary::get() {
  static const RuntimeLibrary loaded = [] {
    RuntimeLibrary r;
    void *library = openLibrary("libpkb_rt.so");
#define X(name) bind(library, #name, r.name);
    PKB_RUN_RT_FUNCTIONS(X)
#undef X
    return r;
  }();
  return loaded;
}

const EmulatorLibrary &EmulatorLibrary::get() {
  static const EmulatorLibrary loaded = [] {
    EmulatorLibrary e;
    void *library = openLibrary("libpkb_emu.so");
#define X(name) bind(library, #name, e.name);
    PKB_RUN_EMU_FUNCTIONS(X)
#undef X
    return e;
  }();
  return loaded;
}

int countGpus(std::string &why) {
  const char *reason = nullptr;
  const pkb_driver *driver = RuntimeLibrary::get().pkb_driver_real(&reason);
  if (!driver) {
    why = reason ? reason : "no CUDA driver";
    return 0;
  }
  int count = 0;
  pkb_cu_result result = driver->init();
  if (result == 0) {
    result = driver->device_count(&count);
  }
  if (result != 0) {
    why = driver->error_string(result);
    return 0;
  }
  return count;
}

} // namespace pkb::run
