// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a running program calls. Everything here runs on the scheduler thread, inside a fiber.
#include "Emulator.h"

#include <cstring>

namespace pkb_emu_impl {

thread_local Emulator *currentEmulator = nullptr;

namespace {

const pkb_emu_thread *self() { return &currentEmulator->current->view; }

// A memory access of proof mode: the scheduler may come in after it, and a pending store of somebody may move on.
void breathe(Emulator &emulator, bool ordering) {
  emulator.model.drainMaybe();
  static constexpr uint32_t kOneIn[3] = {6, 24, 120};
  const uint32_t oneIn = ordering ? 2 : kOneIn[emulator.options.seed / 4 % 3];
  if (emulator.random.below(oneIn) == 0)
    emulator.suspend(FiberState::ready);
}

// In value mode an ordering operation is a point where another fiber may come in.
void maybeYield(Emulator &emulator) {
  if (emulator.random.below(4) == 0)
    emulator.suspend(FiberState::ready);
}

void load(int op, int site, void *to, const void *from, uint32_t bytes) {
  Emulator &emulator = *currentEmulator;
  if (!emulator.proof) {
    memcpy(to, from, bytes);
    return;
  }
  emulator.model.load(*emulator.current, op, site, to, from, bytes);
  // Nothing may come between a poll and the decision to sleep on it, or the wake-up is lost.
  if (op != op_wait && op != op_load_ll)
    breathe(emulator, false);
}

void store(int op, int site, void *to, const void *from, uint32_t bytes) {
  Emulator &emulator = *currentEmulator;
  if (emulator.proof)
    emulator.model.store(*emulator.current, op, site, to, from, bytes);
  else
    memcpy(to, from, bytes);
  if (op == op_signal)
    ++emulator.counts.signals;
  else if (op == op_store_ll)
    ++emulator.counts.ll_lines;
  if (emulator.proof) {
    breathe(emulator, kOps[op].semantics != Semantics::weak);
    return;
  }
  emulator.wakeAddress(to);
  if (op == op_signal)
    maybeYield(emulator);
}

void barrier(int op, int site) {
  Emulator &emulator = *currentEmulator;
  Fiber &fiber = *emulator.current;
  Block &block = *fiber.block;
  const bool orders = emulator.proof && emulator.model.orders(fiber, op, site);
  if (orders)
    emulator.model.arriveAtBarrier(fiber);
  fiber.barrierSite = site;
  if (++block.atBarrier == block.live) {
    block.atBarrier = 0;
    if (orders) {
      std::vector<Fiber *> all;
      for (auto &other : block.fibers)
        all.push_back(other.get());
      emulator.model.passBarrier(all);
    }
    for (auto &other : block.fibers)
      if (other->state == FiberState::barrier) {
        other->state = FiberState::ready;
        emulator.ready.push_back(other.get());
      }
    return;
  }
  emulator.suspend(FiberState::barrier);
}

int spin(const pkb_emu_spin *why) {
  Emulator &emulator = *currentEmulator;
  Fiber &fiber = *emulator.current;
  ++emulator.counts.polls;
  if (why->abort && *why->abort)
    return 0;
  fiber.spin = *why;
  emulator.suspend(FiberState::waiting);
  return fiber.aborted ? 0 : 1;
}

} // namespace

const pkb_emu_hooks hookTable = {PKB_EMU_HOOKS_VERSION, self, load, store, barrier, spin};

} // namespace pkb_emu_impl
