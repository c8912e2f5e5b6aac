// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scheduler thread: streams to kernels, kernels to blocks, blocks to fibers, and the choice of who runs next.
#include "Emulator.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

namespace pkb_emu_impl {

namespace ctx = boost::context::detail;

namespace {
constexpr int kSlices = 256; // fibers between two looks at the streams

void *newStack() {
  void *stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED)
    return nullptr;
  mprotect(stack, 4096, PROT_NONE); // guard
  return stack;
}

void fiberMain(ctx::transfer_t from) {
  Fiber *fiber = static_cast<Fiber *>(from.data);
  Emulator &emulator = *currentEmulator;
  emulator.schedulerContext = from.fctx;
  fiber->block->kernel->function->entry(fiber->block->kernel->param.data());
  fiber->state = FiberState::finished;
  ctx::jump_fcontext(emulator.schedulerContext, nullptr);
  __builtin_trap(); // a finished fiber is never resumed
}
} // namespace

// Called inside a fiber: gives the thread back to the scheduler and returns when the fiber is chosen again.
void Emulator::suspend(FiberState state) {
  current->state = state;
  ctx::transfer_t back = ctx::jump_fcontext(schedulerContext, nullptr);
  schedulerContext = back.fctx;
}

void Emulator::runFiber(Fiber *fiber) {
  ++counts.switches;
  current = fiber;
  ctx::transfer_t back = ctx::jump_fcontext(fiber->context, fiber);
  fiber->context = back.fctx;
  current = nullptr;
  switch (fiber->state) {
  case FiberState::ready:
    ready.push_back(fiber);
    break;
  case FiberState::waiting:
    waiters.emplace(memory.place(fiber->spin.address).key & ~uintptr_t(15), fiber);
    break;
  case FiberState::barrier:
    break;
  case FiberState::finished:
    endFiber(fiber);
    break;
  case FiberState::abandoned:
    break;
  }
}

void Emulator::endFiber(Fiber *fiber) {
  stacks.push_back(fiber->stack);
  fiber->stack = nullptr;
  Block *block = fiber->block;
  if (proof)
    model.endFiber(*fiber, *block->kernel->stream);
  if (--block->live > 0) {
    if (block->atBarrier == block->live && block->atBarrier > 0) {
      fail(PKB_EMU_BARRIER, "barrier divergence: " + describe(*fiber) + " ended while the others of its block wait at a barrier");
    }
    return;
  }
  Kernel *kernel = block->kernel;
  Device &device = devices[kernel->device];
  --device.resident;
  ++kernel->finished;
  kernel->ordered.erase(std::find(kernel->ordered.begin(), kernel->ordered.end(), block));
  delete block;
  if (proof && kernel->finished == kernel->grid && !device.stores.empty()) {
    kernel->draining = true;
    ++draining;
  }
}

void Emulator::wakeAddress(const void *address) {
  if (!waiters.empty())
    wakeLine(memory.place(address).key & ~uintptr_t(15));
}

void Emulator::wakeLine(uintptr_t line) {
  if (waiters.empty())
    return;
  auto [first, last] = waiters.equal_range(line);
  for (auto it = first; it != last; ++it) {
    it->second->state = FiberState::ready;
    ready.push_back(it->second);
  }
  waiters.erase(first, last);
}

void Emulator::wakeAll() {
  for (auto &[line, fiber] : waiters) {
    fiber->state = FiberState::ready;
    ready.push_back(fiber);
  }
  waiters.clear();
}

// Fibers whose program was told to abort leave their spin.
void Emulator::leaveAborted() {
  for (auto it = waiters.begin(); it != waiters.end();) {
    Fiber *fiber = it->second;
    if (fiber->spin.abort && *fiber->spin.abort) {
      fiber->aborted = true;
      fiber->state = FiberState::ready;
      ready.push_back(fiber);
      it = waiters.erase(it);
    } else {
      ++it;
    }
  }
}

void Emulator::startKernel(Op &op, Stream *stream) {
  op.kernel = std::make_unique<Kernel>();
  Kernel &kernel = *op.kernel;
  kernel.op = &op;
  kernel.function = op.function;
  kernel.device = stream->device;
  kernel.grid = op.grid;
  kernel.threads = proof ? std::min<unsigned>(op.block, unsigned(options.proof_threads)) : 1;
  kernel.param = op.param;
  kernel.stream = stream->model;
  kernel.streamId = stream->id;
  if (proof) {
    const std::vector<uint32_t> freed = memory.takeFreed();
    if (!freed.empty())
      model.forget(freed);
    kernel.launch = model.startLaunch(*stream->model, stream->device, op.function->name);
  }
  devices[stream->device].running.push_back(&kernel);
  ++counts.launches;
}

