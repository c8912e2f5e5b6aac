//===- Matcher.cpp - who communicates with whom ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Matcher.h"
#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include <deque>
#include <map>

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

namespace {
/// Why a rank does not go on.
enum class Stop {
  Collective, // its peers must come
  Receive,    // a message must come
  Pause,      // it could go on, but its messages should leave first
  End
};

/// One side of a message.
struct Post {
  int64_t rank = 0;
  int64_t event = 0;
};

/// Messages meet in the order of their posts if these agree.
struct Channel {
  SmallVector<int64_t> group;
  int64_t sender = 0, receiver = 0, tag = 0;
  bool operator<(const Channel &other) const {
    return std::tie(group, sender, receiver, tag) <
           std::tie(other.group, other.sender, other.receiver, other.tag);
  }
};

struct Queue {
  std::deque<Post> sends, receives;
};

/// Lets the ranks run from call to call, each as far as its peers come along. A
/// rank whose messages nobody has taken yet pauses before it computes on, so that
/// messages are placed near their calls; it goes on when nothing else happens.
class Matcher {
public:
  explicit Matcher(const Bundle &bundle)
      : bundle(bundle), at(bundle.worldSize, 0), stops(bundle.worldSize),
        open(bundle.worldSize) {}

  Expected<std::vector<Meeting>> run();

private:
  Error advance(int64_t rank, bool resume);
  Error post(int64_t rank, int64_t index);
  Expected<bool> deliver();
  Expected<bool> meet(int64_t rank);
  Error checkMatch(const Meeting &meeting) const;
  Error checkMessage(const Post &send, const Post &receive) const;
  Error explainDeadlock() const;
  Error explainRest() const;
  Expected<ArrayRef<int64_t>> readGroup(int64_t rank, int64_t index) const;

  const RankProgram &program(int64_t rank) const {
    return bundle.getProgram(rank);
  }
  ArrayRef<int64_t> groupAt(int64_t rank) const {
    const json::Object &json = *program(rank).events[at[rank]].json;
    return bundle.groups.at(*json.getInteger("group"));
  }
  /// "all_reduce at model.py:3".
  std::string placeOf(int64_t rank, int64_t event) const {
    const Event &described = program(rank).events[event];
    return describe(described) + " at " + program(rank).where(described.site);
  }
  std::string lineOf(const Post &post) const {
    return program(post.rank).where(program(post.rank).events[post.event].site);
  }

  const Bundle &bundle;
  std::vector<int64_t> at; // by rank: the event that comes next
  std::vector<Stop> stops; // by rank
  // By rank: events of messages that have one side only, with the other rank.
  std::vector<std::map<int64_t, int64_t>> open;
  std::map<Channel, Queue> channels;
  std::vector<Meeting> meetings;
};
} // namespace

static bool isMessage(StringRef name) { return name == "send" || name == "recv"; }

Expected<ArrayRef<int64_t>> Matcher::readGroup(int64_t rank,
                                               int64_t index) const {
  const json::Object &json = *program(rank).events[index].json;
  auto id = json.getInteger("group");
  auto group = id && isId(*id) ? bundle.groups.find(*id) : bundle.groups.end();
  if (group == bundle.groups.end())
    return makeError(placeOf(rank, index), " uses group ",
                     printed(json.get("group")),
                     ", which bundle.json does not list");
  if (!is_contained(group->second, rank))
    return makeError(placeOf(rank, index), " uses the group ",
                     printed(group->second), " on rank ", rank,
                     ", which is not a member");
  return ArrayRef<int64_t>(group->second);
}

Error Matcher::post(int64_t rank, int64_t index) {
  const Event &event = program(rank).events[index];
  auto group = readGroup(rank, index);
  if (!group)
    return group.takeError();
  auto peer = event.json->getInteger("peer");
  if (!peer || *peer < 0 || *peer >= int64_t(group->size()))
    return makeError(placeOf(rank, index), ": peer must be one of the ",
                     group->size(), " ranks of the group, got: ",
                     printed(event.json->get("peer")));
  bool sends = describe(event) == "send";
  int64_t other = (*group)[*peer];
  Channel channel{SmallVector<int64_t>(*group), sends ? rank : other,
                  sends ? other : rank, event.json->getInteger("tag").value_or(0)};
  Queue &queue = channels[channel];
  (sends ? queue.sends : queue.receives).push_back({rank, index});
  open[rank].emplace(index, other);
  return Error::success();
}

