// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symmetric memory of one channel: every rank of a group owns a piece of the same size and maps the pieces of the
// others.
#ifndef PKB_RUNTIME_LIB_REGION_H
#define PKB_RUNTIME_LIB_REGION_H

#include "Bootstrap.h"
#include "pkb_rt/driver.h"

#include <string>
#include <vector>

namespace pkb_rt {

/// What a region needs to know of its context.
struct RegionSite {
  const pkb_driver *driver;
  pkb_cu_device device;
  pkb_cu_stream service; // stream for zeroing, not the user's
  Bootstrap *bootstrap;
  bool poison; // fill the staging halves with 0xFF
};

class Region {
public:
  /// Makes and maps the memory: collective over `ranks` (ranks of the bootstrap, own one included). Flags, control page
  /// and LL lines are zero on every rank when it returns. Throws the same verdict on all ranks.
  Region(const RegionSite &site, const std::vector<int> &ranks, int64_t bytes);
  ~Region();
  Region(const Region &) = delete;
  Region &operator=(const Region &) = delete;

  int size() const { return int(pieces.size()); }
  int me() const { return own; }
  int64_t bytes() const { return length; }
  char *piece(int member) const { return reinterpret_cast<char *>(pieces[size_t(member)].address); }

private:
  struct Piece {
    pkb_cu_ptr address = 0;
    pkb_cu_mem_handle handle = 0;
    bool mapped = false;
  };

  std::string chooseWay(std::string &reason);
  void shareVmm(std::optional<std::string> &error);
  void shareIpc(std::optional<std::string> &error);
  void release();
  std::string text(const char *what, pkb_cu_result result) const;

  RegionSite site;
  std::vector<int> ranks;
  std::vector<Piece> pieces;
  int own = 0;
  int64_t length;       // as asked
  size_t allocated = 0; // rounded up to the granularity
  bool ipc = false;
};

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_REGION_H
