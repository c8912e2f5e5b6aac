// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's function table. Its functions carry no context, so each emulator of the process has a slot and a table of its own.
#include "Emulator.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace pkb_emu_impl {

static std::mutex slotsMutex;
static std::array<pkb_emu *, PKB_EMU_MAX_INSTANCES> slots{};
static std::atomic<uint64_t> generations{1};

namespace {

// The current device of this thread, per slot; a generation tells an emulator from an earlier one of its slot.
struct CurrentDevice {
  uint64_t generation = 0;
  int device = -1;
  Knowledge known; // proof mode: what this host thread has waited for
};
thread_local std::array<CurrentDevice, PKB_EMU_MAX_INSTANCES> currentDevices;

pkb_cu_context contextOf(int device) { return reinterpret_cast<pkb_cu_context>(uintptr_t(0xC0DE0000) + uintptr_t(device)); }
int deviceOf(pkb_cu_context context) { return int(reinterpret_cast<uintptr_t>(context) - uintptr_t(0xC0DE0000)); }

} // namespace

int addOperation(Emulator &emulator, int device, pkb_cu_stream stream, OpRef op) {
  std::lock_guard<std::mutex> guard(emulator.mutex);
  Stream *at = emulator.findStream(stream, device);
  if (emulator.watching()) {
    const CurrentDevice &now = currentDevices[size_t(emulator.slot)];
    if (now.generation == emulator.generation)
      op->enqueued = now.known;
    op->enqueued.join(emulator.settled);
  }
  return at ? emulator.enqueue(at, std::move(op)) : kInvalidHandle;
}

namespace {

template <int Slot>
struct Table {
  static Emulator &emu() { return *slots[Slot]; }
  static CurrentDevice &current() {
    CurrentDevice &now = currentDevices[Slot];
    if (now.generation != emu().generation)
      now = CurrentDevice{emu().generation, -1, {}};
    return now;
  }
  // The device of this thread's context or -1.
  static int device() { return current().device; }
  // The host has seen that an operation has ended (the lock is held); what it enqueues from now on comes after. Hosts also meet where nobody
  // watches (sockets): a memset that one has waited for, as when a region is cleared before the ranks meet, comes before what any of them enqueues later.
  static int saw(const OpRef &op) {
    if (emu().watching()) {
      current().known.join(op->clock);
      if (op->kind == OpKind::set)
        emu().settled.join(op->clock);
    }
    return op->result;
  }
  static int check(int &device) {
    device = Table::device();
    if (device < 0)
      return kInvalidContext;
    return emu().devices[device].dead ? kUnavailable : emu().failed ? kLaunchFailed : kOk;
  }
  static bool valid(int device) { return device >= 0 && device < emu().options.devices; }

