//===- Schedule.cpp - which collectives belong together -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Schedule.h"
#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace pkb;
using namespace pkb::frontend;

static constexpr StringLiteral kMustMatch =
    "; collectives must match on all ranks, in one order";

static std::string printed(ArrayRef<int64_t> list) {
  std::string text;
  raw_string_ostream os(text);
  os << "[";
  interleaveComma(list, os);
  os << "]";
  return text;
}

static std::string printed(const json::Value *value) {
  std::string text;
  raw_string_ostream os(text);
  if (value)
    os << *value;
  else
    os << "null";
  return text;
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

namespace {
/// A collective that has all its ranks.
struct Meeting {
  SmallVector<int64_t> row;    // ranks in group order
  SmallVector<int64_t> events; // of these ranks
};

/// Lets the ranks run from collective to collective, each as far as its peers
/// come along.
class Matcher {
public:
  explicit Matcher(const Bundle &bundle)
      : bundle(bundle), stops(bundle.worldSize), next(bundle.worldSize, 0) {}

  Expected<std::vector<Meeting>> run();

private:
  Error collectStops(int64_t rank);
  Expected<bool> meet(int64_t rank);
  Error checkMatch(const Meeting &meeting) const;
  Error explainDeadlock() const;

  bool hasEnded(int64_t rank) const { return next[rank] == stops[rank].size(); }
  int64_t eventAt(int64_t rank) const { return stops[rank][next[rank]].first; }
  ArrayRef<int64_t> groupAt(int64_t rank) const {
    return stops[rank][next[rank]].second;
  }
  const Event &getEvent(int64_t rank, int64_t event) const {
    return bundle.getProgram(rank).events[event];
  }
  /// "all_reduce at model.py:3".
  std::string placeOf(int64_t rank, int64_t event) const {
    return describe(getEvent(rank, event)) + " at " +
           bundle.getProgram(rank).where(getEvent(rank, event).site);
  }

  const Bundle &bundle;
  // By rank: its collectives as (event, ranks of the group), and how far it is.
  std::vector<std::vector<std::pair<int64_t, ArrayRef<int64_t>>>> stops;
  std::vector<size_t> next;
  std::vector<Meeting> meetings;
};
} // namespace

Error Matcher::collectStops(int64_t rank) {
  const RankProgram &program = bundle.getProgram(rank);
  for (auto [index, event] : enumerate(program.events)) {
    if (event.kind != EventKind::Collective)
      continue;
    if (!isSupportedCollective(describe(event)))
      return makeError(program.where(event.site), ": ", describe(event),
                       ": this collective is not supported yet");
    auto id = event.json->getInteger("group");
    auto at = id && isId(*id) ? bundle.groups.find(*id) : bundle.groups.end();
    if (at == bundle.groups.end())
      return makeError(placeOf(rank, index), " uses group ",
                       printed(event.json->get("group")),
                       ", which bundle.json does not list");
    if (!is_contained(at->second, rank))
      return makeError(placeOf(rank, index), " uses the group ",
                       printed(at->second), " on rank ", rank,
                       ", which is not a member");
    stops[rank].emplace_back(index, at->second);
  }
  return Error::success();
}

/// Lets the group that `rank` waits for go on if all its ranks are there.
Expected<bool> Matcher::meet(int64_t rank) {
  if (hasEnded(rank))
    return false;
  Meeting meeting;
  meeting.row.assign(groupAt(rank).begin(), groupAt(rank).end());
  for (int64_t peer : meeting.row) {
    if (hasEnded(peer) || groupAt(peer) != ArrayRef(meeting.row))
      return false;
    meeting.events.push_back(eventAt(peer));
  }
  if (Error error = checkMatch(meeting))
    return std::move(error);
  for (int64_t peer : meeting.row)
    ++next[peer];
  meetings.push_back(std::move(meeting));
  return true;
}

/// The first tensor of the list `key`, or null.
static const Tensor *firstTensor(const RankProgram &program,
                                 const json::Object &event, StringRef key) {
  const json::Array *list = event.getArray(key);
  auto id = list && !list->empty() ? (*list)[0].getAsInteger() : std::nullopt;
  auto at = id && isId(*id) ? program.tensorOfId.find(*id)
                            : program.tensorOfId.end();
  return at == program.tensorOfId.end() ? nullptr : &program.tensors[at->second];
}

/// All ranks of a row must make the same call. What belongs to one kind of
/// collective only (split sizes, say) is checked when it is imported.
Error Matcher::checkMatch(const Meeting &meeting) const {
  int64_t first = meeting.row.front();
  const RankProgram &program = bundle.getProgram(first);
  const Event &a = program.events[meeting.events.front()];
  for (auto [rank, index] : zip_equal(meeting.row, meeting.events)) {
    const RankProgram &theirs = bundle.getProgram(rank);
    const Event &b = theirs.events[index];
    if (&a == &b)
      continue;
    if (describe(a) != describe(b))
      return makeError("rank ", first, " runs ",
                       placeOf(first, meeting.events.front()), " where rank ",
                       rank, " runs ", placeOf(rank, index), kMustMatch);
    auto differ = [&, rank = rank](const std::string &what, const std::string &x,
                                   const std::string &y) {
      return makeError(what, " of ", describe(a), " is ", x, " on rank ", first,
                       " (", program.where(a.site), ") and ", y, " on rank ",
                       rank, " (", theirs.where(b.site), ")", kMustMatch);
    };
    for (StringRef key : {"reduce", "root"}) {
      std::string x = printed(a.json->get(key)), y = printed(b.json->get(key));
      if (x != y)
        return differ("'" + key.str() + "'", x, y);
    }
    for (StringRef key : {"inputs", "outputs"}) {
      const Tensor *x = firstTensor(program, *a.json, key);
      const Tensor *y = firstTensor(theirs, *b.json, key);
      if (x && y && x->dtype != y->dtype)
        return differ("the dtype", stringifyScalarType(x->dtype).str(),
                      stringifyScalarType(y->dtype).str());
      bool equal = is_contained({"all_reduce", "reduce", "broadcast", "gather"},
                                describe(a));
      if (x && y && equal && countElements(*x) != countElements(*y))
        return differ("the number of elements", std::to_string(countElements(*x)),
                      std::to_string(countElements(*y)));
    }
  }
  return Error::success();
}

/// Nobody can go on: says what the first rank waits for, and where the peer is
/// that does not come.
Error Matcher::explainDeadlock() const {
  for (int64_t rank = 0; rank < bundle.worldSize; ++rank) {
    if (hasEnded(rank))
      continue;
    for (int64_t peer : groupAt(rank)) {
      if (hasEnded(peer))
        return makeError("rank ", rank, " runs ", placeOf(rank, eventAt(rank)),
                         " where rank ", peer, " has ended", kMustMatch);
      if (groupAt(peer) != groupAt(rank))
        return makeError("rank ", rank, " runs ", placeOf(rank, eventAt(rank)),
                         " in the group ", printed(groupAt(rank)), " while rank ",
                         peer, " runs ", placeOf(peer, eventAt(peer)),
                         " in the group ", printed(groupAt(peer)), kMustMatch);
    }
  }
  llvm_unreachable("a rank waits although all its peers are there");
}

Expected<std::vector<Meeting>> Matcher::run() {
  for (int64_t rank = 0; rank < bundle.worldSize; ++rank)
    if (Error error = collectStops(rank))
      return std::move(error);
  for (bool progress = true; progress;) {
    progress = false;
    for (int64_t rank = 0; rank < bundle.worldSize; ++rank)
      for (bool met = true; met;) {
        Expected<bool> done = meet(rank);
        if (!done)
          return done.takeError();
        met = *done;
        progress |= met;
      }
  }
  for (int64_t rank = 0; rank < bundle.worldSize; ++rank)
    if (!hasEnded(rank))
      return explainDeadlock();
  return std::move(meetings);
}

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
      exchanges.push_back(
          {{}, std::vector<int64_t>(bundle.worldSize, -1)});
    Exchange &exchange = exchanges[at->second];
    exchange.rows.push_back(meeting.row);
    for (auto [rank, event] : zip_equal(meeting.row, meeting.events)) {
      // One operation of a rank is in one meeting. It is a class of several
      // ranks that has joined two.
      if (exchange.eventOf[rank] != -1)
        return findShared(exchange.rows);
      exchange.eventOf[rank] = event;
    }
  }
  // Ranks of a class make one operation of it.
  for (Exchange &exchange : exchanges) {
    DenseMap<size_t, int64_t> eventOfClass;
    for (auto [rank, event] : enumerate(exchange.eventOf))
      if (event != -1 &&
          eventOfClass.try_emplace(classOf[rank], event).first->second != event)
        return classOf[rank];
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
    for (auto [rank, event] : enumerate(exchange.eventOf))
      if (event != -1)
        queues[rank].push_back(number);
  for (auto [rank, queue] : enumerate(queues))
    sort(queue, [&, rank = rank](size_t a, size_t b) {
      return exchanges[a].eventOf[rank] < exchanges[b].eventOf[rank];
    });
  std::vector<size_t> next(bundle.worldSize, 0);
  std::vector<Exchange> sorted;
  auto isReady = [&](size_t number) {
    for (auto [rank, event] : enumerate(exchanges[number].eventOf))
      if (event != -1 && queues[rank][next[rank]] != number)
        return false;
    return true;
  };
  while (sorted.size() < exchanges.size()) {
    size_t before = sorted.size();
    for (auto [rank, queue] : enumerate(queues))
      while (next[rank] < queue.size() && isReady(queue[next[rank]])) {
        Exchange &ready = exchanges[queue[next[rank]]];
        for (auto [peer, event] : enumerate(ready.eventOf))
          next[peer] += event != -1;
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
  Expected<std::vector<Meeting>> meetings = Matcher(bundle).run();
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
  for (auto [number, exchange] : enumerate(schedule.exchanges))
    for (auto [rank, event] : enumerate(exchange.eventOf))
      if (event != -1)
        schedule.exchangeOf[rank][event] = number;
  return schedule;
}
