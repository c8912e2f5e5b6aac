// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values: which store a load sees. A store goes from its thread's buffer through its block's and its device's to memory; release, barriers and
// the seed move it on. Order is judged in Races.cpp.
#include "Emulator.h"

#include <cstring>

namespace pkb_emu_impl {

namespace {

uint16_t maskOf(uintptr_t offset, uint32_t bytes) { return uint16_t(((1u << bytes) - 1u) << offset); }

// Calls f(line, bytes before it in the access, offset in the line, bytes) for each 16-byte line of an access.
template <class F>
void forLines(const Place &place, uint32_t bytes, F f) {
  uint32_t done = 0;
  while (done < bytes) {
    const uintptr_t at = place.key + done;
    const uint32_t inLine = uint32_t(at & 15), n = std::min(bytes - done, 16 - inLine);
    f(at & ~uintptr_t(15), done, inLine, n);
    done += n;
  }
}

bool strong(Semantics semantics) { return semantics != Semantics::weak && semantics != Semantics::none; }
bool releases(Semantics semantics) { return semantics == Semantics::release || semantics == Semantics::acq_rel; }
bool acquires(Semantics semantics) { return semantics == Semantics::acquire || semantics == Semantics::acq_rel; }

void overlay(const StoreBuffer &buffer, uintptr_t line, uint32_t inLine, uint32_t n, char *to) {
  if (buffer.empty())
    return;
  if (const StoreBuffer::Entry *entry = buffer.find(line))
    for (uint32_t k = 0; k < n; ++k)
      if (entry->mask >> (inLine + k) & 1)
        to[k] = char(entry->data[inLine + k]);
}

} // namespace

// The row's semantics and scope, weakened if this run's mutant sits here.
Model::Effective Model::effective(const Fiber &fiber, int op, int site) const {
  Effective e{kOps[op].semantics, kOps[op].scope};
  if (site >= 0 && site == fiber.view.mutant_site) {
    if (fiber.view.mutant_kind == PKB_MUTANT_RELAX && (releases(e.semantics) || acquires(e.semantics)))
      e.semantics = Semantics::relaxed;
    if (fiber.view.mutant_kind == PKB_MUTANT_NARROW)
      e.scope = e.scope == Scope::sys ? Scope::gpu : e.scope == Scope::gpu ? Scope::cta : e.scope;
  }
  return e;
}

bool Model::covers(Scope scope, int deviceA, const void *blockA, int deviceB, const void *blockB) const {
  switch (scope) {
  case Scope::sys: return true;
  case Scope::gpu: return deviceA == deviceB;
  case Scope::cta: return deviceA == deviceB && blockA == blockB;
  default: return false;
  }
}

void Model::read(const Fiber &fiber, const Place &place, void *to, const void *from, uint32_t bytes) const {
  memcpy(to, from, bytes);
  const StoreBuffer &own = fiber.model.stores, &block = fiber.block->stores;
  const StoreBuffer &device = emulator.devices[fiber.block->kernel->device].stores;
  if (own.empty() && block.empty() && device.empty())
    return;
  forLines(place, bytes, [&](uintptr_t line, uint32_t done, uint32_t inLine, uint32_t n) {
    char *at = static_cast<char *>(to) + done;
    overlay(device, line, inLine, n, at);
    overlay(block, line, inLine, n, at);
    overlay(own, line, inLine, n, at);
  });
}

// Bytes reach memory: all devices see them, and who polls that line looks again.
void Model::land(const StoreBuffer::Entry &entry) {
  ++drains;
  for (int k = 0; k < 16; ++k)
    if (entry.mask >> k & 1)
      entry.memory[k] = char(entry.data[k]);
  if (!published.empty()) { // another store ends what an earlier release on these cells said
    if (entry.mask & 0x00ff)
      published.erase(entry.line);
    if (entry.mask & 0xff00)
      published.erase(entry.line + 8);
  }
  if (entry.sys)
    relaxed[entry.line] = entry.launch;
  emulator.wakeLine(entry.line);
}

// Moves bytes to the buffer (or memory) that `level` names: cta, gpu, sys.
void Model::toLevel(Fiber &fiber, Scope level, const StoreBuffer::Entry &entry) {
  if (level == Scope::sys) {
    land(entry);
    return;
  }
  (level == Scope::cta ? fiber.block->stores : emulator.devices[fiber.block->kernel->device].stores).put(entry);
  emulator.wakeLine(entry.line);
}

void Model::moveAll(StoreBuffer &from, Fiber &fiber, Scope level) {
  for (size_t k = 0; k < from.size(); ++k)
    toLevel(fiber, level, from.at(k));
  from.clear();
}

// What a release at `scope` by this thread makes visible: its own stores, and those that its block (barrier) or its device (gpu scope) has handed on.
void Model::drainThread(Fiber &fiber, Scope scope) {
  Device &device = emulator.devices[fiber.block->kernel->device];
  if (scope == Scope::cta) {
    moveAll(fiber.model.stores, fiber, Scope::cta);
    return;
  }
  if (scope == Scope::sys)
    moveAll(device.stores, fiber, Scope::sys); // oldest first
  moveAll(fiber.block->stores, fiber, scope);
  moveAll(fiber.model.stores, fiber, scope);
}

void Model::load(Fiber &fiber, int op, int site, void *to, const void *from, uint32_t bytes) {
  const Place place = emulator.memory.place(from);
  const int device = fiber.block->kernel->device;
  const Effective e = effective(fiber, op, site);
  if (emulator.options.races) {
    if (acquires(e.semantics))
      acquire(fiber, place.key & ~uintptr_t(7), e.scope);
    record(fiber.model, &fiber, device, place, bytes, false, op, site, strong(e.semantics) ? e.scope : Scope::none);
    if (strong(e.semantics) && !relaxed.empty())
      forLines(place, bytes, [&](uintptr_t line, uint32_t, uint32_t, uint32_t) { observe(fiber, line); });
  }
  read(fiber, place, to, from, bytes);
}

void Model::store(Fiber &fiber, int op, int site, void *to, const void *from, uint32_t bytes) {
  const Place place = emulator.memory.place(to);
  const int device = fiber.block->kernel->device;
  const Effective e = effective(fiber, op, site);
  if (emulator.options.races)
    record(fiber.model, &fiber, device, place, bytes, true, op, site, strong(e.semantics) ? e.scope : Scope::none);
  const Scope level = !emulator.options.memory_model ? Scope::sys : releases(e.semantics) ? e.scope : Scope::none;
  if (level != Scope::none)
    drainThread(fiber, level);
  forLines(place, bytes, [&](uintptr_t line, uint32_t done, uint32_t inLine, uint32_t n) {
    StoreBuffer::Entry entry;
    entry.line = line;
    entry.memory = static_cast<char *>(to) + done - inLine;
    entry.mask = maskOf(inLine, n);
    memcpy(entry.data + inLine, static_cast<const char *>(from) + done, n);
    if (strong(e.semantics)) {
      entry.launch = fiber.model.launch;
      if (e.scope == Scope::sys)
        entry.sys = entry.mask;
      if (e.scope == Scope::sys || e.scope == Scope::gpu)
        entry.gpu = entry.mask;
    }
    if (level == Scope::none)
      fiber.model.stores.put(entry);
    else
      toLevel(fiber, level, entry);
  });
  if (releases(e.semantics) && emulator.options.races) {
    published[place.key & ~uintptr_t(7)] = Published{fiber.model.known, e.scope, device, fiber.block};
    tick(fiber.model);
  }
}

// Atomics act on memory at once (they are strong at gpu scope at least, and only blocks of one device share the cell).
uint32_t Model::add(Fiber &fiber, int op, int site, void *cell, uint32_t value) {
  const Place place = emulator.memory.place(cell);
  const int device = fiber.block->kernel->device;
  const Effective e = effective(fiber, op, site);
  const uintptr_t line = place.key & ~uintptr_t(15);
  const uint16_t mask = maskOf(place.key & 15, 4);
  if (emulator.options.races) {
    if (acquires(e.semantics))
      acquire(fiber, place.key & ~uintptr_t(7), e.scope);
    record(fiber.model, &fiber, device, place, 4, true, op, site, e.scope);
  }
  if (releases(e.semantics))
    drainThread(fiber, e.scope);
  uint32_t old;
  read(fiber, place, &old, cell, 4);
  fiber.model.stores.forget(line, mask);
  fiber.block->stores.forget(line, mask);
  emulator.devices[device].stores.forget(line, mask);
  const uint32_t sum = old + value;
  memcpy(cell, &sum, 4);
  if (emulator.options.races && releases(e.semantics)) {
    // A chain of atomics hands on what the earlier ones published.
    Published &there = published[place.key & ~uintptr_t(7)];
    there.known.join(fiber.model.known);
    there.scope = e.scope;
    there.device = device;
    there.block = fiber.block;
    tick(fiber.model);
  }
  emulator.wakeLine(line);
  return old;
}

void Model::arriveAtBarrier(Fiber &fiber) {
  if (emulator.options.memory_model)
    drainThread(fiber, Scope::cta);
}

// All threads of a block know what each of them knew.
void Model::passBarrier(std::vector<Fiber *> &fibers) {
  if (!emulator.options.races)
    return;
  Knowledge all = fibers.front()->model.known;
  for (Fiber *fiber : fibers)
    all.join(fiber->model.known);
  for (Fiber *fiber : fibers) {
    fiber->model.known = all;
    tick(fiber->model);
  }
}

// At the seed's rate one pending store moves on by itself.
bool Model::drainMaybe() {
  static constexpr uint32_t kOneIn[4] = {0, 128, 16, 4}; // 0: a store stays unseen until something orders it
  const uint32_t oneIn = kOneIn[emulator.options.seed % 4];
  return oneIn != 0 && emulator.random.below(oneIn) == 0 && drainSomething(false);
}

bool Model::orders(const Fiber &fiber, int op, int site) const { return effective(fiber, op, site).semantics != Semantics::relaxed; }

// `needed`: what a strong store is owed, some time, at its scope; asked for when nothing else can go on, so all buffers are looked at. Otherwise one
// buffer is drawn, and if it holds anything, one entry of it.
bool Model::drainSomething(bool needed) {
  struct Choice {
    StoreBuffer *buffer;
    Fiber *fiber; // of a thread's buffer
    Block *block; // of a block's
    Device *device;
  };
  std::vector<Choice> choices;
  auto owed = [](const StoreBuffer::Entry &entry, bool device) { return device ? entry.sys : entry.gpu; };
  auto consider = [&](const Choice &choice) {
    for (size_t k = 0; k < choice.buffer->size(); ++k)
      if (!needed || owed(choice.buffer->at(k), !choice.fiber && !choice.block)) {
        choices.push_back(choice);
        return;
      }
  };
  Random &random = emulator.random;
  if (needed) {
    for (Device &device : emulator.devices) {
      consider({&device.stores, nullptr, nullptr, &device});
      for (Kernel *kernel : device.running)
        for (Block *block : kernel->ordered) {
          consider({&block->stores, nullptr, block, &device});
          for (auto &fiber : block->fibers)
            consider({&fiber->model.stores, fiber.get(), block, &device});
        }
    }
  } else {
    Device &device = emulator.devices[random.below(emulator.devices.size())];
    if (device.running.empty() || random.below(4) == 0) {
      consider({&device.stores, nullptr, nullptr, &device});
    } else {
      Kernel *kernel = device.running[random.below(device.running.size())];
      if (!kernel->ordered.empty()) {
        Block *block = kernel->ordered[random.below(kernel->ordered.size())];
        const size_t pick = random.below(block->fibers.size() + 1);
        if (pick == block->fibers.size())
          consider({&block->stores, nullptr, block, &device});
        else
          consider({&block->fibers[pick]->model.stores, block->fibers[pick].get(), block, &device});
      }
    }
  }
  if (choices.empty())
    return false;
  const Choice choice = choices[random.below(choices.size())];
  const bool ofDevice = !choice.fiber && !choice.block;
  std::vector<uintptr_t> lines;
  for (size_t k = 0; k < choice.buffer->size(); ++k)
    if (!needed || owed(choice.buffer->at(k), ofDevice))
      lines.push_back(choice.buffer->at(k).line);
  size_t count = 1; // or the whole buffer, so that a run with many LL lines comes to its end
  if (needed && random.below(2))
    count = lines.size();
  for (size_t k = 0; k < count; ++k) {
    const size_t pick = random.below(lines.size());
    const StoreBuffer::Entry *entry = choice.buffer->find(lines[pick]);
    lines[pick] = lines.back();
    lines.pop_back();
    uint16_t bytes = needed ? owed(*entry, ofDevice) : entry->mask;
    // A line is atomic per 8 bytes: its halves may go separately.
    if (count == 1 && (bytes & 0x00ff) && (bytes & 0xff00) && random.below(2))
      bytes &= random.below(2) ? 0x00ff : 0xff00;
    const StoreBuffer::Entry taken = choice.buffer->take(*entry, bytes);
    if (choice.fiber)
      toLevel(*choice.fiber, needed ? Scope::gpu : Scope::cta, taken);
    else if (choice.block)
      toLevel(*choice.block->fibers.front(), Scope::gpu, taken);
    else
      land(taken);
  }
  return true;
}

LaunchRef Model::startLaunch(StreamModel &stream, int device, const std::string &kernel) {
  auto launch = std::make_shared<Launch>();
  launch->id = uint32_t(launches.size());
  launch->device = device;
  launch->kernel = kernel;
  launch->start = stream.known;
  launches.push_back(launch);
  return launch;
}

void Model::endFiber(Fiber &fiber, StreamModel &stream) {
  drainThread(fiber, Scope::cta);
  moveAll(fiber.block->stores, fiber, Scope::gpu);
  stream.known.join(fiber.model.known);
}

// A kernel's end makes all its stores visible. (Those of other kernels of the device that run at the same time as well: they may be.)
void Model::endKernel(int device, StreamModel &) {
  StoreBuffer &stores = emulator.devices[device].stores;
  for (size_t k = 0; k < stores.size(); ++k)
    land(stores.at(k));
  stores.clear();
}

} // namespace pkb_emu_impl