  static int init() { return kOk; }
  static int deviceCount(int *count) { return *count = emu().options.devices, kOk; }
  static int deviceGet(int *device, int ordinal) {
    if (!valid(ordinal))
      return kInvalidDevice;
    *device = ordinal;
    return kOk;
  }
  static int deviceName(char *name, int bytes, int device) {
    if (!valid(device) || bytes <= 0)
      return kInvalidDevice;
    snprintf(name, size_t(bytes), "emulated device %d", device);
    return kOk;
  }
  static int attribute(int *value, int attribute, int device) {
    if (!valid(device))
      return kInvalidDevice;
    switch (attribute) {
    case 1: *value = 1024; break;  // MAX_THREADS_PER_BLOCK
    case 2: *value = 1024; break;  // MAX_BLOCK_DIM_X
    case 5: *value = 2147483647; break; // MAX_GRID_DIM_X
    case 8: *value = 49152; break; // MAX_SHARED_MEMORY_PER_BLOCK
    case 10: *value = 32; break;   // WARP_SIZE
    case 16: *value = emu().options.sms; break; // MULTIPROCESSOR_COUNT
    case 19: *value = 1; break;    // CAN_MAP_HOST_MEMORY
    case 33: *value = 0; break;    // PCI_BUS_ID
    case 34: *value = device; break; // PCI_DEVICE_ID
    case 41: *value = 1; break;    // UNIFIED_ADDRESSING
    case 75: *value = 9; break;    // COMPUTE_CAPABILITY_MAJOR
    case 76: *value = 0; break;    // COMPUTE_CAPABILITY_MINOR
    case 86: *value = 1; break;    // HOST_NATIVE_ATOMIC_SUPPORTED
    case 95: *value = 1; break;    // COOPERATIVE_LAUNCH
    case 102: *value = 1; break;   // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    case 103: *value = 1; break;   // HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
    default: *value = 0; break;    // multicast (132) and fabric handles (128) among them
    }
    return kOk;
  }
  static int canAccessPeer(int *can, int a, int b) {
    if (!valid(a) || !valid(b))
      return kInvalidDevice;
    *can = a != b && !(emu().options.no_peer[a] >> b & 1);
    return kOk;
  }
  static int ctxRetain(pkb_cu_context *context, int device) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    if (!valid(device))
      return kInvalidDevice;
    if (emu().devices[device].dead)
      return kUnavailable;
    ++emu().devices[device].retained;
    *context = contextOf(device);
    return kOk;
  }
  static int ctxRelease(int device) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    if (!valid(device) || emu().devices[device].retained == 0)
      return kInvalidDevice;
    --emu().devices[device].retained;
    return kOk;
  }
  static int ctxSet(pkb_cu_context context) {
    const int device = context ? deviceOf(context) : -1;
    if (context && !valid(device))
      return kInvalidContext;
    current().device = device;
    return kOk;
  }
  static int ctxGet(pkb_cu_context *context) {
    const int device = Table::device();
    *context = device < 0 ? nullptr : contextOf(device);
    return kOk;
  }
  static int enablePeer(pkb_cu_context peer) {
    int device, other = deviceOf(peer);
    if (int error = check(device))
      return error;
    if (!valid(other) || other == device)
      return kInvalidContext;
    if (emu().options.no_peer[device] >> other & 1)
      return kPeerUnsupported;
    std::lock_guard<std::mutex> guard(emu().mutex);
    return emu().devices[device].peers.insert(other).second ? kOk : kPeerAlreadyEnabled;
  }

  static int memAlloc(pkb_cu_ptr *out, size_t bytes) {
    int device;
    if (int error = check(device))
      return error;
    uintptr_t address = 0;
    int error = emu().memory.alloc(device, bytes, ObjectKind::tensor, &address);
    *out = address;
    return error;
  }
  static int memFree(pkb_cu_ptr address) { return emu().memory.release(address, ObjectKind::tensor); }
  // Memory that the emulator did not hand out is the host's, and any device may use it.
  static int pointerDevice(pkb_cu_device *out, pkb_cu_ptr address) {
    Range range;
    *out = emu().memory.find(uintptr_t(address), &range) && range.object->device >= 0 ? range.object->device : int(PKB_MEMORY_HOST);
    return kOk;
  }
  static int hostAlloc(void **out, size_t bytes, unsigned) {
    uintptr_t address = 0;
    int error = emu().memory.alloc(-1, bytes, ObjectKind::host, &address);
    *out = reinterpret_cast<void *>(address);
    return error;
  }
  static int hostFree(void *address) { return emu().memory.release(reinterpret_cast<uintptr_t>(address), ObjectKind::host); }
  static int hostDevicePtr(pkb_cu_ptr *out, void *address) {
    *out = reinterpret_cast<uintptr_t>(address);
    return kOk;
  }
  // Adds an operation to `stream` of this thread's device.
  static int add(pkb_cu_stream stream, OpRef op) {
    int device;
    if (int error = check(device))
      return error;
    return addOperation(emu(), device, stream, std::move(op));
  }
  static OpRef make(OpKind kind) {
    auto op = std::make_shared<Op>();
    op->kind = kind;
    return op;
  }
  static int memset8(pkb_cu_ptr to, unsigned char value, size_t bytes, pkb_cu_stream stream) {
    if (to == 0 && bytes > 0)
      return kInvalidValue;
    OpRef op = make(OpKind::set);
    op->to = reinterpret_cast<char *>(to);
    op->value = value;
    op->bytes = bytes;
    return add(stream, op);
  }
  static int memcpyAsync(pkb_cu_ptr to, pkb_cu_ptr from, size_t bytes, pkb_cu_stream stream) {
    if ((to == 0 || from == 0) && bytes > 0)
      return kInvalidValue;
    OpRef op = make(OpKind::copy);
    op->to = reinterpret_cast<char *>(to);
    op->from = reinterpret_cast<const char *>(from);
    op->bytes = bytes;
    return add(stream, op);
  }

  static int granularity(size_t *bytes, int device) {
    if (!valid(device))
      return kInvalidDevice;
    *bytes = 2u << 20;
    return kOk;
  }
  static int vmmCreate(pkb_cu_mem_handle *handle, size_t bytes, int device) {
    if (!valid(device))
      return kInvalidDevice;
    if (emu().devices[device].dead)
      return kUnavailable;
    uint64_t id = 0;
    int error = emu().memory.create(device, bytes, &id);
    *handle = id;
    return error;
  }
  static int vmmExport(int *fd, pkb_cu_mem_handle handle) { return emu().memory.exportFd(handle, fd); }
  static int vmmImport(pkb_cu_mem_handle *handle, int fd) {
    uint64_t id = 0;
    int error = emu().memory.importFd(fd, &id);
    *handle = id;
    return error;
  }
  static int vmmMap(pkb_cu_ptr *out, size_t bytes, pkb_cu_mem_handle handle, int from) {
    if (!valid(from))
      return kInvalidDevice;
    const int owner = emu().memory.owner(handle);
    if (owner >= 0 && owner != from && (emu().options.no_peer[from] >> owner & 1))
      return kPeerUnsupported;
    uintptr_t address = 0;
    int error = emu().memory.map(handle, bytes, from, &address);
    *out = address;
    return error;
  }
  static int vmmUnmap(pkb_cu_ptr address, size_t bytes) { return emu().memory.unmap(address, bytes); }
  static int vmmRelease(pkb_cu_mem_handle handle) { return emu().memory.releaseHandle(handle); }

  // An IPC handle holds the slot, the owner and the base; ranks share the process, so opening gives the same address.
  struct Ipc {
    uint64_t magic, generation, address, device;
  };
  static int ipcGet(pkb_cu_ipc_handle *handle, pkb_cu_ptr address) {
    Range range;
    if (!emu().memory.find(address, &range) || range.mapped || range.object->kind == ObjectKind::host)
      return kInvalidValue;
    emu().memory.markRegion(range.begin);
    Ipc ipc{0x504b42495043ull, emu().generation, range.begin, uint64_t(range.object->device)};
    memset(handle, 0, sizeof(*handle));
    memcpy(handle, &ipc, sizeof(ipc));
    return kOk;
  }
  static int ipcOpen(pkb_cu_ptr *out, pkb_cu_ipc_handle handle) {
    int device;
    if (int error = check(device))
      return error;
    Ipc ipc;
    memcpy(&ipc, &handle, sizeof(ipc));
    Range range;
    if (ipc.magic != 0x504b42495043ull || ipc.generation != emu().generation || !emu().memory.find(ipc.address, &range))
      return kInvalidValue;
    if (int(ipc.device) != device && (emu().options.no_peer[device] >> ipc.device & 1))
      return kPeerUnsupported;
    *out = ipc.address;
    return kOk;
  }
  static int ipcClose(pkb_cu_ptr address) {
    Range range;
    return emu().memory.find(address, &range) ? kOk : kInvalidValue;
  }

  static int streamCreate(pkb_cu_stream *out, unsigned flags) {
    int device;
    if (int error = check(device))
      return error;
    auto stream = std::make_unique<Stream>();
    stream->device = device;
    stream->nonblocking = flags & 1;
    std::lock_guard<std::mutex> guard(emu().mutex);
    emu().addStream(stream.get());
    *out = reinterpret_cast<pkb_cu_stream>(stream.release());
    return kOk;
  }
  static int streamDestroy(pkb_cu_stream stream) {
    std::unique_lock<std::mutex> lock(emu().mutex);
    Stream *at = reinterpret_cast<Stream *>(stream);
    if (!emu().streams.count(at))
      return kInvalidHandle;
    if (at->last && !at->capture)
      emu().waitFor(lock, at->last);
    emu().removeStream(at);
    return kOk;
  }
  static int streamSynchronize(pkb_cu_stream stream) {
    int device = Table::device();
    if (device < 0)
      return kInvalidContext;
    std::unique_lock<std::mutex> lock(emu().mutex);
    Stream *at = emu().findStream(stream, device);
    if (!at)
      return kInvalidHandle;
    if (at->capture)
      return at->capture->broken = true, kCaptureUnsupported;
    if (emu().devices[at->device].dead)
      return kUnavailable;
    OpRef last = at->last;
    int result = last ? (emu().waitFor(lock, last), saw(last)) : kOk;
    return emu().failed ? kLaunchFailed : result;
  }
  static int streamQuery(pkb_cu_stream stream) {
    int device;
    if (int error = check(device))
      return error;
    std::lock_guard<std::mutex> guard(emu().mutex);
    Stream *at = emu().findStream(stream, device);
    if (!at)
      return kInvalidHandle;
    return !at->last ? kOk : at->last->done ? saw(at->last) : kNotReady;
  }
  static int streamWaitEvent(pkb_cu_stream stream, pkb_cu_event event) {
    int device;
    if (int error = check(device))
      return error;
    std::lock_guard<std::mutex> guard(emu().mutex);
    Stream *at = emu().findStream(stream, device);
    Event *of = reinterpret_cast<Event *>(event);
    if (!at || !emu().events.count(of))
      return kInvalidHandle;
    if (!of->record)
      return kOk; // an event that was never recorded is complete
    if (of->capture && !at->capture) { // a second stream joins the capture
      at->capture = of->capture;
      at->capture->join(at);
    }
    OpRef op = make(OpKind::wait);
    op->deps.push_back(of->record);
    return emu().enqueue(at, op);
  }
  static int streamIsCapturing(pkb_cu_stream stream, int *capturing) {
    int device = Table::device();
    if (device < 0)
      return kInvalidContext;
    std::lock_guard<std::mutex> guard(emu().mutex);
    Stream *at = emu().findStream(stream, device);
    if (!at)
      return kInvalidHandle;
    *capturing = at->capture != nullptr;
    return kOk;
  }
  static int eventCreate(pkb_cu_event *out, unsigned) {
    int device;
    if (int error = check(device))
      return error;
    auto event = std::make_unique<Event>();
    std::lock_guard<std::mutex> guard(emu().mutex);
    *out = reinterpret_cast<pkb_cu_event>(event.get());
    emu().events.insert(event.release());
    return kOk;
  }
  static int eventRecord(pkb_cu_event event, pkb_cu_stream stream) {
    int device;
    if (int error = check(device))
      return error;
    std::lock_guard<std::mutex> guard(emu().mutex);
    Stream *at = emu().findStream(stream, device);
    Event *of = reinterpret_cast<Event *>(event);
    if (!at || !emu().events.count(of))
      return kInvalidHandle;
    OpRef op = make(OpKind::record);
    int error = emu().enqueue(at, op);
    if (error == kOk) {
      of->record = op;
      of->capture = at->capture;
    }
    return error;
  }
  static int eventQuery(pkb_cu_event event) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    Event *of = reinterpret_cast<Event *>(event);
    if (!emu().events.count(of))
      return kInvalidHandle;
    if (of->capture)
      return kCaptureUnsupported;
    return !of->record ? kOk : of->record->done ? saw(of->record) : kNotReady;
  }
  static int eventSynchronize(pkb_cu_event event) {
    std::unique_lock<std::mutex> lock(emu().mutex);
    Event *of = reinterpret_cast<Event *>(event);
    if (!emu().events.count(of))
      return kInvalidHandle;
    if (of->capture)
      return kCaptureUnsupported;
    OpRef record = of->record;
    return record ? (emu().waitFor(lock, record), saw(record)) : kOk;
  }
  static int eventElapsed(float *ms, pkb_cu_event from, pkb_cu_event to) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    Event *a = reinterpret_cast<Event *>(from), *b = reinterpret_cast<Event *>(to);
    if (!emu().events.count(a) || !emu().events.count(b) || !a->record || !b->record)
      return kInvalidHandle;
    if (!a->record->done || !b->record->done)
      return kNotReady;
    *ms = std::chrono::duration<float, std::milli>(b->record->finished - a->record->finished).count();
    return kOk;
  }
  static int eventDestroy(pkb_cu_event event) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    Event *of = reinterpret_cast<Event *>(event);
    if (!emu().events.erase(of))
      return kInvalidHandle;
    delete of;
    return kOk;
  }
  static int hostFunc(pkb_cu_stream stream, void (*call)(void *), void *user) {
    if (!call)
      return kInvalidValue;
    OpRef op = make(OpKind::host);
    op->call = call;
    op->user = user;
    return add(stream, op);
  }

  static int moduleLoad(pkb_cu_module *out, const void *image, size_t) {
    int device;
    if (int error = check(device))
      return error;
    const char *path = static_cast<const char *>(image);
    void *handle = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!handle)
      return path ? kFileNotFound : kInvalidValue;
    auto bind = reinterpret_cast<void (*)(const pkb_emu_hooks *)>(dlsym(handle, "pkb_bind_hooks"));
    auto version = static_cast<const uint32_t *>(dlsym(handle, "pkb_hooks_version"));
    if (!bind || !version || *version != pkb_hooks::version()) {
      dlclose(handle);
      return kInvalidImage;
    }
    bind(&hookTable);
    auto module = std::make_unique<Module>();
    module->handle = handle;
    module->path = path;
    std::lock_guard<std::mutex> guard(emu().mutex);
    Module *key = module.get();
    emu().modules[key] = std::move(module);
    *out = reinterpret_cast<pkb_cu_module>(key);
    return kOk;
  }
  static int moduleUnload(pkb_cu_module module) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    auto it = emu().modules.find(reinterpret_cast<Module *>(module));
    if (it == emu().modules.end())
      return kInvalidHandle;
    dlclose(it->second->handle);
    emu().modules.erase(it);
    return kOk;
  }
  static int moduleFunction(pkb_cu_function *out, pkb_cu_module module, const char *name) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    auto it = emu().modules.find(reinterpret_cast<Module *>(module));
    if (it == emu().modules.end())
      return kInvalidHandle;
    auto &function = it->second->functions[name];
    if (!function) {
      void *entry = dlsym(it->second->handle, name);
      if (!entry) {
        it->second->functions.erase(name);
        return kNotFound;
      }
      auto *bound = static_cast<const int *>(dlsym(it->second->handle, (std::string(name) + "_min_blocks").c_str()));
      function = std::make_unique<Function>(Function{name, reinterpret_cast<void (*)(const void *)>(entry), bound ? *bound : 1});
    }
    *out = reinterpret_cast<pkb_cu_function>(function.get());
    return kOk;
  }
  static int occupancy(int *blocks, pkb_cu_function function, int threads, size_t) {
    if (!function || threads < 1 || threads > 1024)
      return kInvalidValue;
    *blocks = emu().blocksPerSm(*reinterpret_cast<Function *>(function));
    return kOk;
  }
  static int launch(pkb_cu_function function, unsigned grid, unsigned block, unsigned, pkb_cu_stream stream, const void *param, size_t bytes) {
    if (!function || grid == 0 || block == 0 || block > 1024 || bytes > 4096 || (bytes && !param))
      return kInvalidValue;
    OpRef op = make(OpKind::kernel);
    op->function = reinterpret_cast<Function *>(function);
    op->grid = grid;
    op->block = block;
    op->param.resize((bytes + 7) / 8);
    memcpy(op->param.data(), param, bytes);
    return add(stream, op);
  }

  static int captureBegin(pkb_cu_stream stream) {
    int device;
    if (int error = check(device))
      return error;
    std::lock_guard<std::mutex> guard(emu().mutex);
    Stream *at = emu().findStream(stream, device);
    if (!at)
      return kInvalidHandle;
    if (at->capture || at->isDefault)
      return kCaptureUnsupported;
    at->capture = std::make_shared<Capture>();
    at->capture->origin = at;
    at->capture->join(at);
    return kOk;
  }
  static int captureEnd(pkb_cu_stream stream, pkb_cu_graph *out) {
    int device;
    if (int error = check(device))
      return error;
    std::lock_guard<std::mutex> guard(emu().mutex);
    Stream *at = emu().findStream(stream, device);
    if (!at || !at->capture || at->capture->origin != at)
      return kInvalidHandle;
    auto capture = at->capture;
    for (auto &[stream, lane] : capture->lanes) {
      stream->capture = nullptr;
      stream->last = lane.before;
    }
    if (capture->broken)
      return kCaptureInvalidated;
    Graph *key = capture->graph.get();
    emu().graphs[key] = capture->graph;
    *out = reinterpret_cast<pkb_cu_graph>(key);
    return kOk;
  }
  static int graphInstantiate(pkb_cu_graph_exec *out, pkb_cu_graph graph) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    auto it = emu().graphs.find(reinterpret_cast<Graph *>(graph));
    if (it == emu().graphs.end())
      return kInvalidHandle;
    auto copy = std::make_shared<Graph>(*it->second);
    Graph *key = copy.get();
    emu().execs[key] = copy;
    *out = reinterpret_cast<pkb_cu_graph_exec>(key);
    return kOk;
  }
  static int captureLastNode(pkb_cu_stream stream, pkb_cu_graph_node *out) {
    int device;
    if (int error = check(device))
      return error;
    std::lock_guard<std::mutex> guard(emu().mutex);
    Stream *at = emu().findStream(stream, device);
    if (!at || !at->capture || !at->last)
      return kInvalidHandle;
    *out = reinterpret_cast<pkb_cu_graph_node>(at->last.get());
    return kOk;
  }
  // Replaces a node of an executable graph; launches under way keep the graph as it was.
  template <typename Change> static int changeNode(pkb_cu_graph_exec exec, pkb_cu_graph_node node, OpKind kind, Change &&change) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    auto it = emu().execs.find(reinterpret_cast<Graph *>(exec));
    if (it == emu().execs.end())
      return kInvalidHandle;
    auto graph = std::make_shared<Graph>(*it->second);
    for (Graph::Node &at : graph->nodes) {
      if (at.id != reinterpret_cast<const Op *>(node) || at.op->kind != kind)
        continue;
      OpRef changed = at.op->copy();
      changed->deps = at.op->deps;
      if (int error = change(*changed))
        return error;
      at.op = changed;
      it->second = graph;
      return kOk;
    }
    return kInvalidHandle;
  }
  static int execSetLaunch(pkb_cu_graph_exec exec, pkb_cu_graph_node node, pkb_cu_function function, unsigned grid, unsigned block,
                           const void *param, size_t bytes) {
    return changeNode(exec, node, OpKind::kernel, [&](Op &op) -> int {
      if (op.function != reinterpret_cast<Function *>(function) || op.grid != grid || op.block != block || op.param.size() != (bytes + 7) / 8)
        return kInvalidValue;
      memcpy(op.param.data(), param, bytes);
      return kOk;
    });
  }
  static int execSetCopy(pkb_cu_graph_exec exec, pkb_cu_graph_node node, pkb_cu_ptr to, pkb_cu_ptr from, size_t bytes) {
    return changeNode(exec, node, OpKind::copy, [&](Op &op) -> int {
      if (op.bytes != bytes)
        return kInvalidValue;
      op.to = reinterpret_cast<char *>(to);
      op.from = reinterpret_cast<const char *>(from);
      return kOk;
    });
  }
  static int graphLaunch(pkb_cu_graph_exec exec, pkb_cu_stream stream) {
    OpRef op = make(OpKind::graph);
    {
      std::lock_guard<std::mutex> guard(emu().mutex);
      auto it = emu().execs.find(reinterpret_cast<Graph *>(exec));
      if (it == emu().execs.end())
        return kInvalidHandle;
      op->graph = it->second;
    }
    return add(stream, op);
  }
  static int graphDestroy(pkb_cu_graph graph) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    return emu().graphs.erase(reinterpret_cast<Graph *>(graph)) ? kOk : kInvalidHandle;
  }
  static int execDestroy(pkb_cu_graph_exec exec) {
    std::lock_guard<std::mutex> guard(emu().mutex);
    return emu().execs.erase(reinterpret_cast<Graph *>(exec)) ? kOk : kInvalidHandle;
  }

  static int ncclUniqueId(pkb_nccl_id *id) {
    memset(id, 0, sizeof(*id));
    snprintf(id->bytes, sizeof(id->bytes), "emulated %d.%llu.%llu", Slot, static_cast<unsigned long long>(emu().generation),
             static_cast<unsigned long long>(generations++));
    return 0;
  }
  static int ncclInit(pkb_nccl_comm *out, int ranks, pkb_nccl_id id, int rank) {
    return joinWorld(out, emu(), std::string(id.bytes, strnlen(id.bytes, sizeof(id.bytes))), ranks, rank, device());
  }

  static void fill(pkb_driver &d) {
    pkb_nccl &nccl = static_cast<Emulator *>(d.impl)->nccl;
    fillNccl(nccl);
    nccl.unique_id = ncclUniqueId, nccl.comm_init_rank = ncclInit;
    d.nccl = &nccl;
    d.init = init, d.device_count = deviceCount, d.device_get = deviceGet, d.device_name = deviceName, d.device_attribute = attribute;
    d.can_access_peer = canAccessPeer, d.primary_ctx_retain = ctxRetain, d.primary_ctx_release = ctxRelease;
    d.ctx_set_current = ctxSet, d.ctx_get_current = ctxGet, d.ctx_enable_peer_access = enablePeer;
    d.mem_alloc = memAlloc, d.mem_free = memFree, d.mem_host_alloc = hostAlloc, d.mem_host_free = hostFree;
    d.mem_host_device_ptr = hostDevicePtr, d.memset_d8_async = memset8, d.memcpy_async = memcpyAsync;
    d.vmm_granularity = granularity, d.vmm_create = vmmCreate, d.vmm_export_fd = vmmExport, d.vmm_import_fd = vmmImport;
    d.vmm_map = vmmMap, d.vmm_unmap = vmmUnmap, d.vmm_release = vmmRelease;
    d.ipc_get = ipcGet, d.ipc_open = ipcOpen, d.ipc_close = ipcClose;
    d.stream_create = streamCreate, d.stream_destroy = streamDestroy, d.stream_synchronize = streamSynchronize;
    d.stream_query = streamQuery, d.stream_wait_event = streamWaitEvent, d.stream_is_capturing = streamIsCapturing;
    d.event_create = eventCreate, d.event_record = eventRecord, d.event_query = eventQuery, d.event_synchronize = eventSynchronize;
    d.event_elapsed_ms = eventElapsed, d.event_destroy = eventDestroy, d.launch_host_func = hostFunc;
    d.module_load = moduleLoad, d.module_unload = moduleUnload, d.module_function = moduleFunction, d.function_occupancy = occupancy;
    d.launch = launch, d.capture_begin = captureBegin, d.capture_end = captureEnd, d.graph_instantiate = graphInstantiate;
    d.graph_launch = graphLaunch, d.graph_destroy = graphDestroy, d.graph_exec_destroy = execDestroy;
    d.pointer_device = pointerDevice;
    d.capture_last_node = captureLastNode, d.graph_exec_set_launch = execSetLaunch, d.graph_exec_set_copy = execSetCopy;
  }
};

