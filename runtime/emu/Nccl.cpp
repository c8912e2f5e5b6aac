// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Communicators, groups of calls, and what happens when the ranks have come together.
#include "Nccl.h"

#include "Emulator.h"

#include <algorithm>
#include <cstring>

namespace pkb_emu_impl {

// ncclResult_t
enum NcclResult { kNcclOk = 0, kNcclUnhandledCuda = 1, kNcclInvalidArgument = 4, kNcclInvalidUsage = 5 };

} // namespace pkb_emu_impl

// What the run time holds; `world` outlives it while a stream has calls of it.
struct ncclComm {
  std::shared_ptr<pkb_emu_impl::NcclWorld> world;
  int rank = 0;
  std::vector<double> scalars; // of the ops made by red_op_premul_sum
};

namespace pkb_emu_impl {

namespace {

// Calls of this thread since group_start.
struct Pending {
  int depth = 0;
  int error = kNcclOk;
  std::vector<std::tuple<pkb_nccl_comm, pkb_cu_stream, NcclCall>> calls;
};
thread_local Pending pending;

int enqueueCalls(pkb_nccl_comm comm, pkb_cu_stream stream, std::vector<NcclCall> calls) {
  auto op = std::make_shared<Op>();
  op->kind = OpKind::nccl;
  op->nccl = std::make_shared<NcclGroup>();
  op->nccl->world = comm->world;
  op->nccl->rank = comm->rank;
  op->nccl->calls = std::move(calls);
  return addOperation(*comm->world->emulator, comm->world->devices[size_t(comm->rank)], stream, op) == kOk ? kNcclOk : kNcclUnhandledCuda;
}

int groupStart() { return ++pending.depth, kNcclOk; }

// One operation per communicator and stream.
int groupEnd() {
  if (pending.depth == 0)
    return kNcclInvalidUsage;
  if (--pending.depth > 0)
    return kNcclOk;
  Pending ended = std::move(pending);
  pending = Pending();
  while (!ended.calls.empty() && ended.error == kNcclOk) {
    auto [comm, stream, first] = ended.calls.front();
    auto same = [&, comm = comm, stream = stream](const auto &call) { return std::get<0>(call) == comm && std::get<1>(call) == stream; };
    std::vector<NcclCall> calls;
    for (const auto &call : ended.calls)
      if (same(call))
        calls.push_back(std::get<2>(call));
    ended.calls.erase(std::remove_if(ended.calls.begin(), ended.calls.end(), same), ended.calls.end());
    ended.error = enqueueCalls(comm, stream, std::move(calls));
  }
  return ended.error;
}

int issue(pkb_nccl_comm comm, pkb_cu_stream stream, NcclCall call) {
  const bool reduces = call.kind == NcclKind::all_reduce || call.kind == NcclKind::reduce_scatter || call.kind == NcclKind::reduce;
  const int ranks = comm ? int(comm->world->devices.size()) : 0;
  int error = kNcclOk;
  if (!comm || ncclTypeBytes(call.dtype) == 0 || call.peer < 0 || call.peer >= ranks)
    error = kNcclInvalidArgument;
  else if (reduces && (call.op < 0 || call.op >= PKB_NCCL_OPS + int(comm->scalars.size())))
    error = kNcclInvalidArgument;
  if (error == kNcclOk && call.op >= PKB_NCCL_OPS)
    call.scalar = comm->scalars[size_t(call.op - PKB_NCCL_OPS)];
  if (pending.depth == 0)
    return error == kNcclOk ? enqueueCalls(comm, stream, {call}) : error;
  if (error == kNcclOk)
    pending.calls.emplace_back(comm, stream, call);
  else
    pending.error = error;
  return error;
}

NcclCall make(NcclKind kind, const void *from, void *to, size_t count, int dtype, int op = PKB_NCCL_SUM, int peer = 0) {
  NcclCall call;
  call.kind = kind;
  call.from = static_cast<const char *>(from);
  call.to = static_cast<char *>(to);
  call.count = count;
  call.dtype = dtype;
  call.op = op;
  call.peer = peer;
  return call;
}

int allReduce(const void *send, void *receive, size_t count, int dtype, int op, pkb_nccl_comm comm, pkb_cu_stream stream) {
  return issue(comm, stream, make(NcclKind::all_reduce, send, receive, count, dtype, op));
}
int reduceScatter(const void *send, void *receive, size_t count, int dtype, int op, pkb_nccl_comm comm, pkb_cu_stream stream) {
  return issue(comm, stream, make(NcclKind::reduce_scatter, send, receive, count, dtype, op));
}
int allGather(const void *send, void *receive, size_t count, int dtype, pkb_nccl_comm comm, pkb_cu_stream stream) {
  return issue(comm, stream, make(NcclKind::all_gather, send, receive, count, dtype));
}
int broadcast(const void *send, void *receive, size_t count, int dtype, int root, pkb_nccl_comm comm, pkb_cu_stream stream) {
  return issue(comm, stream, make(NcclKind::broadcast, send, receive, count, dtype, PKB_NCCL_SUM, root));
}
int reduceTo(const void *send, void *receive, size_t count, int dtype, int op, int root, pkb_nccl_comm comm, pkb_cu_stream stream) {
  return issue(comm, stream, make(NcclKind::reduce, send, receive, count, dtype, op, root));
}
int sendTo(const void *from, size_t count, int dtype, int peer, pkb_nccl_comm comm, pkb_cu_stream stream) {
  return issue(comm, stream, make(NcclKind::send, from, nullptr, count, dtype, PKB_NCCL_SUM, peer));
}
int receiveFrom(void *to, size_t count, int dtype, int peer, pkb_nccl_comm comm, pkb_cu_stream stream) {
  return issue(comm, stream, make(NcclKind::receive, nullptr, to, count, dtype, PKB_NCCL_SUM, peer));
}

int makePremulSum(int *op, void *scalar, int dtype, int, pkb_nccl_comm comm) {
  if (dtype != PKB_NCCL_F64 && dtype != PKB_NCCL_F32 && dtype != PKB_NCCL_F16 && dtype != PKB_NCCL_BF16)
    return kNcclInvalidArgument;
  comm->scalars.push_back(ncclScalar(static_cast<const char *>(scalar), dtype));
  *op = PKB_NCCL_OPS + int(comm->scalars.size()) - 1;
  return kNcclOk;
}

int destroyOp(int, pkb_nccl_comm) { return kNcclOk; } // numbers are not used again

int destroyComm(pkb_nccl_comm comm) { return delete comm, kNcclOk; }

int abortComm(pkb_nccl_comm comm) {
  Emulator &emulator = *comm->world->emulator;
  {
    std::lock_guard<std::mutex> guard(emulator.mutex);
    comm->world->aborted = true;
    ++emulator.activity;
    emulator.wake.notify_one();
  }
  return destroyComm(comm);
}

int version(int *out) { return *out = 22809, kNcclOk; }

const char *errorText(int result) {
  switch (result) {
  case kNcclOk: return "no error";
  case kNcclUnhandledCuda: return "unhandled cuda error";
  case kNcclInvalidArgument: return "invalid argument";
  case kNcclInvalidUsage: return "invalid usage";
  default: return "unknown error";
  }
}

size_t bytesOf(const NcclCall &call) { return call.count * size_t(ncclTypeBytes(call.dtype)); }

// The call of one rank is over.
void settle(const NcclArrival &arrival) { --arrival.op->nccl->pending; }

// Memory that a stream reads and writes; and what it knows afterwards.
void touch(Emulator &emulator, const NcclArrival &arrival, const char *from, size_t read, char *to, size_t written) {
  if (!emulator.watching())
    return;
  emulator.model.bulk(*arrival.stream->model, arrival.stream->id, arrival.stream->device, from, nullptr, read);
  emulator.model.bulk(*arrival.stream->model, arrival.stream->id, arrival.stream->device, nullptr, to, written);
}

void learn(Emulator &emulator, const NcclArrival &from, const NcclArrival &to) {
  if (emulator.watching() && from.stream != to.stream)
    to.stream->model->known.join(from.stream->model->known);
}

std::string callText(const NcclCall &call) {
  return std::string(ncclKindName(call.kind)) + " of " + std::to_string(call.count) + " elements of nccl type " + std::to_string(call.dtype);
}

void passMessage(NcclWorld &world, const NcclArrival &send, const NcclArrival &receive) {
  Emulator &emulator = *world.emulator;
  const size_t bytes = bytesOf(send.call);
  if (bytes != bytesOf(receive.call))
    return emulator.fail(PKB_EMU_DEADLOCK, "nccl: rank " + std::to_string(receive.call.peer) + " calls " + callText(send.call) + ", and rank " +
                                               std::to_string(send.call.peer) + " calls " + callText(receive.call));
  touch(emulator, send, send.call.from, bytes, nullptr, 0);
  learn(emulator, send, receive);
  touch(emulator, receive, nullptr, 0, receive.call.to, bytes);
  memmove(receive.call.to, send.call.from, bytes);
  settle(send);
  settle(receive);
}

// All ranks have come to a collective.
void carryOut(NcclWorld &world, const std::vector<NcclArrival> &all) {
  Emulator &emulator = *world.emulator;
  const NcclCall &first = all[0].call;
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const NcclCall &call = all[rank].call;
    const bool ownOp = first.op >= PKB_NCCL_OPS && call.op >= PKB_NCCL_OPS;
    if (call.kind != first.kind || call.count != first.count || call.dtype != first.dtype || call.peer != first.peer || (call.op != first.op && !ownOp))
      return emulator.fail(PKB_EMU_DEADLOCK, "nccl: rank 0 calls " + callText(first) + ", and rank " + std::to_string(rank) + " calls " + callText(call));
  }
  const size_t ranks = all.size(), bytes = bytesOf(first);
  const bool toAll = first.kind == NcclKind::all_gather, scatters = first.kind == NcclKind::reduce_scatter;
  const bool fromRoot = first.kind == NcclKind::broadcast, toRoot = first.kind == NcclKind::reduce;
  const size_t root = size_t(first.peer);
  std::vector<const char *> from;
  std::vector<double> scalars;
  for (size_t rank = 0; rank < ranks; ++rank) {
    from.push_back(all[rank].call.from);
    scalars.push_back(all[rank].call.scalar);
    if (!fromRoot || rank == root)
      touch(emulator, all[rank], from[rank], scatters ? ranks * bytes : bytes, nullptr, 0);
  }
  for (size_t to = 0; to < ranks; ++to)
    for (size_t rank = 0; rank < ranks; ++rank)
      if ((!fromRoot || rank == root) && (!toRoot || to == root))
        learn(emulator, all[rank], all[to]);
  // Results first, for an output may be an input of another step of this loop.
  std::vector<std::vector<char>> results(ranks);
  for (size_t to = 0; to < ranks; ++to) {
    if (toRoot && to != root)
      continue;
    results[to].resize(toAll ? ranks * bytes : bytes);
    if (toAll) {
      for (size_t rank = 0; rank < ranks; ++rank)
        memcpy(results[to].data() + rank * bytes, from[rank], bytes);
    } else if (fromRoot) {
      memcpy(results[to].data(), from[root], bytes);
    } else {
      std::vector<const char *> parts = from;
      if (scatters)
        for (const char *&part : parts)
          part += to * bytes;
      ncclReduce(parts, scalars, results[to].data(), first.count, first.dtype, first.op);
    }
  }
  for (size_t to = 0; to < ranks; ++to) {
    touch(emulator, all[to], nullptr, 0, all[to].call.to, results[to].size());
    if (!results[to].empty())
      memcpy(all[to].call.to, results[to].data(), results[to].size());
    settle(all[to]);
  }
}

} // namespace

