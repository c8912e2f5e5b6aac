// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulator's own types. One mutex (`Emulator::mutex`) guards streams, operations, events, modules and graphs; fibers and the memory model belong to
// the scheduler thread, which lets the mutex go while a fiber runs. Ranges have their own mutex, since fibers look addresses up.
#ifndef PKB_EMU_EMULATOR_H
#define PKB_EMU_EMULATOR_H

#include "Memory.h"
#include "Model.h"
#include "Nccl.h"
#include "Ops.h"
#include "pkb_rt/emu.h"
#include "pkb_rt/layout.h"

#include <algorithm>
#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace pkb_emu_impl {

constexpr size_t kStackBytes = 256u << 10;

using Clock = std::chrono::steady_clock;

enum Result : int {
  kOk = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kMapFailed = 205,
  kPeerUnsupported = 217,
  kFileNotFound = 301,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kPeerAlreadyEnabled = 704,
  kLaunchFailed = 719,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
};

// Splitmix64: small, seedable, the same on every machine.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return (uint64_t)(((unsigned __int128)next() * n) >> 64); }
};

struct Stream;
struct Graph;
struct Function {
  std::string name;
  void (*entry)(const void *);
  int minBlocks = 1; // of its launch bounds
};
struct Module {
  void *handle = nullptr;
  std::string path;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Block;
struct Kernel;

enum class FiberState { ready, waiting, barrier, finished, abandoned };

struct Fiber {
  pkb_emu_thread view{}; // what the program sees
  Block *block = nullptr;
  FiberState state = FiberState::ready;
  boost::context::detail::fcontext_t context = nullptr;
  void *stack = nullptr;
  pkb_emu_spin spin{};      // why it waits
  bool aborted = false;     // leave the spin: the program's abort word is set
  int barrierSite = -1;
  Thread model;             // store buffer and clock (proof mode)
};

struct Block {
  Kernel *kernel = nullptr;
  int64_t index = 0;
  int live = 0, atBarrier = 0;
  std::vector<std::unique_ptr<Fiber>> fibers;
  StoreBuffer stores; // of all its threads, after a barrier
};

struct Op;
using OpRef = std::shared_ptr<Op>;

struct Kernel {
  Op *op = nullptr;
  Function *function = nullptr;
  int device = 0;
  int64_t grid = 0, started = 0, finished = 0;
  unsigned threads = 0;
  std::vector<uint64_t> param; // 8-byte aligned copy
  std::vector<Block *> ordered; // its live blocks
  StreamModel *stream = nullptr;
  uint64_t streamId = 0;
  LaunchRef launch;
  bool draining = false; // all threads have ended, not all stores are visible
};

enum class OpKind { kernel, copy, set, host, record, wait, graph, nccl };

struct Op {
  OpKind kind;
  std::vector<OpRef> deps; // beyond the order of the stream
  bool started = false, done = false;
  int result = kOk;
  Clock::time_point finished{};
  // kernel
  Function *function = nullptr;
  unsigned grid = 0, block = 0;
  std::vector<uint64_t> param;
  std::unique_ptr<Kernel> kernel;
  // copy, set
  char *to = nullptr;
  const char *from = nullptr;
  size_t bytes = 0;
  unsigned char value = 0;
  // host
  void (*call)(void *) = nullptr;
  void *user = nullptr;
  bool hostReturned = false;
  // nccl
  std::shared_ptr<NcclGroup> nccl;
  // graph: the hidden streams that run it
  std::shared_ptr<Graph> graph;
  std::vector<std::unique_ptr<Stream>> hidden;
  Knowledge enqueued; // what the host thread knew (proof mode)
  Knowledge clock;    // what the stream knew when this had ended
  OpRef copy() const;
};

// A captured sequence: per captured stream the operations in order; `deps` of an operation name operations of the same graph.
struct Graph {
  struct Node {
    int lane;
    OpRef op; // a template, cloned at each launch
    const Op *id; // as captured; `op` may have been replaced by one with other arguments
  };
  std::vector<Node> nodes;
  int lanes = 0;
};
struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Stream *origin = nullptr;
  struct Lane {
    int index;
    OpRef before; // the stream's last operation before the capture
  };
  std::map<Stream *, Lane> lanes;
  bool broken = false;
  void join(Stream *stream);
};

// What a stream's worker thread is told.
struct HostBox {
  std::deque<OpRef> calls;
  bool stop = false;
  std::condition_variable wake;
};