template <int... Slot>
void fillSlot(int slot, pkb_driver &driver, std::integer_sequence<int, Slot...>) {
  ((slot == Slot ? Table<Slot>::fill(driver) : void()), ...);
}

} // namespace

void fillDriver(Emulator &emulator) {
  emulator.generation = generations++;
  emulator.driver.name = "emulated";
  emulator.driver.emulated = 1;
  emulator.driver.impl = &emulator;
  emulator.driver.error_string = errorString;
  fillSlot(emulator.slot, emulator.driver, std::make_integer_sequence<int, PKB_EMU_MAX_INSTANCES>());
}

// Gives a new emulator a slot; null if all are taken.
pkb_emu *registerEmulator(const pkb_emu_options &options) {
  std::lock_guard<std::mutex> guard(slotsMutex);
  for (int slot = 0; slot < PKB_EMU_MAX_INSTANCES; ++slot)
    if (!slots[slot]) {
      slots[slot] = new pkb_emu(options, slot);
      return slots[slot];
    }
  return nullptr;
}
void unregisterEmulator(pkb_emu *emulator) {
  const int slot = emulator->slot;
  delete emulator;
  std::lock_guard<std::mutex> guard(slotsMutex);
  slots[slot] = nullptr;
}

const char *errorString(int result) {
  switch (result) {
  case kOk: return "no error";
  case kInvalidValue: return "invalid argument";
  case kOutOfMemory: return "out of memory";
  case kUnavailable: return "device is busy or unavailable";
  case kNoDevice: return "no device";
  case kInvalidDevice: return "invalid device ordinal";
  case kInvalidImage: return "not a program for this emulator: build it with -DPKB_EMULATED=1 and the device header of this run time";
  case kInvalidContext: return "no current context on this thread";
  case kMapFailed: return "mapping failed";
  case kPeerUnsupported: return "peer access is not supported between these two devices";
  case kFileNotFound: return "file not found or not a shared object";
  case kInvalidHandle: return "invalid handle";
  case kNotFound: return "symbol not found";
  case kNotReady: return "not ready";
  case kPeerAlreadyEnabled: return "peer access is already enabled";
  case kLaunchFailed: return "launch failed: the emulator stopped all devices (see its report)";
  case kCaptureUnsupported: return "operation not permitted while the stream is capturing";
  case kCaptureInvalidated: return "capture invalidated by an earlier error";
  default: return "unknown error";
  }
}

} // namespace pkb_emu_impl