const char *ncclKindName(NcclKind kind) {
  switch (kind) {
  case NcclKind::all_reduce: return "all_reduce";
  case NcclKind::reduce_scatter: return "reduce_scatter";
  case NcclKind::all_gather: return "all_gather";
  case NcclKind::broadcast: return "broadcast";
  case NcclKind::reduce: return "reduce";
  case NcclKind::send: return "send";
  case NcclKind::receive: return "receive";
  }
  return "?";
}

void startNccl(Stream *stream, const OpRef &op) {
  NcclGroup &group = *op->nccl;
  NcclWorld &world = *group.world;
  Emulator &emulator = *world.emulator;
  ++emulator.counts.library_calls;
  group.pending = group.calls.size();
  for (const NcclCall &call : group.calls) {
    if (emulator.failed)
      return;
    const NcclArrival arrival{op, call, stream};
    if (call.kind == NcclKind::send || call.kind == NcclKind::receive) {
      const bool sends = call.kind == NcclKind::send;
      const auto pair = sends ? std::make_pair(group.rank, call.peer) : std::make_pair(call.peer, group.rank);
      auto &mine = (sends ? world.sends : world.receives)[pair], &theirs = (sends ? world.receives : world.sends)[pair];
      if (theirs.empty()) {
        mine.push_back(arrival);
        continue;
      }
      const NcclArrival other = theirs.front();
      theirs.pop_front();
      sends ? passMessage(world, arrival, other) : passMessage(world, other, arrival);
      continue;
    }
    const uint64_t number = world.calls[size_t(group.rank)]++;
    auto &meeting = world.meetings[number];
    meeting.resize(world.devices.size());
    meeting[size_t(group.rank)] = arrival;
    if (std::all_of(meeting.begin(), meeting.end(), [](const NcclArrival &each) { return each.op != nullptr; })) {
      const std::vector<NcclArrival> all = std::move(meeting);
      world.meetings.erase(number);
      carryOut(world, all);
    }
  }
}

