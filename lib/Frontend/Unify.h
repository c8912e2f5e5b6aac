//===- Unify.h - which ranks run one program -----------------*- C++ -*-===//
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

/// Ranks that run different programs. Not bad input by itself: the message says
/// what differs, with the source lines and the values of both ranks.
class RanksDiffer : public llvm::ErrorInfo<RanksDiffer> {
public:
  static char ID;
  explicit RanksDiffer(std::string text) : text(std::move(text)) {}
  std::string message() const override { return text; }
  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string text;
};

/// Ranks that run one program: the same operations on the same shapes with the
/// same constants. Groups and peers may differ as those of equal programs do.
struct RankClass {
  llvm::SmallVector<int64_t> ranks; // ascending; the first one's record is used
  /// The rows that the ranks form for a group in the inputs or outputs, by the
  /// first rank's id of it.
  std::map<int64_t, Rows> treeGroups;
  std::string difference; // what the class of rank 0 does else; empty: nothing
};

/// The classes of a bundle in the order of their first ranks.
llvm::Expected<std::vector<RankClass>> classifyRanks(const Bundle &bundle);

/// Replaces a class by one for each of its ranks.
llvm::Error splitClass(const Bundle &bundle, std::vector<RankClass> &classes,
                       size_t index);

} // namespace pkb::frontend

#endif // LIB_FRONTEND_UNIFY_H
