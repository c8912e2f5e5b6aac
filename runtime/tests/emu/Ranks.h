// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// W ranks on one emulator, driven by one thread through the driver table: regions mapped everywhere by passing file descriptors, one stream a rank.
#ifndef PKB_TESTS_EMU_RANKS_H
#define PKB_TESTS_EMU_RANKS_H

#include "pkb_rt/emu.h"
#include "pkb_rt/layout.h"

#include <functional>
#include <string>
#include <vector>

namespace pkb_test {

// What a kernel compiled for W ranks and P pointers takes, packed by hand as the host run time does.
class Param {
public:
  Param(int rank, const std::vector<char *> &regions, const std::vector<char *> &pointers, const volatile uint32_t *abort = nullptr);
  const void *data() const { return words.data(); }
  size_t bytes() const { return words.size() * 8; }

private:
  std::vector<uint64_t> words;
};

class Ranks {
public:
  // `program` is the name of a built program ("all_reduce_ldst_4"). Flags are cleared; LL lines too if the program is one of LL.
  Ranks(int size, const std::string &program, const std::function<void(pkb_emu_options &)> &change = {});
  ~Ranks();
  Ranks(const Ranks &) = delete;

  void on(int rank); // makes its device current
  char *memory(int rank, size_t bytes);
  // One launch on each rank, nothing waited for. `pointers(rank)` gives the tensor pointers.
  void launch(const std::string &kernel, unsigned grid, const std::function<std::vector<char *>(int)> &pointers,
              const volatile uint32_t *abort = nullptr);
  int launchOn(int rank, const std::string &kernel, unsigned grid, const std::vector<char *> &pointers,
               const volatile uint32_t *abort = nullptr);
  // The first error of any rank, 0 if none.
  int synchronize();
  int finding() const { return pkb_emu_result(emu, nullptr); }
  std::string text() const;
  pkb_emu_counts counts() const;

  int size;
  pkb_emu *emu = nullptr;
  const pkb_driver *driver = nullptr;
  std::vector<pkb_cu_context> contexts;
  std::vector<pkb_cu_stream> streams;
  std::vector<pkb_cu_module> modules;
  std::vector<std::vector<char *>> regions; // [rank][peer], as mapped by rank
};

// Inputs that differ by rank, element and call; small integers, so that sums of bf16 are exact.
inline int valueOf(int rank, int64_t element, int call) { return int((element * 7 + rank * 13 + call * 5 + element / 97) % 15) - 5; }
uint16_t bf16Of(float value);
float floatOf(uint16_t bf16);

// Runs `calls` calls back to back on new buffers each, without a host wait between them, and returns the number of wrong elements over all
// ranks and calls; -1 if a call failed. `kind` is all_reduce, all_gather or all_to_all.
int64_t runCollective(Ranks &ranks, const std::string &kind, int64_t length, unsigned grid, int calls);

} // namespace pkb_test

#endif
