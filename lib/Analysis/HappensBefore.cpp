// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HappensBefore.cpp - the order of a kernel's events ---------------===//

#include "pkb/Analysis/HappensBefore.h"

using namespace mlir;
using namespace pkb;

using Kind = TransferEvent::Kind;

static std::string chunkOf(const TransferEvent &event) { return "chunk " + std::to_string(event.chunk); }

HappensBefore::HappensBefore(const TransferModel &model, int64_t slots, bool endsCall, TransferReporter &reporter)
    : model(model), ranks(model.size()), slots(slots), endsCall(endsCall), reporter(reporter), agents(ranks),
      sent(ranks * ranks), sentInBand(ranks * ranks), waited(ranks * ranks, 0), lastSignal(ranks * ranks, nullptr),
      signals(ranks * ranks), signalsInBand(ranks * ranks) {
  size_t places = model.buffers().size() * ranks * ranks;
  pushed.resize(places);
  pushes.resize(places);
  lastRead.resize(places);
  for (Agent &agent : agents) {
    agent.clock.assign(ranks, kNever);
    agent.pending.assign(ranks, kNever);
  }
}

/// Runs `body` for every rank that `event` names.
template <typename F>
void HappensBefore::forTargets(int64_t rank, const TransferEvent &event, F body) const {
  if (!event.all())
    return body(static_cast<int64_t>(event.peer));
  for (int64_t distance = 1; distance < ranks; ++distance)
    body((rank + distance) % ranks);
}

size_t HappensBefore::snapshotOf(int64_t rank) {
  size_t start = snapshots.size();
  snapshots.insert(snapshots.end(), agents[rank].clock.begin(), agents[rank].clock.end());
  return start;
}

void HappensBefore::join(std::vector<Clock> &clock, size_t snapshot) const {
  for (int64_t rank = 0; rank < ranks; ++rank)
    clock[rank] = std::max(clock[rank], snapshots[snapshot + rank]);
}

/// What one thread has seen, the whole block sees from here on.
void HappensBefore::barrier(Agent &agent) {
  if (!agent.hasPending)
    return;
  for (int64_t rank = 0; rank < ranks; ++rank)
    agent.clock[rank] = std::max(agent.clock[rank], agent.pending[rank]);
  agent.hasPending = false;
}

/// A message without elements has no lines, so nothing is waited for. One that is shorter than the pipeline's has some in the first chunk of
/// block 0 for certain, and perhaps no others.
bool HappensBefore::carriesLines(const TransferEvent &event) const {
  xfer::PipelineOp pipeline = model.pipelines()[event.pipeline];
  bool whole = event.elements == static_cast<int64_t>(pipeline.getElements());
  return event.elements > 0 && (whole || (endsCall && event.chunk == 0));
}

/// What is in the programs at all: a wait for something that exists, but never comes, is a circle; for something that
/// does not, a mistake of its own. A slot must not be written before the last read of what it holds, wherever that read
/// is.
void HappensBefore::collectReads() {
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (auto [index, event] : llvm::enumerate(model.program(rank).events)) {
      forTargets(rank, event, [&, index = index, &event = event](int64_t peer) {
        if (event.kind == Kind::Signal)
          (event.lines ? signalsInBand : signals)[pair(rank, peer)] = true;
        else if (event.kind == Kind::Put)
          pushes[slotPair(event.buffer, rank, peer)] = true;
        else if (event.kind == Kind::Read)
          lastRead[slotPair(event.buffer, peer, rank)][chunkKey(event.pipeline, event.chunk)] = {
              static_cast<Clock>(index + 1), event.op};
      });
    }
}

void HappensBefore::signal(int64_t rank, const TransferEvent &event) {
  Agent &agent = agents[rank];
  if (!event.lines)
    barrier(agent);
  size_t snapshot = snapshotOf(rank);
  // In band the name of the chunk is the signal, out of band a count of chunks.
  int64_t value = event.lines ? chunkKey(event.pipeline, event.chunk) : event.flag;
  forTargets(rank, event, [&](int64_t target) {
    auto &list = (event.lines ? sentInBand : sent)[pair(rank, target)];
    if (!event.lines && !list.empty() && list.back().value > value) {
      reporter.report(TransferCode::FlagGoesBack, event.op,
                      "rank " + Twine(rank) + " sets its flag on rank " + Twine(target) + " to " + Twine(value) +
                          " chunks after " + Twine(list.back().value));
      return;
    }
    list.push_back({value, snapshot, event.pipeline, event.chunk});
    if (!event.lines)
      lastSignal[pair(rank, target)] = event.op;
  });
}

