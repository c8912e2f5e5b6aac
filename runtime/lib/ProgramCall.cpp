// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The call path. No allocation, no host synchronisation: check the tensors, patch the pointers of prebuilt arguments,
// launch.
#include "CallGraph.h"
#include "Error.h"
#include "pkb_rt/layout.h"

#include <algorithm>
#include <cstring>

using namespace pkb_rt;

namespace {

std::string listText(const int64_t *values, int32_t n) {
  std::string text = "[";
  for (int32_t i = 0; i < n; ++i) {
    text += (i ? ", " : "") + std::to_string(values[i]);
  }
  return text + "]";
}

/// Makes the context's device current for the time of a call, where it is not.
class CurrentDevice {
public:
  explicit CurrentDevice(pkb_context &context) : driver(context.driver) {
    driver->ctx_get_current(&before);
    changed = before != context.cuda;
    if (changed) {
      driver->ctx_set_current(context.cuda);
    }
  }
  ~CurrentDevice() {
    if (changed) {
      driver->ctx_set_current(before);
    }
  }

private:
  const pkb_driver *driver;
  pkb_cu_context before = nullptr;
  bool changed;
};

/// What the emulator's stream runs when it reaches an operator.
struct Deferred {
  pkb_context *context;
  const pkb_aten_api *aten;
  pkb_aten_frame *frame;
  int32_t step;
  std::string where;
};

void runDeferred(void *data) {
  auto *deferred = static_cast<Deferred *>(data);
  char error[2048] = {};
  if (deferred->aten->execute(deferred->frame, deferred->step, error, sizeof(error)) != PKB_ATEN_DONE) {
    deferred->context->deferredError(deferred->where + error);
  }
}

void runDeferredOnce(void *data) {
  runDeferred(data);
  delete static_cast<Deferred *>(data);
}

void endDeferred(void *data) {
  auto *deferred = static_cast<Deferred *>(data);
  deferred->aten->frame_destroy(deferred->frame);
  deferred->context->deferredCalls.fetch_sub(1);
  delete deferred;
}

} // namespace

pkb_status pkb_program::checkTensor(const TensorGuard &guard, const pkb_tensor &tensor, const char *what,
                                    int32_t index) const {
  auto refuse = [&](const char *name, const std::string &expected, const std::string &got) {
    return setLastError(PKB_ERROR_GUARD, cat(what, " ", index, " of '", manifest.name, "' must have ", name, " ",
                                             expected, ", got: ", got));
  };
  if (__builtin_expect(tensor.dtype != guard.dtype, 0)) {
    return refuse("dtype", dtypeName(guard.dtype), dtypeName(tensor.dtype));
  }
  bool same = tensor.ndim == guard.ndim;
  for (int32_t i = 0; same && i < guard.ndim; ++i) {
    same = tensor.sizes[i] == guard.sizes[i];
  }
  if (__builtin_expect(!same, 0)) {
    int32_t ndim = tensor.ndim < 0 ? 0 : tensor.ndim > PKB_MAX_DIMS ? PKB_MAX_DIMS : tensor.ndim;
    return refuse("sizes", listText(guard.sizes, guard.ndim), listText(tensor.sizes, ndim));
  }
  if (guard.empty) {
    return PKB_OK;
  }
  for (int32_t i = 0; i < guard.ndim; ++i) {
    if (__builtin_expect(tensor.strides[i] != guard.strides[i] && guard.sizes[i] != 1, 0)) {
      return refuse("strides", listText(guard.strides, guard.ndim), listText(tensor.strides, guard.ndim));
    }
  }
  if (__builtin_expect(!tensor.data || (reinterpret_cast<uintptr_t>(tensor.data) & guard.alignMask), 0)) {
    return setLastError(PKB_ERROR_ARGUMENT,
                        tensor.data
                            ? cat(what, " ", index, " of '", manifest.name, "' must be aligned to its elements of ",
                                  guard.alignMask + 1, " bytes, got address ", tensor.data)
                            : cat(what, " ", index, " of '", manifest.name, "' has no memory (data is null)"));
  }
  if (__builtin_expect(!context.reaches(tensor.data), 0)) {
    return setLastError(PKB_ERROR_ARGUMENT, cat(what, " ", index, " of '", manifest.name, "' must be on device ", context.ordinal, " of rank ", context.rank,
                                                ", got ", context.placeOf(tensor.data)));
  }
  return PKB_OK;
}

