// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What memory an emulator knows: objects (allocations, memfds) and the address ranges at which they are seen. One memfd mapped twice is one object at two
// ranges, so ordering and races are judged on (object, offset).
#ifndef PKB_EMU_MEMORY_H
#define PKB_EMU_MEMORY_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace pkb_emu_impl {

enum class ObjectKind { tensor, region, host };

struct Object {
  uint32_t id = 0;
  ObjectKind kind = ObjectKind::tensor;
  int device = -1; // owner; -1: the host, or a device of another process
  size_t bytes = 0;
  uint64_t inode = 0; // of the memfd, 0: none
};

struct Range {
  uintptr_t begin = 0, end = 0;
  std::shared_ptr<Object> object;
  int64_t offset = 0;  // of `begin` in the object
  int accessFrom = -1; // device that mapped it, -1: any
  bool mapped = false; // by mmap (vmm), to be unmapped
};

// A place that does not depend on the mapping. `object` null: memory that the emulator does not know (a host tensor).
struct Place {
  Object *object = nullptr;
  uintptr_t key = 0; // unique over all objects: equal keys mean the same byte
  int64_t offset = 0;
  int accessFrom = -1; // the device that the mapping belongs to, -1: any
};

class MemoryTable {
public:
  ~MemoryTable();
  int alloc(int device, size_t bytes, ObjectKind kind, uintptr_t *address);
  int release(uintptr_t address, ObjectKind kind); // an address that alloc gave
  // vmm: handles are small integers
  int create(int device, size_t bytes, uint64_t *handle);
  int exportFd(uint64_t handle, int *fd);
  int importFd(int fd, uint64_t *handle);
  // Memory of another process may be imported (value mode: what it writes there passes no model). Whether any has been.
  void allowForeign() { foreignAllowed = true; }
  bool foreign() const { return foreignObjects.load(std::memory_order_relaxed) > 0; }
  int map(uint64_t handle, size_t bytes, int accessFrom, uintptr_t *address);
  int unmap(uintptr_t address, size_t bytes);
  int releaseHandle(uint64_t handle);
  int owner(uint64_t handle); // device, -1: unknown handle
  void markRegion(uintptr_t address);

  // The range that holds an address; false if none.
  bool find(uintptr_t address, Range *range);
  Place place(const void *address); // scheduler thread only: it remembers the last ranges
  size_t tensorBytes();
  // Ids of objects whose last range has gone since the last call.
  std::vector<uint32_t> takeFreed();
  // "region of device 2, byte 4096" or "host memory at 0x...".
  std::string describe(const Place &place) const;

private:
  struct Handle {
    int fd = -1;
    std::shared_ptr<Object> object;
    int references = 1;
  };
  std::mutex mutex;
  std::map<uintptr_t, Range> ranges; // by begin
  std::map<uint64_t, Handle> handles;
  std::map<uint64_t, std::weak_ptr<Object>> byInode;
  uint64_t nextHandle = 1;
  uint32_t nextObject = 1;
  bool foreignAllowed = false;
  std::atomic<int> foreignObjects{0};
  std::vector<uint32_t> freed;
  // The last ranges that `place` found, by address; `version` moves with every change of `ranges`.
  std::atomic<uint64_t> version{1};
  struct Recent {
    uint64_t version = 0;
    Range range;
  };
  std::array<Recent, 64> recent;
};

} // namespace pkb_emu_impl

#endif
