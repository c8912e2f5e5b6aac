//===- Measure.h - Ranks that call programs and read the clock *- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_CALIBRATE_MEASURE_H
#define TOOLS_PKB_CALIBRATE_MEASURE_H

#include "pkb_rt/driver.h"
#include "pkb_rt/emu.h"
#include "pkb_rt/pkb.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pkb::calibrate {

/// How the calls of a measurement are put on the stream.
enum class Way {
  Graph,      ///< steps of a CUDA graph of `calls` calls
  BackToBack, ///< `calls` calls one after the other
  Alone       ///< a CUDA graph of one call
};

struct Device {
  std::string name;
  int sms = 0, threadsPerSm = 0, copyEngines = 0, capability = 0;
};

/// One rank per device, each a thread of this process, on GPUs or on the emulator. Every member function is collective and throws Failure.
class Ranks {
public:
  /// `emulated`: no GPU is touched and no clock read. `seconds`: how long a call may take.
  Ranks(int count, bool emulated, double seconds);
  ~Ranks();
  Ranks(const Ranks &) = delete;
  Ranks &operator=(const Ranks &) = delete;

  int size() const { return count; }
  bool emulated() const { return emulator != nullptr; }
  const Device &device() const { return facts; }

  /// Microseconds per call of the program in `path`, by the slowest rank, the median of several runs; 0 on emulated ranks, where it is called all the same.
  double time(const std::string &path, Way way = Way::Graph);
  /// The same for a copy of `bytes` bytes by the copy engines from each rank (or from rank 0 alone) to the next one, or inside each rank's memory.
  double timeCopy(int64_t bytes, bool all, bool local);

private:
  struct Rank;
  struct Meeting;
  /// Runs `body` on a thread per rank and rethrows the first failure.
  void each(const std::function<void(Rank &)> &body);
  /// Median microseconds of one of `calls` calls that `enqueue(rank, call)` puts on the rank's stream.
  double clock(Way way, int calls, const std::function<void(Rank &, int)> &enqueue, const std::function<void(Rank &)> &prepare,
               const std::function<void(Rank &)> &finish);

  int count;
  const pkb_driver *driver = nullptr;
  pkb_emu *emulator = nullptr;
  Device facts;
  std::string rendezvous;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::unique_ptr<Meeting> meeting;
};

} // namespace pkb::calibrate

#endif // TOOLS_PKB_CALIBRATE_MEASURE_H
