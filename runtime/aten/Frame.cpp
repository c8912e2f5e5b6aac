// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running prepared operator calls on the tensors of a frame.
#include "Plan.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace pkb_aten {
namespace {

std::string shapeText(at::ScalarType dtype, at::IntArrayRef sizes) {
  std::string text = std::string(c10::toString(dtype)) + " [";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(sizes[i]);
  }
  return text + "]";
}

/// Same memory, same element type, same sizes and strides (of dimensions that have more than one element).
bool samePlace(const at::Tensor &a, const at::Tensor &b) {
  if (a.is_same(b)) {
    return true;
  }
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.device() != b.device() ||
      a.data_ptr() != b.data_ptr()) {
    return false;
  }
  for (int64_t i = 0; i < a.dim(); ++i) {
    if (a.size(i) > 1 && a.stride(i) != b.stride(i)) {
      return false;
    }
  }
  return true;
}

bool sameStrides(const at::Tensor &value, const Slot &slot) {
  for (int64_t i = 0; i < value.dim(); ++i) {
    if (value.size(i) > 1 && value.stride(i) != slot.strides[size_t(i)]) {
      return false;
    }
  }
  return true;
}

/// Operators run below autograd and autocast, as they were recorded.
struct Modes {
  at::AutoDispatchBelowADInplaceOrView below;
  c10::impl::ExcludeDispatchKeyGuard noAutocast{c10::autocast_dispatch_keyset};
};

at::Tensor makeBound(const Slot &slot, c10::Device device) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), slot.extentBytes, c10::DataPtr(nullptr, device), nullptr,
                       false);
  c10::DispatchKeySet keys(device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU);
  at::Tensor tensor =
      at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, c10::scalarTypeToTypeMeta(slot.dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(slot.sizes, slot.strides);
  return tensor;
}

} // namespace

Frame::Frame(Plan &plan) : plan(plan), tensors(plan.slots.size()) {
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    if (plan.slots[i].memory == PKB_ATEN_BOUND) {
      tensors[i] = makeBound(plan.slots[i], plan.device);
    }
  }
}

void Frame::bind(int32_t slot, void *data) {
  tensors[size_t(slot)].storage().set_data_ptr_noswap(c10::DataPtr(data, plan.device));
}

void Frame::reset() {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (plan.slots[i].memory != PKB_ATEN_BOUND) {
      tensors[i].reset();
    }
  }
}

const at::Tensor &Frame::at(int32_t slot) {
  at::Tensor &tensor = tensors[size_t(slot)];
  const Slot &desc = plan.slots[size_t(slot)];
  if (!tensor.defined() && desc.memory == PKB_ATEN_VIEW && tensors[size_t(desc.root)].defined()) {
    const at::Tensor &root = tensors[size_t(desc.root)];
    int64_t offset = root.storage_offset() * int64_t(root.element_size()) + desc.offset;
    int64_t width = int64_t(c10::elementSize(desc.dtype));
    if (offset % width != 0) {
      throw std::runtime_error("slot " + std::to_string(slot) + " does not start at an element of its memory");
    }
    c10::Storage storage = root.storage();
    c10::DispatchKeySet keys(plan.deviceOf(desc).is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU);
    tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, c10::scalarTypeToTypeMeta(desc.dtype));
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(desc.sizes, desc.strides, offset / width);
  }
  if (!tensor.defined()) {
    throw std::runtime_error("reads slot " + std::to_string(slot) + " before an operator has made it");
  }
  return tensor;
}

/// The number in a tensor of the host, as an argument takes it.
static c10::IValue numberOf(TensorArgument::Kind kind, const at::Tensor &tensor) {
  c10::Scalar number = tensor.item();
  switch (kind) {
  case TensorArgument::Int:
    return number.toLong();
  case TensorArgument::Float:
    return number.toDouble();
  case TensorArgument::Bool:
    return number.toBool();
  default:
    return number;
  }
}

