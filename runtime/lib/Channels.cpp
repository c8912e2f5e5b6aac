// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which channel a stream's calls go through. But for the default one, streams have no names that ranks share, so a stream is known by the program that is
// called on it first, and by how many streams had seen that program before.
#include "Context.h"
#include "Error.h"
#include "Sha256.h"

#include <algorithm>

using namespace pkb_rt;

namespace {

/// 48 bits, never 0.
uint64_t hashOf(const std::string &text) {
  Sha256 hash;
  return std::stoull(hash.update(text).hex().substr(0, 12), nullptr, 16) | 1;
}

std::string listOf(const std::vector<int> &ranks) {
  std::string text;
  for (int rank : ranks) {
    text += cat(text.empty() ? "" : ", ", rank);
  }
  return text;
}

} // namespace

uint64_t pkb_context::nameProgram(const std::string &id, const std::string &name) {
  uint64_t key = hashOf(id + name);
  std::lock_guard<std::mutex> lock(groupsMutex); // the watchdog names programs
  programNames[key] = cat("'", name, "' ", id.substr(0, 12));
  return key;
}

std::unique_ptr<Channel> pkb_context::makeChannel(const std::vector<int> &ranks) {
  auto channel = std::make_unique<Channel>();
  channel->region = std::make_unique<Region>(site(), ranks, arenaBytes);
  return channel;
}

RankGroup &pkb_context::group(const std::vector<int> &ranks) {
  for (auto &group : groups) {
    if (group->ranks == ranks) {
      return *group;
    }
  }
  auto fresh = std::make_unique<RankGroup>();
  fresh->ranks = ranks;
  fresh->agreements = std::make_unique<Agreements>(*bootstrap, ranks);
  fresh->member = size_t(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  if (ranks.size() > 1) {
    fresh->order = std::make_unique<CallOrder>(*bootstrap, ranks);
  }
  // The second one is spare: a first call on another stream, say while a graph is captured, then needs no meeting.
  for (int i = 0; i < 2; ++i) {
    fresh->channels.push_back(makeChannel(ranks));
  }
  std::lock_guard<std::mutex> lock(groupsMutex);
  groups.push_back(std::move(fresh));
  return *groups.back();
}

/// Makes channels until there are `count`, or as many as another rank of the group asks for. Collective.
void pkb_context::growChannels(RankGroup &group, size_t count) {
  for (const std::string &blob : bootstrap->allgather("making of a channel for another stream", std::to_string(count), group.ranks)) {
    count = std::max(count, size_t(std::strtoull(blob.c_str(), nullptr, 10)));
  }
  while (group.channels.size() < count) {
    auto fresh = makeChannel(group.ranks);
    std::lock_guard<std::mutex> lock(groupsMutex);
    group.channels.push_back(std::move(fresh));
  }
}

/// Ends the context on all ranks: this one's stream `index` is not the others'.
void pkb_context::mispaired(const RankGroup &group, size_t index, uint64_t program, const Agreements::Entry &other, const std::string &did) {
  std::string text = cat("rank ", rank, " makes its first call of ", programNames[program], " on a stream that is stream ", index, " of ranks ",
                         listOf(group.ranks), ", where rank ", other.rank, " ", did,
                         "; make the first calls of programs on a stream, and of a program on streams, in the same order on all ranks");
  leave(text);
  fail(PKB_ERROR_PEER_LOST, lostText());
}

size_t pkb_context::channel(RankGroup &group, pkb_cu_stream stream, uint64_t program, bool capturing) {
  Agreements &agreed = *group.agreements;
  size_t before = 0, index = Agreements::kMaxChannels;
  for (size_t i = 0; i < group.channels.size(); ++i) {
    const Channel &channel = *group.channels[i];
    bool known = std::find(channel.programs.begin(), channel.programs.end(), program) != channel.programs.end();
    if (channel.taken && channel.stream == stream) {
      index = i;
      if (known) {
        return i;
      }
    }
    before += known && channel.stream != nullptr;
  }
  // The default stream is the same on all ranks.
  uint64_t streamKey = hashOf(stream ? cat("stream ", before, " of ", program) : "default stream");
  bool bound = index != Agreements::kMaxChannels;
  if (Agreements::Entry entry; !bound && agreed.find(streamKey, entry)) {
    index = size_t(entry.value);
  } else if (!bound) {
    index = agreed.channelOf(streamKey);
  }
  if (index >= Agreements::kMaxChannels) {
    fail(PKB_ERROR_ARGUMENT, "calls on more than ", Agreements::kMaxChannels, " streams; call the programs on fewer");
  }
  if (index >= group.channels.size()) {
    if (capturing) {
      fail(PKB_ERROR_ARGUMENT, "no channel is left for a call on this stream, and none can be made while a graph is captured; call the "
                               "program once on this stream before the capture");
    }
    growChannels(group, index + 1);
  }
  Channel &channel = *group.channels[index];
  if (Agreements::Entry entry = agreed.settle(streamKey, index, rank); entry.value != index) {
    mispaired(group, index, program, entry, cat("makes it on stream ", entry.value));
  }
  if (!bound && channel.taken) {
    mispaired(group, index, program, {0, rank}, "has another stream there already");
  }
  uint64_t placeKey = hashOf(cat("program ", channel.programs.size(), " on ", index));
  if (Agreements::Entry entry = agreed.settle(placeKey, program, rank); entry.value != program) {
    mispaired(group, index, program, entry, "first calls " + programNames[entry.value]);
  }
  channel.taken = true;
  channel.stream = stream;
  channel.programs.push_back(program);
  return index;
}

void pkb_context::checkOrder() {
  std::string text;
  {
    std::lock_guard<std::mutex> lock(groupsMutex);
    for (auto &group : groups) {
      CallOrder::Difference difference;
      for (size_t index = 0; group->order && index < group->channels.size() && text.empty(); ++index) {
        if (!group->order->find(index, group->member, difference)) {
          continue;
        }
        auto nameOf = [&](uint64_t key) {
          auto known = programNames.find(key);
          return known == programNames.end() ? std::string("another program") : known->second;
        };
        std::string theirs = cat("rank ", group->ranks[difference.other]), where = cat(" on stream ", index, " of ranks ", listOf(group->ranks));
        text = difference.mine ? cat("rank ", rank, "'s call ", difference.number, where, " is of ", nameOf(difference.mine), ", ", theirs, "'s of ",
                                     nameOf(difference.theirs))
                               : cat("rank ", rank, " and ", theirs, " have called different programs", where, " before call ", difference.number);
      }
    }
  }
  if (!text.empty() && !lost()) {
    abortAll(text + "; their results are not right: make calls in the same order on all ranks");
  }
}
