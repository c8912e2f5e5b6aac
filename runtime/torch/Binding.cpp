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
//
// Neither says that `inputs` change, or that results lie in them: who traces a program of which that is true is told to leave its call out of the graph.
#include "pkb_rt/pkb.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_strided.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <c10/core/Allocator.h>
#include <c10/core/InferenceMode.h>
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

struct InputInfo {
  pkb_tensor shape;
  bool written = false; // by a call
  bool shared = false;  // with an output
};

/// What the operators need of a loaded program.
struct Entry {
  pkb_program *program = nullptr;
  c10::Device device = c10::kCPU;
  int32_t ownOutputs = 0;
  bool writes = false; // any of its inputs
  std::vector<InputInfo> inputs;
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

/// Whether what lies in memory is not yet what the tensor means.
bool isLazy(const at::Tensor &tensor) { return tensor.is_conj() || tensor.is_neg(); }

/// Whether torch forbids to write the tensor here.
bool isFrozen(const at::Tensor &tensor) { return tensor.is_inference() && !c10::InferenceMode::is_enabled(); }

/// Fills `out`. Returns why the tensor does not fit, or "".
std::string describe(const at::Tensor &tensor, const Entry &entry, const char *what, size_t index, pkb_tensor &out) {
  if (C10_UNLIKELY(!tensor.defined() || tensor.layout() != at::kStrided)) {
    return c10::str(what, " ", index, " must be a dense tensor");
  }
  if (C10_UNLIKELY(tensor.device() != entry.device)) {
    return c10::str(what, " ", index, " must be on ", entry.device, ", where the program was loaded, got: ", tensor.device());
  }
  if (C10_UNLIKELY(isLazy(tensor))) {
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

/// `make()`; the other ranks are told if it throws, since this one makes no call then.
template <typename Make> auto orRefuse(const Entry &entry, const Make &make) -> decltype(make()) {
  try {
    return make();
  } catch (const c10::Error &error) {
    refuse(entry, error.what_without_backtrace());
  } catch (const std::exception &error) {
    refuse(entry, error.what());
  }
}

/// That the memory of a tensor was written.
void noteWritten(const at::Tensor &tensor) {
  if (!tensor.is_inference()) {
    tensor.unsafeGetTensorImpl()->bump_version();
  }
}

void launch(const Entry &entry, at::TensorList inputs, Tensors &outputs) {
  c10::SmallVector<pkb_tensor, 6> in;
  in.resize_for_overwrite(inputs.size());
  std::vector<at::Tensor> resolved; // until the call is enqueued
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputInfo *info = i < entry.inputs.size() ? &entry.inputs[i] : nullptr;
    const at::Tensor *tensor = &inputs[i];
    if (C10_UNLIKELY(tensor->defined() && isLazy(*tensor)) && info && !info->written && !info->shared) {
      resolved.push_back(orRefuse(entry, [&] { return tensor->resolve_conj().resolve_neg(); }));
      tensor = &resolved.back();
    }
    if (std::string reason = describe(*tensor, entry, "input", i, in[i]); C10_UNLIKELY(!reason.empty())) {
      refuse(entry, reason);
    }
    if (C10_UNLIKELY(info && info->written && isFrozen(*tensor))) {
      refuse(entry, c10::str("input ", i, " is written, and is an inference tensor outside of InferenceMode"));
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
  for (size_t i = 0; entry.writes && i < inputs.size(); ++i) {
    if (entry.inputs[i].written) {
      noteWritten(inputs[i]);
    }
  }
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
at::Tensor aliasTensor(const OutputInfo &info, const at::Tensor &base, const void *data) {
  at::IntArrayRef sizes(info.shape.sizes, size_t(info.shape.ndim)),
      strides(info.shape.strides, size_t(info.shape.ndim));
  int64_t bytes = base.numel() ? static_cast<const char *>(data) - static_cast<const char *>(base.const_data_ptr()) : 0;
  at::Tensor typed = base.scalar_type() == info.dtype ? base : base.view(info.dtype);
  if (bytes == 0 && typed.sizes() == sizes && typed.strides() == strides) {
    return typed;
  }
  return at::as_strided(typed, sizes, strides, typed.storage_offset() + bytes / int64_t(typed.element_size()));
}

/// Runs the program on fresh outputs.
std::vector<at::Tensor> run(const Entry &entry, at::TensorList inputs) {
  size_t count = entry.outputs.size();
  std::vector<at::Tensor> result(count);
  Tensors outputs;
  outputs.resize_for_overwrite(count);
  for (size_t i = 0; i < count; ++i) {
    const OutputInfo &info = entry.outputs[i];
    if (info.aliasOf < 0) {
      result[i] = orRefuse(entry, [&] { return allocate(info, entry.device); });
      TORCH_INTERNAL_ASSERT(describe(result[i], entry, "output", i, outputs[i]).empty());
    }
  }
  launch(entry, inputs, outputs);
  if (size_t(entry.ownOutputs) == count) {
    return result;
  }
  try {
    for (size_t i = 0; i < count; ++i) {
      const OutputInfo &info = entry.outputs[i];
      if (info.aliasOf >= 0) {
        size_t of = size_t(info.aliasOf), arguments = entry.inputs.size();
        result[i] = aliasTensor(info, of < arguments ? inputs[of] : result[of - arguments], outputs[i].data);
      }
    }
  } catch (const c10::Error &error) { // nobody may take this for a call that was not made
    TORCH_CHECK(false, "pkb: the call was made, but a result that shares memory cannot be given: ", error.what_without_backtrace());
  }
  return result;
}

// Programs have no derivative: an input that would need one is refused instead of being cut off silently, and the caller may differentiate the original
// function in its place.

bool needsGradient(const at::Tensor &tensor) {
  return tensor.defined() && ((tensor.requires_grad() && at::GradMode::is_enabled()) || tensor._fw_grad(/*level=*/0).defined());
}

/// What begins an error of a call that was traced: nobody made it, so nobody needs to refuse it.
constexpr const char *kTraced = "pkb traced: ";

/// `traced`: no call is made, the shapes alone are asked for.
void refuseGradients(int64_t program, at::TensorList tensors, const char *what, bool traced) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (C10_UNLIKELY(needsGradient(tensors[i]))) {
      std::string reason = c10::str(what, " ", i, " of program ", program,
                                    " requires grad, but the program has no backward; call it under torch.no_grad(), or detach the tensor");
      TORCH_CHECK(!traced, kTraced, reason);
      refuse(entryOf(program), reason);
    }
  }
}

/// Whether a call goes straight to memory: nothing below autograd, such as a fake tensor or functionalization, wants to see it. What is lazy is
/// carried out here.
bool plain(c10::DispatchKeySet below) {
  c10::DispatchKey key = below.remove(c10::DispatchKey::Conjugate).remove(c10::DispatchKey::Negative).highestPriorityTypeId();
  return key == c10::DispatchKey::CPU || key == c10::DispatchKey::CUDA || key == c10::DispatchKey::Undefined;
}

/// Whether somebody below autograd records the call instead of making it.
bool isTraced(c10::DispatchKeySet below) {
  return below.has_any(c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::Functionalize})) || below.has_backend(c10::BackendComponent::MetaBit);
}

std::vector<at::Tensor> call(int64_t program, at::TensorList inputs) { return run(entryOf(program), inputs); }

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
      const at::Tensor &output = outputs[ownOnly ? next : i];
      if (std::string reason = describe(output, entry, "output", i, out[i]); !reason.empty()) {
        refuse(entry, reason);
      }
      if (isFrozen(output)) {
        refuse(entry, c10::str("output ", i, " is an inference tensor outside of InferenceMode"));
      }
      ++next;
    }
  }
  launch(entry, inputs, out);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (ownOnly || entry.outputs[i].aliasOf < 0) {
      noteWritten(outputs[i]);
    }
  }
}

