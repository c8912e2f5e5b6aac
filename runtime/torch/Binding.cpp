// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch.ops.pkb: calls of loaded programs as operators of PyTorch. The hot path is one lookup, the tensors' metadata
// into plain structs, outputs from torch's allocator, and pkb_program_call.
//
//   pkb::call(int program, Tensor[] inputs) -> Tensor[]
//     All outputs in program order, on the current stream. An output that is (a view of) an argument is that memory.
//   pkb::call_out(int program, Tensor[] inputs, Tensor(a!)[] outputs) -> ()
//     Writes into `outputs`: one per output with memory of its own, or one per output, of which those that are
//     arguments count as placeholders.
//   pkb::call_mutating(int program, Tensor(a!)[] inputs) -> Tensor[]
//     For programs that write their arguments, as torch.compile must know it: only outputs with memory of their own.
#include "pkb_rt/pkb.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_strided.h>
#include <array>
#include <atomic>
#include <c10/core/Allocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/SmallVector.h>
#include <memory>
#include <mutex>
#include <torch/library.h>

namespace {

struct OutputInfo {
  pkb_tensor shape;
  int32_t aliasOf = -1; // argument, arguments + output, or -1
  at::ScalarType dtype = at::kFloat;
};

/// What the operators need of a loaded program.
struct Entry {
  pkb_program *program = nullptr;
  c10::Device device = c10::kCPU;
  int32_t inputs = 0;
  int32_t ownOutputs = 0;
  std::vector<OutputInfo> outputs;
};

constexpr size_t kMaxPrograms = 65536;

/// Programs by number. A lookup takes no lock; entries stay until their program is unregistered.
struct Registry {
  std::array<std::atomic<Entry *>, kMaxPrograms> entries{};
  std::mutex mutex;
  size_t next = 1;
};

Registry &registry() {
  static Registry *const programs =
      new Registry; // operators are process-wide in torch, so their table is too; never destroyed
  return *programs;
}

const Entry &entryOf(int64_t number) {
  Entry *entry = number > 0 && number < int64_t(kMaxPrograms)
                     ? registry().entries[size_t(number)].load(std::memory_order_acquire)
                     : nullptr;
  TORCH_CHECK(entry, "pkb: there is no program ", number, "; it was never loaded, or is unloaded");
  return *entry;
}

constexpr at::ScalarType kTypes[PKB_DTYPE_COUNT] = {at::kDouble,
                                                    at::kFloat,
                                                    at::kHalf,
                                                    at::kBFloat16,
                                                    at::kChar,
                                                    at::kShort,
                                                    at::kInt,
                                                    at::kLong,
                                                    at::kByte,
                                                    at::kBool,
                                                    at::ScalarType::Float8_e4m3fn,
                                                    at::ScalarType::Float8_e5m2,
                                                    at::ScalarType::ComplexFloat,
                                                    at::ScalarType::ComplexDouble};

int32_t dtypeOf(at::ScalarType type) {
  for (int32_t i = 0; i < PKB_DTYPE_COUNT; ++i) {
    if (kTypes[i] == type) {
      return i;
    }
  }
  return PKB_DTYPE_COUNT;
}

/// Fills `out`. Returns why the tensor does not fit, or "".
std::string describe(const at::Tensor &tensor, const Entry &entry, const char *what, size_t index, pkb_tensor &out) {
  if (C10_UNLIKELY(!tensor.defined() || tensor.layout() != at::kStrided)) {
    return c10::str(what, " ", index, " must be a dense tensor");
  }
  if (C10_UNLIKELY(tensor.device() != entry.device)) {
    return c10::str(what, " ", index, " must be on ", entry.device, ", where the program was loaded, got: ", tensor.device());
  }
  if (C10_UNLIKELY(tensor.is_conj() || tensor.is_neg())) {
    return c10::str(what, " ", index, " is lazily conjugated or negated; call resolve_conj() or resolve_neg() first");
  }
  auto sizes = tensor.sizes(), strides = tensor.strides();
  if (C10_UNLIKELY(sizes.size() > PKB_MAX_DIMS)) {
    return c10::str(what, " ", index, " has ", sizes.size(), " dimensions, at most ", PKB_MAX_DIMS, " are supported");
  }
  out.data = tensor.unsafeGetTensorImpl()->mutable_data();
  out.dtype = dtypeOf(tensor.scalar_type());
  out.ndim = int32_t(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    out.sizes[i] = sizes[i];
    out.strides[i] = strides[i];
  }
  return "";
}

/// Throws for a call that did not succeed. What starts with "pkb guard: " was refused by all ranks, and nothing was launched.
void checkStatus(pkb_status status) {
  if (C10_UNLIKELY(status != PKB_OK)) {
    TORCH_CHECK(status != PKB_ERROR_GUARD, "pkb guard: ", pkb_last_error());
    TORCH_CHECK(false, "pkb: ", pkb_last_error());
  }
}

/// The run time has not seen this call, so it is told that this rank does not make it: the others must not wait.
[[noreturn]] void refuse(const Entry &entry, const std::string &reason) {
  checkStatus(pkb_program_refuse(entry.program, reason.c_str()));
  TORCH_CHECK(false, "pkb: ", reason);
}

/// The stream that the caller's operators go to; nullptr on the CPU, where ranks are emulated.
void *currentStream(c10::Device device) {
  if (!device.is_cuda()) {
    return nullptr;
  }
  c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  return guard.getStreamNativeHandle(guard.getStream(device));
}

using Tensors = c10::SmallVector<pkb_tensor, 6>;

void launch(const Entry &entry, at::TensorList inputs, Tensors &outputs) {
  c10::SmallVector<pkb_tensor, 6> in;
  in.resize_for_overwrite(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (std::string reason = describe(inputs[i], entry, "input", i, in[i]); C10_UNLIKELY(!reason.empty())) {
      refuse(entry, reason);
    }
  }
  pkb_status status = pkb_program_call(entry.program, currentStream(entry.device), in.data(), int32_t(in.size()),
                                       outputs.data(), int32_t(outputs.size()));
  if (C10_UNLIKELY(!entry.device.is_cuda()) && status == PKB_OK) {
    // An operator on CPU tensors has finished when it returns; nobody would keep the tensors alive for an emulated
    // stream.
    status = pkb_context_synchronize(pkb_program_context(entry.program), nullptr);
  }
  checkStatus(status);
}

/// A new tensor. On the GPU straight from torch's allocator: the way through the dispatcher costs 5 us of the host's
/// time.
at::Tensor allocate(const OutputInfo &info, c10::Device device) {
  at::IntArrayRef sizes(info.shape.sizes, size_t(info.shape.ndim)),
      strides(info.shape.strides, size_t(info.shape.ndim));
  if (device.is_cuda()) {
    const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
    if (guard.getDevice() == device) {
      return at::detail::empty_strided_generic(sizes, strides, c10::GetAllocator(c10::kCUDA),
                                               c10::DispatchKeySet(c10::DispatchKey::CUDA), info.dtype);
    }
  }
  return at::empty_strided(sizes, strides, at::TensorOptions().dtype(info.dtype).device(device));
}

/// The tensor of an output that shares the memory of `base`, from the address that the call filled in.
at::Tensor aliasTensor(const Entry &entry, const OutputInfo &info, const at::Tensor &base, const void *data) {
  at::IntArrayRef sizes(info.shape.sizes, size_t(info.shape.ndim)),
      strides(info.shape.strides, size_t(info.shape.ndim));
  int64_t bytes = base.numel() ? static_cast<const char *>(data) - static_cast<const char *>(base.const_data_ptr()) : 0;
  at::Tensor typed = base.scalar_type() == info.dtype ? base : base.view(info.dtype);
  if (bytes == 0 && typed.sizes() == sizes && typed.strides() == strides) {
    return typed;
  }
  return at::as_strided(typed, sizes, strides, typed.storage_offset() + bytes / int64_t(typed.element_size()));
}

/// Runs the program on fresh outputs. Returns those with memory of their own, or with `aliases` all.
std::vector<at::Tensor> run(const Entry &entry, at::TensorList inputs, bool aliases) {
  size_t count = entry.outputs.size();
  std::vector<at::Tensor> result(count);
  Tensors outputs;
  outputs.resize_for_overwrite(count);
  for (size_t i = 0; i < count; ++i) {
    const OutputInfo &info = entry.outputs[i];
    if (info.aliasOf < 0) {
      result[i] = allocate(info, entry.device);
      TORCH_INTERNAL_ASSERT(describe(result[i], entry, "output", i, outputs[i]).empty());
    }
  }
  launch(entry, inputs, outputs);
  if (size_t(entry.ownOutputs) == count) {
    return result;
  }
  if (!aliases) {
    std::vector<at::Tensor> own;
    for (size_t i = 0; i < count; ++i) {
      if (entry.outputs[i].aliasOf < 0) {
        own.push_back(std::move(result[i]));
      }
    }
    return own;
  }
  for (size_t i = 0; i < count; ++i) {
    const OutputInfo &info = entry.outputs[i];
    if (info.aliasOf >= 0) {
      const at::Tensor &base =
          info.aliasOf < entry.inputs ? inputs[size_t(info.aliasOf)] : result[size_t(info.aliasOf - entry.inputs)];
      result[i] = aliasTensor(entry, info, base, outputs[i].data);
    }
  }
  return result;
}

// Programs have no backward: an input that would need one is refused instead of being cut off silently, and the caller may differentiate the original
// function in its place.

bool needsGradient(const at::Tensor &tensor) { return tensor.defined() && tensor.requires_grad(); }

/// `traced`: no call is made, the shapes alone are asked for.
void refuseGradients(int64_t program, at::TensorList tensors, const char *what, bool traced) {
  if (C10_LIKELY(!at::GradMode::is_enabled())) {
    return;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (C10_UNLIKELY(needsGradient(tensors[i]))) {
      std::string reason = c10::str(what, " ", i, " of program ", program,
                                    " requires grad, but the program has no backward; call it under torch.no_grad(), or detach the tensor");
      TORCH_CHECK(!traced, "pkb: ", reason);
      refuse(entryOf(program), reason);
    }
  }
}

/// Whether a call goes straight to memory: nothing below autograd, such as a fake tensor or functionalization, wants to see it.
bool plain(c10::DispatchKeySet below) {
  c10::DispatchKey key = below.highestPriorityTypeId();
  return key == c10::DispatchKey::CPU || key == c10::DispatchKey::CUDA || key == c10::DispatchKey::Undefined;
}

std::vector<at::Tensor> call(int64_t program, at::TensorList inputs) { return run(entryOf(program), inputs, true); }
std::vector<at::Tensor> callMutating(int64_t program, at::TensorList inputs) {
  return run(entryOf(program), inputs, false);
}

void callOut(int64_t program, at::TensorList inputs, at::TensorList outputs) {
  const Entry &entry = entryOf(program);
  size_t count = entry.outputs.size();
  bool ownOnly = outputs.size() != count;
  if (ownOnly && outputs.size() != size_t(entry.ownOutputs)) {
    refuse(entry, c10::str("program ", program, " has ", count, " outputs, ", entry.ownOutputs,
                           " with memory of their own, got: ", outputs.size()));
  }
  Tensors out;
  out.resize_for_overwrite(count);
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    if (entry.outputs[i].aliasOf < 0) {
      if (std::string reason = describe(outputs[ownOnly ? next : i], entry, "output", i, out[i]); !reason.empty()) {
        refuse(entry, reason);
      }
      ++next;
    }
  }
  launch(entry, inputs, out);
}