/// True if all that `event` waits for has come; then it is ordered before what follows.
bool HappensBefore::tryWait(int64_t rank, const TransferEvent &event) {
  Agent &agent = agents[rank];
  bool ready = true;
  SmallVector<size_t, 8> found;
  forTargets(rank, event, [&](int64_t source) {
    size_t place = pair(source, rank);
    if (!(event.lines ? signalsInBand : signals)[place]) {
      reporter.report(TransferCode::WaitWithoutSignal, event.op,
                      "rank " + Twine(rank) + " waits for " + chunkOf(event) + " of rank " + Twine(source) +
                          ", which never signals rank " + Twine(rank) + (event.lines ? " in band" : ""));
      return;
    }
    auto &list = (event.lines ? sentInBand : sent)[place];
    int64_t value = event.lines ? chunkKey(event.pipeline, event.chunk) : event.flag;
    auto first = llvm::lower_bound(list, value, [](const Sent &entry, int64_t wanted) { return entry.value < wanted; });
    if (first == list.end()) {
      ready = false;
      return;
    }
    // Behind a sync of all blocks, what comes too late for this block may wait for it.
    if (first->pipeline > event.pipeline) {
      reporter.report(TransferCode::WaitWithoutSignal, event.op,
                      "rank " + Twine(rank) + " waits in phase " + Twine(event.pipeline) + " for " + chunkOf(event) +
                          " of rank " + Twine(source) + ", which signals it in phase " + Twine(first->pipeline) +
                          " only");
      return;
    }
    // Only the earliest signal that satisfies the wait is known to have come.
    if (!event.lines) {
      found.push_back(first->snapshot);
      waited[place] = std::max(waited[place], value);
    }
  });
  if (!ready)
    return false;
  for (size_t snapshot : found)
    join(agent.clock, snapshot);
  if (!event.lines)
    barrier(agent);
  return true;
}

/// Reads staged data, or waits for LL lines and reads them.
bool HappensBefore::tryRead(int64_t rank, const TransferEvent &event) {
  Agent &agent = agents[rank];
  StringRef name = event.lines ? "lines" : "staged";
  bool ready = true;
  SmallVector<size_t, 8> found;
  forTargets(rank, event, [&](int64_t source) {
    size_t place = slotPair(event.buffer, source, rank);
    std::string witness = "rank " + std::to_string(rank) + " reads " + chunkOf(event) + " of rank " +
                          std::to_string(source) + " in " + name.str() + " buffer " + std::to_string(event.buffer);
    if (!pushes[place]) {
      reporter.report(TransferCode::NothingToRead, event.op,
                      witness + ", which rank " + Twine(source) + " never writes there");
      return;
    }
    auto &list = pushed[place];
    auto match = llvm::find_if(llvm::reverse(list), [&](const Pushed &entry) {
      return entry.pipeline == event.pipeline && entry.chunk == event.chunk;
    });
    bool written = match != list.rend();
    if (event.lines) {
      ready &= written;
      if (written && carriesLines(event))
        found.push_back(match->snapshot);
    } else if (!written || match->time > agent.clock[source]) {
      reporter.report(TransferCode::ReadNotOrdered, event.op,
                      witness + " without a wait for what rank " + Twine(source) + " signals after writing it");
    }
  });
  if (!ready)
    return false;
  // Each thread has waited for its own lines only, so the block as a whole is behind them from the next barrier on.
  for (size_t snapshot : found) {
    join(agent.pending, snapshot);
    agent.hasPending = true;
  }
  return true;
}

void HappensBefore::put(int64_t rank, const TransferEvent &event) {
  Agent &agent = agents[rank];
  size_t snapshot = event.lines ? snapshotOf(rank) : 0;
  forTargets(rank, event, [&](int64_t target) {
    size_t place = slotPair(event.buffer, rank, target);
    auto &list = pushed[place];
    // LL lines lie at their place in the message, staged chunks in a ring. Every chunk passes a slot once, so its last
    // user is `slots` entries back, or of an earlier pipeline.
    for (const Pushed &earlier : llvm::reverse(list)) {
      bool samePlace = event.lines ? earlier.chunk == event.chunk : earlier.chunk % slots == event.chunk % slots;
      if (!samePlace)
        continue;
      if (event.lines || (earlier.chunk == event.chunk && earlier.pipeline == event.pipeline)) {
        reporter.report(TransferCode::PushedTwice, event.op,
                        "rank " + Twine(rank) + " writes " + chunkOf(event) + " in buffer " + Twine(event.buffer) +
                            " on rank " + Twine(target) + " again in the same call");
        break;
      }
      auto read = lastRead[place].find(chunkKey(earlier.pipeline, earlier.chunk));
      if (read != lastRead[place].end() && read->second.first > agent.clock[target])
        reporter.report(TransferCode::SlotReusedEarly, event.op,
                        "rank " + Twine(rank) + " writes " + chunkOf(event) + " into slot " +
                            Twine(event.chunk % slots) + " of buffer " + Twine(event.buffer) + " on rank " +
                            Twine(target) + ", which may still read chunk " + Twine(earlier.chunk) + " there",
                        {{read->second.second, "the read that is not ordered before it"}});
      break;
    }
    list.push_back({event.pipeline, event.chunk, static_cast<Clock>(agent.next + 1), snapshot});
  });
}

