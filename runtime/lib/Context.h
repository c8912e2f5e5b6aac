// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's place among its peers: driver, device, sockets, channels per (group, stream), and the watchdog.
#ifndef PKB_RUNTIME_LIB_CONTEXT_H
#define PKB_RUNTIME_LIB_CONTEXT_H

#include "Bootstrap.h"
#include "Region.h"
#include "SharedPage.h"
#include "pkb_rt/driver.h"
#include "pkb_rt/pkb.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pkb_rt {

class Communicator;

/// Flags, parities and staging of one (group, stream).
struct Channel {
  std::unique_ptr<Region> region;
  pkb_cu_stream stream = nullptr;
  bool taken = false;              // bound to `stream`; otherwise a spare
  std::vector<uint64_t> programs;  // keys of those that have been called on it, in that order
  uint64_t calls = 0, digest = 0;  // how many, and of which programs
  std::atomic<uint64_t> issued{0}; // launches enqueued outside of graph capture, for the watchdog
};

/// A word that a forked child finds wiped: its sockets and its device are the parent's.
class ForkMark {
public:
  ForkMark();
  ~ForkMark();
  ForkMark(const ForkMark &) = delete;
  bool inChild() const { return *word == 0; }

private:
  volatile uint32_t *word;
  uint32_t fallback = 1; // where the kernel cannot wipe: no child is noticed
};

/// A list of ranks that call collectives together, the own rank among them.
struct RankGroup {
  std::vector<int> ranks;
  std::vector<std::unique_ptr<Channel>> channels;
  std::unique_ptr<Agreements> agreements; // which stream of one rank is which of another
  std::unique_ptr<CallOrder> order;       // and what they call there; null: one rank
  size_t member = 0;                      // the own place among `ranks`

  /// A call of the program `key` on channel `index`. `capturing`: into a graph, whose replays nobody counts.
  void note(size_t index, uint64_t key, bool capturing) {
    if (!order) {
      return;
    }
    Channel &channel = *channels[index];
    if (__builtin_expect(capturing, 0)) {
      order->leaveOut(index, member);
    }
    channel.digest = (channel.digest ^ key) * 0x9E3779B97F4A7C15;
    order->write(index, member, ++channel.calls, channel.digest, key);
  }
};

/// Seconds; deadlines beyond it would overflow a clock's nanoseconds.
inline constexpr double kLongestTimeout = 1e9;
inline constexpr double kLargestArenaMib = 1 << 30;

/// What PKB_TIMEOUT_S says.
double defaultTimeout();

/// Name of the step in which ranks agree that a call's arguments do not fit; the call's number follows.
inline const std::string kRefusal = "refusal of call ";

/// Eight words that the first spin of the device to give up writes (pkb_rt/device/prim_cuda.h).
struct SpinReport {
  uint64_t rank, block, source, flag, expected, seen, site, set;
};

} // namespace pkb_rt

struct pkb_context {
  explicit pkb_context(const pkb_context_desc &desc);
  ~pkb_context();
  pkb_context(const pkb_context &) = delete;
  pkb_context &operator=(const pkb_context &) = delete;

  /// The group with these ranks; made on first use, with one channel and one spare. Collective over `ranks`.
  pkb_rt::RankGroup &group(const std::vector<int> &ranks);
  /// The number of the group's channel for calls of `program` (a key of nameProgram) on `stream`. A new one is made together with the other ranks, which is not possible
  /// while the stream is being captured. Throws PKB_ERROR_PEER_LOST, and leaves, if other ranks call programs on their streams in another order.
  size_t channel(pkb_rt::RankGroup &group, pkb_cu_stream stream, uint64_t program, bool capturing);
  /// The key of a program, the same on all ranks.
  uint64_t nameProgram(const std::string &id, const std::string &name);

  /// NCCL's communicator of these ranks, made on first use. Collective over `ranks`.
  pkb_rt::Communicator &communicator(const std::vector<int> &ranks);

  /// The device can work on memory at this address. The driver is asked once per 2 MiB page, which never belongs to two devices; a page that is freed and
  /// comes back on another device is not noticed.
  bool reaches(const void *address) {
    uintptr_t page = reinterpret_cast<uintptr_t>(address) >> 21;
    return knownPages[page % kKnownPages] == page + 1 || asksReach(address, page);
  }
  /// For messages: "device 1", "memory that the driver does not know".
  std::string placeOf(const void *address) const;

