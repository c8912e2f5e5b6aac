// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Channel.cpp - symmetric memory, flags, and who knows what -----------===//

#include "Channel.h"

#include "pkb/Support/Error.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace pkb;
using namespace pkb::reference;

/// Space, half and source in the upper bits: regions are sparse here.
int64_t Channel::keyOf(SlotAddress address) {
  assert(address.offset % 16 == 0 && "chunks begin at 16 bytes");
  int64_t space = address.lines ? 2 + 2 * address.source + address.half : address.half;
  return space << 48 | address.offset / 16;
}

BlockView::BlockView(Channel &channel, int64_t rank, int64_t block, int64_t call)
    : channel(channel), rank(rank), block(block), call(call), clock(channel.size) {
  if (channel.ranks[rank].known.empty())
    channel.ranks[rank].known.resize(channel.size);
  for (auto [other, moment] : llvm::enumerate(clock)) {
    const Channel::Knowledge &known = channel.ranks[rank].known[other];
    Moment mine = known.byBlock.lookup(block);
    moment = mine.call == known.call ? mine : Moment{known.call, 0};
  }
  clock[rank] = {call, 0};
}

/// A rank's calls follow each other, so one that is known to have begun a call has ended the earlier ones.
bool BlockView::knows(const Event &event) const {
  if (event.rank < 0 || clock[event.rank].call > event.moment.call)
    return true;
  if (event.block == block)
    return !(clock[event.rank] < event.moment);
  if (event.rank == rank)
    return event.moment.call < call;
  const Channel::Knowledge &known = channel.ranks[rank].known[event.rank];
  auto found = known.byBlock.find(event.block);
  return found != known.byBlock.end() && !(found->second < event.moment);
}

void BlockView::learn(const Clock &other) {
  for (auto [mine, theirs] : llvm::zip_equal(clock, other))
    mine = std::max(mine, theirs);
}

std::string BlockView::unordered(llvm::StringRef done, const Event &event) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "is not ordered after the " << done << " of it by member " << event.rank << " in call " << event.moment.call
     << (event.moment.call == call ? " (this one)" : "") << ", block " << event.block;
  return text;
}

llvm::Error BlockView::write(int64_t target, SlotAddress address, llvm::ArrayRef<char> bytes) {
  ++clock[rank].step;
  auto shared = address.lines ? std::make_shared<const Clock>(clock) : nullptr;
  for (size_t done = 0; done < bytes.size(); done += 16, address.offset += 16) {
    Channel::Cell &cell = channel.ranks[target].cells[Channel::keyOf(address)];
    if (!knows(cell.read))
      return makeError("overwrites a slot of member ", target, " and ", unordered("read", cell.read));
    if (!knows(cell.written))
      return makeError("overwrites a slot of member ", target, " and ", unordered("write", cell.written));
    std::memcpy(cell.bytes.data(), bytes.data() + done, std::min<size_t>(16, bytes.size() - done));
    cell.written = {rank, block, clock[rank]};
    cell.clock = shared;
  }
  return llvm::Error::success();
}

llvm::Error BlockView::read(int64_t source, SlotAddress address, llvm::MutableArrayRef<char> bytes) {
  ++clock[rank].step;
  for (size_t done = 0; done < bytes.size(); done += 16, address.offset += 16) {
    Channel::Cell &cell = channel.ranks[rank].cells[Channel::keyOf(address)];
    if (cell.written.rank < 0)
      return makeError("reads a slot that nobody has written");
    if (!knows(cell.written))
      return makeError("reads a slot and ", unordered("write", cell.written));
    if (cell.written.rank != source || cell.written.moment.call != call)
      return makeError("reads what member ", cell.written.rank, " wrote in call ", cell.written.moment.call,
                       ", not what member ", source, " writes in call ", call);
    std::memcpy(bytes.data() + done, cell.bytes.data(), std::min<size_t>(16, bytes.size() - done));
    cell.read = {rank, block, clock[rank]};
  }
  return llvm::Error::success();
}

bool BlockView::arrived(SlotAddress address, int64_t bytes) {
  std::vector<std::shared_ptr<const Clock>> writers;
  for (int64_t done = 0; done < bytes; done += 16, address.offset += 16) {
    auto &cells = channel.ranks[rank].cells;
    auto found = cells.find(Channel::keyOf(address));
    if (found == cells.end() || found->second.written.rank < 0 || found->second.written.moment.call != call)
      return false;
    writers.push_back(found->second.clock);
  }
  for (const auto &writer : writers)
    learn(*writer);
  return true;
}

llvm::Error BlockView::signal(int64_t target, int64_t progress) {
  ++clock[rank].step;
  std::deque<Channel::Signal> &flag = channel.ranks[target].flags[{rank, block}];
  if (!flag.empty() && flag.back().call == call && flag.back().progress >= progress)
    return makeError("sets the flag on member ", target, " to ", progress, " chunks, which is ", flag.back().progress,
                     " already");
  flag.push_back({call, progress, std::make_shared<const Clock>(clock)});
  return llvm::Error::success();
}

bool BlockView::poll(int64_t source, int64_t progress) {
  std::deque<Channel::Signal> &flag = channel.ranks[rank].flags[{source, block}];
  while (!flag.empty() && flag.front().call < call)
    flag.pop_front();
  // Only the earliest signal that suffices is sure to have been seen.
  for (const Channel::Signal &signal : flag)
    if (signal.call > call || signal.progress >= progress) {
      learn(*signal.clock);
      ++clock[rank].step;
      return true;
    }
  return false;
}

int64_t BlockView::seen(int64_t source) const {
  auto &flags = channel.ranks[rank].flags;
  auto found = flags.find({source, block});
  return found == flags.end() || found->second.empty() || found->second.back().call != call
             ? 0
             : found->second.back().progress;
}

void BlockView::finish() {
  for (auto [known, moment] : llvm::zip_equal(channel.ranks[rank].known, clock)) {
    known.call = std::max(known.call, moment.call);
    Moment &mine = known.byBlock[block];
    mine = std::max(mine, moment);
  }
}
