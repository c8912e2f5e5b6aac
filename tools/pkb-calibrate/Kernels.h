//===- Kernels.h - Kernels that measure one thing alone ------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_CALIBRATE_KERNELS_H
#define TOOLS_PKB_CALIBRATE_KERNELS_H

#include <cstdint>
#include <string>

namespace pkb::calibrate {

/// Programs in the emitted form, each of one kernel for `ranks` ranks.

/// Reads its epoch and ends: what a launch costs.
std::string emptyProgram(int ranks);
/// Ranks 0 and 1 send a flag back and forth `trips` times.
std::string pingPongProgram(int ranks, int trips);
/// Every rank signals every other and waits for it.
std::string barrierProgram(int ranks);
/// `blocks` blocks of 1024 threads store `bytes` bytes (a multiple of 16 * blocks) into the next rank's region: on all ranks, or on rank 0 alone.
std::string pushProgram(int ranks, int64_t bytes, int blocks, bool all);

} // namespace pkb::calibrate

#endif // TOOLS_PKB_CALIBRATE_KERNELS_H
