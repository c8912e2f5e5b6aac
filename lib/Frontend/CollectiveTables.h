//===- CollectiveTables.h - what all ranks say of a collective --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_COLLECTIVETABLES_H
#define LIB_FRONTEND_COLLECTIVETABLES_H

#include "lib/Frontend/Schedule.h"

namespace pkb::frontend {

/// What an operation says about all its ranks, in the order of the rows of its
/// group.
struct CollectiveTables {
  llvm::SmallVector<int64_t> roots;  // ranks of the world, by row; empty: none
  llvm::SmallVector<double> factors; // by rank; empty: none
  // Elements, see comm's UnevenOpInterface; empty: the collective has no parts.
  llvm::SmallVector<int64_t> counts;
  bool even = true; // all counts are equal
};

/// Reads the calls that the ranks of an exchange made. The error names the lines
/// of both ranks where what one sends is not what the other expects.
llvm::Expected<CollectiveTables> makeTables(const Bundle &bundle,
                                            const Exchange &exchange);

} // namespace pkb::frontend

#endif // LIB_FRONTEND_COLLECTIVETABLES_H
