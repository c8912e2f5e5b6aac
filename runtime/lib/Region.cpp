// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Region.h"

#include "DriverAbi.h"
#include "Environment.h"
#include "Error.h"
#include "pkb_rt/layout.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace pkb_rt {

std::string Region::text(const char *what, pkb_cu_result result) const {
  return cat(what, " failed: ", driverText(site.driver, result), " (", result, ")");
}

Region::Region(const RegionSite &site, const std::vector<int> &ranks, int64_t bytes)
    : site(site), ranks(ranks), length(bytes) {
  pieces.resize(ranks.size());
  own = int(std::find(ranks.begin(), ranks.end(), site.bootstrap->rank()) - ranks.begin());
  try {
    // First everyone says which way it can go: descriptors of VMM handles, unless one rank cannot; then cudaIpc on all.
    std::string reason, way = chooseWay(reason);
    auto ways = site.bootstrap->allgather("choice of the way to share memory", way, ranks);
    if (std::find(ways.begin(), ways.end(), "ipc") != ways.end()) {
      if (environmentText("PKB_ARENA") == "vmm") {
        size_t which = size_t(std::find(ways.begin(), ways.end(), "ipc") - ways.begin());
        fail(PKB_ERROR_DEVICE, "PKB_ARENA=vmm, but rank ", ranks[which], " cannot export memory as a file descriptor",
             reason.empty() ? "" : ": ", reason);
      }
      release();
      ipc = true;
    }
    std::optional<std::string> error;
    if (ipc) {
      shareIpc(error);
    } else {
      shareVmm(error);
    }
    if (!error) {
      pkb_cu_ptr mine = pieces[size_t(own)].address;
      size_t head = size_t(std::min<int64_t>(pkb_stage_offset(size()), length));
      pkb_cu_result result = site.driver->memset_d8_async(mine, 0, head, site.service);
      if (result == 0 && site.poison && size_t(length) > head) {
        result = site.driver->memset_d8_async(mine + head, 0xFF, size_t(length) - head, site.service);
      }
      if (result == 0) {
        result = site.driver->stream_synchronize(site.service);
      }
      if (result != 0) {
        error = text("clearing the arena", result);
      }
    }
    // Nobody may write into a peer's piece before that peer has cleared it: this is also the barrier.
    site.bootstrap->agree("making of the arena", error, ranks, PKB_ERROR_DEVICE);
  } catch (...) {
    release();
    throw;
  }
}

Region::~Region() { release(); }

/// Makes the own piece. Returns "vmm", or "ipc" with a reason if this rank cannot or should not export descriptors.
std::string Region::chooseWay(std::string &reason) {
  const pkb_driver *d = site.driver;
  allocated = size_t(length);
  if (environmentText("PKB_ARENA") == "ipc") {
    reason = "PKB_ARENA=ipc";
    return "ipc";
  }
  size_t granularity = 0;
  pkb_cu_result result = d->vmm_granularity(&granularity, site.device);
  if (result != 0 || granularity == 0) {
    reason = text("the query of the granularity", result);
    return "ipc";
  }
  allocated = (size_t(length) + granularity - 1) / granularity * granularity;
  Piece &mine = pieces[size_t(own)];
  result = d->vmm_create(&mine.handle, allocated, site.device);
  if (result != 0) {
    mine.handle = 0;
    reason = text("making shareable memory", result);
    return "ipc";
  }
  int fd = -1;
  result = d->vmm_export_fd(&fd, mine.handle); // tried here, so that all ranks can still agree to go the other way
  if (result != 0) {
    reason = text("exporting memory", result);
    return "ipc";
  }
  close(fd);
  return "vmm";
}

void Region::shareVmm(std::optional<std::string> &error) {
  const pkb_driver *d = site.driver;
  Piece &mine = pieces[size_t(own)];
  int fd = -1;
  pkb_cu_result result = d->vmm_export_fd(&fd, mine.handle);
  if (result != 0) {
    fail(PKB_ERROR_DEVICE, text("exporting memory", result));
  }
  std::vector<int> fds;
  try {
    fds = site.bootstrap->exchangeFds("exchange of memory handles", fd, ranks);
  } catch (...) {
    close(fd);
    throw;
  }
  close(fd);
  for (int i = 0; i < size(); ++i) {
    Piece &piece = pieces[size_t(i)];
    result = i == own ? 0 : d->vmm_import_fd(&piece.handle, fds[size_t(i)]);
    if (result != 0) {
      piece.handle = 0;
      error = cat("mapping the memory of rank ", ranks[size_t(i)], ": ", text("import", result));
      break;
    }
    result = d->vmm_map(&piece.address, allocated, piece.handle, site.device);
    if (result != 0) {
      error = cat("mapping the memory of rank ", ranks[size_t(i)], ": ", text("map", result),
                  i == own ? "" : "; the two devices need peer access (NVLink or PCIe P2P)");
      break;
    }
    piece.mapped = true;
  }
  for (int other : fds) {
    if (other >= 0) {
      close(other);
    }
  }
}

void Region::shareIpc(std::optional<std::string> &error) {
  const pkb_driver *d = site.driver;
  Piece &mine = pieces[size_t(own)];
  allocated = size_t(length);
  pkb_cu_ipc_handle handle = {};
  pkb_cu_result result = d->mem_alloc(&mine.address, allocated);
  if (result != 0) {
    mine.address = 0;
    error = cat("allocating an arena of ", allocated >> 20, " MiB: ", text("allocation", result),
                "; PKB_ARENA_MIB makes it smaller");
  } else {
    mine.mapped = true;
    result = d->ipc_get(&handle, mine.address);
    if (result != 0) {
      error = text("making an IPC handle", result);
    }
  }
  auto handles = site.bootstrap->allgather("exchange of IPC handles",
                                           error ? "" : std::string(handle.reserved, sizeof(handle.reserved)), ranks);
  for (int i = 0; i < size() && !error; ++i) {
    if (i == own) {
      continue;
    }
    if (handles[size_t(i)].size() != sizeof(handle.reserved)) {
      error = cat("rank ", ranks[size_t(i)], " has no memory to share");
      break;
    }
    std::memcpy(handle.reserved, handles[size_t(i)].data(), sizeof(handle.reserved));
    result = d->ipc_open(&pieces[size_t(i)].address, handle);
    if (result != 0) {
      error = cat("mapping the memory of rank ", ranks[size_t(i)], ": ", text("opening its IPC handle", result));
      break;
    }
    pieces[size_t(i)].mapped = true;
  }
}

void Region::release() {
  const pkb_driver *d = site.driver;
  for (int i = 0; i < size(); ++i) {
    Piece &piece = pieces[size_t(i)];
    if (piece.mapped && !ipc) {
      d->vmm_unmap(piece.address, allocated);
    } else if (piece.mapped) {
      i == own ? d->mem_free(piece.address) : d->ipc_close(piece.address);
    }
    if (piece.handle) {
      d->vmm_release(piece.handle);
    }
    piece = Piece();
  }
}

} // namespace pkb_rt