/// An output must not overlap an input or another output: kernels read inputs while they write outputs.
pkb_status pkb_program::checkOverlap(const pkb_tensor *inputs, const pkb_tensor *outputs) const {
  auto overlaps = [](const pkb_tensor &a, int64_t aBytes, const pkb_tensor &b, int64_t bBytes) {
    auto x = reinterpret_cast<uintptr_t>(a.data), y = reinterpret_cast<uintptr_t>(b.data);
    return x < y + uintptr_t(bBytes) && y < x + uintptr_t(aBytes);
  };
  for (size_t i = 0; i < outputGuards.size(); ++i) {
    if (manifest.outputs[i].aliasOf >= 0 || outputGuards[i].empty) {
      continue;
    }
    for (size_t j = 0; j < inputGuards.size(); ++j) {
      if (!inputGuards[j].empty &&
          overlaps(outputs[i], outputGuards[i].extentBytes, inputs[j], inputGuards[j].extentBytes)) {
        return setLastError(PKB_ERROR_ARGUMENT, cat("output ", i, " of '", manifest.name, "' overlaps input ", j,
                                                    "; give it memory of its own"));
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (manifest.outputs[j].aliasOf < 0 && !outputGuards[j].empty &&
          overlaps(outputs[i], outputGuards[i].extentBytes, outputs[j], outputGuards[j].extentBytes)) {
        return setLastError(PKB_ERROR_ARGUMENT, cat("output ", i, " of '", manifest.name, "' overlaps output ", j,
                                                    "; give it memory of its own"));
      }
    }
  }
  return PKB_OK;
}

/// Arguments share memory as they did when the program was made: what one says of another holds, and what a call writes is of no other.
pkb_status pkb_program::checkArguments() {
  for (size_t i = 0; i < inputGuards.size(); ++i) {
    const Argument &argument = manifest.arguments[i];
    if (argument.aliasOf >= 0 && !inputGuards[i].empty && sources[i] != sources[size_t(argument.aliasOf)] + argument.aliasBytes) {
      return setLastError(PKB_ERROR_GUARD, cat("input ", i, " of '", manifest.name, "' must begin ", argument.aliasBytes, " bytes behind input ", argument.aliasOf,
                                               ", in whose memory it lay when the program was made"));
    }
  }
  if (argumentRanges.empty()) {
    return PKB_OK;
  }
  for (ArgumentRange &range : argumentRanges) {
    range.begin = sources[size_t(range.index)];
  }
  std::sort(argumentRanges.begin(), argumentRanges.end(), [](const ArgumentRange &a, const ArgumentRange &b) { return a.begin < b.begin; });
  const ArgumentRange *farthest = nullptr, *farthestWritten = nullptr; // of those that begin before
  for (const ArgumentRange &range : argumentRanges) {
    const ArgumentRange *before = range.written ? farthest : farthestWritten;
    if (before && before->begin + before->bytes > range.begin) {
      const ArgumentRange &written = range.written ? range : *before, &other = range.written ? *before : range;
      return setLastError(PKB_ERROR_GUARD, cat("input ", other.index, " of '", manifest.name, "' overlaps input ", written.index,
                                               ", which a call changes; they had memory of their own when the program was made"));
    }
    auto isFarther = [&](const ArgumentRange *other) { return !other || range.begin + range.bytes > other->begin + other->bytes; };
    farthest = isFarther(farthest) ? &range : farthest;
    farthestWritten = range.written && isFarther(farthestWritten) ? &range : farthestWritten;
  }
  return PKB_OK;
}

StreamBinding *pkb_program::bind(pkb_cu_stream stream, bool capturing) {
  for (auto &binding : bindings) {
    if (binding->stream == stream) {
      return last = binding.get();
    }
  }
  auto binding = std::make_unique<StreamBinding>();
  binding->stream = stream;
  if (manifest.workspaceBytes > 0) {
    if (!spareWorkspaces.empty()) {
      binding->workspace = spareWorkspaces.back();
    } else if (capturing) {
      fail(PKB_ERROR_ARGUMENT, "'", manifest.name,
           "' has no workspace for this stream, and none can be allocated while a graph is captured; call "
           "it once on this stream before the capture");
    } else {
      check(context.driver, context.driver->mem_alloc(&binding->workspace, size_t(manifest.workspaceBytes)),
            "allocating the workspace");
      spareWorkspaces.push_back(binding->workspace);
    }
  }
  for (RankGroup *group : groups) {
    binding->channelNumbers.push_back(context.channel(*group, stream, key, capturing));
    binding->channels.push_back(group->channels[binding->channelNumbers.back()].get());
  }
  if (manifest.workspaceBytes > 0) {
    spareWorkspaces.pop_back(); // now the binding's
  }
  binding->params.resize(paramBytes);
  for (const PlanLaunch &launch : launches) {
    Region &region = *binding->channels[launch.group]->region;
    unsigned char *at = binding->params.data() + launch.params;
    ArgsHeader header = {};
    header.rank = uint32_t(region.me());
    header.size = uint32_t(region.size());
    header.abort = context.abortDevice;
    header.report = context.reportDevice;
    header.spinLimit = context.spinLimit;
    header.stageBytes = pkb_stage_bytes(region.size(), region.bytes());
    std::memcpy(at, &header, sizeof(header));
    for (uint32_t member = 0; member < launch.ranks; ++member) {
      char *piece = region.piece(int(member));
      std::memcpy(at + sizeof(header) + 8 * member, &piece, 8);
    }
  }
  bindings.push_back(std::move(binding));
  return last = bindings.back().get();
}

/// Checks everything that can be checked before anything is enqueued, and takes the tensors' addresses.
pkb_status pkb_program::checkCall(const pkb_tensor *inputs, int32_t inputCount, pkb_tensor *outputs,
                                  int32_t outputCount) {
  if (__builtin_expect(inputCount != int32_t(inputGuards.size()) || outputCount != int32_t(outputGuards.size()), 0)) {
    return setLastError(PKB_ERROR_GUARD, cat("'", manifest.name, "' takes ", inputGuards.size(), " inputs and ",
                                             outputGuards.size(), " outputs, got: ", inputCount, " and ", outputCount));
  }
  if (__builtin_expect((inputCount && !inputs) || (outputCount && !outputs), 0)) {
    return setLastError(PKB_ERROR_ARGUMENT, "the list of inputs or outputs is null");
  }
  for (int32_t i = 0; i < inputCount; ++i) {
    if (pkb_status status = checkTensor(inputGuards[size_t(i)], inputs[i], "input", i)) {
      return status;
    }
    sources[size_t(i)] = static_cast<char *>(inputs[i].data);
  }
  if (pkb_status status = checkArguments()) {
    return status;
  }
  for (int32_t i = 0; i < outputCount; ++i) {
    const Output &output = manifest.outputs[size_t(i)];
    if (output.aliasOf < 0) {
      if (pkb_status status = checkTensor(outputGuards[size_t(i)], outputs[i], "output", i)) {
        return status;
      }
      sources[size_t(inputCount + i)] = static_cast<char *>(outputs[i].data);
    }
  }
  for (int32_t i = 0; i < outputCount; ++i) {
    const Output &output = manifest.outputs[size_t(i)];
    if (output.aliasOf >= 0) {
      const TensorGuard &guard = outputGuards[size_t(i)];
      outputs[i].data = sources[size_t(output.aliasOf)] + output.aliasOffset;
      outputs[i].dtype = guard.dtype;
      outputs[i].ndim = guard.ndim;
      std::memcpy(outputs[i].sizes, guard.sizes, size_t(guard.ndim) * sizeof(int64_t));
      std::memcpy(outputs[i].strides, guard.strides, size_t(guard.ndim) * sizeof(int64_t));
    }
  }
  return checkOverlap(inputs, outputs);
}

/// A call that one rank does not make would leave the others' kernels waiting, and their next calls would meet the
/// wrong ones of this rank. So a refusal is a common one, or an error on all ranks.
pkb_status pkb_program::refuse(pkb_status status) {
  if (!manifest.meets || context.size == 1) {
    return status;
  }
  std::string reason = clipped(pkb_last_error());
  pkb_status agreed = guarded([&] { context.agreeOnRefusal(reason); });
  return agreed == PKB_OK ? setLastError(status, reason) : agreed;
}

pkb_status pkb_program::refuseCall(const std::string &reason) {
  if (context.lost()) {
    return setLastError(PKB_ERROR_PEER_LOST, context.lostText());
  }
  return refuse(setLastError(PKB_ERROR_GUARD, reason));
}

/// A graph would replay the numbers that the host reads now. Nothing has been enqueued, so the capture can go on without this call.
pkb_status pkb_program::refuseCapture() {
  const std::string &source = manifest.steps[size_t(hostReadStep)].source;
  return refuse(setLastError(PKB_ERROR_ARGUMENT, cat("'", manifest.name, "' reads a number of the device on the host (step ", hostReadStep,
                                                     source.empty() ? "" : ", " + source,
                                                     "), which a captured graph cannot; call it outside of the capture")));
}

pkb_status pkb_program::call(pkb_cu_stream stream, const pkb_tensor *inputs, int32_t inputCount, pkb_tensor *outputs,
                             int32_t outputCount) {
  if (__builtin_expect(context.lost(), 0)) {
    return setLastError(PKB_ERROR_PEER_LOST, context.lostText());
  }
  if (pkb_status status = checkCall(inputs, inputCount, outputs, outputCount)) {
    return refuse(status);
  }

  CurrentDevice current(context);
  int capturing = 0;
  if (context.driver->stream_is_capturing(stream, &capturing) != 0) {
    capturing = 0;
  }
  if (__builtin_expect(capturing && hostReadStep >= 0, 0)) {
    return refuseCapture();
  }
  StreamBinding *binding = last;
  if (__builtin_expect(!binding || binding->stream != stream, 0)) {
    pkb_status status = guarded([&] { binding = bind(stream, capturing != 0); });
    if (status != PKB_OK) {
      return status;
    }
  }
  sources[workspaceSource] = reinterpret_cast<char *>(binding->workspace);
  if (manifest.meets) {
    context.countCall(); // also on a rank that is in no group: refusals are agreed on by all
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i]->note(binding->channelNumbers[i], key, capturing != 0);
  }
  pkb_status status = PKB_OK;
  if (CallGraph *graph = graphPlan && !capturing ? graphOf(*binding) : nullptr) {
    status = runGraph(*binding, *graph);
  } else {
    status = atenPlan ? beginFrame(capturing != 0) : PKB_OK;
    if (status == PKB_OK) {
      status = runSteps(*binding, capturing != 0);
    }
    if (atenPlan) {
      status = endFrame(*binding, capturing != 0, status);
    }
  }
  if (__builtin_expect(status != PKB_OK, 0) && meetsPeers()) {
    // Half a call: the peers' kernels would wait for the rest, and take the next call for it.
    std::string text = pkb_last_error();
    context.leave(text);
    setLastError(status, text);
  }
  return status;
}

