// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pkb_emu_impl {

namespace {
constexpr size_t kPage = 4096;
constexpr size_t kPoisonUpTo = 16u << 20; // larger allocations stay lazily zero; proof mode knows what was never written
// After each allocation lies a zone that still counts as its own: an access that starts just past the end is seen for what it is in proof mode, and
// harms nobody in value mode.
constexpr size_t kZone = 64u << 10;
// What the descriptors of shared memory are called, by which another emulator's are known.
constexpr const char *kMemoryName = "/memfd:pkb-emulated-memory";
size_t roundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }
size_t extent(size_t bytes) { return roundUp(bytes, kPage) + kZone; }
void *reserve(size_t bytes) {
  return mmap(nullptr, extent(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
} // namespace

MemoryTable::~MemoryTable() {
  for (auto &[begin, range] : ranges)
    munmap(reinterpret_cast<void *>(begin), extent(range.end - range.begin));
  for (auto &[id, handle] : handles)
    close(handle.fd);
}

int MemoryTable::alloc(int device, size_t bytes, ObjectKind kind, uintptr_t *address) {
  if (bytes == 0)
    return kInvalidValue;
  void *at = reserve(bytes);
  if (at == MAP_FAILED)
    return kOutOfMemory;
  if (kind != ObjectKind::host && bytes <= kPoisonUpTo)
    memset(at, 0xff, bytes);
  auto object = std::make_shared<Object>();
  object->kind = kind;
  object->device = device;
  object->bytes = bytes;
  std::lock_guard<std::mutex> guard(mutex);
  object->id = nextObject++;
  Range range;
  range.begin = reinterpret_cast<uintptr_t>(at);
  range.end = range.begin + bytes;
  range.object = std::move(object);
  ranges[range.begin] = range;
  ++version;
  *address = range.begin;
  return kOk;
}

int MemoryTable::release(uintptr_t address, ObjectKind kind) {
  if (address == 0)
    return kind == ObjectKind::host ? kInvalidValue : kOk;
  std::lock_guard<std::mutex> guard(mutex);
  auto it = ranges.find(address);
  if (it == ranges.end() || it->second.mapped || (it->second.object->kind == ObjectKind::host) != (kind == ObjectKind::host))
    return kInvalidValue;
  munmap(reinterpret_cast<void *>(address), extent(it->second.end - address));
  freed.push_back(it->second.object->id);
  ranges.erase(it);
  ++version;
  return kOk;
}

int MemoryTable::create(int device, size_t bytes, uint64_t *handle) {
  if (bytes == 0 || bytes % (2u << 20) != 0)
    return kInvalidValue;
  int fd = memfd_create(kMemoryName + strlen("/memfd:"), MFD_CLOEXEC);
  if (fd < 0)
    return kOutOfMemory;
  struct stat info;
  if (ftruncate(fd, off_t(bytes)) != 0 || fstat(fd, &info) != 0) {
    close(fd);
    return kOutOfMemory;
  }
  auto object = std::make_shared<Object>();
  object->kind = ObjectKind::region;
  object->device = device;
  object->bytes = bytes;
  object->inode = info.st_ino;
  std::lock_guard<std::mutex> guard(mutex);
  object->id = nextObject++;
  byInode[object->inode] = object;
  *handle = nextHandle++;
  handles[*handle] = Handle{fd, std::move(object)};
  return kOk;
}

int MemoryTable::exportFd(uint64_t handle, int *fd) {
  std::lock_guard<std::mutex> guard(mutex);
  auto it = handles.find(handle);
  if (it == handles.end())
    return kInvalidHandle;
  *fd = fcntl(it->second.fd, F_DUPFD_CLOEXEC, 0);
  return *fd < 0 ? kOutOfMemory : kOk;
}

int MemoryTable::importFd(int fd, uint64_t *handle) {
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0)
    return kInvalidValue;
  std::lock_guard<std::mutex> guard(mutex);
  auto found = byInode.find(info.st_ino);
  auto object = found == byInode.end() ? nullptr : found->second.lock();
  if (!object) { // not memory of this emulator
    char name[64] = {};
    if (!foreignAllowed || readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof(name) - 1) < 0 || strncmp(name, kMemoryName, strlen(kMemoryName)) != 0)
      return kInvalidValue;
    object = std::make_shared<Object>();
    object->kind = ObjectKind::region;
    object->bytes = size_t(info.st_size);
    object->inode = info.st_ino;
    object->id = nextObject++;
    byInode[object->inode] = object;
    foreignObjects.fetch_add(1, std::memory_order_relaxed);
  }
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0)
    return kOutOfMemory;
  *handle = nextHandle++;
  handles[*handle] = Handle{own, std::move(object)};
  return kOk;
}

