// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL: found when a program calls it, one communicator per group of ranks, and the calls of one `library` step
// (docs/Rationale/Mechanisms.md).
#ifndef PKB_RUNTIME_LIB_NCCL_H
#define PKB_RUNTIME_LIB_NCCL_H

#include "Manifest.h"
#include "pkb_rt/nccl.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

struct pkb_context;

namespace pkb_rt {

/// The table of `driver`, or of libnccl.so.2: the one that the process has loaded, else $PKB_NCCL_LIBRARY, else the one beside the torch
/// of $PKB_PYTHON, else the system's. Throws PKB_ERROR_PROGRAM if there is none.
const pkb_nccl *loadNccl(const pkb_driver *driver);

/// The communicator of a list of ranks.
class Communicator {
public:
  /// Collective over `ranks`; the context's device must be current. Throws the same verdict on all of them.
  Communicator(pkb_context &context, const std::vector<int> &ranks);
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  const std::vector<int> ranks;
  int me() const { return own; }
  const pkb_nccl *api() const { return nccl; }
  pkb_nccl_comm handle() const { return comm.load(std::memory_order_acquire); }
  /// Ends what is in flight; may be called by another thread. The communicator can then only be destroyed.
  void abort();
  /// Held while calls are issued, so that an abort does not free what they use.
  std::timed_mutex &issuing() { return busy; }

  /// Around the calls of a step, while issuing() is held: `what` names them and lives until `issued`. Whether they end is seen by an event, of one step at a time;
  /// what is captured is not watched.
  void begin(const std::string &what);
  void issued(pkb_cu_stream stream, bool capturing);
  /// The step that has been under way for `seconds` or longer, if there is one. For the watchdog.
  std::optional<std::string> stalled(double seconds);

private:
  using Clock = std::chrono::steady_clock;

  const pkb_driver *driver;
  const pkb_nccl *nccl;
  std::atomic<pkb_nccl_comm> comm{nullptr};
  int own = 0;
  std::timed_mutex busy;

  std::mutex watching; // of what follows
  const std::string *atHost = nullptr;
  std::string onDevice; // empty: nothing is watched there
  Clock::time_point atHostSince, onDeviceSince;
  pkb_cu_event event = nullptr;
};

/// How NCCL adds up elements of a type: its dtype, and how many of those are in one element (2 for complex numbers).
/// False where it has no such reduction.
bool ncclReduction(int32_t dtype, LibraryReduce kind, int &type, int &op, int64_t &scale);

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_NCCL_H
