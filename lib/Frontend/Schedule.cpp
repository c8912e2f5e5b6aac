//===- Schedule.cpp - which collectives belong together -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Schedule.h"
#include "lib/Frontend/Matcher.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace pkb;
using namespace pkb::frontend;

//===----------------------------------------------------------------------===//
// Meetings of one operation
//===----------------------------------------------------------------------===//

namespace {
/// Joins the meetings that ranks of one class make by one event.
class Merger {
public:
  Merger(const Bundle &bundle, ArrayRef<Meeting> meetings,
         ArrayRef<RankClass> classes)
      : bundle(bundle), meetings(meetings), classes(classes) {}

  /// The exchanges in an order in which they can happen, or the class that
  /// stands in the way.
  std::optional<size_t> run(std::vector<Exchange> &exchanges);

private:
  /// A class of several ranks among those of the rows.
  size_t findShared(const Rows &rows) const {
    for (const auto &row : rows)
      for (int64_t rank : row)
        if (classes[classOf[rank]].ranks.size() > 1)
          return classOf[rank];
    llvm_unreachable("meetings of single ranks are not joined");
  }
  std::optional<size_t> join(std::vector<Exchange> &exchanges);
  std::optional<size_t> order(std::vector<Exchange> &exchanges);

  const Bundle &bundle;
  ArrayRef<Meeting> meetings;
  ArrayRef<RankClass> classes;
  std::vector<size_t> classOf; // by rank
};
} // namespace

/// Adds a meeting to its exchange; false if a rank has two of one kind there.
static bool add(Exchange &exchange, const Meeting &meeting) {
  auto put = [](int64_t &to, int64_t value) {
    bool fits = to == -1 || to == value;
    to = value;
    return fits;
  };
  if (!meeting.isMessage) {
    exchange.rows.push_back(meeting.row);
    bool alone = true;
    for (auto [rank, event] : zip_equal(meeting.row, meeting.events)) {
      alone &= exchange.eventOf[rank] == -1;
      exchange.eventOf[rank] = exchange.placeOf[rank] = event;
    }
    return alone;
  }
  // All who send or get something are one row.
  if (exchange.rows.empty())
    exchange.rows.emplace_back();
  int64_t sender = meeting.row[0], receiver = meeting.row[1];
  for (int64_t rank : {sender, receiver})
    if (!is_contained(exchange.rows.front(), rank))
      exchange.rows.front().push_back(rank);
  sort(exchange.rows.front());
  bool alone = exchange.sendOf[sender] == -1 && exchange.receiveOf[receiver] == -1;
  exchange.pairs.append({sender, receiver});
  exchange.sendOf[sender] = meeting.events[0];
  exchange.receiveOf[receiver] = meeting.events[1];
  alone &= put(exchange.placeOf[sender], meeting.places[0]);
  return put(exchange.placeOf[receiver], meeting.places[1]) && alone;
}

std::optional<size_t> Merger::join(std::vector<Exchange> &exchanges) {
  EquivalenceClasses<size_t> together;
  std::map<std::pair<size_t, int64_t>, size_t> byEvent;
  for (auto [number, meeting] : enumerate(meetings)) {
    together.insert(number);
    for (auto [rank, event] : zip_equal(meeting.row, meeting.events)) {
      auto [at, added] = byEvent.try_emplace({classOf[rank], event}, number);
      if (!added)
        together.unionSets(at->second, number);
    }
  }
  DenseMap<size_t, size_t> exchangeOf; // by leader
  for (auto [number, meeting] : enumerate(meetings)) {
    auto [at, added] = exchangeOf.try_emplace(together.getLeaderValue(number),
                                              exchanges.size());
    if (added)
      exchanges.emplace_back(bundle.worldSize);
    // One operation of a rank is in one meeting, or one as sender and one as
    // receiver. It is a class of several ranks that has joined two.
    if (!add(exchanges[at->second], meeting))
      return findShared(exchanges[at->second].rows);
  }
  // Ranks of a class make one operation of it.
  for (Exchange &exchange : exchanges) {
    std::map<size_t, int64_t> firstOfClass;
    for (int64_t rank = 0; rank < bundle.worldSize; ++rank) {
      if (exchange.placeOf[rank] == -1)
        continue;
      int64_t first = firstOfClass.try_emplace(classOf[rank], rank).first->second;
      for (const std::vector<int64_t> *of :
           {&exchange.eventOf, &exchange.sendOf, &exchange.receiveOf,
            &exchange.placeOf})
        if ((*of)[rank] != (*of)[first])
          return classOf[rank];
    }
    sort(exchange.rows, [](const auto &a, const auto &b) {
      return *min_element(a) < *min_element(b);
    });
  }
  return std::nullopt;
}

