// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The context's own thread: sees a peer go away, and a call that does not end, and then sets the abort word that every
// spin of the device polls. It never touches a user's stream: it reads the epoch cells through a stream of its own.
#include "Context.h"
#include "DriverAbi.h"
#include "Error.h"
#include "Nccl.h"
#include "pkb_rt/layout.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

using namespace pkb_rt;
using Clock = std::chrono::steady_clock;

void pkb_context::watch() {
  if (!driver->emulated) {
    driver->ctx_set_current(cuda);
    if (driver->thread_relax_capture) {
      driver->thread_relax_capture(); // reading a cell must not disturb a capture that another thread has under way
    }
    if (driver->stream_create(&watchStream, abi::kStreamNonBlocking) != 0 ||
        driver->event_create(&watchEvent, abi::kEventDisableTiming) != 0) {
      watchStream = nullptr;
    }
  }
  struct Progress {
    uint64_t epoch = 0;
    Clock::time_point since;
  };
  std::map<Channel *, Progress> progress;
  auto interval = std::chrono::duration<double>(std::clamp(timeout / 8, 0.02, 5.0));
  auto next = Clock::now() + interval;
  while (!stopping) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count();
    int gone = bootstrap->waitForLostPeer(int(std::clamp<long long>(left, 1, 200)));
    if (stopping) {
      return;
    }
    if (gone >= 0 && !closing) {
      std::string why = whyGone(gone);
      abortAll(!why.empty() ? why : cat("rank ", gone, " is gone (its socket was closed) while the program was running; see what it printed"));
    }
    if (!closing && !lost()) {
      watchRefusals();
      checkOrder();
    }
    if (Clock::now() < next || closing) {
      continue;
    }
    next = Clock::now() + std::chrono::duration_cast<Clock::duration>(interval);
    watchCommunicators();
    std::lock_guard<std::mutex> lock(groupsMutex);
    for (auto &group : groups) {
      for (auto &channel : group->channels) {
        bool ok = true;
        uint64_t issued = channel->issued.load(std::memory_order_relaxed);
        Cells cells = readCells(*channel, ok);
        auto [entry, fresh] = progress.try_emplace(channel.get(), Progress{cells.ended, Clock::now()});
        bool inFlight = std::max(issued, cells.started) > cells.ended;
        if (!ok || fresh || !inFlight || entry->second.epoch != cells.ended) {
          entry->second = {cells.ended, Clock::now()};
        } else if (std::chrono::duration<double>(Clock::now() - entry->second.since).count() >= timeout && !lost()) {
          abortAll(cat("rank ", rank, ": a call has not ended within ", timeout,
                    " s (PKB_TIMEOUT_S): ", describeStall(*group, *channel, cells.ended)));
        }
      }
    }
  }
}

/// NCCL says nothing of a rank that does not come.
void pkb_context::watchCommunicators() {
  std::string text;
  {
    std::lock_guard<std::mutex> lock(communicatorsMutex);
    for (auto &communicator : communicators) {
      if (std::optional<std::string> what = communicator->stalled(timeout); what && text.empty()) {
        text = cat("rank ", rank, ": a call of NCCL has not ended within ", timeout, " s (PKB_TIMEOUT_S): ", *what, ", among ranks");
        for (int other : communicator->ranks) {
          text += cat(other == communicator->ranks.front() ? " " : ", ", other);
        }
      }
    }
  }
  if (!text.empty() && !lost()) {
    abortAll(text + "; one of them makes another call, or none");
  }
}

/// A peer that refuses a call tells all ranks and waits for their refusals. If this rank has accepted that call, its
/// kernels wait for ones that will never be launched, and later calls would take each other's data.
void pkb_context::watchRefusals() {
  auto message = bootstrap->peek(kRefusal);
  if (!message) {
    return;
  }
  auto &[peer, name, reason] = *message;
  uint64_t number = std::strtoull(name.c_str() + kRefusal.size(), nullptr, 10);
  if (calls.load(std::memory_order_acquire) > number) {
    abortAll(cat("rank ", peer, " refused call ", number + 1, ", which rank ", rank, " accepted: ", reason,
                 "; give all ranks arguments of the same kind"));
  }
}

/// Copies up to a control page of device memory to the host through a stream of the run time.
bool pkb_context::copyHome(char *address, size_t bytes, void *to) {
  if (driver->emulated) {
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
      uint64_t word = __atomic_load_n(reinterpret_cast<uint64_t *>(address + i), __ATOMIC_RELAXED);
      std::memcpy(static_cast<char *>(to) + i, &word, sizeof(word));
    }
    return true;
  }
  bool own = std::this_thread::get_id() == watchdog.get_id();
  pkb_cu_stream stream = own ? watchStream : service;
  char *landing = copyBuffer + (own ? 0 : PKB_CONTROL_BYTES);
  if (!stream ||
      driver->memcpy_async(pkb_cu_ptr(uintptr_t(landing)), pkb_cu_ptr(uintptr_t(address)), bytes, stream) != 0) {
    return false;
  }
  bool ok = own ? driver->event_record(watchEvent, stream) == 0 : driver->stream_synchronize(stream) == 0;
  for (int tries = 0; ok && own; ++tries) { // the watchdog does not block: it must notice that it is to stop
    pkb_cu_result result = driver->event_query(watchEvent);
    if (result == 0) {
      break;
    }
    ok = result == abi::kErrorNotReady && tries < 1000 && !stopping;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ok) {
    std::atomic_thread_fence(std::memory_order_acquire);
    std::memcpy(to, landing, bytes);
  }
  return ok;
}

pkb_context::Cells pkb_context::readCells(Channel &channel, bool &ok) {
  uint64_t words[PKB_CONTROL_BYTES / sizeof(uint64_t)] = {};
  ok = copyHome(channel.region->piece(channel.region->me()), sizeof(words), words);
  auto *epochs = words + PKB_EPOCH_OFFSET / sizeof(uint64_t);
  return {*std::min_element(epochs, epochs + PKB_MAX_BLOCKS), words[PKB_STARTED_OFFSET / sizeof(uint64_t)]};
}

/// Who is behind, by the flags that have arrived here: "waiting for rank 2 (its flag is at call 6, this is call 7)".
std::string pkb_context::describeStall(RankGroup &group, Channel &channel, uint64_t epoch) {
  std::string text = cat("call ", epoch + 1, " on its channel; flags of block 0:");
  for (int member = 0; member < channel.region->size(); ++member) {
    if (member == channel.region->me()) {
      continue;
    }
    uint64_t value = 0;
    bool ok = copyHome(channel.region->piece(channel.region->me()) + pkb_flag_offset(member, 0), sizeof(value), &value);
    text += cat(" rank ", group.ranks[size_t(member)], " ");
    if (!ok) {
      text += "unknown";
    } else if (value == 0) {
      text += "has made no call on this stream (it makes none, or those on its streams in another order)";
    } else {
      text += cat("has signalled call ", value >> PKB_PROGRESS_BITS, " chunk ", value & ((1ull << PKB_PROGRESS_BITS) - 1));
    }
    text += member + 1 < channel.region->size() ? "," : "";
  }
  return text;
}
