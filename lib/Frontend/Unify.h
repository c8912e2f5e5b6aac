//===- Unify.h - one program for all ranks ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_UNIFY_H
#define LIB_FRONTEND_UNIFY_H

#include "lib/Frontend/Bundle.h"
#include <map>

namespace pkb::frontend {

/// A partition of ranks; see #comm.group.
using Rows = llvm::SmallVector<llvm::SmallVector<int64_t>>;

/// What unification found beside the equality of the ranks: for each group id
/// of rank 0, the rows that the ranks form where rank 0 uses that group.
class UnifiedGroups {
public:
  /// The rows of collective `event` (an index into the events of rank 0).
  const Rows &ofEvent(int64_t event) const { return byEvent.at(event); }
  /// The rows of a group in the inputs or outputs, by rank 0's id.
  const Rows &ofTree(int64_t id) const { return byTreeId.at(id); }
  bool hasTree(int64_t id) const { return byTreeId.count(id); }

private:
  friend class Unifier;
  std::map<int64_t, Rows> byEvent;
  std::map<int64_t, Rows> byTreeId;
};

/// Checks that all ranks run the same operations on the same shapes with the
/// same constants, and that their collectives match. The error names the first
/// difference with the source lines and the values of both ranks.
llvm::Expected<UnifiedGroups> unifyRanks(const Bundle &bundle);

} // namespace pkb::frontend

#endif // LIB_FRONTEND_UNIFY_H
