// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that are not ours to carry out: calls of NCCL, and copies into peers' memory by the copy engines
// (docs/Rationale/Mechanisms.md).
#include "Error.h"
#include "Program.h"
#include "pkb_rt/layout.h"

#include <algorithm>
#include <cstring>

using namespace pkb_rt;

bool pkb_program::meetsPeers() const { return !groups.empty() || !libraries.empty(); }

std::pair<int32_t, int32_t> pkb_program::placeIn(const Group &group) const {
  for (size_t row = 0; row < group.rows.size(); ++row) {
    const auto &ranks = group.rows[row];
    auto found = std::find(ranks.begin(), ranks.end(), context.rank);
    if (found != ranks.end()) {
      return {int32_t(row), int32_t(found - ranks.begin())};
    }
  }
  return {-1, -1};
}

Address pkb_program::rangeOf(const Pointer &pointer, int64_t bytes, int32_t step) {
  if (pointer.slot < 0) {
    return {nullSource, 0};
  }
  const Slot &slot = manifest.slots[size_t(pointer.slot)];
  if (manifest.slots[size_t(slot.root)].kind != SlotKind::Aten && pointer.offset + bytes > slot.shape.extentBytes()) {
    fail(PKB_ERROR_PROGRAM, "manifest: step ", step, " uses ", bytes, " bytes from byte ", pointer.offset, " of slot ", pointer.slot,
         ", which has ", slot.shape.extentBytes());
  }
  return addressOf(pointer.slot, pointer.offset);
}

void pkb_program::openCommunicators() {
  communicatorOfManifest.assign(manifest.groups.size(), nullptr);
  for (const Step &step : manifest.steps) {
    if (step.kind != StepKind::Library || communicatorOfManifest[size_t(step.group)]) {
      continue;
    }
    for (const auto &row : manifest.groups[size_t(step.group)].rows) {
      if (std::find(row.begin(), row.end(), context.rank) != row.end()) {
        communicatorOfManifest[size_t(step.group)] = &context.communicator(row);
      }
    }
  }
}

namespace {

/// A scalar of NCCL's `type`, for premul_sum.
struct Scalar {
  Scalar(double value, int type) {
    auto single = float(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof(bits));
    if (type == PKB_NCCL_F64) {
      std::memcpy(bytes, &value, sizeof(value));
    } else if (type == PKB_NCCL_F32) {
      std::memcpy(bytes, &single, sizeof(single));
    } else {
      uint16_t half = type == PKB_NCCL_BF16 ? uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) : toHalf(bits);
      std::memcpy(bytes, &half, sizeof(half));
    }
  }
  /// Round to nearest even; what is smaller than the least normal half becomes zero.
  static uint16_t toHalf(uint32_t bits) {
    auto sign = uint16_t((bits >> 16) & 0x8000);
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude < 0x38800000) {
      return sign;
    }
    if (magnitude >= 0x47800000) {
      return uint16_t(sign | 0x7c00);
    }
    return uint16_t(sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13));
  }
  unsigned char bytes[8] = {};
};

} // namespace