// Blocks of a device start in order of their kernels, as many as are resident at once.
bool Emulator::startBlocks() {
  bool any = false;
  for (Device &device : devices) {
    for (Kernel *kernel : device.running) {
      const int64_t capacity = int64_t(options.sms) * blocksPerSm(*kernel->function);
      while (kernel->started < kernel->grid && device.resident < capacity && !device.dead) {
        auto block = std::make_unique<Block>();
        block->kernel = kernel;
        block->index = kernel->started++;
        for (unsigned t = 0; t < kernel->threads; ++t) {
          auto fiber = std::make_unique<Fiber>();
          if (stacks.empty()) {
            void *stack = newStack();
            if (!stack) {
              fail(PKB_EMU_DEADLOCK, "out of memory for the stacks of the emulated threads: use fewer blocks, or value mode");
              return any;
            }
            stacks.push_back(stack);
          }
          fiber->stack = stacks.back();
          stacks.pop_back();
          fiber->block = block.get();
          fiber->view.block = block->index;
          fiber->view.blocks = kernel->grid;
          fiber->view.thread = int32_t(t);
          fiber->view.threads = int32_t(kernel->threads);
          fiber->view.proof = proof;
          const bool mutant = options.mutant_device < 0 || options.mutant_device == kernel->device;
          fiber->view.mutant_site = mutant ? options.mutant_site : -1;
          fiber->view.mutant_kind = mutant ? options.mutant_kind : PKB_MUTANT_NONE;
          fiber->context = ctx::make_fcontext(static_cast<char *>(fiber->stack) + kStackBytes, kStackBytes, fiberMain);
          if (proof)
            model.startFiber(*fiber, *kernel->stream, kernel->streamId, kernel->launch);
          ready.push_back(fiber.get());
          block->fibers.push_back(std::move(fiber));
        }
        block->live = int(kernel->threads);
        kernel->ordered.push_back(block.release());
        ++device.resident;
        ++counts.blocks;
        any = true;
      }
    }
  }
  return any;
}

void Emulator::decideMode() {
  if (modeDecided)
    return;
  modeDecided = true;
  proof = options.mode == PKB_EMU_PROOF || (options.mode == PKB_EMU_AUTO && memory.tensorBytes() <= (1u << 20));
  counts.proof = proof;
}

void Emulator::fail(int kind, const std::string &text) {
  bool first;
  {
    std::lock_guard<std::mutex> guard(findingMutex);
    first = finding == PKB_EMU_OK;
    if (first) {
      finding = kind;
      findingText = text;
    }
  }
  if (first) {
    if (options.report)
      options.report(options.report_user, kind, findingText.c_str());
    else
      fprintf(stderr, "%s\n", findingText.c_str());
  }
  failed = true;
  if (current)
    suspend(FiberState::abandoned); // never chosen again
}

// Drops what runs on a device. Programs own nothing, so a fiber's stack can be taken away without unwinding.
void Emulator::abandon(Device &device) {
  auto ours = [&](Fiber *fiber) { return fiber->block->kernel->device == device.ordinal; };
  ready.erase(std::remove_if(ready.begin(), ready.end(), ours), ready.end());
  for (auto it = waiters.begin(); it != waiters.end();)
    it = ours(it->second) ? waiters.erase(it) : std::next(it);
  for (Kernel *kernel : device.running) {
    for (Block *block : kernel->ordered) {
      for (auto &fiber : block->fibers)
        if (fiber->stack)
          stacks.push_back(fiber->stack);
      delete block;
    }
    kernel->ordered.clear();
    kernel->finished = kernel->started;
    if (kernel->draining)
      --draining;
    kernel->draining = false;
  }
  device.resident = 0;
  device.stores.clear();
}

std::string Emulator::describe(const Fiber &fiber) const {
  const Kernel &kernel = *fiber.block->kernel;
  return "device " + std::to_string(kernel.device) + ", kernel " + kernel.function->name + ", block " + std::to_string(fiber.view.block) +
         " of " + std::to_string(fiber.view.blocks) + ", thread " + std::to_string(fiber.view.thread);
}

// What a fiber waits for.
std::string Emulator::waitText(const pkb_emu_spin &spin) {
  auto flag = [](uint64_t value) {
    return std::to_string(value >> PKB_PROGRESS_BITS) + ":" + std::to_string(value & ((1u << PKB_PROGRESS_BITS) - 1));
  };
  std::string text = "rank " + std::to_string(spin.rank) + " waits, site " + std::to_string(spin.site) + ", for ";
  const std::string where = memory.describe(memory.place(spin.address));
  if (spin.op == op_wait)
    return text + "flag (source " + std::to_string(spin.source) + ", block " + std::to_string(spin.block) + ") in " + where + ": expected " +
           flag(spin.expected) + ", seen " + flag(spin.seen) + " (epoch:chunks)";
  return text + "an LL line in " + where + ": expected epoch " + std::to_string(spin.expected) + ", seen " + std::to_string(spin.seen);
}

