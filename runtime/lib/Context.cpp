// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Context.h"

#include "DriverAbi.h"
#include "Environment.h"
#include "Error.h"
#include "Nccl.h"
#include "pkb_rt/layout.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace pkb_rt;

namespace {
// Words that kernels see, then room for two copies of a control page: the watchdog's and the user thread's.
constexpr size_t kReportOffset = 256, kCopyOffset = 4096, kHostPageBytes = kCopyOffset + 2 * PKB_CONTROL_BYTES;
constexpr double kLeaveSeconds = 2; // within which the kernels of a lost context end
} // namespace

ForkMark::ForkMark() : word(&fallback) {
  void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return;
  }
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
    munmap(page, 4096);
    return;
  }
  word = static_cast<volatile uint32_t *>(page);
  *word = 1;
}

ForkMark::~ForkMark() {
  if (word != &fallback) {
    munmap(const_cast<uint32_t *>(word), 4096);
  }
}

double pkb_rt::defaultTimeout() { return environmentNumber("PKB_TIMEOUT_S", 600, 0.001, kLongestTimeout); }

pkb_context::pkb_context(const pkb_context_desc &desc)
    : rank(desc.rank), size(desc.world_size), ordinal(desc.device), debug(desc.debug != 0) {
  if (desc.abi_version != PKB_ABI_VERSION) {
    fail(PKB_ERROR_ARGUMENT, "the caller was built against version ", desc.abi_version,
         " of pkb.h, this library is version ", PKB_ABI_VERSION);
  }
  if (size < 1 || size > PKB_MAX_RANKS || rank < 0 || rank >= size) {
    fail(PKB_ERROR_ARGUMENT, "rank ", rank, " of ", size, " is no rank; ranks go from 0, at most ", PKB_MAX_RANKS,
         " of them");
  }
  if (!(desc.timeout_s >= 0 && desc.timeout_s <= kLongestTimeout)) {
    fail(PKB_ERROR_ARGUMENT, "timeout_s must be a number of seconds of at most ", kLongestTimeout, ", or 0 for the default, got: ", desc.timeout_s);
  }
  if (desc.arena_bytes < 0) {
    fail(PKB_ERROR_ARGUMENT, "arena_bytes must be positive, or 0 for the default, got: ", desc.arena_bytes);
  }
  if (size > 1 && (!desc.rendezvous || !*desc.rendezvous)) {
    fail(PKB_ERROR_ARGUMENT, "rendezvous must name a directory where ", size, " ranks can meet");
  }
  arenaBytes = desc.arena_bytes > 0
                   ? desc.arena_bytes
                   : int64_t(environmentNumber("PKB_ARENA_MIB", double(PKB_DEFAULT_ARENA_BYTES >> 20), 1, kLargestArenaMib)) << 20;
  arenaBytes = (arenaBytes + PKB_CONTROL_BYTES - 1) / PKB_CONTROL_BYTES * PKB_CONTROL_BYTES;
  timeout = desc.timeout_s > 0 ? desc.timeout_s : defaultTimeout();
  if (std::string way = environmentText("PKB_ARENA"); !way.empty() && way != "vmm" && way != "ipc") {
    fail(PKB_ERROR_ARGUMENT, "PKB_ARENA must be vmm or ipc, got: '", way, "'");
  }
  if (arenaBytes <= pkb_stage_offset(size)) {
    fail(PKB_ERROR_ARGUMENT, "an arena of ", arenaBytes, " bytes is too small for ", size,
         " ranks, whose flags and LL lines take ", pkb_stage_offset(size), "; make it larger (PKB_ARENA_MIB)");
  }
  try {
    bootstrap = std::make_unique<Bootstrap>(desc.rendezvous ? desc.rendezvous : "", rank, size, timeout);
    std::optional<std::string> error;
    pkb_status status = PKB_ERROR_DEVICE;
    try {
      openDevice(desc);
    } catch (const Error &e) {
      error = e.what();
      status = e.status;
    }
    if (size > 1) {
      lastWords = std::make_unique<LastWords>(*bootstrap);
      bootstrap->whyGone = [this](int peer) { return whyGone(peer); };
    }
    bootstrap->agree("opening of the device", error, bootstrap->everyone(), status);
    checkPeers();
    group(bootstrap->everyone());
    if (size > 1) {
      watchdog = std::thread([this] { watch(); });
    }
  } catch (...) {
    shutdown(false);
    throw;
  }
}

