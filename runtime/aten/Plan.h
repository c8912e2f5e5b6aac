// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Behind pkb_rt/aten.h: slots and prepared operator calls of a program, and the tensors of one call in flight.
#ifndef PKB_RUNTIME_ATEN_PLAN_H
#define PKB_RUNTIME_ATEN_PLAN_H

#include "pkb_rt/aten.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace pkb_aten {

struct Slot {
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> sizes, strides;
  int32_t memory = PKB_ATEN_BOUND;
  int32_t root = -1;
  int64_t offset = 0;     // bytes
  bool host = false;      // made in memory of the host
  size_t extentBytes = 0; // from the first element to the end of the last
};

/// A tensor argument: where in the stack it goes, and which slots it names (-1: None). Int, Float, Bool, Number: the number that the slot holds.
struct TensorArgument {
  enum Kind { One, List, OptionalList, Int, Float, Bool, Number } kind = One;
  size_t position = 0;
  std::vector<int32_t> slots;
};

/// What becomes of one returned value: its slots; a single one, or those of a list.
struct Result {
  std::vector<int32_t> slots; // -1: dropped
  bool list = false;
  bool written = false; // the schema says that it is an argument, written in place
  bool view = false;    // the schema says that it may share an argument's memory
};

struct Step {
  bool copy = false;     // slots from -> to
  bool hostRead = false; // the same, into memory of the host that the step makes
  bool takesNumbers = false;
  int32_t from = -1, to = -1;
  std::string name; // "aten::mm", for messages
  std::optional<c10::OperatorHandle> op;
  /// All arguments with their constants; tensors are filled in per call.
  torch::jit::Stack stack;
  std::vector<TensorArgument> tensors;
  std::vector<Result> results;
  bool viewing = false; // any result is a view
  /// The overload that writes into given tensors, where every result has memory before the call and such an overload
  /// exists.
  std::optional<c10::OperatorHandle> outOp;
  std::vector<int32_t> outFrom; // per argument of outOp: position in `stack`, or -1 - i for result i
};

struct Plan {
  c10::Device device = c10::kCPU;
  std::vector<Slot> slots;
  c10::Device deviceOf(const Slot &slot) const { return slot.host ? c10::Device(c10::kCPU) : device; }
  std::vector<Step> steps;
};

struct Frame {
  explicit Frame(Plan &plan);

  Plan &plan;
  std::vector<at::Tensor> tensors; // per slot; undefined until bound or made

  void bind(int32_t slot, void *data);
  void reset();
  /// The slot's tensor, made as a view of its root if it is one. Throws if an operator has not made it yet.
  const at::Tensor &at(int32_t slot);

  /// Runs a step at once, or on the CPU prepares what `execute` finishes. PKB_ATEN_DONE or PKB_ATEN_PENDING.
  int run(int32_t step, void *stream);
  void execute(int32_t step);

private:
  torch::jit::Stack fill(const Step &step);
  void call(const Step &step);
  void allocateResults(const Step &step);
  void take(const Step &step, torch::jit::Stack &stack);
  void land(const Step &step, const Result &result, int32_t slot, const at::Tensor &value);
  bool tryView(const Step &step);
};

// Capture.cpp
/// A capture under way, and the graph that it becomes. Throw what torch throws.
struct Capture;
Capture *beginCapture(Plan &plan, void *stream);
/// The cudaGraphExec_t; it belongs to `capture`.
void *endCapture(Plan &plan, Capture &capture, void *stream);
void destroyCapture(Capture *capture);

// Prepare.cpp
/// Adds the step described by `json` (docs/Rationale/Bundle.md) to the plan. Throws std::runtime_error.
void prepareStep(Plan &plan, const nlohmann::json &json);

// Convert.cpp
/// The constant `json` as a value of the schema's `type` (`count`: fixed length of a list that may be given as one
/// element).
c10::IValue convertConstant(const nlohmann::json &json, const c10::TypePtr &type, std::optional<int32_t> count,
                            const Plan &plan);

/// The scalar type of a pkb_dtype or of torch's name for it. Throws std::runtime_error.
at::ScalarType scalarTypeOf(int32_t dtype);
at::ScalarType scalarTypeOf(const std::string &name);

} // namespace pkb_aten

#endif // PKB_RUNTIME_ATEN_PLAN_H