std::string Emulator::deadlockText() {
  std::string text = "deadlock: nothing can run and no host adds work";
  constexpr int kShown = 32;
  int shown = 0;
  for (Device &device : devices)
    for (Kernel *kernel : device.running) {
      for (Block *block : kernel->ordered)
        for (auto &fiber : block->fibers) // who stands at a barrier waits for one of these
          if (fiber->state == FiberState::waiting && ++shown <= kShown)
            text += "\n  " + describe(*fiber) + ": " + waitText(fiber->spin);
      if (kernel->started < kernel->grid)
        text += "\n  device " + std::to_string(kernel->device) + ", kernel " + kernel->function->name + ": " +
                std::to_string(kernel->grid - kernel->started) + " of " + std::to_string(kernel->grid) +
                " blocks cannot start, " + std::to_string(int64_t(options.sms) * blocksPerSm(*kernel->function)) + " are resident at once";
    }
  if (shown > kShown)
    text += "\n  and " + std::to_string(shown - kShown) + " more";
  for (Stream *stream : active)
    if (!stream->queue.empty() && stream->queue.front()->started && stream->queue.front()->kind == OpKind::nccl)
      text += "\n  " + ncclWaitText(*stream->queue.front(), *stream);
  for (Stream *stream : active)
    if (!stream->queue.empty() && !stream->queue.front()->started)
      text += "\n  device " + std::to_string(stream->device) + ", stream " + std::to_string(stream->id) +
              ": its next operation waits for another stream";
  return text;
}

// One store of a kernel whose threads have all ended becomes visible.
bool Emulator::drainEnded() {
  std::vector<Kernel *> ended;
  for (Device &device : devices)
    for (Kernel *kernel : device.running)
      if (kernel->draining)
        ended.push_back(kernel);
  Kernel *kernel = ended[random.below(ended.size())];
  if (!model.drainDevice(kernel->device)) {
    kernel->draining = false;
    --draining;
  }
  return true;
}

// Draws who runs next. For a while at a time one device is slow, so that ranks come to be far apart.
Fiber *Emulator::choose() {
  if (whimFor-- == 0) {
    whimFor = uint32_t(random.below(2000)) + 1;
    slowDevice = random.below(2) ? int(random.below(devices.size())) : -1;
  }
  size_t pick = 0;
  for (int tries = 0; tries < 8; ++tries) {
    pick = size_t(random.below(ready.size()));
    if (ready[pick]->block->kernel->device != slowDevice)
      break;
  }
  Fiber *fiber = ready[pick];
  ready[pick] = ready.back();
  ready.pop_back();
  return fiber;
}

void Emulator::run() {
  currentEmulator = this;
  std::unique_lock<std::mutex> lock(mutex);
  uint64_t seenActivity = activity;
  Clock::time_point quietSince = Clock::now();
  while (!stop) {
    if (holds > 0 && !failed) {
      wake.wait(lock, [&] { return stop || holds == 0; });
      quietSince = Clock::now();
      continue;
    }
    for (Device &device : devices)
      if ((failed || device.dead) && !device.running.empty())
        abandon(device);
    bool progress = advanceStreams();
    progress |= !failed && startBlocks();
    if (!ready.empty()) {
      lock.unlock();
      for (int slice = 0; slice < kSlices && !ready.empty() && !failed; ++slice) {
        if (draining > 0 && random.below(4) == 0)
          drainEnded();
        runFiber(choose());
      }
      lock.lock();
      progress = true;
    }
    if (!progress && draining > 0 && !failed)
      progress = drainEnded();
    if (!progress && proof && !failed)
      progress = model.drainSomething(true); // a strong store is seen some time
    if (progress) {
      quietSince = Clock::now();
      continue;
    }
    leaveAborted();
    if (!ready.empty())
      continue;
    if (activity != seenActivity || hostCallsRunning > 0) {
      seenActivity = activity;
      quietSince = Clock::now();
    }
    bool pending = false;
    for (Stream *stream : active)
      pending |= !stream->queue.empty();
    if (!pending) {
      wake.wait(lock, [&] { return stop || activity != seenActivity || holds > 0; });
      quietSince = Clock::now();
      continue;
    }
    if (memory.foreign() && !waiters.empty() && !failed) {
      // Another process writes without a word: look again, and call nothing a deadlock.
      wake.wait_for(lock, std::chrono::microseconds(200), [&] { return stop || activity != seenActivity; });
      wakeAll();
      continue;
    }
    const double quiet = std::chrono::duration<double>(Clock::now() - quietSince).count();
    if (quiet >= options.idle_s) {
      if (!failed)
        fail(PKB_EMU_DEADLOCK, deadlockText());
      quietSince = Clock::now();
      continue;
    }
    wake.wait_for(lock, std::chrono::duration<double>(std::min(0.002, options.idle_s / 4)), [&] { return stop || activity != seenActivity; });
  }
  failed = true; // the end
  for (Device &device : devices)
    abandon(device);
  advanceStreams();
}

} // namespace pkb_emu_impl