pkb_context::~pkb_context() { shutdown(true); }

void pkb_context::openDevice(const pkb_context_desc &desc) {
  driver = desc.driver;
  if (!driver) {
    const char *why = "";
    driver = pkb_driver_real(&why);
    if (!driver) {
      fail(PKB_ERROR_DEVICE, why);
    }
  }
  check(driver, driver->init(), "starting the driver");
  int count = 0;
  check(driver, driver->device_count(&count), "counting the devices");
  if (ordinal < 0 || ordinal >= count) {
    fail(PKB_ERROR_DEVICE, "rank ", rank, " asks for device ", ordinal, ", but there ", count == 1 ? "is " : "are ",
         count, " (", driver->name, "); start at most one rank per device");
  }
  check(driver, driver->device_get(&device, ordinal), "opening the device");
  char name[256] = {};
  check(driver, driver->device_name(name, sizeof(name) - 1, device), "asking for the name of the device");
  deviceName = name;
  check(driver, driver->primary_ctx_retain(&cuda, device), "opening the context of the device");
  retained = true;
  check(driver, driver->ctx_set_current(cuda), "making the device current");
  check(driver, driver->device_attribute(&multiprocessors, abi::kAttributeMultiprocessors, device),
        "asking for the number of SMs");
  check(driver, driver->stream_create(&service, abi::kStreamNonBlocking), "making a stream");
  check(driver, driver->mem_host_alloc(&hostPage, kHostPageBytes, abi::kHostAllocPortable | abi::kHostAllocMapped),
        "allocating host memory");
  std::memset(hostPage, 0, kHostPageBytes);
  pkb_cu_ptr mapped = 0;
  check(driver, driver->mem_host_device_ptr(&mapped, hostPage), "mapping host memory");
  auto *page = static_cast<char *>(hostPage);
  abortWord = reinterpret_cast<volatile uint32_t *>(page);
  reportWords = reinterpret_cast<volatile uint64_t *>(page + kReportOffset);
  copyBuffer = page + kCopyOffset;
  abortDevice = mapped;
  reportDevice = mapped + kReportOffset;
  if (debug) {
    // About a microsecond per poll of a device; the watchdog ends a spin at the timeout in any build.
    spinLimit = uint64_t(environmentNumber("PKB_SPIN_LIMIT", timeout * 1e6, 1));
  }
}

/// Ranks that see the same devices must use different ones, which can reach each other.
void pkb_context::checkPeers() {
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string view = cat(driver->name, ";", visible ? visible : "*");
  std::string mine = cat("arena ", arenaBytes >> 12, ";", debug, ";");
  auto blobs = bootstrap->allgather("comparison of the ranks", cat(mine, ordinal, ";", view), bootstrap->everyone());
  std::optional<std::string> error;
  for (int other = 0; other < size && !error; ++other) {
    const std::string &blob = blobs[size_t(other)];
    if (blob.compare(0, mine.size(), mine) != 0) {
      error = cat("rank ", other, " was started with another arena size or debug setting than rank ", rank, " ('", blob,
                  "' and '", mine, "'); give all ranks the same");
      break;
    }
    std::string rest = blob.substr(mine.size());
    size_t semicolon = rest.find(';');
    if (other == rank || semicolon == std::string::npos || rest.substr(semicolon + 1) != view) {
      continue;
    }
    int theirs = std::atoi(rest.c_str());
    if (theirs == ordinal) {
      error = cat("ranks ", std::min(rank, other), " and ", std::max(rank, other), " both use device ", ordinal,
                  "; give each rank its own");
      break;
    }
    pkb_cu_device peer = 0;
    int can = 0;
    if (driver->device_get(&peer, theirs) == 0 && driver->can_access_peer(&can, device, peer) == 0 && !can) {
      error = cat("device ", ordinal, " (rank ", rank, ") has no peer access to device ", theirs, " (rank ", other,
                  "); use devices that are joined by NVLink or by PCIe with P2P");
    }
  }
  bootstrap->agree("comparison of the devices", error, bootstrap->everyone(), PKB_ERROR_DEVICE);
}

