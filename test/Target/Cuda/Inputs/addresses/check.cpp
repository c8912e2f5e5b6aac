// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs KERNEL (in PROGRAM) for all blocks of all ranks and holds what it touches against BYTES: of tensor 0 read, of tensor 1 written, each byte once;
// no region is touched at or behind REGION_BYTES.
#include PROGRAM

#include <algorithm>
#include <cstdio>

// The bytes that disjoint ranges cover from 0 on; -1 if two overlap.
static int64_t covered(pkb::Ranges ranges) {
  std::sort(ranges.begin(), ranges.end());
  int64_t end = 0;
  for (auto [from, to] : ranges) {
    if (from < end)
      return -1;
    if (from > end)
      return end;
    end = to;
  }
  return end;
}

int main() {
  bool right = true;
  for (pkb::trace.rank = 0; pkb::trace.rank < RANKS; ++pkb::trace.rank) {
    pkb::trace.loaded.clear();
    pkb::trace.stored.clear();
    pkb::trace.stage_bytes = pkb_stage_bytes(RANKS, REGION_BYTES);
    for (pkb::trace.block = 0; pkb::trace.block < GRID; ++pkb::trace.block)
      KERNEL(pkb::Args());
    const int64_t read = covered(pkb::trace.loaded[0]), written = covered(pkb::trace.stored[1]);
    std::printf("rank %lld reads %lld bytes, writes %lld\n", (long long)pkb::trace.rank, (long long)read, (long long)written);
    right &= read == READ_BYTES && written == WRITTEN_BYTES;
  }
  for (auto [rank, end] : pkb::trace.region)
    right &= end <= REGION_BYTES && end > pkb_stage_offset(RANKS);
  return right ? 0 : 1;
}