/// Runs `rank` to where it has to wait. With `resume`, it may compute on by one
/// event although it has open messages.
Error Matcher::advance(int64_t rank, bool resume) {
  const std::vector<Event> &events = program(rank).events;
  for (; at[rank] < int64_t(events.size()); ++at[rank]) {
    const Event &event = events[at[rank]];
    StringRef name = event.json->getString("name").value_or("");
    bool waits = event.kind == EventKind::Wait;
    int64_t waitedFor =
        waits ? event.json->getInteger("collective").value_or(-1) : -1;
    if (event.kind == EventKind::Collective && !isMessage(name)) {
      if (!isSupportedCollective(name))
        return makeError(program(rank).where(event.site), ": ", name,
                         ": this collective is not supported yet");
      auto group = readGroup(rank, at[rank]);
      if (!group)
        return group.takeError();
      stops[rank] = Stop::Collective;
      return Error::success();
    }
    if (event.kind == EventKind::Collective) {
      if (Error error = post(rank, at[rank]))
        return error;
      continue;
    }
    bool isOpen = open[rank].count(waitedFor);
    if (isOpen && describe(events[waitedFor]) == "recv") {
      stops[rank] = Stop::Receive;
      return Error::success();
    }
    if (open[rank].empty() || (waits && !isOpen))
      continue;
    if (!resume) {
      stops[rank] = Stop::Pause;
      return Error::success();
    }
    resume = false;
  }
  stops[rank] = Stop::End;
  return Error::success();
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

Error Matcher::checkMessage(const Post &send, const Post &receive) const {
  auto tensorOf = [&](const Post &post, StringRef key) {
    return firstTensor(program(post.rank),
                       *program(post.rank).events[post.event].json, key);
  };
  const Tensor *from = tensorOf(send, "inputs");
  const Tensor *to = tensorOf(receive, "outputs");
  if (!from || !to)
    return makeError(from ? placeOf(receive.rank, receive.event)
                          : placeOf(send.rank, send.event),
                     " has no tensor");
  if (from->dtype == to->dtype && countElements(*from) == countElements(*to))
    return Error::success();
  return makeError("rank ", send.rank, " (", lineOf(send), ") sends ",
                   countElements(*from), " elements of ",
                   stringifyScalarType(from->dtype), " to rank ", receive.rank,
                   " (", lineOf(receive), "), which expects ",
                   countElements(*to), " of ", stringifyScalarType(to->dtype));
}

/// Takes the messages that have both sides, in the order of the calls that send
/// them; ranks that run one program do so alike.
Expected<bool> Matcher::deliver() {
  SmallVector<std::pair<Post, Post>> ready;
  for (auto &[channel, queue] : channels)
    while (!queue.sends.empty() && !queue.receives.empty()) {
      ready.emplace_back(queue.sends.front(), queue.receives.front());
      queue.sends.pop_front();
      queue.receives.pop_front();
    }
  sort(ready, [](const auto &a, const auto &b) {
    return std::pair(a.first.event, a.first.rank) <
           std::pair(b.first.event, b.first.rank);
  });
  for (auto &[send, receive] : ready) {
    if (Error error = checkMessage(send, receive))
      return std::move(error);
    open[send.rank].erase(send.event);
    open[receive.rank].erase(receive.event);
    meetings.push_back({{send.rank, receive.rank},
                        {send.event, receive.event},
                        {at[send.rank], at[receive.rank]},
                        /*isMessage=*/true});
  }
  return !ready.empty();
}

/// Lets the group that `rank` waits for go on if all its ranks are there.
Expected<bool> Matcher::meet(int64_t rank) {
  if (stops[rank] != Stop::Collective)
    return false;
  Meeting meeting;
  meeting.row.assign(groupAt(rank).begin(), groupAt(rank).end());
  for (int64_t peer : meeting.row) {
    if (stops[peer] != Stop::Collective || groupAt(peer) != ArrayRef(meeting.row))
      return false;
    meeting.events.push_back(at[peer]);
  }
  if (Error error = checkMatch(meeting))
    return std::move(error);
  meeting.places = meeting.events;
  meetings.push_back(std::move(meeting));
  for (int64_t peer : meetings.back().row) {
    ++at[peer];
    if (Error error = advance(peer, /*resume=*/false))
      return std::move(error);
  }
  return true;
}

/// All ranks of a row must make the same call. What belongs to one kind of
/// collective only (split sizes, say) is checked when it is imported.
Error Matcher::checkMatch(const Meeting &meeting) const {
  int64_t first = meeting.row.front();
  const Event &a = program(first).events[meeting.events.front()];
  for (auto [rank, index] : zip_equal(meeting.row, meeting.events)) {
    const Event &b = program(rank).events[index];
    if (&a == &b)
      continue;
    if (describe(a) != describe(b))
      return makeError("rank ", first, " runs ",
                       placeOf(first, meeting.events.front()), " where rank ",
                       rank, " runs ", placeOf(rank, index), kMustMatch);
    auto differ = [&, rank = rank](const std::string &what, const std::string &x,
                                   const std::string &y) {
      return makeError(what, " of ", describe(a), " is ", x, " on rank ", first,
                       " (", program(first).where(a.site), ") and ", y,
                       " on rank ", rank, " (", program(rank).where(b.site), ")",
                       kMustMatch);
    };
    for (StringRef key : {"reduce", "root"}) {
      std::string x = printed(a.json->get(key)), y = printed(b.json->get(key));
      if (x != y)
        return differ("'" + key.str() + "'", x, y);
    }
    for (StringRef key : {"inputs", "outputs"}) {
      const Tensor *x = firstTensor(program(first), *a.json, key);
      const Tensor *y = firstTensor(program(rank), *b.json, key);
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
  auto whereIs = [&](int64_t rank) -> std::string {
    if (stops[rank] == Stop::End)
      return "has ended";
    if (stops[rank] == Stop::Collective)
      return "runs " + placeOf(rank, at[rank]) + " in the group " +
             printed(groupAt(rank));
    int64_t call = *program(rank).events[at[rank]].json->getInteger("collective");
    return "waits for " + placeOf(rank, call) + " from rank " +
           std::to_string(open[rank].at(call));
  };
  for (int64_t rank = 0; rank < bundle.worldSize; ++rank) {
    if (stops[rank] == Stop::End)
      continue;
    if (stops[rank] == Stop::Receive) {
      int64_t call = *program(rank).events[at[rank]].json->getInteger("collective");
      int64_t peer = open[rank].at(call);
      return makeError("rank ", rank, " ", whereIs(rank), ", which ",
                       whereIs(peer), "; every receive needs a send");
    }
    for (int64_t peer : groupAt(rank)) {
      if (stops[peer] == Stop::Collective && groupAt(peer) == groupAt(rank))
        continue;
      if (stops[peer] == Stop::Collective)
        return makeError("rank ", rank, " ", whereIs(rank), " while rank ", peer,
                         " ", whereIs(peer), kMustMatch);
      return makeError("rank ", rank, " runs ", placeOf(rank, at[rank]),
                       " where rank ", peer, " ", whereIs(peer), kMustMatch);
    }
  }
  llvm_unreachable("a rank waits although all its peers are there");
}

/// Messages that have one side only.
Error Matcher::explainRest() const {
  for (int64_t rank = 0; rank < bundle.worldSize; ++rank)
    for (auto [event, peer] : open[rank]) {
      bool sends = describe(program(rank).events[event]) == "send";
      return makeError("rank ", rank, " runs ", placeOf(rank, event),
                       sends ? " to rank " : " from rank ", peer,
                       sends ? ", which does not receive it; every send needs a "
                               "receive"
                             : ", which does not send it; every receive needs a "
                               "send");
    }
  return Error::success();
}

Expected<std::vector<Meeting>> Matcher::run() {
  auto advanceAll = [&](std::optional<Stop> only, bool resume) -> Expected<bool> {
    bool any = false;
    for (int64_t rank = 0; rank < bundle.worldSize; ++rank) {
      if (stops[rank] == Stop::Collective || (only && stops[rank] != *only))
        continue;
      any = true;
      if (Error error = advance(rank, resume))
        return std::move(error);
    }
    return any;
  };
  fill(stops, Stop::Pause);
  Expected<bool> started = advanceAll(std::nullopt, /*resume=*/false);
  if (!started)
    return started.takeError();
  while (true) {
    Expected<bool> progress = deliver();
    if (!progress)
      return progress.takeError();
    if (*progress)
      if (Expected<bool> moved = advanceAll(std::nullopt, false); !moved)
        return moved.takeError();
    for (int64_t rank = 0; rank < bundle.worldSize; ++rank)
      for (bool met = true; met;) {
        Expected<bool> done = meet(rank);
        if (!done)
          return done.takeError();
        met = *done;
        *progress |= met;
      }
    if (*progress)
      continue;
    Expected<bool> resumed = advanceAll(Stop::Pause, /*resume=*/true);
    if (!resumed)
      return resumed.takeError();
    if (!*resumed)
      break;
  }
  if (!all_of(stops, [](Stop stop) { return stop == Stop::End; }))
    return explainDeadlock();
  if (Error error = explainRest())
    return std::move(error);
  return std::move(meetings);
}

Expected<std::vector<Meeting>> frontend::matchRanks(const Bundle &bundle) {
  return Matcher(bundle).run();
}
