// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a running program calls. Everything here runs on the scheduler thread, inside a fiber.
#include "Emulator.h"

#include <cstring>

namespace pkb_emu_impl {

thread_local Emulator *currentEmulator = nullptr;

namespace {

const pkb_emu_thread *self() { return &currentEmulator->current->view; }

// In value mode an ordering operation is a point where another fiber may come in.
void maybeYield(Emulator &emulator) {
  if (emulator.random.below(4) == 0)
    emulator.suspend(FiberState::ready);
}

void load(int op, int site, void *to, const void *from, uint32_t bytes) {
  (void)op;
  (void)site;
  memcpy(to, from, bytes);
}

void store(int op, int site, void *to, const void *from, uint32_t bytes) {
  (void)site;
  Emulator &emulator = *currentEmulator;
  memcpy(to, from, bytes);
  if (op == op_signal)
    ++emulator.counts.signals;
  else if (op == op_store_ll)
    ++emulator.counts.ll_lines;
  emulator.wakeAddress(to);
  if (op == op_signal)
    maybeYield(emulator);
}

uint32_t addU32(int, int, void *cell, uint32_t value) {
  uint32_t old;
  memcpy(&old, cell, 4);
  const uint32_t sum = old + value;
  memcpy(cell, &sum, 4);
  currentEmulator->wakeAddress(cell);
  return old;
}

void barrier(int, int site) {
  Emulator &emulator = *currentEmulator;
  Fiber &fiber = *emulator.current;
  Block &block = *fiber.block;
  if (block.live == 1)
    return;
  fiber.barrierSite = site;
  if (++block.atBarrier == block.live) {
    block.atBarrier = 0;
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

const pkb_emu_hooks hookTable = {PKB_EMU_HOOKS_VERSION, self, load, store, addU32, barrier, spin};

} // namespace pkb_emu_impl