pkb_status pkb_program::runSteps(StreamBinding &binding, bool capturing, CallGraph *graph) {
  const pkb_driver *driver = context.driver;
  for (const PlanStep &step : steps) {
    switch (step.kind) {
    case StepKind::Launch: {
      const PlanLaunch &launch = launches[size_t(step.index)];
      unsigned char *params = binding.params.data();
      for (uint32_t i = launch.firstPatch; i < launch.lastPatch; ++i) {
        const PlanPatch &patch = patches[i];
        char *pointer = sources[patch.address.source] + patch.address.offset;
        std::memcpy(params + patch.at, &pointer, sizeof(pointer));
      }
      pkb_cu_result result = driver->launch(launch.function, launch.grid, launch.block, 0, binding.stream,
                                            params + launch.params, launch.paramBytes);
      if (__builtin_expect(result != 0, 0)) {
        const Step &source = manifest.steps[size_t(step.step)];
        return setLastError(PKB_ERROR_DEVICE, cat("launch of kernel '", manifest.kernels[size_t(source.kernel)].name,
                                                  "'", source.source.empty() ? "" : " (" + source.source + ")",
                                                  " failed: ", driverText(driver, result), " (", result, ")"));
      }
      if (!capturing) {
        binding.channels[launch.group]->issued.fetch_add(1, std::memory_order_relaxed);
      }
      if (graph) {
        graph->addLaunch(launch, binding.params, patches);
      }
      break;
    }
    case StepKind::Copy: {
      const PlanCopy &copy = copies[size_t(step.index)];
      char *from = sources[copy.from.source] + copy.from.offset, *to = sources[copy.to.source] + copy.to.offset;
      pkb_cu_result result = copy.bytes ? driver->memcpy_async(pkb_cu_ptr(uintptr_t(to)), pkb_cu_ptr(uintptr_t(from)),
                                                               copy.bytes, binding.stream)
                                        : 0;
      if (__builtin_expect(result != 0, 0)) {
        return setLastError(PKB_ERROR_DEVICE,
                            cat("copy of slot ", manifest.steps[size_t(step.step)].from, " of '", manifest.name,
                                "' failed: ", driverText(driver, result), " (", result, ")"));
      }
      if (graph) {
        graph->addCopy(copy, sources);
      }
      break;
    }
    case StepKind::Library:
      if (pkb_status status = runLibrary(step, binding, capturing)) {
        return status;
      }
      break;
    case StepKind::Transfer:
      if (pkb_status status = runTransfer(step, binding)) {
        return status;
      }
      break;
    case StepKind::Aten:
      if (pkb_status status = runAten(step, binding)) {
        return status;
      }
      break;
    }
  }
  return PKB_OK;
}

