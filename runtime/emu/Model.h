// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory model of proof mode (docs/Rationale/Emulator.md): store buffers decide which value a load sees, vector clocks decide whether it was allowed
// to look. Runs on the scheduler thread only.
#ifndef PKB_EMU_MODEL_H
#define PKB_EMU_MODEL_H

#include "Memory.h"
#include "Ops.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace pkb_emu_impl {

class VectorClock {
public:
  uint32_t at(uint32_t slot) const { return slot < ticks.size() ? ticks[slot] : 0; }
  void set(uint32_t slot, uint32_t tick);
  void join(const VectorClock &other);
  bool empty() const { return ticks.empty(); }

private:
  std::vector<uint32_t> ticks;
};

// What is known: `strict` by release and acquire, barriers and streams; `loads` also by relaxed observation of a later kernel (LL lines), which
// orders loads that have returned before that kernel began, hence decides write-after-read only.
struct Knowledge {
  VectorClock strict, loads;
  void join(const Knowledge &other);
};

// One launch on one device, for reports and for what a relaxed store says about the past.
struct Launch {
  uint32_t id = 0;
  int device = 0;
  std::string kernel;
  Knowledge start; // what was known when it began
};
using LaunchRef = std::shared_ptr<Launch>;

// Pending stores, one entry per 16-byte line. A drain moves an entry, or an aligned half of it, one level on.
class StoreBuffer {
public:
  struct Entry {
    uintptr_t line = 0;
    char *memory = nullptr; // of the line, through some mapping of it
    uint16_t mask = 0;      // bytes held
    uint16_t gpu = 0, sys = 0; // of those, stored strongly at that scope (sys ones are in gpu too)
    bool whole = false;        // a scalar of 16 bytes: becomes visible as a whole
    uint8_t data[16];
    LaunchRef launch; // of the last strong store
  };
  bool empty() const { return entries.empty(); }
  size_t size() const { return entries.size(); }
  const Entry *find(uintptr_t line) const;
  void put(const Entry &entry); // merges, newer bytes win
  Entry take(const Entry &entry, uint16_t bytes); // removes those bytes of an entry of this buffer and returns them
  void forget(uintptr_t line, uint16_t bytes);
  const Entry &at(size_t index) const { return entries[index]; }
  void clear();

private:
  void erase(size_t index);
  std::vector<Entry> entries;
  std::unordered_map<uintptr_t, uint32_t> index; // kept only when there are many
};

// A fiber's part of the model.
struct Thread {
  uint32_t slot = 0;
  uint32_t tick = 0;
  Knowledge known;
  StoreBuffer stores;
  LaunchRef launch;
  std::vector<uint32_t> observed; // launches whose start is already known by relaxed observation
};

// A stream's part. Its fibers take the same slots at each launch: launches of one stream are ordered.
struct StreamModel {
  Knowledge known;
  uint32_t slot = 0;
  std::vector<std::vector<uint32_t>> slots; // by block, thread
  std::vector<std::unique_ptr<StreamModel>> lanes; // of graph launches
  StreamModel &lane(size_t k);
};

// Who did it.
struct Access {
  uint32_t slot = 0, tick = 0, launch = 0;
  uint16_t mask = 0;
  int16_t site = -1;
  uint8_t op = 0;
  Scope scope = Scope::none; // of a strong access; none: weak
  bool used() const { return mask != 0; }
};
// A few accesses; the first is held in place, since most lines have one writer and one reader.
class AccessList {
public:
  template <class F> bool any(F f) const {
    if (first.used() && f(first))
      return true;
    if (more)
      for (const Access &access : *more)
        if (f(access))
          return true;
    return false;
  }
  void add(const Access &access);
  void cut(uint16_t bytes); // these bytes are forgotten
  Access first;
  std::unique_ptr<std::vector<Access>> more;
};
struct ShadowLine {
  AccessList writes, reads;
};

struct SlotName {
  int device;
  uint64_t stream;
  int64_t block;  // -1: a copy or memset
  int64_t thread;
};