void pkb_program::planLibrary(const Step &step, int32_t number) {
  Communicator *communicator = communicatorOfManifest[size_t(step.group)];
  if (!communicator) {
    return; // no rank of the group
  }
  PlanLibrary plan;
  plan.communicator = communicator;
  plan.what = cat("step ", number, " of '", manifest.name, "'", step.source.empty() ? "" : " (" + step.source + ")");
  int64_t scale = 1;
  if (step.reduce != LibraryReduce::None && !ncclReduction(step.dtype, step.reduce, plan.type, plan.op, scale)) {
    fail(PKB_ERROR_PROGRAM, "step ", number, step.source.empty() ? "" : " (" + step.source + ")", ": NCCL has no such reduction of ",
         dtypeName(step.dtype), "; compile the program again with another mechanism");
  }
  auto [row, me] = placeIn(manifest.groups[size_t(step.group)]);
  int64_t ranks = int64_t(communicator->ranks.size()), bytes = dtypeBytes(step.dtype);
  if (step.reduce == LibraryReduce::PremulSum) {
    const pkb_nccl *nccl = communicator->api();
    Scalar scalar(step.factors[size_t(row * ranks + me)], plan.type);
    if (int result = nccl->red_op_premul_sum(&plan.op, scalar.bytes, plan.type, /*residence=*/1, communicator->handle())) {
      fail(PKB_ERROR_DEVICE, "making a reduction of NCCL: ", nccl->error_string(result));
    }
    plan.ownOp = true;
  }
  for (const LibraryCall &call : step.calls) {
    if (call.row >= 0 && call.row != row) {
      continue;
    }
    PlanLibraryCall own;
    own.function = call.function;
    own.peer = call.root;
    bool message = call.function == LibraryFunction::Message, scatters = call.function == LibraryFunction::ReduceScatter;
    bool reduces = scatters || call.function == LibraryFunction::AllReduce || call.function == LibraryFunction::Reduce;
    own.count = size_t(call.count * (reduces ? scale : bytes)); // what is not added up are bytes
    if (message) {
      own.sends = call.source == me;
      own.receives = call.dest == me;
      own.peer = own.sends ? call.dest : call.source;
      if (call.count == 0 || !(own.sends || own.receives)) {
        continue;
      }
    }
    // A root alone reads what it broadcasts, and writes what is reduced to it.
    bool rooted = call.function == LibraryFunction::Broadcast || call.function == LibraryFunction::Reduce;
    bool reads = message ? own.sends : call.function != LibraryFunction::Broadcast || call.root == me;
    bool writes = message ? own.receives : call.function != LibraryFunction::Reduce || call.root == me;
    int64_t part = call.count * bytes;
    if (rooted && !reads) {
      own.from = rangeOf(call.to, part, number);
    }
    if (rooted && !writes) {
      own.to = rangeOf(call.from, part, number);
    }
    if (reads) {
      own.from = rangeOf(call.from, scatters ? ranks * part : part, number);
    }
    if (writes) {
      own.to = rangeOf(call.to, call.function == LibraryFunction::AllGather ? ranks * part : part, number);
    }
    plan.calls.push_back(own);
  }
  if (step.reduce == LibraryReduce::None) {
    plan.type = PKB_NCCL_I8;
  }
  steps.push_back({StepKind::Library, int32_t(libraries.size()), number});
  libraries.push_back(std::move(plan));
}

void pkb_program::planTransfer(const Step &step, int32_t number) {
  if (groupOfManifest[size_t(step.group)] < 0) {
    return;
  }
  PlanTransfer plan;
  plan.group = uint32_t(groupOfManifest[size_t(step.group)]);
  const std::vector<int> &ranks = groups[plan.group]->ranks;
  auto [row, me] = placeIn(manifest.groups[size_t(step.group)]);
  for (const LibraryCall &call : step.calls) {
    int64_t bytes = call.count * dtypeBytes(step.dtype);
    if (call.source == me && call.dest != me && bytes > 0 && (call.row < 0 || call.row == row)) {
      plan.messages.push_back({rangeOf(call.from, bytes, number), call.dest, pkb_stage_offset(int(ranks.size())) + call.to.offset, size_t(bytes)});
    }
  }
  steps.push_back({StepKind::Transfer, int32_t(transfers.size()), number});
  transfers.push_back(std::move(plan));
}