// Without data: shapes only.

/// A tracer sees a call that fits, and whose effect is all in its results.
const Entry &entryToTrace(int64_t program, at::TensorList inputs) {
  const Entry &entry = entryOf(program);
  bool shares = std::any_of(entry.outputs.begin(), entry.outputs.end(), [](const OutputInfo &info) { return info.aliasOf >= 0; });
  TORCH_CHECK(!entry.writes && !shares, kTraced, "program ", program, entry.writes ? " writes its arguments" : " returns memory that it shares",
              ", which is no operator of a graph; call what pkb.load returns, which breaks the graph, or export the function so that it returns new tensors");
  TORCH_CHECK(inputs.size() == entry.inputs.size(), kTraced, "program ", program, " takes ", entry.inputs.size(), " inputs, got: ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const pkb_tensor &shape = entry.inputs[i].shape;
    TORCH_CHECK(dtypeOf(inputs[i].scalar_type()) == shape.dtype, kTraced, "input ", i, " must have dtype ", kTypes[shape.dtype], ", got: ",
                inputs[i].scalar_type());
    c10::SymIntArrayRef sizes = inputs[i].sym_sizes();
    bool same = int32_t(sizes.size()) == shape.ndim;
    for (int32_t d = 0; same && d < shape.ndim; ++d) {
      same = sizes[size_t(d)].guard_int(__FILE__, __LINE__) == shape.sizes[d];
    }
    TORCH_CHECK(same, kTraced, "input ", i, " must have sizes ", at::IntArrayRef(shape.sizes, size_t(shape.ndim)), ", got: ", sizes);
  }
  return entry;
}

