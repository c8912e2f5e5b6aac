//===- Cases.h - Collectives as the compiler emits them -------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_CALIBRATE_CASES_H
#define TOOLS_PKB_CALIBRATE_CASES_H

#include <cstdint>
#include <string>
#include <vector>

namespace pkb::calibrate {

/// One collective of bf16 among all ranks by one mechanism.
struct Case {
  std::string collective; ///< all_reduce, all_gather, all_to_all, reduce_scatter
  std::string mechanism;  ///< ldst, ll, copy_engine, nccl
  int64_t message = 0;    ///< bytes from one rank to one other
  double measured = 0;    ///< microseconds; 0: not measured
  double predicted = 0;   ///< by the machine file that was written
  // Of a kernel
  int64_t chunk = 0, blocks = 0;
  std::string skipped;    ///< why it was not measured

  std::string name() const;
  /// Bytes that one rank gets, as the cost model counts them for a library.
  double received(int ranks) const;
  /// Bytes that one rank sends by our kernels.
  double wire(int ranks) const { return double(message) * (ranks - 1); }
  /// Bytes that a rank reads and writes in its own memory besides what arrives.
  double local(int ranks) const;
  /// Its kernel moves several chunks per block.
  bool pipelined() const { return chunk * blocks < message; }
};

/// What is measured on GPUs, or, much smaller and fewer, on emulated ranks.
std::vector<Case> plannedCases(bool emulated);

/// Emits programs with the pkb-opt beside this executable, into a folder of their own.
class Emitter {
public:
  Emitter(int ranks, int64_t arenaBytes);
  /// Path of the emitted program; fills `chunk` and `blocks`. With a machine file also `predicted`. "" and `skipped` if pkb-opt refuses.
  std::string emit(Case &collective, const std::string &machineFile = "");

private:
  int ranks;
  int64_t arenaBytes;
  std::string folder, compiler;
};

} // namespace pkb::calibrate

#endif // TOOLS_PKB_CALIBRATE_CASES_H
