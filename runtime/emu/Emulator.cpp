// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Life of an emulator, and the C interface of pkb_rt/emu.h.
#include "Emulator.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace pkb_emu_impl {

pkb_emu *registerEmulator(const pkb_emu_options &options); // Driver.cpp
void unregisterEmulator(pkb_emu *emulator);

Emulator::Emulator(const pkb_emu_options &given, int slot) : options(given), slot(slot), random{given.seed} {
  fillDriver(*this);
  if (options.mode != PKB_EMU_AUTO)
    decideMode();
  if (options.mode == PKB_EMU_VALUE)
    memory.allowForeign();
  devices.resize(size_t(options.devices));
  for (int d = 0; d < options.devices; ++d) {
    devices[d].ordinal = d;
    devices[d].dead = options.dead >> d & 1;
    devices[d].defaultStream = std::make_unique<Stream>();
    devices[d].defaultStream->device = d;
    devices[d].defaultStream->isDefault = true;
    active.push_back(devices[d].defaultStream.get());
  }
  scheduler = std::thread([this] { run(); });
}

Emulator::~Emulator() {
  {
    std::lock_guard<std::mutex> guard(mutex);
    stop = true;
    wake.notify_all();
  }
  scheduler.join();
  {
    std::lock_guard<std::mutex> guard(mutex);
    for (Stream *stream : streams)
      if (stream->worker.joinable())
        retireWorker(*stream);
    for (Device &device : devices)
      if (device.defaultStream->worker.joinable())
        retireWorker(*device.defaultStream);
  }
  for (std::thread &worker : retired)
    worker.join();
  for (Stream *stream : streams)
    delete stream;
  for (Event *event : events)
    delete event;
  for (void *stack : stacks)
    munmap(stack, kStackBytes);
}

void Emulator::addStream(Stream *stream) {
  stream->id = nextStream++;
  streams.insert(stream);
  // By device, then by age: the order in which streams are looked at depends on nothing else.
  auto later = [&](Stream *a, Stream *b) { return a->device != b->device ? a->device < b->device : a->id < b->id; };
  active.insert(std::upper_bound(active.begin(), active.end(), stream, later), stream);
}

void Emulator::removeStream(Stream *stream) {
  streams.erase(stream);
  active.erase(std::find(active.begin(), active.end(), stream));
  if (stream->worker.joinable())
    retireWorker(*stream);
  delete stream;
}

} // namespace pkb_emu_impl

using namespace pkb_emu_impl;

void pkb_emu_default_options(pkb_emu_options *options) {
  memset(options, 0, sizeof(*options));
  options->struct_bytes = sizeof(*options);
  options->devices = 2;
  options->seed = 1;
  options->mode = PKB_EMU_VALUE;
  options->proof_threads = 4;
  options->sms = 132;
  options->blocks_per_sm = 1;
  options->memory_model = 1;
  options->races = 1;
  options->idle_s = 10;
  options->mutant_site = -1;
  options->mutant_device = -1;
}

pkb_emu *pkb_emu_create(const pkb_emu_options *options, const char **why) {
  const char *unused;
  const char *&reason = why ? *why : unused;
  reason = "";
  if (!options || options->struct_bytes != sizeof(*options))
    reason = "the emulator's options are of another version: start from pkb_emu_default_options";
  else if (options->devices < 1 || options->devices > PKB_EMU_MAX_DEVICES)
    reason = "the emulator has 1 to 64 devices";
  else if (options->mode < PKB_EMU_VALUE || options->mode > PKB_EMU_AUTO)
    reason = "the emulator's mode must be value, proof or auto";
  else if (options->proof_threads < 1 || options->proof_threads > 1024)
    reason = "proof_threads must be 1 to 1024";
  else if (options->sms < 1 || options->blocks_per_sm < 1)
    reason = "sms and blocks_per_sm must be at least 1";
  else if (!(options->idle_s > 0))
    reason = "idle_s must be above 0";
  else if (options->mutant_kind < 0 || options->mutant_kind >= PKB_MUTANT_KINDS)
    reason = "unknown kind of mutant";
  if (*reason)
    return nullptr;
  pkb_emu *emulator = registerEmulator(*options);
  if (!emulator)
    reason = "16 emulators exist in this process: destroy one first";
  return emulator;
}

void pkb_emu_destroy(pkb_emu *emulator) {
  if (emulator)
    unregisterEmulator(emulator);
}

const pkb_driver *pkb_emu_driver(pkb_emu *emulator) { return &emulator->driver; }

void pkb_emu_hold(pkb_emu *emulator) {
  std::lock_guard<std::mutex> guard(emulator->mutex);
  ++emulator->holds;
}

void pkb_emu_release(pkb_emu *emulator) {
  std::lock_guard<std::mutex> guard(emulator->mutex);
  if (emulator->holds > 0 && --emulator->holds == 0) {
    ++emulator->activity;
    emulator->wake.notify_all();
  }
}

void pkb_emu_kill_device(pkb_emu *emulator, int device) {
  std::lock_guard<std::mutex> guard(emulator->mutex);
  if (device < 0 || device >= emulator->options.devices)
    return;
  emulator->devices[device].dead = true;
  ++emulator->activity;
  emulator->wake.notify_all();
}

int pkb_emu_result(pkb_emu *emulator, const char **text) {
  std::lock_guard<std::mutex> guard(emulator->findingMutex);
  if (text)
    *text = emulator->findingText.c_str();
  return emulator->finding;
}

void pkb_emu_count(pkb_emu *emulator, pkb_emu_counts *counts) {
  std::lock_guard<std::mutex> guard(emulator->mutex);
  *counts = emulator->counts;
}