// Without data: shapes only.

std::vector<at::Tensor> shapes(int64_t program, bool aliases) {
  const Entry &entry = entryOf(program);
  std::vector<at::Tensor> result;
  for (const OutputInfo &info : entry.outputs) {
    if (aliases || info.aliasOf < 0) {
      result.push_back(allocate(info, c10::Device(c10::kMeta)));
    }
  }
  return result;
}

std::vector<at::Tensor> callMeta(int64_t program, at::TensorList) { return shapes(program, true); }
std::vector<at::Tensor> callMutatingMeta(int64_t program, at::TensorList) { return shapes(program, false); }
void callOutMeta(int64_t program, at::TensorList, at::TensorList) { entryOf(program); }

// The hot one: a second dispatch would cost about a microsecond.
std::vector<at::Tensor> callAutograd(c10::DispatchKeySet keys, int64_t program, at::TensorList inputs) {
  c10::DispatchKeySet below = keys & c10::after_autograd_keyset;
  bool direct = plain(below);
  refuseGradients(program, inputs, "input", !direct);
  if (C10_LIKELY(direct)) {
    return run(entryOf(program), inputs, true);
  }
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("pkb::call", "")
                             .typed<std::vector<at::Tensor>(int64_t, at::TensorList)>();
  return op.redispatch(below, program, inputs);
}