/// Rows that were joined wait for each other. Sorts the exchanges so that each
/// rank meets its own in its order.
std::optional<size_t> Merger::order(std::vector<Exchange> &exchanges) {
  std::vector<std::vector<size_t>> queues(bundle.worldSize);
  for (auto [number, exchange] : enumerate(exchanges))
    for (auto [rank, place] : enumerate(exchange.placeOf))
      if (place != -1)
        queues[rank].push_back(number);
  // Messages at one place come before its collective.
  for (auto [rank, queue] : enumerate(queues))
    sort(queue, [&, rank = rank](size_t a, size_t b) {
      auto keyOf = [&](size_t number) {
        const Exchange &exchange = exchanges[number];
        return std::tuple(exchange.placeOf[rank], exchange.eventOf[rank] != -1,
                          number);
      };
      return keyOf(a) < keyOf(b);
    });
  std::vector<size_t> next(bundle.worldSize, 0);
  std::vector<Exchange> sorted;
  auto isReady = [&](size_t number) {
    for (auto [rank, place] : enumerate(exchanges[number].placeOf))
      if (place != -1 && queues[rank][next[rank]] != number)
        return false;
    return true;
  };
  while (sorted.size() < exchanges.size()) {
    size_t before = sorted.size();
    for (auto [rank, queue] : enumerate(queues))
      while (next[rank] < queue.size() && isReady(queue[next[rank]])) {
        Exchange &ready = exchanges[queue[next[rank]]];
        for (auto [peer, place] : enumerate(ready.placeOf))
          next[peer] += place != -1;
        sorted.push_back(std::move(ready));
      }
    if (sorted.size() == before)
      break;
  }
  if (sorted.size() == exchanges.size()) {
    exchanges = std::move(sorted);
    return std::nullopt;
  }
  // Meetings by themselves can happen: a class of several ranks is in the way.
  Rows waiting;
  for (auto [rank, queue] : enumerate(queues))
    if (next[rank] < queue.size())
      waiting.push_back({int64_t(rank)});
  return findShared(waiting);
}

std::optional<size_t> Merger::run(std::vector<Exchange> &exchanges) {
  classOf.resize(bundle.worldSize);
  for (auto [number, rankClass] : enumerate(classes))
    for (int64_t rank : rankClass.ranks)
      classOf[rank] = number;
  if (auto conflict = join(exchanges))
    return conflict;
  return order(exchanges);
}

Expected<Schedule> Schedule::make(const Bundle &bundle,
                                  std::vector<RankClass> &classes) {
  Expected<std::vector<Meeting>> meetings = matchRanks(bundle);
  if (!meetings)
    return meetings.takeError();
  Schedule schedule;
  while (true) {
    schedule.exchanges.clear();
    auto conflict = Merger(bundle, *meetings, classes).run(schedule.exchanges);
    if (!conflict)
      break;
    if (Error error = splitClass(bundle, classes, *conflict))
      return std::move(error);
  }
  schedule.exchangeOf.resize(bundle.worldSize);
  schedule.messagesAt.resize(bundle.worldSize);
  for (auto [number, exchange] : enumerate(schedule.exchanges))
    for (int64_t rank = 0; rank < bundle.worldSize; ++rank)
      if (exchange.eventOf[rank] != -1)
        schedule.exchangeOf[rank][exchange.eventOf[rank]] = number;
      else if (exchange.placeOf[rank] != -1)
        schedule.messagesAt[rank][exchange.placeOf[rank]].push_back(number);
  return schedule;
}
