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
  ++emulator.counts.drains;
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

// Moves bytes to the buffer (or memory) that `level` names: cta, gpu, sys. Older values of those bytes on the way there are overtaken, hence gone.
void Model::toLevel(Block &block, Scope level, const StoreBuffer::Entry &entry) {
  StoreBuffer &device = emulator.devices[block.kernel->device].stores;
  if (level == Scope::cta) {
    block.stores.put(entry);
    emulator.wakeLine(entry.line);
    return;
  }
  block.stores.forget(entry.line, entry.mask);
  if (level == Scope::gpu) {
    device.put(entry);
    emulator.wakeLine(entry.line);
    return;
  }
  device.forget(entry.line, entry.mask);
  land(entry);
}

void Model::moveAll(StoreBuffer &from, Block &block, Scope level) {
  StoreBuffer all;
  std::swap(all, from);
  for (size_t k = 0; k < all.size(); ++k)
    toLevel(block, level, all.at(k));
}

// What a release at `scope` by this thread makes visible: its own stores, and those that its block (barrier) or its device (gpu scope) has handed on.
void Model::drainThread(Fiber &fiber, Scope scope) {
  Block &block = *fiber.block;
  if (scope == Scope::sys)
    moveAll(emulator.devices[block.kernel->device].stores, block, Scope::sys); // oldest first
  if (scope != Scope::cta)
    moveAll(block.stores, block, scope);
  moveAll(fiber.model.stores, block, scope);
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
  Scope level = !emulator.options.memory_model ? Scope::sys : releases(e.semantics) ? e.scope : Scope::none;
  if (level != Scope::none)
    drainThread(fiber, level);
  else if (strong(e.semantics) && emulator.options.seed % 3 != 0 && emulator.random.below(4) != 0)
    level = e.scope; // two seeds of three are quick with strong stores, so that a peer may be overtaken as well as kept waiting
  forLines(place, bytes, [&](uintptr_t line, uint32_t done, uint32_t inLine, uint32_t n) {
    StoreBuffer::Entry entry;
    entry.line = line;
    entry.memory = static_cast<char *>(to) + done - inLine;
    entry.mask = maskOf(inLine, n);
    memcpy(entry.data + inLine, static_cast<const char *>(from) + done, n);
    if (strong(e.semantics)) {
      entry.whole = bytes == 16;
      entry.launch = fiber.model.launch;
      if (e.scope == Scope::sys)
        entry.sys = entry.mask;
      if (e.scope == Scope::sys || e.scope == Scope::gpu)
        entry.gpu = entry.mask;
    }
    if (level == Scope::none)
      fiber.model.stores.put(entry);
    else
      toLevel(*fiber.block, level, entry);
  });
  if (releases(e.semantics) && emulator.options.races) {
    published[place.key & ~uintptr_t(7)] = Published{fiber.model.known, e.scope, device, fiber.block};
    tick(fiber.model);
  }
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
    // Stores are atomic per 8 bytes, but LL lines: the halves of others may go separately.
    if (count == 1 && !entry->whole && (bytes & 0x00ff) && (bytes & 0xff00) && random.below(2))
      bytes &= random.below(2) ? 0x00ff : 0xff00;
    const StoreBuffer::Entry taken = choice.buffer->take(*entry, bytes);
    if (ofDevice) {
      land(taken);
      continue;
    }
    Scope level = Scope::gpu;
    if (!needed)
      level = choice.fiber && random.below(2) ? Scope::cta : random.below(2) ? Scope::gpu : Scope::sys;
    toLevel(*choice.block, level, taken);
  }
  return true;
}

LaunchRef Model::startLaunch(StreamModel &stream, int device, const std::string &kernel) {
  auto launch = std::make_shared<Launch>();
  launch->id = uint32_t(launches.size());
  launch->device = device;
  launch->kernel = kernel;
  launch->start = stream.known;
  launches.push_back(kernel);
  return launch;
}

void Model::endFiber(Fiber &fiber, StreamModel &stream) {
  moveAll(fiber.model.stores, *fiber.block, Scope::cta);
  moveAll(fiber.block->stores, *fiber.block, Scope::gpu);
  stream.known.join(fiber.model.known);
}

// Before a kernel counts as ended, all its stores become visible, one by one in any order. (So do those of other kernels of the device that run at
// the same time; they may.) False: nothing is left.
bool Model::drainDevice(int device) {
  StoreBuffer &stores = emulator.devices[device].stores;
  if (stores.empty())
    return false;
  const StoreBuffer::Entry &entry = stores.at(emulator.random.below(stores.size()));
  land(stores.take(entry, entry.mask));
  return true;
}

} // namespace pkb_emu_impl
