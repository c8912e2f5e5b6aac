// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C functions of pkb_rt/aten.h: no exception leaves them.
#include "Plan.h"

#include <ATen/Context.h>
#include <ATen/core/enum_tag.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <cstring>
#include <dlfcn.h>
#include <nlohmann/json.hpp>
#include <torch/version.h>

struct pkb_aten_plan : pkb_aten::Plan {};
struct pkb_aten_frame : pkb_aten::Frame {
  using Frame::Frame;
};

namespace {

void setError(char *error, size_t bytes, const std::string &text) {
  std::string line = text.substr(0, text.find('\n'));
  if (error && bytes) {
    size_t n = std::min(line.size(), bytes - 1);
    std::memcpy(error, line.data(), n);
    error[n] = 0;
  }
}

template <typename Body>
int guarded(char *error, size_t bytes, const std::string &what, Body &&body) {
  try {
    return body();
  } catch (const c10::Error &e) {
    setError(error, bytes, what + e.what_without_backtrace());
  } catch (const std::exception &e) {
    setError(error, bytes, what + e.what());
  } catch (...) {
    setError(error, bytes, what + "unknown failure");
  }
  return PKB_ATEN_FAILED;
}

std::string nameOf(pkb_aten_frame *frame, int32_t step) {
  bool known = step >= 0 && size_t(step) < frame->plan.steps.size();
  return "operator '" + (known ? frame->plan.steps[size_t(step)].name : std::to_string(step)) + "' ";
}

const char *torchVersion() { return TORCH_VERSION; }

int planCreate(const pkb_aten_slot *slots, int32_t count, int32_t cuda, int32_t device, pkb_aten_plan **out,
               char *error, size_t bytes) {
  return guarded(error, bytes, "", [&] {
    auto plan = std::make_unique<pkb_aten_plan>();
    if (cuda) {
      // A process without Python has only the CPU half of libtorch loaded.
      if (!at::hasCUDA() && !dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL)) {
        throw std::runtime_error(std::string("libtorch has no CUDA: ") + dlerror());
      }
      if (!at::hasCUDA()) {
        throw std::runtime_error("libtorch has no CUDA; install a CUDA build of torch");
      }
      at::globalContext().lazyInitDevice(c10::kCUDA);
      plan->device = c10::Device(c10::kCUDA, c10::DeviceIndex(device));
    }
    for (int32_t i = 0; i < count; ++i) {
      const pkb_aten_slot &given = slots[i];
      pkb_aten::Slot slot;
      slot.dtype = pkb_aten::scalarTypeOf(given.dtype);
      slot.sizes.assign(given.sizes, given.sizes + given.ndim);
      slot.strides.assign(given.strides, given.strides + given.ndim);
      slot.memory = given.memory;
      slot.root = given.root;
      slot.offset = given.offset;
      slot.host = given.host != 0;
      int64_t last = 0;
      bool empty = false;
      for (int32_t d = 0; d < given.ndim; ++d) {
        empty |= given.sizes[d] == 0;
        last += (given.sizes[d] - 1) * given.strides[d];
      }
      slot.extentBytes = empty ? 0 : size_t(last + 1) * c10::elementSize(slot.dtype);
      plan->slots.push_back(std::move(slot));
    }
    *out = plan.release();
    return PKB_ATEN_DONE;
  });
}

int planAdd(pkb_aten_plan *plan, const char *json, char *error, size_t bytes) {
  return guarded(error, bytes, "", [&] {
    pkb_aten::prepareStep(*plan, nlohmann::json::parse(json));
    return PKB_ATEN_DONE;
  });
}

void planDestroy(pkb_aten_plan *plan) { delete plan; }

int frameCreate(pkb_aten_plan *plan, pkb_aten_frame **out, char *error, size_t bytes) {
  return guarded(error, bytes, "", [&] {
    *out = new pkb_aten_frame(*plan);
    return PKB_ATEN_DONE;
  });
}

void frameBind(pkb_aten_frame *frame, int32_t slot, void *data) { frame->bind(slot, data); }

void *frameData(pkb_aten_frame *frame, int32_t slot) {
  const at::Tensor &tensor = frame->tensors[size_t(slot)];
  return tensor.defined() && tensor.numel() > 0 ? tensor.data_ptr() : nullptr;
}

int run(pkb_aten_frame *frame, int32_t step, void *stream, char *error, size_t bytes) {
  return guarded(error, bytes, nameOf(frame, step), [&] { return frame->run(step, stream); });
}

int execute(pkb_aten_frame *frame, int32_t step, char *error, size_t bytes) {
  return guarded(error, bytes, nameOf(frame, step), [&] {
    frame->execute(step);
    return PKB_ATEN_DONE;
  });
}

int stepIsRandom(pkb_aten_plan *plan, int32_t step) {
  const auto &op = plan->steps[size_t(step)].op;
  return op && op->hasTag(at::Tag::nondeterministic_seeded);
}

int captureBegin(pkb_aten_plan *plan, void *stream, pkb_aten_capture **out, char *error, size_t bytes) {
  return guarded(error, bytes, "", [&] {
    *out = reinterpret_cast<pkb_aten_capture *>(pkb_aten::beginCapture(*plan, stream));
    return PKB_ATEN_DONE;
  });
}

int captureEnd(pkb_aten_plan *plan, pkb_aten_capture *capture, void *stream, void **exec, char *error, size_t bytes) {
  return guarded(error, bytes, "", [&] {
    *exec = pkb_aten::endCapture(*plan, *reinterpret_cast<pkb_aten::Capture *>(capture), stream);
    return PKB_ATEN_DONE;
  });
}

void captureDestroy(pkb_aten_capture *capture) {
  pkb_aten::destroyCapture(reinterpret_cast<pkb_aten::Capture *>(capture));
}

void frameReset(pkb_aten_frame *frame) { frame->reset(); }
void frameDestroy(pkb_aten_frame *frame) { delete frame; }

} // namespace

extern "C" const pkb_aten_api *pkb_aten_table(void) {
  static const pkb_aten_api table = {PKB_ATEN_ABI_VERSION, torchVersion, planCreate, planAdd, planDestroy,
                                     frameCreate,          frameBind,    frameData,  run,     execute,
                                     frameReset,           frameDestroy, stepIsRandom, captureBegin,
                                     captureEnd,           captureDestroy};
  return &table;
}
