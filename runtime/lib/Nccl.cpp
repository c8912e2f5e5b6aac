// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Nccl.h"

#include "Compile.h"
#include "Context.h"
#include "DriverAbi.h"
#include "Environment.h"
#include "Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <optional>

namespace pkb_rt {
namespace {

template <typename T>
bool bind(void *library, const char *symbol, T &function) {
  function = reinterpret_cast<T>(dlsym(library, symbol));
  return function != nullptr;
}

/// Where the torch of $PKB_PYTHON has its libnccl.so.2; empty if it has none.
std::string ncclOfPython() {
  std::string python = environmentText("PKB_PYTHON"), output;
  const char *query = "import importlib.util as u, os\n"
                      "s = u.find_spec('nvidia.nccl') if u.find_spec('nvidia') else None\n"
                      "print(os.path.join(list(s.submodule_search_locations)[0], 'lib', 'libnccl.so.2') if s else '')";
  if (python.empty() || runProgram({python, "-c", query}, output) != 0) {
    return "";
  }
  return output.substr(0, output.find_first_of("\r\n"));
}

void *openNccl(std::string &why) {
  // The library that torch has loaded comes first: two in one process would not know of each other.
  if (void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD)) {
    return library;
  }
  std::string asked = environmentText("PKB_NCCL_LIBRARY");
  std::vector<std::string> paths = {asked};
  if (asked.empty()) {
    paths = {ncclOfPython(), "libnccl.so.2"};
  }
  for (const std::string &path : paths) {
    if (path.empty()) {
      continue;
    }
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return library;
    }
    const char *text = dlerror();
    why = text ? text : "unknown error";
  }
  return nullptr;
}

std::optional<pkb_nccl> openTable(std::string &why) {
  void *library = openNccl(why);
  if (!library) {
    return std::nullopt;
  }
  pkb_nccl table = {};
  bool complete = bind(library, "ncclGetErrorString", table.error_string) &&
                  bind(library, "ncclGetVersion", table.version) && bind(library, "ncclGetUniqueId", table.unique_id) &&
                  bind(library, "ncclCommInitRank", table.comm_init_rank) &&
                  bind(library, "ncclCommDestroy", table.comm_destroy) &&
                  bind(library, "ncclCommAbort", table.comm_abort) && bind(library, "ncclGroupStart", table.group_start) &&
                  bind(library, "ncclGroupEnd", table.group_end) && bind(library, "ncclAllReduce", table.all_reduce) &&
                  bind(library, "ncclReduceScatter", table.reduce_scatter) &&
                  bind(library, "ncclAllGather", table.all_gather) && bind(library, "ncclBroadcast", table.broadcast) &&
                  bind(library, "ncclReduce", table.reduce) && bind(library, "ncclSend", table.send) &&
                  bind(library, "ncclRecv", table.receive) &&
                  bind(library, "ncclRedOpCreatePreMulSum", table.red_op_premul_sum) &&
                  bind(library, "ncclRedOpDestroy", table.red_op_destroy);
  if (!complete) {
    why = "it lacks functions of NCCL 2.11";
    return std::nullopt;
  }
  return table;
}

} // namespace

const pkb_nccl *loadNccl(const pkb_driver *driver) {
  if (driver->nccl) {
    return driver->nccl;
  }
  static std::mutex lock;
  static std::optional<pkb_nccl> table;
  std::lock_guard<std::mutex> guard(lock);
  if (!table && environmentText("PKB_ENABLE_MULTICAST") != "1") {
    setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/0); // multicast of the links is off unless it is asked for
  }
  std::string why;
  if (!table && !(table = openTable(why))) {
    fail(PKB_ERROR_PROGRAM, "the program calls NCCL, and libnccl.so.2 cannot be used: ", why,
         "; set PKB_NCCL_LIBRARY to it, or PKB_PYTHON to an interpreter whose torch has it");
  }
  return &*table;
}

