// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order: vector clocks, one slot per (stream, block, thread), and per 16-byte line the last writes and reads. Two accesses of which one writes race unless
// one happens before the other, or both are strong at scopes that include the other (morally strong).
#include "Emulator.h"

#include <algorithm>
#include <unordered_set>

namespace pkb_emu_impl {

uint32_t Model::newSlot(const SlotName &name) {
  if (names.empty()) { // slot 0 is nobody's
    names.push_back(SlotName{});
    ticks.push_back(0);
  }
  names.push_back(name);
  ticks.push_back(0);
  return uint32_t(names.size() - 1);
}

void Model::tick(Thread &thread) {
  thread.tick = ++ticks[thread.slot];
  thread.known.strict.set(thread.slot, thread.tick);
}

void Model::startFiber(Fiber &fiber, StreamModel &stream, uint64_t streamId, const LaunchRef &launch) {
  const size_t block = size_t(fiber.view.block), thread = size_t(fiber.view.thread);
  if (stream.slots.size() <= block)
    stream.slots.resize(block + 1);
  auto &ofBlock = stream.slots[block];
  while (ofBlock.size() <= thread)
    ofBlock.push_back(newSlot({launch->device, streamId, fiber.view.block, int64_t(ofBlock.size())}));
  fiber.model.slot = ofBlock[thread];
  fiber.model.launch = launch;
  if (emulator.options.races) {
    fiber.model.known = launch->start;
    tick(fiber.model);
  }
}

void Model::acquire(Fiber &fiber, uintptr_t cell, Scope scope) {
  auto it = published.find(cell);
  if (it == published.end())
    return;
  const Published &there = it->second;
  const int device = fiber.block->kernel->device;
  if (covers(there.scope, there.device, there.block, device, fiber.block) && covers(scope, there.device, there.block, device, fiber.block))
    fiber.model.known.join(there.known);
}

void Model::observe(Fiber &fiber, uintptr_t line) {
  auto it = relaxed.find(line);
  if (it == relaxed.end() || !it->second)
    return;
  auto &seen = fiber.model.observed;
  if (std::find(seen.begin(), seen.end(), it->second->id) != seen.end())
    return;
  seen.push_back(it->second->id);
  fiber.model.known.loads.join(it->second->start.strict);
  fiber.model.known.loads.join(it->second->start.loads);
}

void Model::forget(const std::vector<uint32_t> &objects) {
  const std::unordered_set<uint32_t> gone(objects.begin(), objects.end());
  auto isGone = [&](uintptr_t page) { return gone.count(uint32_t(page >> 36)) != 0; };
  for (auto it = pages.begin(); it != pages.end();)
    it = isGone(it->first) ? pages.erase(it) : std::next(it);
  for (auto it = bulkPages.begin(); it != bulkPages.end();)
    it = isGone(it->first) ? bulkPages.erase(it) : std::next(it);
  lastPageKey = ~uintptr_t(0);
}

ShadowLine &Model::shadow(uintptr_t line) {
  const uintptr_t key = line >> 12;
  if (key != lastPageKey) {
    auto &page = pages[key];
    if (!page) {
      page = std::make_unique<Page>();
      auto it = bulkPages.upper_bound(key); // what was written in bulk is now known line by line
      if (it != bulkPages.begin() && key < (--it)->second.end) {
        const uintptr_t begin = it->first;
        const Bulk bulk = it->second;
        for (ShadowLine &line : page->lines)
          line.writes.first = bulk.access;
        bulkPages.erase(it);
        if (begin < key)
          bulkPages[begin] = Bulk{key, bulk.access};
        if (key + 1 < bulk.end)
          bulkPages[key + 1] = Bulk{bulk.end, bulk.access};
      }
    }
    lastPageKey = key;
    lastPage = page.get();
  }
  return lastPage->lines[(line >> 4) & 255];
}

std::string Model::describe(const Access &access) const {
  const SlotName &name = names[access.slot];
  std::string text = "device " + std::to_string(name.device);
  if (name.block < 0)
    return text + ", copy or memset on stream " + std::to_string(name.stream);
  text += ", kernel " + launches[access.launch] + " (launch " + std::to_string(access.launch) + "), block " +
          std::to_string(name.block) + ", thread " + std::to_string(name.thread) + ", " + kOps[access.op].function;
  if (access.site >= 0)
    text += ", site " + std::to_string(access.site);
  return text;
}

// True if `access` may come where `other` was.
bool Model::ordered(const Thread &thread, int device, bool region, uint16_t mask, const Access &access, const Access &other, bool wasRead) const {
  if (!(other.mask & mask) || other.slot == access.slot)
    return true;
  if (thread.known.strict.at(other.slot) >= other.tick || (wasRead && thread.known.loads.at(other.slot) >= other.tick))
    return true;
  const SlotName &name = names[other.slot], &own = names[access.slot];
  if (name.device != device && !region)
    return true; // host memory that the host, which is not watched, has handed from one device to another
  // A copy that reads flags or epochs while kernels run (a watchdog's dump) sees whole words.
  if ((name.block < 0 && wasRead && access.scope != Scope::none) || (own.block < 0 && access.op == op_load && other.scope != Scope::none))
    return true;
  if (other.scope == Scope::none || access.scope == Scope::none)
    return false;
  // Strong as both are, the bump of the epoch must come after every block's reading of it, or a late block takes the next call's number.
  if (wasRead && other.op == op_epoch_begin && access.op == op_epoch_end_bump)
    return false;
  // And an LL line must not be written again before it has been read, or its reader waits for ever.
  if (wasRead && other.op == op_load_ll && access.op == op_store_ll)
    return false;
  const bool sameBlock = own.stream == name.stream && own.block == name.block;
  const void *here = &own, *there = sameBlock ? here : &name;
  return covers(other.scope, name.device, there, device, here) && covers(access.scope, device, here, name.device, there);
}

void Model::reportRace(const Place &place, uintptr_t line, const Access &access, bool write, const Access &other, bool otherWrote) {
  Place at = place;
  at.offset += int64_t(line) - int64_t(place.key & ~uintptr_t(15));
  emulator.fail(PKB_EMU_RACE, std::string("race: ") + (write ? "write" : "read") + " by " + describe(access) + "\n  is not ordered after the " +
                                  (otherWrote ? "write" : "read") + " by " + describe(other) + "\n  at " + emulator.memory.describe(at));
}

void Model::recordLine(Thread &thread, int device, const Place &place, uintptr_t line, const Access &access, bool write) {
  ++emulator.counts.races_checked;
  ShadowLine &there = shadow(line);
  const bool region = place.object && place.object->kind == ObjectKind::region;
  const uint16_t mask = access.mask;
  Access culprit;
  auto races = [&](bool wasRead) {
    return [&, wasRead](const Access &other) {
      if (ordered(thread, device, region, mask, access, other, wasRead))
        return false;
      culprit = other;
      return true;
    };
  };
  if (there.writes.any(races(false))) {
    reportRace(place, line, access, write, culprit, true);
    return;
  }
  if (write) {
    if (there.reads.any(races(true))) {
      reportRace(place, line, access, write, culprit, false);
      return;
    }
    there.writes.cut(mask);
    there.reads.cut(mask);
    there.writes.add(access);
    return;
  }
  if (region) {
    uint16_t written = 0;
    there.writes.any([&](const Access &other) { return written |= other.mask, false; });
    if (mask & ~written) {
      emulator.fail(PKB_EMU_UNINITIALISED, "uninitialised: read by " + describe(access) + "\n  of " + emulator.memory.describe(place) +
                                               ", which nobody has written");
      return;
    }
  }
  // Of the polls of an LL line only the first behind its last store counts: in later calls others come before the next store, and rightly so.
  if (access.op == op_load_ll) {
    auto isStored = [](const Access &other) { return other.op == op_store_ll; };
    auto isPolled = [](const Access &other) { return other.op == op_load_ll; };
    if (!there.writes.any(isStored) || there.reads.any(isPolled))
      return;
  }
  // A later read of the same bytes by the same thread stands for the earlier one.
  auto same = [&](const Access &other) { return other.slot == access.slot && other.scope == access.scope && other.mask == mask; };
  if (there.reads.first.used() && same(there.reads.first)) {
    there.reads.first = access;
    return;
  }
  if (there.reads.more)
    for (Access &other : *there.reads.more)
      if (same(other)) {
        other = access;
        return;
      }
  there.reads.add(access);
}

void AccessList::add(const Access &access) {
  if (!first.used()) {
    first = access;
    return;
  }
  if (!more)
    more = std::make_unique<std::vector<Access>>();
  more->push_back(access);
}

void AccessList::cut(uint16_t bytes) {
  first.mask &= uint16_t(~bytes);
  if (!more)
    return;
  for (Access &access : *more)
    access.mask &= uint16_t(~bytes);
  more->erase(std::remove_if(more->begin(), more->end(), [](const Access &access) { return !access.used(); }), more->end());
  if (more->empty())
    more.reset();
}

void Model::record(Thread &thread, const Fiber *fiber, int device, const Place &place, uint32_t bytes, bool write, int op, int site, Scope strong) {
  checkBounds(fiber, device, place, bytes, write ? "write" : "read");
  uint32_t done = 0;
  while (done < bytes) {
    const uintptr_t at = place.key + done;
    const uint32_t inLine = uint32_t(at & 15), n = std::min(bytes - done, 16 - inLine);
    Access access;
    access.slot = thread.slot;
    access.tick = thread.tick;
    access.launch = thread.launch ? thread.launch->id : 0;
    access.mask = uint16_t(((1u << n) - 1u) << inLine);
    access.site = int16_t(site);
    access.op = uint8_t(op);
    access.scope = strong;
    recordLine(thread, device, place, at & ~uintptr_t(15), access, write);
    done += n;
  }
}

void Model::checkBounds(const Fiber *fiber, int device, const Place &place, uint32_t bytes, const char *what) {
  if (!place.object)
    return;
  std::string who = fiber ? emulator.describe(*fiber) : "device " + std::to_string(device) + ", copy or memset";
  if (place.offset + int64_t(bytes) > int64_t(place.object->bytes))
    emulator.fail(PKB_EMU_BOUNDS, "out of bounds: " + std::string(what) + " of " + std::to_string(bytes) + " bytes by " + who + "\n  at " +
                                      emulator.memory.describe(place) + " of " + std::to_string(place.object->bytes));
  else if (place.accessFrom >= 0 && place.accessFrom != device)
    emulator.fail(PKB_EMU_BOUNDS, "wrong mapping: " + std::string(what) + " by " + who + "\n  at " + emulator.memory.describe(place) +
                                      ", through an address that was mapped for device " + std::to_string(place.accessFrom));
}

// A page that is not known line by line is noted as a whole; false if it is.
bool Model::bulkWritePage(Thread &thread, int device, const Place &place, const Access &access) {
  const uintptr_t key = place.key >> 12;
  if (pages.count(key))
    return false;
  auto it = bulkPages.upper_bound(key);
  if (it != bulkPages.begin()) {
    auto before = std::prev(it);
    Bulk &bulk = before->second;
    if (key < bulk.end) {
      if (bulk.access.slot == access.slot && bulk.access.tick == access.tick)
        return true;
      const bool region = place.object && place.object->kind == ObjectKind::region;
      if (!ordered(thread, device, region, 0xffff, access, bulk.access, false)) {
        reportRace(place, place.key, access, true, bulk.access, true);
        return true;
      }
      const Bulk old = bulk;
      const uintptr_t begin = before->first;
      bulkPages.erase(before);
      if (begin < key)
        bulkPages[begin] = Bulk{key, old.access};
      if (key + 1 < old.end)
        bulkPages[key + 1] = Bulk{old.end, old.access};
      bulkPages[key] = Bulk{key + 1, access};
    } else if (bulk.end == key && bulk.access.slot == access.slot && bulk.access.tick == access.tick) {
      bulk.end = key + 1; // the common case: one long memset
      return true;
    }
  }
  bulkPages[key] = Bulk{key + 1, access};
  return true;
}

StreamModel &StreamModel::lane(size_t k) {
  while (lanes.size() <= k)
    lanes.push_back(std::make_unique<StreamModel>());
  return *lanes[k];
}

void Model::bulk(StreamModel &stream, uint64_t streamId, int device, const char *from, char *to, size_t bytes) {
  if (!emulator.options.races || bytes == 0)
    return;
  if (stream.slot == 0)
    stream.slot = newSlot({device, streamId, -1, -1});
  Thread thread;
  thread.slot = stream.slot;
  thread.known = std::move(stream.known);
  tick(thread);
  for (const char *side : {from, static_cast<const char *>(to)}) {
    if (!side)
      continue;
    const bool write = side == to;
    for (size_t done = 0; done < bytes && !emulator.failed;) {
      const Place place = emulator.memory.place(side + done);
      if (write && (place.key & 4095) == 0 && bytes - done >= 4096) {
        checkBounds(nullptr, device, place, 4096, "write");
        Access access;
        access.slot = thread.slot;
        access.tick = thread.tick;
        access.mask = 0xffff;
        if (bulkWritePage(thread, device, place, access)) {
          done += 4096;
          continue;
        }
      }
      const uint32_t n = uint32_t(std::min<size_t>(bytes - done, 16 - (place.key & 15)));
      record(thread, nullptr, device, place, n, write, write ? op_store : op_load, -1, Scope::none);
      done += n;
    }
  }
  stream.known = std::move(thread.known);
}

} // namespace pkb_emu_impl
