// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of the C interface share: an emulator, ranks as threads, and small programs in the emitted style.
#ifndef PKB_RUNTIME_TESTS_HOST_HOSTTEST_H
#define PKB_RUNTIME_TESTS_HOST_HOSTTEST_H

#include "pkb_rt/emu.h"
#include "pkb_rt/pkb.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pkb_test {

/// A directory that goes away with the object.
class TempDir {
public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir &) = delete;
  std::string path;
  std::string write(const std::string &name, const std::string &text) const;
  std::string make(const std::string &name) const;
};

/// The emulator with `devices` devices; `change` may alter the options.
class Machine {
public:
  explicit Machine(int devices, const std::function<void(pkb_emu_options &)> &change = {});
  ~Machine();
  Machine(const Machine &) = delete;
  const pkb_driver *driver() const { return pkb_emu_driver(emu); }
  pkb_emu *emu = nullptr;
};

/// Runs `body(rank)` on one thread per rank.
void onRanks(int size, const std::function<void(int)> &body);

/// A context on the emulator, with a small arena.
struct Rank {
  Rank(const Machine &machine, const std::string &rendezvous, int rank, int size, double timeout = 60,
       bool debug = false);
  ~Rank();
  Rank(const Rank &) = delete;
  pkb_context *context = nullptr;
  pkb_status status;
  std::string error;
};

/// Device memory of the current thread's device, as host memory of the emulator.
struct Floats {
  Floats(const pkb_driver *driver, size_t count);
  ~Floats();
  Floats(const Floats &) = delete;
  float *data() const { return reinterpret_cast<float *>(pointer); }
  pkb_tensor tensor() const;
  const pkb_driver *driver;
  pkb_cu_ptr pointer = 0;
  size_t count;
};

/// out = sum over ranks of in, f32, `length` elements, pushed by `blocks` blocks. `extra` goes into the manifest.
struct AllReduce {
  int ranks = 2;
  int64_t length = 1000;
  int blocks = 4;
  std::string name = "all_reduce";
  int64_t regionBytes = 0;
  std::string extra, steps;
  std::string manifest; // replaces the whole JSON, if not empty
  std::string text() const;
};

} // namespace pkb_test

#endif // PKB_RUNTIME_TESTS_HOST_HOSTTEST_H
