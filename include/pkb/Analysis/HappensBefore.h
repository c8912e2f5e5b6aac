// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HappensBefore.h - the order of a kernel's events ---------*- C++ -*-===//
//
// Runs the programs of a TransferModel with a vector clock per rank. Edges: program order on a rank; a signal to the
// wait that it satisfies; the write of an LL line to its read. Signals are counters that only grow and no event is
// optional, so whether the run ends, and which events are ordered, does not depend on how the ranks are interleaved:
// one run speaks for all.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_ANALYSIS_HAPPENSBEFORE_H
#define PKB_ANALYSIS_HAPPENSBEFORE_H

#include "pkb/Analysis/TransferModel.h"

namespace pkb {

/// Checks matching (XV201, XV202, XV205), circles (XV301), and happens-before (XV502 to XV507) of one class of blocks.
class HappensBefore {
public:
  /// `slots` is the ring length that is proved; the slot of chunk c is c modulo `slots`. `endsCall`: the block is one
  /// whose waits hold the end of the kernel back (block 0, which has a chunk of every message).
  HappensBefore(const TransferModel &model, int64_t slots, bool endsCall, TransferReporter &reporter);

  void run();

private:
  using Clock = uint32_t;
  static constexpr Clock kNever = 0;

  struct Sent { // a signal or a put of LL lines that a rank has executed
    int64_t value;
    size_t snapshot;
    int32_t pipeline, chunk;
  };
  struct Pushed { // a put
    int32_t pipeline, chunk;
    Clock time;
    size_t snapshot; // of LL lines only
  };
  struct Agent {
    size_t next = 0;
    std::vector<Clock> clock, pending;
    bool hasPending = false;
  };

  void collectReads();
  bool step(int64_t rank);
  bool tryWait(int64_t rank, const TransferEvent &event);
  bool tryRead(int64_t rank, const TransferEvent &event);
  void signal(int64_t rank, const TransferEvent &event);
  void put(int64_t rank, const TransferEvent &event);
  void reportCycle();
  void checkCallEnd();
  void checkWaited();

  template <typename F>
  void forTargets(int64_t rank, const TransferEvent &event, F body) const;
  size_t pair(int64_t source, int64_t target) const { return source * ranks + target; }
  size_t slotPair(int32_t buffer, int64_t source, int64_t target) const {
    return (buffer * ranks + source) * ranks + target;
  }
  int64_t chunkKey(int32_t pipeline, int32_t chunk) const { return (static_cast<int64_t>(pipeline) << 32) + chunk; }
  size_t snapshotOf(int64_t rank);
  void join(std::vector<Clock> &clock, size_t snapshot) const;
  void barrier(Agent &agent);
  bool carriesLines(const TransferEvent &event) const;

  const TransferModel &model;
  int64_t ranks, slots;
  bool endsCall;
  TransferReporter &reporter;
  std::vector<Agent> agents;
  std::vector<Clock> snapshots;
  // By (source, target).
  std::vector<std::vector<Sent>> sent, sentInBand;
  std::vector<int64_t> waited;
  std::vector<mlir::Operation *> lastSignal;
  std::vector<bool> signals, signalsInBand; // somewhere in the program of the source
  // By (buffer, source, target).
  std::vector<std::vector<Pushed>> pushed;
  std::vector<bool> pushes;
  std::vector<llvm::DenseMap<int64_t, std::pair<Clock, mlir::Operation *>>>
      lastRead; // by chunk key, anywhere in the target's program
};

} // namespace pkb

#endif // PKB_ANALYSIS_HAPPENSBEFORE_H
