// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Machine.h - what a target machine is and how fast --------*- C++ -*-===//
//
// A target is named `<machine>x<W>`, "h200x4". Machines are JSON files in lib/Target/Machines, built in; a file given on the command line
// replaces them.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_TARGET_MACHINE_H
#define PKB_TARGET_MACHINE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace pkb {

/// Measured figures of one machine at one world size. Times in microseconds, rates in 1e9 bytes per second and direction.
struct MachineRates {
  double kernelUs = 0;    // one more kernel in a graph, empty
  double hopUs = 0;       // a flag, from store at one rank to seen at another
  double orderUs = 0;     // ordering inside a kernel: epoch, block barriers
  double ldstPeakGBs = 0; // stores to peers, both directions busy
  double ldstSmGBs = 0;   // the same, by one SM
  double llPeakGBs = 0;   // payload of LL lines
  double hbmGBs = 0;      // device memory, read plus written
  double exposedMemory = 0;          // share of the time at device memory that the link does not hide
  double exposedMemoryPipelined = 0; // the same, in a pipeline of chunks
  double copyUs = 0;      // a copy by a copy engine, beyond its bytes
  double copyPeakGBs = 0; // copies by the copy engines, both directions busy

  /// A call of a library: time by the bytes that one rank receives, ascending.
  struct Point {
    double bytes = 0, us = 0;
  };
  /// By the name of the collective; empty if the library was not measured.
  std::map<std::string, std::vector<Point>> nccl;
};

/// A target: a machine and a number of ranks.
struct Machine {
  std::string name;   // "h200"
  std::string device; // "NVIDIA H200"
  int64_t ranks = 0;
  int64_t sms = 0;
  int64_t threadsPerSm = 0;
  bool multicast = false;
  bool nvlink = false;
  int64_t copyEngines = 0;
  MachineRates rates;
  /// World size that `rates` were measured at; differs from `ranks` where the file has no entry for it.
  int64_t measuredRanks = 0;
};

/// Reads target `name`. `file` is the path of a machine file, or empty for the built-in ones. Fails for a malformed name, an unknown machine
/// (naming those there are), a missing or damaged file.
llvm::Expected<Machine> loadMachine(llvm::StringRef name, llvm::StringRef file = "");

/// Time of a call of NCCL in which each rank receives `bytes` bytes: between measured points of `collective` (else of `all_gather`) linear in the
/// logarithms, below them constant, above them proportional. Negative if nothing was measured.
double ncclTime(const MachineRates &rates, llvm::StringRef collective, double bytes);

/// Names of the built-in machines.
std::vector<std::string> builtinMachines();

} // namespace pkb

#endif // PKB_TARGET_MACHINE_H
