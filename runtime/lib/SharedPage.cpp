// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SharedPage.h"

#include "Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace pkb_rt {

SharedPage::SharedPage(Bootstrap &bootstrap, const std::vector<int> &ranks, size_t bytes, const std::string &what) : bytes(bytes) {
  int own = memfd_create("pkb-shared", MFD_CLOEXEC), first = own;
  if (own < 0 || ftruncate(own, off_t(bytes)) != 0) {
    std::string reason = std::strerror(errno);
    if (own >= 0) {
      close(own);
    }
    fail(PKB_ERROR_BOOTSTRAP, "cannot make memory for ", what, ": ", reason);
  }
  std::vector<int> fds;
  try {
    fds = bootstrap.exchangeFds(cat("exchange of ", what), own, ranks); // the lowest rank's is used
  } catch (...) {
    close(own);
    throw;
  }
  if (fds.front() >= 0) {
    first = fds.front();
  }
  void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, first, 0);
  int error = errno;
  for (int fd : fds) {
    if (fd >= 0) {
      close(fd);
    }
  }
  close(own);
  if (mapped == MAP_FAILED) {
    fail(PKB_ERROR_BOOTSTRAP, "cannot map memory for ", what, ": ", std::strerror(error));
  }
  memory = mapped;
}

SharedPage::~SharedPage() {
  if (memory) {
    munmap(memory, bytes);
  }
}

LastWords::LastWords(Bootstrap &bootstrap) : page(bootstrap, bootstrap.everyone(), kBytes * size_t(bootstrap.size()), "last words") {}

void LastWords::write(int rank, const std::string &text) {
  char *slot = static_cast<char *>(page.data()) + kBytes * size_t(rank);
  auto *length = reinterpret_cast<uint32_t *>(slot);
  if (__atomic_load_n(length, __ATOMIC_RELAXED) == 0) {
    size_t count = std::min(text.size(), kBytes - sizeof(*length));
    std::memcpy(slot + sizeof(*length), text.data(), count);
    __atomic_store_n(length, uint32_t(count), __ATOMIC_RELEASE);
  }
}

std::string LastWords::read(int rank) const {
  const char *slot = static_cast<const char *>(page.data()) + kBytes * size_t(rank);
  uint32_t length = __atomic_load_n(reinterpret_cast<const uint32_t *>(slot), __ATOMIC_ACQUIRE);
  return std::string(slot + sizeof(length), std::min<size_t>(length, kBytes - sizeof(length)));
}

Agreements::Agreements(Bootstrap &bootstrap, const std::vector<int> &ranks) : page(bootstrap, ranks, sizeof(Table), "agreements on channels") {}

size_t Agreements::channelOf(uint64_t key) {
  for (size_t channel = 0; channel < kMaxChannels; ++channel) {
    uint64_t owner = 0;
    if (__atomic_compare_exchange_n(&table().owners[channel], &owner, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || owner == key) {
      return channel;
    }
  }
  return kMaxChannels;
}

/// The cell of a key; null if there is none, or no room for one.
Agreements::Cell *Agreements::cellOf(uint64_t key, bool insert) {
  for (size_t i = 0; i < kEntries; ++i) {
    Cell &cell = table().cells[(key + i) % kEntries];
    uint64_t found = __atomic_load_n(&cell.key, __ATOMIC_ACQUIRE);
    if (found == 0 && insert) {
      __atomic_compare_exchange_n(&cell.key, &found, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
      found = found == 0 ? key : found;
    }
    if (found == key || found == 0) {
      return found == key ? &cell : nullptr;
    }
  }
  return nullptr;
}

Agreements::Entry Agreements::settle(uint64_t key, uint64_t value, int rank) {
  Cell *cell = cellOf(key, true);
  if (!cell) {
    return {value, rank};
  }
  uint64_t mine = value << 16 | uint64_t(rank + 1), standing = 0;
  if (!__atomic_compare_exchange_n(&cell->value, &standing, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    mine = standing;
  }
  return {mine >> 16, int(mine & 0xFFFF) - 1};
}

bool Agreements::find(uint64_t key, Entry &entry) {
  Cell *cell = cellOf(key, false);
  uint64_t standing = cell ? __atomic_load_n(&cell->value, __ATOMIC_ACQUIRE) : 0;
  entry = {standing >> 16, int(standing & 0xFFFF) - 1};
  return standing != 0;
}

CallOrder::CallOrder(Bootstrap &bootstrap, const std::vector<int> &ranks)
    : members(ranks.size()), page(bootstrap, ranks, sizeof(List) * members * Agreements::kMaxChannels, "the order of calls") {}

void CallOrder::write(size_t channel, size_t member, uint64_t number, uint64_t digest, uint64_t key) {
  Call &call = list(channel, member).calls[number % kKept];
  __atomic_store_n(&call.key, key, __ATOMIC_RELAXED);
  __atomic_store_n(&call.mark, number << kDigestBits | digest >> (64 - kDigestBits), __ATOMIC_RELEASE);
}

void CallOrder::leaveOut(size_t channel, size_t member) { __atomic_store_n(&list(channel, member).leftOut, 1, __ATOMIC_RELAXED); }

bool CallOrder::find(size_t channel, size_t member, Difference &difference) const {
  const List &mine = list(channel, member);
  bool found = false, before = false;
  for (size_t other = 0; other < members; ++other) {
    const List &theirs = list(channel, other);
    if (other == member || __atomic_load_n(&mine.leftOut, __ATOMIC_RELAXED) || __atomic_load_n(&theirs.leftOut, __ATOMIC_RELAXED)) {
      continue;
    }
    auto markOf = [](const List &list, uint64_t number) { return __atomic_load_n(&list.calls[number % kKept].mark, __ATOMIC_ACQUIRE); };
    for (size_t slot = 0; slot < kKept; ++slot) {
      uint64_t a = markOf(mine, slot), b = markOf(theirs, slot), number = a >> kDigestBits;
      if (a == b || a == 0 || b == 0 || number != b >> kDigestBits || (found && difference.number < number)) {
        continue;
      }
      uint64_t last = markOf(mine, number - 1);
      before = number == 1 || (last >> kDigestBits == number - 1 && last == markOf(theirs, number - 1));
      difference = {other, number, 0, 0};
      if (before) {
        difference.mine = __atomic_load_n(&mine.calls[slot].key, __ATOMIC_RELAXED);
        difference.theirs = __atomic_load_n(&theirs.calls[slot].key, __ATOMIC_RELAXED);
      }
      found = true;
    }
  }
  return found;
}

} // namespace pkb_rt