RegionSite pkb_context::site() {
  const char *poison = std::getenv("PKB_POISON");
  return {driver, device, service, bootstrap.get(), poison && std::strcmp(poison, "1") == 0};
}

Communicator &pkb_context::communicator(const std::vector<int> &ranks) {
  for (auto &communicator : communicators) {
    if (communicator->ranks == ranks) {
      return *communicator;
    }
  }
  auto fresh = std::make_unique<Communicator>(*this, ranks);
  std::lock_guard<std::mutex> lock(communicatorsMutex);
  communicators.push_back(std::move(fresh));
  return *communicators.back();
}

/// Kernels of NCCL do not know the abort word.
void pkb_context::abortCommunicators() {
  std::lock_guard<std::mutex> lock(communicatorsMutex);
  for (auto &communicator : communicators) {
    communicator->abort();
  }
}

void pkb_context::abort(const std::string &reason) {
  {
    std::lock_guard<std::mutex> lock(textMutex);
    if (abortText.empty()) {
      abortText = reason;
    }
    if (abortWord) {
      __atomic_store_n(const_cast<uint32_t *>(abortWord), 1u, __ATOMIC_RELEASE);
    }
    abortSet.store(true, std::memory_order_release);
  }
  abortCommunicators();
}

bool pkb_context::asksReach(const void *address, uintptr_t page) {
  int where = PKB_MEMORY_HOST;
  if (!driver->pointer_device || driver->pointer_device(&where, pkb_cu_ptr(uintptr_t(address))) != 0) {
    return true;
  }
  if (where == ordinal && !driver->emulated) { // an emulated page may belong to two devices
    knownPages[page % kKnownPages] = page + 1;
  }
  return where == ordinal || where == PKB_MEMORY_HOST;
}

std::string pkb_context::placeOf(const void *address) const {
  int where = PKB_MEMORY_UNKNOWN;
  driver->pointer_device(&where, pkb_cu_ptr(uintptr_t(address)));
  return where >= 0 ? cat("memory of device ", where) : "memory that no device can reach";
}

std::string pkb_context::whyGone(int peer) const {
  std::string text = lastWords ? lastWords->read(peer) : "";
  for (int other = 0; lastWords && text.empty() && other < size; ++other) {
    text = lastWords->read(other); // the peer may have gone because of it
  }
  return text;
}

void pkb_context::tellPeers() {
  if (lastWords) {
    std::lock_guard<std::mutex> lock(textMutex);
    lastWords->write(rank, abortText);
  }
}

void pkb_context::abortAll(const std::string &reason) {
  abort(reason);
  tellPeers();
  bootstrap->hangUp();
}

void pkb_context::leave(const std::string &reason) {
  abort(cat("rank ", rank, " has left: ", reason));
  tellPeers();
  stopping = true;
  if (watchdog.joinable()) {
    bootstrap->wake();
    watchdog.join();
  }
  bootstrap->closeAll();
}

void pkb_context::agreeOnRefusal(const std::string &whole) {
  std::string reason = clipped(whole);
  try {
    bootstrap->allgather(kRefusal + std::to_string(calls.load()), reason, bootstrap->everyone());
  } catch (const Error &error) {
    // What another rank says of it, or that one is dead.
    std::string why = whyGone(rank), text = cat("rank ", rank, " refused call ", calls.load() + 1, ", which not all ranks did: ", reason, "; ",
                                                why.empty() ? error.what() : why.c_str());
    leave(text);
    fail(PKB_ERROR_PEER_LOST, text);
  }
  countCall();
}

bool pkb_context::reported() const {
  return reportWords && __atomic_load_n(const_cast<uint64_t *>(reportWords + 7), __ATOMIC_ACQUIRE) == 2; // complete
}