pkb_status pkb_program::runLibrary(const PlanStep &step, StreamBinding &binding, bool capturing) {
  const PlanLibrary &plan = libraries[size_t(step.index)];
  const pkb_nccl *nccl = plan.communicator->api();
  pkb_cu_stream stream = binding.stream;
  auto at = [&](const Address &address) { return sources[address.source] + address.offset; };
  auto failure = [&](const char *text) {
    if (context.lost()) { // which has ended the communicator
      return setLastError(PKB_ERROR_PEER_LOST, context.lostText());
    }
    return setLastError(PKB_ERROR_DEVICE, cat(plan.what, ": NCCL failed: ", text));
  };
  bool grouped = false;
  for (const PlanLibraryCall &call : plan.calls) {
    if (!(call.sends && call.receives)) {
      grouped = grouped || call.function == LibraryFunction::Message || plan.calls.size() > 1;
    } else if (pkb_cu_result result = context.driver->memcpy_async(pkb_cu_ptr(uintptr_t(at(call.to))), pkb_cu_ptr(uintptr_t(at(call.from))),
                                                                   call.count, stream)) {
      return failure(driverText(context.driver, result));
    }
  }
  std::lock_guard<std::timed_mutex> issuing(plan.communicator->issuing());
  pkb_nccl_comm comm = plan.communicator->handle();
  if (!comm) {
    return setLastError(PKB_ERROR_PEER_LOST, context.lostText());
  }
  plan.communicator->begin(plan.what);
  int result = grouped ? nccl->group_start() : 0;
  for (size_t i = 0; i < plan.calls.size() && result == 0; ++i) {
    const PlanLibraryCall &call = plan.calls[i];
    switch (call.function) {
    case LibraryFunction::AllReduce:
      result = nccl->all_reduce(at(call.from), at(call.to), call.count, plan.type, plan.op, comm, stream);
      break;
    case LibraryFunction::ReduceScatter:
      result = nccl->reduce_scatter(at(call.from), at(call.to), call.count, plan.type, plan.op, comm, stream);
      break;
    case LibraryFunction::Reduce:
      result = nccl->reduce(at(call.from), at(call.to), call.count, plan.type, plan.op, call.peer, comm, stream);
      break;
    case LibraryFunction::AllGather:
      result = nccl->all_gather(at(call.from), at(call.to), call.count, PKB_NCCL_I8, comm, stream);
      break;
    case LibraryFunction::Broadcast:
      result = nccl->broadcast(at(call.from), at(call.to), call.count, PKB_NCCL_I8, call.peer, comm, stream);
      break;
    case LibraryFunction::Message:
      if (call.sends && !call.receives) {
        result = nccl->send(at(call.from), call.count, PKB_NCCL_I8, call.peer, comm, stream);
      } else if (call.receives && !call.sends) {
        result = nccl->receive(at(call.to), call.count, PKB_NCCL_I8, call.peer, comm, stream);
      }
      break;
    }
  }
  if (grouped) { // also after a failure, or this thread would stay in the group
    int ended = nccl->group_end();
    result = result != 0 ? result : ended;
  }
  plan.communicator->issued(stream, capturing);
  return result == 0 ? PKB_OK : failure(nccl->error_string(result));
}

pkb_status pkb_program::runTransfer(const PlanStep &step, StreamBinding &binding) {
  const PlanTransfer &plan = transfers[size_t(step.index)];
  for (const PlanTransfer::Message &message : plan.messages) {
    char *to = binding.channels[plan.group]->region->piece(message.member) + message.offset;
    char *from = sources[message.from.source] + message.from.offset;
    if (pkb_cu_result result = context.driver->memcpy_async(pkb_cu_ptr(uintptr_t(to)), pkb_cu_ptr(uintptr_t(from)), message.bytes, binding.stream)) {
      const Step &source = manifest.steps[size_t(step.step)];
      return setLastError(PKB_ERROR_DEVICE, cat("step ", step.step, " of '", manifest.name, "'", source.source.empty() ? "" : " (" + source.source + ")",
                                                ": copy to rank ", groups[plan.group]->ranks[size_t(message.member)],
                                                " failed: ", driverText(context.driver, result)));
    }
  }
  return PKB_OK;
}

void pkb_program::closeLibraries() {
  for (PlanLibrary &plan : libraries) {
    std::lock_guard<std::timed_mutex> issuing(plan.communicator->issuing());
    if (plan.ownOp && plan.communicator->handle()) {
      plan.communicator->api()->red_op_destroy(plan.op, plan.communicator->handle());
    }
  }
  libraries.clear();
}