Communicator::Communicator(pkb_context &context, const std::vector<int> &members) : ranks(members), driver(context.driver), nccl(nullptr) {
  own = int(std::find(ranks.begin(), ranks.end(), context.rank) - ranks.begin());
  pkb_nccl_id id = {};
  std::optional<std::string> error;
  auto attempt = [&](int result, const char *what) {
    if (result != 0 && !error) {
      error = cat("rank ", context.rank, ": ", what, " of NCCL: ", nccl->error_string(result));
    }
  };
  pkb_status status = guarded([&] { nccl = loadNccl(context.driver); });
  if (status != PKB_OK) {
    error = pkb_last_error();
  } else if (own == 0) {
    attempt(nccl->unique_id(&id), "making a unique id");
  }
  context.bootstrap->agree("opening NCCL", error, ranks, PKB_ERROR_PROGRAM);
  auto ids = context.bootstrap->allgather("unique id of NCCL", std::string(id.bytes, sizeof(id.bytes)), ranks);
  std::memcpy(id.bytes, ids[0].data(), std::min(ids[0].size(), sizeof(id.bytes)));
  pkb_nccl_comm made = nullptr;
  attempt(nccl->comm_init_rank(&made, int(ranks.size()), id, own), "making a communicator");
  comm = made;
  if (driver->event_create(&event, abi::kEventDisableTiming) != 0) {
    event = nullptr; // then nobody watches
  }
  context.bootstrap->agree("communicator of NCCL", error, ranks, PKB_ERROR_DEVICE);
}

Communicator::~Communicator() {
  if (pkb_nccl_comm last = handle()) {
    nccl->comm_destroy(last);
  }
  if (event) {
    driver->event_destroy(event);
  }
}

void Communicator::abort() {
  // Who issues calls may itself wait for peers, in NCCL, and is let go by the abort.
  std::unique_lock<std::timed_mutex> guard(busy, std::chrono::seconds(1));
  if (pkb_nccl_comm ending = comm.exchange(nullptr)) {
    nccl->comm_abort(ending);
  }
}

void Communicator::begin(const std::string &what) {
  std::lock_guard<std::mutex> guard(watching);
  atHost = &what;
  atHostSince = Clock::now();
}

void Communicator::issued(pkb_cu_stream stream, bool capturing) {
  std::lock_guard<std::mutex> guard(watching);
  if (event && onDevice.empty() && !capturing && driver->event_record(event, stream) == 0) {
    onDevice = *atHost;
    onDeviceSince = atHostSince;
  }
  atHost = nullptr;
}

std::optional<std::string> Communicator::stalled(double seconds) {
  std::lock_guard<std::mutex> guard(watching);
  auto isOld = [&](Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count() >= seconds; };
  if (!onDevice.empty() && driver->event_query(event) != abi::kErrorNotReady) {
    onDevice.clear();
  }
  if (!onDevice.empty() && isOld(onDeviceSince)) {
    return onDevice;
  }
  if (atHost && isOld(atHostSince)) {
    return *atHost;
  }
  return std::nullopt;
}

bool ncclReduction(int32_t dtype, LibraryReduce kind, int &type, int &op, int64_t &scale) {
  scale = 1;
  switch (dtype) {
  case PKB_F64: type = PKB_NCCL_F64; break;
  case PKB_F32: type = PKB_NCCL_F32; break;
  case PKB_F16: type = PKB_NCCL_F16; break;
  case PKB_BF16: type = PKB_NCCL_BF16; break;
  case PKB_I8: type = PKB_NCCL_I8; break;
  case PKB_I32: type = PKB_NCCL_I32; break;
  case PKB_I64: type = PKB_NCCL_I64; break;
  case PKB_U8:
  case PKB_BOOL: type = PKB_NCCL_U8; break;
  case PKB_C64: type = PKB_NCCL_F32; scale = 2; break;
  case PKB_C128: type = PKB_NCCL_F64; scale = 2; break;
  default: return false;
  }
  switch (kind) {
  case LibraryReduce::Sum: op = PKB_NCCL_SUM; break;
  case LibraryReduce::Avg: op = PKB_NCCL_AVG; break;
  case LibraryReduce::Min: op = PKB_NCCL_MIN; break;
  case LibraryReduce::Max: op = PKB_NCCL_MAX; break;
  case LibraryReduce::Prod: op = PKB_NCCL_PROD; break;
  case LibraryReduce::PremulSum: op = PKB_NCCL_OPS; break; // made with its factor
  case LibraryReduce::None: return false;
  }
  bool linear = kind == LibraryReduce::Sum || kind == LibraryReduce::Avg;
  if (scale == 2 && !linear) {
    return false;
  }
  // A byte holds 0 or 1: the sum is "any", the product "all", a mean is none.
  if (dtype == PKB_BOOL) {
    op = kind == LibraryReduce::Sum ? PKB_NCCL_MAX : kind == LibraryReduce::Prod ? PKB_NCCL_MIN : op;
    return kind == LibraryReduce::Sum || kind == LibraryReduce::Prod || kind == LibraryReduce::Min || kind == LibraryReduce::Max;
  }
  bool floating = type == PKB_NCCL_F64 || type == PKB_NCCL_F32 || type == PKB_NCCL_F16 || type == PKB_NCCL_BF16;
  return kind != LibraryReduce::PremulSum || floating;
}

} // namespace pkb_rt