torch::jit::Stack Frame::fill(const Step &step) {
  torch::jit::Stack stack = step.stack;
  for (const TensorArgument &argument : step.tensors) {
    if (argument.kind == TensorArgument::One) {
      if (argument.slots[0] >= 0) {
        stack[argument.position] = at(argument.slots[0]);
      }
    } else if (argument.kind == TensorArgument::List) {
      c10::List<at::Tensor> list;
      for (int32_t slot : argument.slots) {
        list.push_back(at(slot));
      }
      stack[argument.position] = std::move(list);
    } else if (argument.kind == TensorArgument::OptionalList) {
      c10::List<std::optional<at::Tensor>> list;
      for (int32_t slot : argument.slots) {
        list.push_back(slot < 0 ? std::optional<at::Tensor>() : std::optional<at::Tensor>(at(slot)));
      }
      stack[argument.position] = std::move(list);
    } else {
      stack[argument.position] = numberOf(argument.kind, at(argument.slots[0]));
    }
  }
  return stack;
}

/// Puts a returned tensor where the program expects it.
void Frame::land(const Step &step, const Result &result, int32_t slot, const at::Tensor &value) {
  const Slot &desc = plan.slots[size_t(slot)];
  if (!value.defined()) {
    throw std::runtime_error("returned no tensor for slot " + std::to_string(slot));
  }
  if (value.scalar_type() != desc.dtype || value.sizes() != at::IntArrayRef(desc.sizes)) {
    throw std::runtime_error("returned " + shapeText(value.scalar_type(), value.sizes()) + " for slot " +
                             std::to_string(slot) + ", which was recorded as " + shapeText(desc.dtype, desc.sizes));
  }
  at::Tensor &tensor = tensors[size_t(slot)];
  bool placed = tensor.defined() || desc.memory != PKB_ATEN_OWN;
  if (placed) {
    // Memory that is there already: an argument written in place is itself; anything else is copied into it.
    const at::Tensor &target = at(slot);
    if (!samePlace(target, value) && value.numel() > 0) {
      target.copy_(value);
    }
    return;
  }
  if (value.device() != plan.deviceOf(desc)) {
    throw std::runtime_error("returned a tensor on " + value.device().str() + ", expected " + plan.deviceOf(desc).str());
  }
  if (sameStrides(value, desc)) {
    tensor = value;
  } else {
    tensor = at::empty_strided(desc.sizes, desc.strides, value.options());
    tensor.copy_(value);
  }
}

void Frame::take(const Step &step, torch::jit::Stack &stack) {
  if (stack.size() != step.results.size()) {
    throw std::runtime_error("returned " + std::to_string(stack.size()) + " values, expected " +
                             std::to_string(step.results.size()));
  }
  for (size_t i = 0; i < step.results.size(); ++i) {
    const Result &result = step.results[i];
    if (result.slots.empty()) {
      continue;
    }
    if (!result.list) {
      if (result.slots[0] >= 0) {
        land(step, result, result.slots[0], stack[i].toTensor());
      }
      continue;
    }
    auto values = stack[i].toTensorVector();
    if (values.size() != result.slots.size()) {
      throw std::runtime_error("returned a list of " + std::to_string(values.size()) + " tensors, recorded were " +
                               std::to_string(result.slots.size()));
    }
    for (size_t k = 0; k < values.size(); ++k) {
      if (result.slots[k] >= 0) {
        land(step, result, result.slots[k], values[k]);
      }
    }
  }
}

void Frame::call(const Step &step) {
  if (step.copy) {
    const at::Tensor &to = at(step.to);
    if (to.numel() > 0) {
      to.copy_(at(step.from));
    }
    return;
  }
  if (step.hostRead) { // waits for the stream
    at::Tensor number = at::empty_strided({}, {}, at::TensorOptions().dtype(plan.slots[size_t(step.to)].dtype));
    number.copy_(at(step.from).reshape({}));
    tensors[size_t(step.to)] = number;
    return;
  }
  torch::jit::Stack stack = fill(step);
  if (step.outOp) {
    torch::jit::Stack outStack;
    for (int32_t from : step.outFrom) {
      outStack.push_back(from >= 0 ? stack[size_t(from)] : c10::IValue(at(step.results[size_t(-1 - from)].slots[0])));
    }
    step.outOp->callBoxed(&outStack);
    return;
  }
  step.op->callBoxed(&stack);
  take(step, stack);
}