class Emulator;
struct Fiber;
struct Block;

class Model {
public:
  explicit Model(Emulator &emulator) : emulator(emulator) {}

  // The operations of a program.
  void load(Fiber &fiber, int op, int site, void *to, const void *from, uint32_t bytes);
  void store(Fiber &fiber, int op, int site, void *to, const void *from, uint32_t bytes);
  void arriveAtBarrier(Fiber &fiber);
  void passBarrier(std::vector<Fiber *> &fibers);

  // The life of kernels and stream operations.
  LaunchRef startLaunch(StreamModel &stream, int device, const std::string &kernel);
  void startFiber(Fiber &fiber, StreamModel &stream, uint64_t streamId, const LaunchRef &launch);
  void endFiber(Fiber &fiber, StreamModel &stream);
  bool drainDevice(int device);
  // Forgets objects that are gone.
  void forget(const std::vector<uint32_t> &objects);
  // A copy or memset by a stream: [from, from + bytes) read (if not null), [to, to + bytes) written.
  void bulk(StreamModel &stream, uint64_t streamId, int device, const char *from, char *to, size_t bytes);

  // Drains something at random; false if there is nothing. `needed`: only what must become visible some day (strong stores).
  bool drainSomething(bool needed);
  bool drainMaybe(); // at the seed's rate
  bool orders(const Fiber &fiber, int op, int site) const; // false for a barrier that this run's mutant has relaxed

private:
  struct Effective {
    Semantics semantics;
    Scope scope;
  };
  struct Published { // by a release on this 8-byte cell
    Knowledge known;
    Scope scope;
    int device;
    const void *block;
  };
  Effective effective(const Fiber &fiber, int op, int site) const;
  bool covers(Scope scope, int deviceA, const void *blockA, int deviceB, const void *blockB) const;
  void read(const Fiber &fiber, const Place &place, void *to, const void *from, uint32_t bytes) const;
  void drainThread(Fiber &fiber, Scope to);
  void land(const StoreBuffer::Entry &entry); // in memory
  void toLevel(Block &block, Scope level, const StoreBuffer::Entry &entry);
  void moveAll(StoreBuffer &from, Block &block, Scope level);
  void acquire(Fiber &fiber, uintptr_t cell, Scope scope);
  void observe(Fiber &fiber, uintptr_t line);
  void checkBounds(const Fiber *fiber, int device, const Place &place, uint32_t bytes, const char *what);
  void record(Thread &thread, const Fiber *fiber, int device, const Place &place, uint32_t bytes, bool write, int op, int site, Scope strong);
  void recordLine(Thread &thread, int device, const Place &place, uintptr_t line, const Access &access, bool write);
  std::string describe(const Access &access) const;
  ShadowLine &shadow(uintptr_t line);
  uint32_t newSlot(const SlotName &name);
  void tick(Thread &thread);

  Emulator &emulator;
  struct Page {
    ShadowLine lines[256];
  };
  // Pages whose last write is one memset or copy and that nobody has touched since: [begin, end) in page keys.
  struct Bulk {
    uintptr_t end;
    Access access;
  };
  std::map<uintptr_t, Bulk> bulkPages;
  bool bulkWritePage(Thread &thread, int device, const Place &place, const Access &access);
  bool ordered(const Thread &thread, int device, bool region, uint16_t mask, const Access &access, const Access &other, bool wasRead) const;
  void reportRace(const Place &place, uintptr_t line, const Access &access, bool write, const Access &other, bool otherWrote);
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
  uintptr_t lastPageKey = ~uintptr_t(0);
  Page *lastPage = nullptr;
  std::unordered_map<uintptr_t, Published> published; // by cell
  std::unordered_map<uintptr_t, LaunchRef> relaxed;   // by line: who stored it strongly last
  std::vector<SlotName> names;
  std::vector<uint32_t> ticks; // last tick given, by slot
  std::vector<std::string> launches; // kernel names by launch id
};

} // namespace pkb_emu_impl

#endif