std::vector<at::Tensor> callMutatingAutograd(c10::DispatchKeySet keys, int64_t program, at::TensorList inputs) {
  refuseGradients(program, inputs, "input", !plain(keys & c10::after_autograd_keyset));
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("pkb::call_mutating", "")
                             .typed<std::vector<at::Tensor>(int64_t, at::TensorList)>();
  auto result = op.redispatch(keys & c10::after_autograd_keyset, program, inputs);
  for (const at::Tensor &input : inputs) {
    input.unsafeGetTensorImpl()->bump_version();
  }
  return result;
}

void callOutAutograd(c10::DispatchKeySet keys, int64_t program, at::TensorList inputs, at::TensorList outputs) {
  bool traced = !plain(keys & c10::after_autograd_keyset);
  refuseGradients(program, inputs, "input", traced);
  refuseGradients(program, outputs, "output", traced);
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("pkb::call_out", "")
                             .typed<void(int64_t, at::TensorList, at::TensorList)>();
  op.redispatch(keys & c10::after_autograd_keyset, program, inputs, outputs);
  for (const at::Tensor &output : outputs) {
    if (output.defined()) {
      output.unsafeGetTensorImpl()->bump_version();
    }
  }
}

} // namespace

TORCH_LIBRARY(pkb, library) {
  library.def("call(int program, Tensor[] inputs) -> Tensor[]");
  library.def("call_out(int program, Tensor[] inputs, Tensor(a!)[] outputs) -> ()");
  library.def("call_mutating(int program, Tensor(a!)[] inputs) -> Tensor[]");
}