std::vector<at::Tensor> callMeta(int64_t program, at::TensorList inputs) {
  std::vector<at::Tensor> result;
  for (const OutputInfo &info : entryToTrace(program, inputs).outputs) {
    result.push_back(allocate(info, c10::Device(c10::kMeta)));
  }
  return result;
}
void callOutMeta(int64_t program, at::TensorList inputs, at::TensorList) { entryToTrace(program, inputs); }

// The hot one: a second dispatch would cost about a microsecond.
std::vector<at::Tensor> callAutograd(c10::DispatchKeySet keys, int64_t program, at::TensorList inputs) {
  c10::DispatchKeySet below = keys & c10::after_autograd_keyset;
  refuseGradients(program, inputs, "input", isTraced(below));
  if (C10_LIKELY(plain(below))) {
    return run(entryOf(program), inputs);
  }
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("pkb::call", "")
                             .typed<std::vector<at::Tensor>(int64_t, at::TensorList)>();
  return op.redispatch(below, program, inputs);
}

void callOutAutograd(c10::DispatchKeySet keys, int64_t program, at::TensorList inputs, at::TensorList outputs) {
  c10::DispatchKeySet below = keys & c10::after_autograd_keyset;
  refuseGradients(program, inputs, "input", isTraced(below));
  refuseGradients(program, outputs, "output", isTraced(below));
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("pkb::call_out", "")
                             .typed<void(int64_t, at::TensorList, at::TensorList)>();
  op.redispatch(below, program, inputs, outputs);
}

} // namespace

TORCH_LIBRARY(pkb, library) {
  library.def("call(int program, Tensor[] inputs) -> Tensor[]");
  library.def("call_out(int program, Tensor[] inputs, Tensor(a!)[] outputs) -> ()");
}

TORCH_LIBRARY_IMPL(pkb, CompositeExplicitAutograd, library) {
  library.impl("call", call);
  library.impl("call_out", callOut);
}

TORCH_LIBRARY_IMPL(pkb, Meta, library) {
  library.impl("call", callMeta);
  library.impl("call_out", callOutMeta);
}

TORCH_LIBRARY_IMPL(pkb, Autograd, library) {
  library.impl("call", callAutograd);
  library.impl("call_out", callOutAutograd);
}

// What is lazy comes to the kernels as it is: torch would carry it out on a copy, also for what a program writes.
TORCH_LIBRARY_IMPL(pkb, Conjugate, library) {
  library.impl("call", torch::CppFunction::makeFallthrough());
  library.impl("call_out", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(pkb, Negative, library) {
  library.impl("call", torch::CppFunction::makeFallthrough());
  library.impl("call_out", torch::CppFunction::makeFallthrough());
}

extern "C" {

/// Gives a loaded program a number for torch.ops.pkb. `cuda_device`: where its tensors live, -1 for the CPU (emulated
/// ranks). 0 if there are too many programs.
PKB_API int64_t pkb_torch_register(pkb_program *program, int32_t cuda_device) {
  auto entry = std::make_unique<Entry>();
  entry->program = program;
  entry->device = cuda_device < 0 ? c10::Device(c10::kCPU) : c10::Device(c10::kCUDA, c10::DeviceIndex(cuda_device));
  entry->inputs.resize(size_t(pkb_program_input_count(program)));
  for (size_t i = 0; i < entry->inputs.size(); ++i) {
    pkb_program_input(program, int32_t(i), &entry->inputs[i].shape);
    entry->inputs[i].written = pkb_program_input_written(program, int32_t(i));
    entry->writes |= entry->inputs[i].written;
  }
  entry->outputs.resize(size_t(pkb_program_output_count(program)));
  for (size_t i = 0; i < entry->outputs.size(); ++i) {
    OutputInfo &info = entry->outputs[i];
    pkb_program_output(program, int32_t(i), &info.shape, &info.aliasOf);
    info.dtype = kTypes[info.shape.dtype];
    entry->ownOutputs += info.aliasOf < 0;
    if (info.aliasOf >= 0 && size_t(info.aliasOf) < entry->inputs.size()) {
      entry->inputs[size_t(info.aliasOf)].shared = true;
    }
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
