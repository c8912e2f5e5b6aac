//===- Schedule.h - which collectives belong together -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The collectives of all ranks, matched in the order in which each rank makes
// them. Ranks that would wait for each other for ever are found here: it is a
// deadlock of the user's program.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_SCHEDULE_H
#define LIB_FRONTEND_SCHEDULE_H

#include "lib/Frontend/Unify.h"

namespace pkb::frontend {

/// Events that become one operation: one collective of each row, all at the same
/// place of the programs.
struct Exchange {
  Rows rows;                    // disjoint, of equal size
  std::vector<int64_t> eventOf; // by rank: index of the event; -1: in no row
};

class Schedule {
public:
  /// Matches the collectives of all ranks. Classes whose ranks meet in a way that
  /// one operation cannot express are split. The error names both ranks and both
  /// lines of a mismatch.
  static llvm::Expected<Schedule> make(const Bundle &bundle,
                                       std::vector<RankClass> &classes);

  /// The exchange of a collective, by a rank's number and the event's index.
  const Exchange &at(int64_t rank, int64_t event) const {
    return exchanges[exchangeOf[rank].lookup(event)];
  }

  /// The number of the `part`-th operation that is made of an exchange: the same
  /// for all classes, different for all operations.
  int64_t getId(const Exchange &exchange, int64_t part) {
    return ids.try_emplace({&exchange - exchanges.data(), part}, ids.size())
        .first->second;
  }

private:
  std::vector<Exchange> exchanges;
  std::vector<llvm::DenseMap<int64_t, int64_t>> exchangeOf; // by rank
  std::map<std::pair<int64_t, int64_t>, int64_t> ids;
};

} // namespace pkb::frontend

#endif // LIB_FRONTEND_SCHEDULE_H