int MemoryTable::map(uint64_t handle, size_t bytes, int accessFrom, uintptr_t *address) {
  std::lock_guard<std::mutex> guard(mutex);
  auto it = handles.find(handle);
  if (it == handles.end())
    return kInvalidHandle;
  if (bytes == 0 || bytes > it->second.object->bytes)
    return kInvalidValue;
  void *at = reserve(bytes);
  if (at == MAP_FAILED)
    return kMapFailed;
  if (mmap(at, roundUp(bytes, kPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, it->second.fd, 0) == MAP_FAILED) {
    munmap(at, extent(bytes));
    return kMapFailed;
  }
  Range range;
  range.begin = reinterpret_cast<uintptr_t>(at);
  range.end = range.begin + bytes;
  range.object = it->second.object;
  range.accessFrom = accessFrom;
  range.mapped = true;
  ranges[range.begin] = range;
  ++version;
  *address = range.begin;
  return kOk;
}

int MemoryTable::unmap(uintptr_t address, size_t bytes) {
  std::lock_guard<std::mutex> guard(mutex);
  auto it = ranges.find(address);
  if (it == ranges.end() || !it->second.mapped || it->second.end - it->second.begin != bytes)
    return kInvalidValue;
  munmap(reinterpret_cast<void *>(address), extent(bytes));
  ranges.erase(it);
  ++version;
  return kOk;
}

int MemoryTable::releaseHandle(uint64_t handle) {
  std::lock_guard<std::mutex> guard(mutex);
  auto it = handles.find(handle);
  if (it == handles.end())
    return kInvalidHandle;
  close(it->second.fd);
  handles.erase(it);
  return kOk;
}

int MemoryTable::owner(uint64_t handle) {
  std::lock_guard<std::mutex> guard(mutex);
  auto it = handles.find(handle);
  return it == handles.end() ? -1 : it->second.object->device;
}

void MemoryTable::markRegion(uintptr_t address) {
  std::lock_guard<std::mutex> guard(mutex);
  auto it = ranges.find(address);
  if (it != ranges.end() && it->second.object->kind == ObjectKind::tensor)
    it->second.object->kind = ObjectKind::region;
}

bool MemoryTable::find(uintptr_t address, Range *range) {
  std::lock_guard<std::mutex> guard(mutex);
  auto it = ranges.upper_bound(address);
  if (it == ranges.begin())
    return false;
  --it;
  if (address >= roundUp(it->second.end, kPage) + kZone)
    return false;
  *range = it->second;
  return true;
}

Place MemoryTable::place(const void *address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  Recent &slot = recent[(at >> 16) % recent.size()];
  const uint64_t now = version.load(std::memory_order_acquire);
  if (slot.version != now || at < slot.range.begin || at >= roundUp(slot.range.end, kPage) + kZone) {
    Range range;
    if (!find(at, &range))
      return Place{nullptr, at, 0, -1};
    slot.range = std::move(range);
    slot.version = now;
  }
  const Range &range = slot.range;
  Place place;
  place.object = range.object.get();
  place.offset = range.offset + int64_t(at - range.begin);
  // User addresses have 47 bits; an object's bytes get a key space of their own above them.
  place.key = (uintptr_t(place.object->id) << 48) | uintptr_t(place.offset);
  place.accessFrom = range.accessFrom;
  return place;
}

std::vector<uint32_t> MemoryTable::takeFreed() {
  std::lock_guard<std::mutex> guard(mutex);
  std::vector<uint32_t> all;
  if (freed.size() >= 64) // a clean-up goes through all that is known
    std::swap(all, freed);
  return all;
}

size_t MemoryTable::tensorBytes() {
  std::lock_guard<std::mutex> guard(mutex);
  size_t total = 0;
  for (auto &[begin, range] : ranges)
    if (range.object->kind == ObjectKind::tensor)
      total += range.object->bytes;
  return total;
}

std::string MemoryTable::describe(const Place &place) const {
  if (!place.object) {
    char text[64];
    snprintf(text, sizeof(text), "host memory at 0x%llx", static_cast<unsigned long long>(place.key));
    return text;
  }
  const char *kind = place.object->kind == ObjectKind::region ? "region" : place.object->kind == ObjectKind::host ? "host allocation" : "memory";
  std::string text = kind;
  if (place.object->device >= 0)
    text += " of device " + std::to_string(place.object->device);
  return text + " (object " + std::to_string(place.object->id) + "), byte " + std::to_string(place.offset);
}

} // namespace pkb_emu_impl