  bool lost() const { return abortSet.load(std::memory_order_acquire); }
  /// This process is a forked child of the one that made the context, and must leave it alone.
  bool forked() const { return forkMark.inChild(); }
  /// What the watchdog saw, with the report of the device if there is one.
  std::string lostText();
  /// Sets the abort word: all spins of this rank leave. The first reason is kept.
  void abort(const std::string &reason);
  /// The same, and so do the peers, with this reason. For the watchdog, and whoever waits for no peer: the sockets are shut down, not closed.
  void abortAll(const std::string &reason);
  /// Aborts and closes the sockets, so that the peers abort too, with this reason.
  void leave(const std::string &reason);
  /// A spin of the device gave up and left a report.
  bool reported() const;
  /// An operator failed behind the host's back (emulated ranks); the first text is kept for synchronize.
  void deferredError(const std::string &text);
  std::string takeDeferredError();
  /// Names the kernel of a site, for reports; filled by program load.
  void nameSites(const std::map<uint64_t, std::string> &names);
  /// Waits until what this rank enqueued has run, without touching users' streams. Gives up at the timeout, when the
  /// device is lost, or two seconds after the context is.
  void drain();
  /// A call that this rank's arguments do not fit, with the reason. Returns when all ranks have refused it; throws
  /// PKB_ERROR_PEER_LOST, and aborts the context, if some have accepted it.
  void agreeOnRefusal(const std::string &reason);
  /// Aborts the context if another rank has called other programs on a stream than this one, or in another order.
  void checkOrder();
  /// Calls so far, accepted or refused by all; written by the user's thread alone.
  std::atomic<uint64_t> calls{0};
  void countCall() { calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  /// Calls whose operators still run behind the host's back (emulated ranks).
  std::atomic<int64_t> deferredCalls{0};

  const pkb_driver *driver = nullptr;
  pkb_cu_device device = 0;
  pkb_cu_context cuda = nullptr;
  int rank = 0, size = 1, ordinal = 0;
  int64_t arenaBytes = 0;
  double timeout = 0;
  bool debug = false;
  int multiprocessors = 0;
  std::string deviceName;
  std::unique_ptr<pkb_rt::Bootstrap> bootstrap;
  pkb_cu_stream service = nullptr;
  /// What calls are captured on, one at a time. Libraries under torch remember streams (workspaces, handles), so on a
  /// GPU it is never destroyed.
  pkb_cu_stream captureStream = nullptr;
  std::mutex captureMutex;

  // Words that kernels see, in mapped host memory.
  volatile uint32_t *abortWord = nullptr;
  volatile uint64_t *reportWords = nullptr;
  pkb_cu_ptr abortDevice = 0, reportDevice = 0;
  uint64_t spinLimit = 0;

  /// Meets the others and frees everything; a rank that is lost (or `meet` false) does not wait for anyone.
  void shutdown(bool meet);

private:
  static constexpr size_t kKnownPages = 1024;
  uintptr_t knownPages[kKnownPages] = {}; // number of a page on the own device, plus 1
  bool asksReach(const void *address, uintptr_t page);
  void openDevice(const pkb_context_desc &desc);
  void checkPeers();
  void watch();
  void watchRefusals();
  void watchCommunicators();
  struct Cells {
    uint64_t ended = 0, started = 0; // calls on a channel
  };
  /// Reads the cells of the own piece's control page. Not `ok` if the device does not answer.
  Cells readCells(pkb_rt::Channel &channel, bool &ok);
  bool copyHome(char *address, size_t bytes, void *to);
  std::string describeStall(pkb_rt::RankGroup &group, pkb_rt::Channel &channel, uint64_t epoch);
  std::unique_ptr<pkb_rt::Channel> makeChannel(const std::vector<int> &ranks);
  void growChannels(pkb_rt::RankGroup &group, size_t count);
  [[noreturn]] void mispaired(const pkb_rt::RankGroup &group, size_t index, uint64_t program, const pkb_rt::Agreements::Entry &other, const std::string &did);
  /// Leaves the reason of the abort where peers look when this rank is gone.
  void tellPeers();
  /// What a rank that is gone has left there, or another one; "" if none has.
  std::string whyGone(int peer) const;
  pkb_rt::RegionSite site();

  void abortCommunicators();

  pkb_rt::ForkMark forkMark;
  std::vector<std::unique_ptr<pkb_rt::RankGroup>> groups;
  std::vector<std::unique_ptr<pkb_rt::Communicator>> communicators;
  std::mutex communicatorsMutex; // the watchdog asks and ends them
  std::mutex groupsMutex; // the watchdog looks at the channels too
  std::thread watchdog;
  std::atomic<bool> stopping{false}, closing{false}, abortSet{false};
  std::mutex textMutex;
  std::string abortText, deferredText;
  std::map<uint64_t, std::string> siteNames;
  std::map<uint64_t, std::string> programNames; // by key, with the head of the id
  std::unique_ptr<pkb_rt::LastWords> lastWords; // null: one rank
  void *hostPage = nullptr;
  char *copyBuffer = nullptr;
  pkb_cu_stream watchStream = nullptr;
  pkb_cu_event watchEvent = nullptr;
  bool retained = false;
};

#endif // PKB_RUNTIME_LIB_CONTEXT_H