std::string ncclWaitText(const Op &op, const Stream &stream) {
  const NcclWorld &world = *op.nccl->world;
  std::string text = "device " + std::to_string(stream.device) + ", stream " + std::to_string(stream.id) + ": rank " + std::to_string(op.nccl->rank) +
                     " of a communicator of " + std::to_string(world.devices.size()) + " ranks waits in nccl";
  for (const auto &[number, meeting] : world.meetings) {
    const NcclArrival &mine = meeting[size_t(op.nccl->rank)];
    if (mine.op.get() != &op)
      continue;
    text += " " + callText(mine.call) + " (collective " + std::to_string(number) + ") for rank";
    for (size_t rank = 0; rank < meeting.size(); ++rank)
      if (!meeting[rank].op)
        text += " " + std::to_string(rank);
    return text;
  }
  for (const auto *queues : {&world.sends, &world.receives})
    for (const auto &[pair, queue] : *queues)
      for (const NcclArrival &arrival : queue)
        if (arrival.op.get() == &op)
          return text + " " + callText(arrival.call) + " for rank " + std::to_string(arrival.call.peer);
  return text;
}

void fillNccl(pkb_nccl &table) {
  table.error_string = errorText;
  table.version = version;
  table.comm_destroy = destroyComm;
  table.comm_abort = abortComm;
  table.group_start = groupStart;
  table.group_end = groupEnd;
  table.all_reduce = allReduce;
  table.reduce_scatter = reduceScatter;
  table.all_gather = allGather;
  table.broadcast = broadcast;
  table.reduce = reduceTo;
  table.send = sendTo;
  table.receive = receiveFrom;
  table.red_op_premul_sum = makePremulSum;
  table.red_op_destroy = destroyOp;
}

int joinWorld(pkb_nccl_comm *out, Emulator &emulator, const std::string &id, int ranks, int rank, int device) {
  if (ranks < 1 || rank < 0 || rank >= ranks || device < 0)
    return kNcclInvalidArgument;
  std::lock_guard<std::mutex> guard(emulator.mutex);
  auto &world = emulator.ncclWorlds[id];
  if (!world) {
    world = std::make_shared<NcclWorld>();
    world->emulator = &emulator;
    world->devices.assign(size_t(ranks), -1);
    world->calls.assign(size_t(ranks), 0);
  }
  if (int(world->devices.size()) != ranks || world->devices[size_t(rank)] >= 0)
    return kNcclInvalidUsage;
  world->devices[size_t(rank)] = device;
  *out = new ncclComm{world, rank, {}};
  return kNcclOk;
}

} // namespace pkb_emu_impl
