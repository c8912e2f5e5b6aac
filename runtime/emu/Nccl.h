// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulator's NCCL (pkb_rt/nccl.h). A communicator is where the streams of its ranks meet: a call takes part when its stream has come to it, and ends when all
// whom it concerns have come. What is computed: contributions in rank order, small floats in float, rounded once.
#ifndef PKB_EMU_NCCL_H
#define PKB_EMU_NCCL_H

#include "pkb_rt/nccl.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pkb_emu_impl {

class Emulator;
struct Op;
struct Stream;

enum class NcclKind { all_reduce, reduce_scatter, all_gather, broadcast, reduce, send, receive };

struct NcclCall {
  NcclKind kind = NcclKind::all_reduce;
  const char *from = nullptr;
  char *to = nullptr;
  size_t count = 0;
  int dtype = 0, op = PKB_NCCL_SUM;
  double scalar = 1; // of premul_sum
  int peer = 0;      // or root
};

// A call that its stream has come to.
struct NcclArrival {
  std::shared_ptr<Op> op; // null: not yet
  NcclCall call;
  Stream *stream = nullptr;
};

// What the ranks of a communicator share. The emulator's mutex guards it.
struct NcclWorld {
  Emulator *emulator = nullptr;
  std::vector<int> devices; // by rank, -1: not there yet
  std::vector<uint64_t> calls; // collectives that each rank has come to
  std::map<uint64_t, std::vector<NcclArrival>> meetings; // by number of the collective
  std::map<std::pair<int, int>, std::deque<NcclArrival>> sends, receives; // by (source, dest)
  bool aborted = false;
};

// The calls between group_start and group_end on one stream.
struct NcclGroup {
  std::shared_ptr<NcclWorld> world;
  int rank = 0;
  std::vector<NcclCall> calls;
  size_t pending = 0;
};

const char *ncclKindName(NcclKind kind);
int64_t ncclTypeBytes(int dtype); // 0: unknown
double ncclScalar(const char *scalar, int dtype); // a floating-point element
// to = the reduction of count elements at each of `from`, in that order.
void ncclReduce(const std::vector<const char *> &from, const std::vector<double> &scalars, char *to, size_t count, int dtype, int op);

void startNccl(Stream *stream, const std::shared_ptr<Op> &op); // the stream has come to it; the emulator's mutex is held
std::string ncclWaitText(const Op &op, const Stream &stream);   // for whom it waits
void fillNccl(pkb_nccl &table);                                 // what needs no slot
int joinWorld(pkb_nccl_comm *out, Emulator &emulator, const std::string &id, int ranks, int rank, int device);
// Driver.cpp: adds an operation to a stream of `device`, with what this host thread knows.
int addOperation(Emulator &emulator, int device, pkb_cu_stream stream, std::shared_ptr<Op> op);

} // namespace pkb_emu_impl

#endif
