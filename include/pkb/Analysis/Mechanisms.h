// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Mechanisms.h - which mechanism can carry out what --------*- C++ -*-===//
//
// The table itself is Mechanisms.def. Selection asks it for choices, the gate of level L2 for what a schedule asks for.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_ANALYSIS_MECHANISMS_H
#define PKB_ANALYSIS_MECHANISMS_H

#include "dialects/Xfer/IR/Xfer.h"

#include <optional>
#include <string>

namespace pkb {

/// What is to be carried out, and where.
struct MechanismQuestion {
  xfer::Collective collective = xfer::Collective::None;
  std::optional<comm::ReduceKind> reduction;
  mlir::Type element;
  int64_t ranks = 1;        // of the group
  int64_t messageBytes = 0; // from one rank to one other, the largest
  bool even = true;         // every rank sends every other one a message, none of them empty
  bool wholeVectors = true; // every message is a multiple of 16 bytes
  int64_t arenaBytes = 0;   // of a channel's region on one rank
  int64_t copyEngines = 0;  // of one device
};

/// Why `mechanism` cannot carry that out, in words that name the limit; nothing if it can.
std::optional<std::string> whyIllegal(xfer::Mechanism mechanism, const MechanismQuestion &question);

/// The collective that an operation of level L1 is, by its name; uneven forms are the same collective. None for another operation.
xfer::Collective collectiveNamed(mlir::Operation *op);

/// What a collective of level L1 asks, of a machine with so many copy engines.
MechanismQuestion questionOf(comm::CollectiveOpInterface op, int64_t arenaBytes, int64_t copyEngines);

/// True if every rank of a row of the group sends something to every other.
bool talksToAll(xfer::Collective collective);

/// True if a collective combines contributions.
bool isReduction(xfer::Collective collective);

} // namespace pkb

#endif // PKB_ANALYSIS_MECHANISMS_H
