//===- Matcher.h - who communicates with whom -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_MATCHER_H
#define LIB_FRONTEND_MATCHER_H

#include "lib/Frontend/Bundle.h"

namespace pkb::frontend {

/// A collective that has all its ranks, or a message that has both.
struct Meeting {
  // Ranks in group order; of a message, its sender and its receiver.
  llvm::SmallVector<int64_t> row;
  llvm::SmallVector<int64_t> events; // what these ranks call
  // The events before which it happens on these ranks: the calls themselves, or
  // how far the ranks have come when a message has both sides.
  llvm::SmallVector<int64_t> places;
  bool isMessage = false;
};

/// The meetings of all ranks, in an order in which they can happen. The error
/// names the lines of the user's program where ranks would wait for ever.
llvm::Expected<std::vector<Meeting>> matchRanks(const Bundle &bundle);

} // namespace pkb::frontend

#endif // LIB_FRONTEND_MATCHER_H
