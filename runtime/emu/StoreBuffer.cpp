// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Model.h"

#include <algorithm>
#include <cstring>

namespace pkb_emu_impl {

namespace {
constexpr size_t kLinear = 16; // up to so many entries a search goes through all
}

void VectorClock::set(uint32_t slot, uint32_t tick) {
  if (slot >= ticks.size())
    ticks.resize(slot + 1);
  ticks[slot] = tick;
}

void VectorClock::join(const VectorClock &other) {
  if (other.ticks.size() > ticks.size())
    ticks.resize(other.ticks.size());
  for (size_t k = 0; k < other.ticks.size(); ++k)
    ticks[k] = std::max(ticks[k], other.ticks[k]);
}

void Knowledge::join(const Knowledge &other) {
  strict.join(other.strict);
  loads.join(other.loads);
}

const StoreBuffer::Entry *StoreBuffer::find(uintptr_t line) const {
  if (entries.size() <= kLinear) {
    for (const Entry &entry : entries)
      if (entry.line == line)
        return &entry;
    return nullptr;
  }
  auto it = index.find(line);
  return it == index.end() ? nullptr : &entries[it->second];
}

void StoreBuffer::put(const Entry &entry) {
  if (Entry *old = const_cast<Entry *>(find(entry.line))) {
    for (int k = 0; k < 16; ++k)
      if (entry.mask >> k & 1)
        old->data[k] = entry.data[k];
    old->mask |= entry.mask;
    old->gpu = uint16_t((old->gpu & ~entry.mask) | entry.gpu);
    old->sys = uint16_t((old->sys & ~entry.mask) | entry.sys);
    if (entry.launch)
      old->launch = entry.launch;
    old->whole = entry.whole;
    return;
  }
  entries.push_back(entry);
  if (entries.size() == kLinear + 1) {
    index.clear();
    for (size_t k = 0; k < entries.size(); ++k)
      index[entries[k].line] = uint32_t(k);
  } else if (entries.size() > kLinear) {
    index[entry.line] = uint32_t(entries.size() - 1);
  }
}

void StoreBuffer::erase(size_t at) {
  const bool indexed = entries.size() > kLinear;
  if (indexed)
    index.erase(entries[at].line);
  if (at + 1 != entries.size()) {
    entries[at] = std::move(entries.back());
    if (indexed)
      index[entries[at].line] = uint32_t(at);
  }
  entries.pop_back();
}

StoreBuffer::Entry StoreBuffer::take(const Entry &of, uint16_t bytes) {
  const size_t at = size_t(&of - entries.data());
  Entry &entry = entries[at];
  Entry taken = entry;
  taken.mask &= bytes;
  taken.gpu &= bytes;
  taken.sys &= bytes;
  entry.mask &= uint16_t(~bytes);
  entry.gpu &= uint16_t(~bytes);
  entry.sys &= uint16_t(~bytes);
  if (entry.mask == 0)
    erase(at);
  return taken;
}

void StoreBuffer::forget(uintptr_t line, uint16_t bytes) {
  if (const Entry *entry = find(line))
    take(*entry, bytes);
}

void StoreBuffer::clear() {
  entries.clear();
  index.clear();
}

} // namespace pkb_emu_impl