/// Executes the next event of a rank, if it can.
bool HappensBefore::step(int64_t rank) {
  Agent &agent = agents[rank];
  const TransferEvent &event = model.program(rank).events[agent.next];
  if (event.kind == Kind::Wait && !tryWait(rank, event))
    return false;
  if (event.kind == Kind::Read && !tryRead(rank, event))
    return false;
  agent.clock[rank] = agent.next + 1;
  if (event.kind == Kind::Put)
    put(rank, event);
  if (event.kind == Kind::Signal)
    signal(rank, event);
  ++agent.next;
  return true;
}

/// Nobody can go on. Follows from one waiting rank to the one that it waits for until a rank comes up again.
void HappensBefore::reportCycle() {
  auto blocker = [&](int64_t rank) -> int64_t {
    const TransferEvent &event = model.program(rank).events[agents[rank].next];
    int64_t result = -1;
    forTargets(rank, event, [&](int64_t source) {
      bool done = agents[source].next == model.program(source).events.size();
      bool signalled = event.kind != Kind::Wait || (event.lines ? signalsInBand : signals)[pair(source, rank)];
      if (result >= 0 || done || !signalled)
        return;
      if (event.kind == Kind::Read) {
        auto &list = pushed[slotPair(event.buffer, source, rank)];
        bool has =
            llvm::any_of(list, [&](const Pushed &p) { return p.pipeline == event.pipeline && p.chunk == event.chunk; });
        result = has ? -1 : source;
        return;
      }
      auto &list = (event.lines ? sentInBand : sent)[pair(source, rank)];
      int64_t value = event.lines ? chunkKey(event.pipeline, event.chunk) : event.flag;
      if (list.empty() || list.back().value < value)
        result = source;
    });
    return result;
  };
  int64_t rank = 0;
  while (agents[rank].next == model.program(rank).events.size())
    ++rank;
  SmallVector<int64_t> path;
  while (rank >= 0 && !llvm::is_contained(path, rank)) {
    path.push_back(rank);
    rank = blocker(rank);
  }
  path.erase(path.begin(), llvm::find(path, rank)); // what leads into the circle is not part of it
  if (path.empty())
    return;
  std::string text;
  for (auto [index, member] : llvm::enumerate(path)) {
    const TransferEvent &event = model.program(member).events[agents[member].next];
    if (index == 4 && path.size() > 5) {
      text += ", and so on over " + std::to_string(path.size()) + " ranks";
      break;
    }
    text += (index ? ", rank " : "rank ") + std::to_string(member) + " waits for " + chunkOf(event) + " of rank " +
            std::to_string(path[(index + 1) % path.size()]);
  }
  int64_t first = path.front();
  reporter.report(TransferCode::CyclicWait, model.program(first).events[agents[first].next].op, text);
}

/// The two parities of a channel hold only if no rank can be two calls ahead of another: each must learn, before its
/// call ends, that every other one has begun it (and so ended the call before). A buffer of one parity needs that all
/// reads are over by then.
void HappensBefore::checkCallEnd() {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Agent &agent = agents[rank];
    barrier(agent);
    for (int64_t other = 0; other < ranks; ++other) {
      if (other == rank)
        continue;
      if (endsCall && agent.clock[other] == kNever)
        reporter.report(TransferCode::CallNotOrdered, model.getKernel(),
                        "rank " + Twine(rank) + " waits for nothing of rank " + Twine(other) +
                            ", so it can be two calls ahead and overwrite what rank " + Twine(other) + " still reads");
      for (auto [index, constant] : llvm::enumerate(model.buffers())) {
        xfer::SymmBufferOp buffer = constant;
        // Around a kernel whose puts are copies stand barriers (XV601).
        if (buffer.getType().getParities() > 1 || model.getKernel().getSchedule().getMechanism() == xfer::Mechanism::CopyEngine)
          continue;
        for (int64_t source = 0; source < ranks; ++source)
          for (auto &[key, read] : lastRead[slotPair(index, source, other)])
            if (read.first > agent.clock[other])
              reporter.report(TransferCode::NextCallOverwrites, buffer.getOperation(),
                              "rank " + Twine(rank) + " can begin its next call while rank " + Twine(other) +
                                  " reads chunk " + Twine(key & 0xffffffff) + " of rank " + Twine(source) +
                                  " in buffer " + Twine(index),
                              {{read.second, "the read"}});
      }
    }
  }
}

/// A signal may be left without a wait of its own only if a wait for a later chunk covers it.
void HappensBefore::checkWaited() {
  for (int64_t source = 0; source < ranks; ++source)
    for (int64_t target = 0; target < ranks; ++target) {
      auto &list = sent[pair(source, target)];
      if (!list.empty() && waited[pair(source, target)] < list.back().value)
        reporter.report(TransferCode::SignalWithoutWait, lastSignal[pair(source, target)],
                        "rank " + Twine(target) + " never waits for chunk " + Twine(list.back().chunk) + " of rank " +
                            Twine(source));
    }
}

void HappensBefore::run() {
  collectReads();
  for (bool progress = true; progress;) {
    progress = false;
    for (int64_t rank = 0; rank < ranks; ++rank)
      while (agents[rank].next < model.program(rank).events.size() && step(rank))
        progress = true;
  }
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (agents[rank].next < model.program(rank).events.size())
      return reportCycle();
  checkWaited();
  checkCallEnd();
}