/// CPU: gives the results their memory now, since kernels enqueued next need its address.
void Frame::allocateResults(const Step &step) {
  for (const Result &result : step.results) {
    for (int32_t slot : result.slots) {
      if (slot >= 0 && !tensors[size_t(slot)].defined() && plan.slots[size_t(slot)].memory == PKB_ATEN_OWN) {
        const Slot &desc = plan.slots[size_t(slot)];
        tensors[size_t(slot)] =
            at::empty_strided(desc.sizes, desc.strides, at::TensorOptions().dtype(desc.dtype).device(plan.device));
      }
    }
  }
}

/// CPU: an operator that only makes views of its arguments touches no data, so it can run ahead of the stream. False if
/// it made a copy after all (say a reshape of strides that have no view).
bool Frame::tryView(const Step &step) {
  torch::jit::Stack stack = fill(step);
  std::vector<const c10::StorageImpl *> inputs;
  for (const c10::IValue &value : stack) {
    if (value.isTensor() && value.toTensor().defined()) {
      inputs.push_back(value.toTensor().storage().unsafeGetStorageImpl());
    } else if (value.isTensorList()) {
      for (const at::Tensor &tensor : value.toTensorVector()) {
        inputs.push_back(tensor.storage().unsafeGetStorageImpl());
      }
    }
  }
  step.op->callBoxed(&stack);
  auto isView = [&](const at::Tensor &value, int32_t slot) {
    bool shares = std::find(inputs.begin(), inputs.end(), value.storage().unsafeGetStorageImpl()) != inputs.end();
    const Slot &desc = plan.slots[size_t(slot)];
    bool given = tensors[size_t(slot)].defined() || desc.memory != PKB_ATEN_OWN;
    return shares && (given ? value.sizes() == at::IntArrayRef(desc.sizes) && samePlace(at(slot), value)
                            : sameStrides(value, desc));
  };
  for (size_t i = 0; i < step.results.size(); ++i) {
    const Result &result = step.results[i];
    if (result.slots.empty()) {
      continue;
    }
    std::vector<at::Tensor> values =
        result.list ? stack[i].toTensorVector() : std::vector<at::Tensor>{stack[i].toTensor()};
    if (values.size() != result.slots.size()) {
      return false;
    }
    for (size_t k = 0; k < values.size(); ++k) {
      if (result.slots[k] >= 0 && !isView(values[k], result.slots[k])) {
        return false;
      }
    }
  }
  take(step, stack);
  return true;
}

int Frame::run(int32_t number, void *stream) {
  const Step &step = plan.steps[size_t(number)];
  Modes modes;
  if (plan.device.is_cuda()) {
    // An external stream's id is its address (its lowest bit is 0); the legacy default stream is 0.
    c10::Stream cuda(c10::Stream::UNSAFE, plan.device, c10::StreamId(reinterpret_cast<intptr_t>(stream)));
    c10::StreamGuard guard(cuda);
    call(step);
    return PKB_ATEN_DONE;
  }
  if (step.viewing && !step.takesNumbers && tryView(step)) { // numbers may not have been read yet
    return PKB_ATEN_DONE;
  }
  allocateResults(step);
  return PKB_ATEN_PENDING;
}

void Frame::execute(int32_t number) {
  static thread_local bool single = false;
  if (!single) {
    at::set_num_threads(1); // a rank is one of many in this process, and sums must not depend on the machine
    single = true;
  }
  Modes modes;
  call(plan.steps[size_t(number)]);
}

} // namespace pkb_aten