struct Stream {
  int device = 0;
  uint64_t id = 0;
  bool nonblocking = false, isDefault = false, hiddenLane = false;
  std::deque<OpRef> queue;
  OpRef last; // the last operation enqueued
  std::shared_ptr<Capture> capture;
  StreamModel own;
  StreamModel *model = &own; // a lane of a graph has its parent's
  std::thread worker; // host functions of this stream run here, one at a time
  std::shared_ptr<HostBox> box;
};

struct Event {
  OpRef record; // null: never recorded
  std::shared_ptr<Capture> capture; // the record belongs to this capture
};

struct Device {
  int ordinal = 0;
  int retained = 0;
  bool dead = false;
  std::set<int> peers; // enabled
  int64_t resident = 0; // blocks
  std::unique_ptr<Stream> defaultStream;
  std::deque<Kernel *> running; // those with blocks to start or to finish
  StoreBuffer stores; // released at gpu scope
};

class Emulator {
public:
  explicit Emulator(const pkb_emu_options &options, int slot);
  ~Emulator();

  pkb_emu_options options;
  int slot;
  uint64_t generation = 0; // tells it from an earlier emulator of its slot
  pkb_driver driver{};
  pkb_nccl nccl{};
  std::map<std::string, std::shared_ptr<NcclWorld>> ncclWorlds; // by unique id
  std::mutex mutex;
  Knowledge settled; // proof mode: what some host has waited for and all may know
  std::condition_variable wake;   // of the scheduler
  std::condition_variable hosts;  // of host threads that wait for operations
  std::vector<Device> devices;
  std::set<Stream *> streams; // made by the host (owned)
  std::vector<Stream *> active; // with a queue, in a fixed order
  std::set<Event *> events;
  std::map<Module *, std::unique_ptr<Module>> modules;
  std::map<Graph *, std::shared_ptr<Graph>> graphs;
  std::map<Graph *, std::shared_ptr<Graph>> execs;
  MemoryTable memory;
  Model model{*this};
  Random random;
  pkb_emu_counts counts{};
  std::mutex findingMutex; // guards the two below
  int finding = PKB_EMU_OK;
  std::string findingText;
  std::atomic<bool> failed{false};
  int holds = 0;
  bool stop = false;
  int hostCallsRunning = 0;
  bool modeDecided = false, proof = false;
  uint64_t nextStream = 1;
  uint64_t activity = 0; // host enqueues, for the idle clock
  std::thread scheduler;

  // Streams.cpp; the mutex is held
  Stream *findStream(pkb_cu_stream stream, int device);
  void addStream(Stream *stream);
  void removeStream(Stream *stream);
  int enqueue(Stream *stream, OpRef op);
  int waitFor(std::unique_lock<std::mutex> &lock, const OpRef &op);
  bool advanceStreams();
  void finishOp(Stream *stream, const OpRef &op, int result);
  void startHostCall(Stream *stream, const OpRef &op);
  void retireWorker(Stream &stream);
  std::vector<std::thread> retired;
  void launchGraph(Op &op, Stream *stream);

  // Scheduler.cpp
  void run();
  void startKernel(Op &op, Stream *stream);
  bool startBlocks();
  /// Blocks of a kernel that a multiprocessor holds: as many as its launch bounds promise, at least.
  int blocksPerSm(const Function &function) const { return std::max(options.blocks_per_sm, function.minBlocks); }
  void runFiber(Fiber *fiber);
  void endFiber(Fiber *fiber);
  void wakeAddress(const void *address);
  void wakeLine(uintptr_t line);
  bool watching() const { return modeDecided ? proof : options.mode != PKB_EMU_VALUE; }
  Fiber *choose();
  bool drainEnded();
  void wakeAll();
  void leaveAborted();
  void suspend(FiberState state);
  void abandon(Device &device);
  void fail(int kind, const std::string &text);
  void decideMode();
  std::string deadlockText();
  std::string waitText(const pkb_emu_spin &spin);
  std::string describe(const Fiber &fiber) const;

  std::vector<Fiber *> ready;
  std::unordered_multimap<uintptr_t, Fiber *> waiters; // by canonical line
  Fiber *current = nullptr;
  int slowDevice = -1; // chosen last by the scheduler's whim, for a while
  uint32_t whimFor = 0;
  int draining = 0; // kernels
  boost::context::detail::fcontext_t schedulerContext = nullptr;
  std::vector<void *> stacks; // free ones
};

extern const pkb_emu_hooks hookTable;          // Hooks.cpp
extern thread_local Emulator *currentEmulator; // of the scheduler thread
void fillDriver(Emulator &emulator);           // Driver.cpp
const char *opName(int op);
const char *errorString(int result);

} // namespace pkb_emu_impl

struct pkb_emu : pkb_emu_impl::Emulator {
  using Emulator::Emulator;
};

#endif