pkb_status pkb_program::beginFrame(bool capturing) {
  char error[2048] = {};
  // A call on a GPU reuses one frame. Emulated operators run later, so each call has its own; so has a captured call,
  // whose memory a graph may use again.
  if (!frame || context.driver->emulated || capturing) {
    if (frame && capturing && !context.driver->emulated) {
      keptFrames.push_back(frame);
      frame = nullptr;
    }
    if (!frame && aten->frame_create(atenPlan, &frame, error, sizeof(error)) != PKB_ATEN_DONE) {
      frame = nullptr;
      return setLastError(PKB_ERROR_ATEN, error);
    }
  }
  for (const auto &[slot, address] : atenBound) {
    aten->frame_bind(frame, slot, sources[address.source] ? sources[address.source] + address.offset : nullptr);
  }
  return PKB_OK;
}

pkb_status pkb_program::runAten(const PlanStep &step, StreamBinding &binding) {
  char error[2048] = {};
  auto where = [&] {
    const Step &source = manifest.steps[size_t(step.step)];
    return cat("step ", step.step, " of '", manifest.name, "'", source.source.empty() ? "" : " (" + source.source + ")",
               ": ");
  };
  int result = aten->run(frame, step.index, binding.stream, error, sizeof(error));
  if (result == PKB_ATEN_FAILED) {
    return setLastError(PKB_ERROR_ATEN, where() + error);
  }
  if (result == PKB_ATEN_PENDING) {
    int capturing = 0;
    context.driver->stream_is_capturing(binding.stream, &capturing);
    auto deferred = std::make_shared<Deferred>(Deferred{&context, aten, frame, step.index, where()});
    pkb_cu_result launched = 0;
    if (capturing) { // a graph may replay it
      keptClosures.push_back(deferred);
      launched = context.driver->launch_host_func(binding.stream, runDeferred, deferred.get());
    } else {
      auto *once = new Deferred(*deferred);
      launched = context.driver->launch_host_func(binding.stream, runDeferredOnce, once);
      if (launched != 0) {
        delete once;
      }
    }
    if (launched != 0) {
      return setLastError(PKB_ERROR_DEVICE,
                          cat(where(), "enqueueing it failed: ", driverText(context.driver, launched)));
    }
  }
  for (const AtenSource &source : atenMakes[size_t(step.index)]) {
    sources[source.source] = static_cast<char *>(aten->frame_data(frame, source.slot));
  }
  return PKB_OK;
}

pkb_status pkb_program::endFrame(StreamBinding &binding, bool capturing, pkb_status status) {
  if (!frame) {
    return status;
  }
  if (capturing) {
    keptFrames.push_back(frame); // until the program is unloaded
    frame = nullptr;
  } else if (context.driver->emulated) {
    // The frame goes when the stream has passed the call's last operator.
    auto *end = new Deferred{&context, aten, frame, 0, ""};
    context.deferredCalls.fetch_add(1);
    if (context.driver->launch_host_func(binding.stream, endDeferred, end) != 0) {
      context.deferredCalls.fetch_sub(1);
      keptFrames.push_back(frame); // operators may still be queued
      delete end;
    }
    frame = nullptr;
  } else {
    aten->frame_reset(frame);
  }
  return status;
}