TORCH_LIBRARY_IMPL(pkb, CompositeExplicitAutograd, library) {
  library.impl("call", call);
  library.impl("call_out", callOut);
  library.impl("call_mutating", callMutating);
}

TORCH_LIBRARY_IMPL(pkb, Meta, library) {
  library.impl("call", callMeta);
  library.impl("call_out", callOutMeta);
  library.impl("call_mutating", callMutatingMeta);
}

TORCH_LIBRARY_IMPL(pkb, Autograd, library) {
  library.impl("call", callAutograd);
  library.impl("call_out", callOutAutograd);
  library.impl("call_mutating", callMutatingAutograd);
}

extern "C" {

/// Gives a loaded program a number for torch.ops.pkb. `cuda_device`: where its tensors live, -1 for the CPU (emulated
/// ranks). 0 if there are too many programs.
PKB_API int64_t pkb_torch_register(pkb_program *program, int32_t cuda_device) {
  auto entry = std::make_unique<Entry>();
  entry->program = program;
  entry->device = cuda_device < 0 ? c10::Device(c10::kCPU) : c10::Device(c10::kCUDA, c10::DeviceIndex(cuda_device));
  entry->inputs = pkb_program_input_count(program);
  entry->outputs.resize(size_t(pkb_program_output_count(program)));
  for (size_t i = 0; i < entry->outputs.size(); ++i) {
    OutputInfo &info = entry->outputs[i];
    pkb_program_output(program, int32_t(i), &info.shape, &info.aliasOf);
    info.dtype = kTypes[info.shape.dtype];
    entry->ownOutputs += info.aliasOf < 0;
  }
  Registry &programs = registry();
  std::lock_guard<std::mutex> lock(programs.mutex);
  if (programs.next >= kMaxPrograms) {
    return 0;
  }
  programs.entries[programs.next].store(entry.release(), std::memory_order_release);
  return int64_t(programs.next++);
}

/// Forgets a program; to be called before it is unloaded, when no call of it is under way.
PKB_API void pkb_torch_unregister(int64_t number) {
  if (number > 0 && number < int64_t(kMaxPrograms)) {
    delete registry().entries[size_t(number)].exchange(nullptr);
  }
}

} // extern "C"
