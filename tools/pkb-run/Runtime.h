//===- Runtime.h - The run time and the emulator, loaded when needed -*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pkb-run links neither library: it finds them beside itself, so that a missing one is a message and a machine without one can still
// use the other.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_RUNTIME_H
#define TOOLS_PKB_RUN_RUNTIME_H

#include "pkb_rt/emu.h"
#include "pkb_rt/pkb.h"

#include <string>

namespace pkb::run {

#define PKB_RUN_RT_FUNCTIONS(X)                                                                                                          \
  X(pkb_context_create) X(pkb_context_destroy) X(pkb_context_abort) X(pkb_last_error) X(pkb_program_load) X(pkb_program_unload)          \
  X(pkb_program_input_count) X(pkb_program_output_count) X(pkb_program_input) X(pkb_program_output) X(pkb_program_call)                  \
  X(pkb_program_notes) X(pkb_context_synchronize) X(pkb_driver_real) X(pkb_artefact_open) X(pkb_artefact_close) X(pkb_artefact_member)
#define PKB_RUN_EMU_FUNCTIONS(X)                                                                                                         \
  X(pkb_emu_default_options) X(pkb_emu_create) X(pkb_emu_destroy) X(pkb_emu_driver) X(pkb_emu_result) X(pkb_emu_count)

/// libpkb_rt.so. `get` throws Failure(BadInput) if it cannot be loaded.
struct RuntimeLibrary {
#define X(name) decltype(&::name) name = nullptr;
  PKB_RUN_RT_FUNCTIONS(X)
#undef X
  static const RuntimeLibrary &get();
};

/// libpkb_emu.so.
struct EmulatorLibrary {
#define X(name) decltype(&::name) name = nullptr;
  PKB_RUN_EMU_FUNCTIONS(X)
#undef X
  static const EmulatorLibrary &get();
};

/// How many GPUs the driver sees; 0 with the reason in `why` where there is no driver.
int countGpus(std::string &why);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_RUNTIME_H
