//===- Schedule.h - which collectives belong together -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The collectives and messages of all ranks, matched in the order in which each rank makes
// them. Ranks that would wait for each other for ever are found here: it is a
// deadlock of the user's program.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_SCHEDULE_H
#define LIB_FRONTEND_SCHEDULE_H

#include "lib/Frontend/Unify.h"

namespace pkb::frontend {

/// Events that become one operation: one collective of each row, or messages. The
/// events of a rank are -1 where it has none.
struct Exchange {
  explicit Exchange(int64_t worldSize)
      : eventOf(worldSize, -1), sendOf(worldSize, -1), receiveOf(worldSize, -1),
        placeOf(worldSize, -1) {}

  Rows rows;                                // disjoint, of equal size
  std::vector<int64_t> eventOf;             // by rank: its collective
  std::vector<int64_t> sendOf, receiveOf;   // by rank: its messages
  llvm::SmallVector<int64_t> pairs;         // senders and receivers of messages
  std::vector<int64_t> placeOf;             // by rank: the event before which it is
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

  /// The exchanges of messages that come before an event of a rank (or at its
  /// end: the number of its events), in their order.
  llvm::SmallVector<const Exchange *> getMessages(int64_t rank,
                                                  int64_t event) const {
    llvm::SmallVector<const Exchange *> messages;
    for (size_t number : messagesAt[rank].lookup(event))
      messages.push_back(&exchanges[number]);
    return messages;
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
  std::vector<llvm::DenseMap<int64_t, llvm::SmallVector<size_t, 1>>> messagesAt;
  std::map<std::pair<int64_t, int64_t>, int64_t> ids;
};

} // namespace pkb::frontend

#endif // LIB_FRONTEND_SCHEDULE_H
