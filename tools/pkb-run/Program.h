//===- Program.h - The manifest of an emitted program -----------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_PROGRAM_H
#define TOOLS_PKB_RUN_PROGRAM_H

#include "tools/pkb-run/Support.h"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace pkb::run {

/// What some ranks run. Where all run the same, there is one.
struct RankProgram {
  std::vector<int> ranks;
  nlohmann::json arguments, outputs, steps; ///< of the manifest
  /// Index of the argument (output) for each tensor leaf of the input (output) tree, in tree order.
  std::vector<int> inputLeaves, outputLeaves;
};

/// An emitted `.cu`, or the one in an artefact `.pkx`, as far as pkb-run needs it: its text, its manifest (docs/Rationale/Runtime.md), and how the leaves of the
/// user's argument and result trees map to the program's arguments and outputs on each rank.
struct Program {
  std::string path;
  std::string textHash; ///< SHA-256 of the emitted text
  nlohmann::json manifest;
  std::string name, id, target, bundleHash;
  int worldSize = 0;
  std::vector<RankProgram> programs; ///< in the manifest's order; each rank is in one
  const RankProgram &ofRank(int rank) const;

  int64_t launches() const;     ///< kernels of ours that one call launches, on the rank that launches most
  int64_t libraryCalls() const; ///< ATen calls and copies of one call, likewise
};

/// Reads and checks the head of `path`. Throws Failure(BadInput): missing, truncated, other schema or version, or a field
/// missing or of another type, named.
Program readProgram(const std::string &path);

/// Refuses a bundle that is not the one `program` was made from, by the hash in the manifest.
void requireBundleOf(const Program &program, const std::string &bundlePath);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_PROGRAM_H