std::string pkb_context::lostText() {
  std::lock_guard<std::mutex> lock(textMutex);
  std::string text = abortText;
  if (reported()) {
    SpinReport report;
    std::memcpy(&report, const_cast<uint64_t *>(reportWords), sizeof(report));
    auto name = siteNames.find(report.site);
    auto progress = [](uint64_t value) {
      return cat("call ", value >> PKB_PROGRESS_BITS, " chunk ", value & ((1ull << PKB_PROGRESS_BITS) - 1));
    };
    bool line =
        int64_t(report.source) < 0; // an LL line: its writer is not known to the spin, its words carry the call alone
    text += cat(text.empty() ? "" : "; ", "rank ", rank, " waited in ",
                name == siteNames.end() ? "a kernel" : name->second, " (site ", report.site, ", block ", report.block,
                ") for ", line ? std::string("a line") : cat("the flag of rank ", report.source, " of its group"),
                ", expected ", line ? cat("call ", report.expected) : progress(report.expected), ", seen ",
                line ? cat("call ", report.seen) : progress(report.seen));
  }
  return text;
}

void pkb_context::deferredError(const std::string &text) {
  std::lock_guard<std::mutex> lock(textMutex);
  if (deferredText.empty()) {
    deferredText = text;
  }
}

std::string pkb_context::takeDeferredError() {
  std::lock_guard<std::mutex> lock(textMutex);
  return std::exchange(deferredText, "");
}

void pkb_context::nameSites(const std::map<uint64_t, std::string> &names) {
  std::lock_guard<std::mutex> lock(textMutex);
  siteNames = names;
}

void pkb_context::drain() {
  // Kernels of a lost context leave their spins, and their code and memory must not go before they have.
  auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(lost() ? std::min(timeout, kLeaveSeconds) : timeout);
  bool wasLost = lost(), ok = true;
  auto wait = [&] {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    pkb_cu_result state = driver->stream_synchronize(service); // idle; only asks whether the device still works
    if (lost() && !wasLost) {
      wasLost = true;
      deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(kLeaveSeconds);
    }
    ok = ok && std::chrono::steady_clock::now() < deadline && state == 0;
    return ok;
  };
  for (auto &group : groups) {
    for (auto &channel : group->channels) {
      for (Cells cells; channel->taken && ok;) {
        cells = readCells(*channel, ok);
        if (cells.ended >= std::max<uint64_t>(channel->issued, cells.started) || !wait()) {
          break;
        }
      }
    }
  }
  while (deferredCalls.load() > 0 && ok && wait()) {
  }
}

void pkb_context::shutdown(bool meet) {
  if (driver && cuda) {
    driver->ctx_set_current(cuda);
  }
  if (meet && bootstrap && !lost()) {
    drain(); // what this rank enqueued must have run before the peers may unmap
    closing = true;
    try {
      if (!lost()) {
        bootstrap->barrier("teardown", bootstrap->everyone());
      }
    } catch (const Error &) {
      // A peer that is gone needs no memory of ours any more.
    }
  }
  if (lost()) {
    tellPeers();
  }
  stopping = true;
  if (watchdog.joinable()) {
    bootstrap->wake();
    watchdog.join();
  }
  if (bootstrap) {
    bootstrap->closeAll();
  }
  groups.clear();
  communicators.clear();
  if (driver) {
    if (watchEvent) {
      driver->event_destroy(watchEvent);
    }
    if (watchStream) {
      driver->stream_destroy(watchStream);
    }
    if (captureStream && driver->emulated) {
      driver->stream_destroy(captureStream);
    }
    if (service) {
      driver->stream_destroy(service);
    }
    if (hostPage) {
      driver->mem_host_free(hostPage);
    }
    if (retained) {
      driver->primary_ctx_release(device);
    }
  }
  watchEvent = nullptr;
  watchStream = service = captureStream = nullptr;
  hostPage = nullptr;
  abortWord = nullptr;
  reportWords = nullptr;
  retained = false;
  cuda = nullptr;
}
