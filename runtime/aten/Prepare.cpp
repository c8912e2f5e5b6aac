// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a step of the manifest to a prepared call: the schema is looked up once, constants are boxed once.
#include "Plan.h"

#include <ATen/core/function_schema.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace pkb_aten {
namespace {

using Json = nlohmann::json;

int32_t slotOf(const Json &json, const Plan &plan) {
  if (json.is_null()) {
    return -1;
  }
  if (!json.is_number_integer() || json.get<int64_t>() < 0 || json.get<int64_t>() >= int64_t(plan.slots.size())) {
    throw std::runtime_error("names slot " + json.dump() + ", which does not exist");
  }
  return json.get<int32_t>();
}

/// Whether the schema's argument takes tensors, and how.
std::optional<TensorArgument::Kind> tensorKind(c10::TypePtr type) {
  if (type->kind() == c10::TypeKind::OptionalType) {
    type = type->expectRef<c10::OptionalType>().getElementType();
  }
  if (type->kind() == c10::TypeKind::TensorType) {
    return TensorArgument::One;
  }
  if (type->kind() == c10::TypeKind::ListType) {
    const c10::TypePtr &element = type->expectRef<c10::ListType>().getElementType();
    if (element->kind() == c10::TypeKind::TensorType) {
      return TensorArgument::List;
    }
    if (element->kind() == c10::TypeKind::OptionalType &&
        element->expectRef<c10::OptionalType>().getElementType()->kind() == c10::TypeKind::TensorType) {
      return TensorArgument::OptionalList;
    }
  }
  return std::nullopt;
}

/// How the number in a slot becomes a value of the schema's type; none where that takes no number.
std::optional<TensorArgument::Kind> numberKind(c10::TypePtr type) {
  if (type->kind() == c10::TypeKind::OptionalType) {
    type = type->expectRef<c10::OptionalType>().getElementType();
  }
  switch (type->kind()) {
  case c10::TypeKind::IntType:
  case c10::TypeKind::SymIntType:
    return TensorArgument::Int;
  case c10::TypeKind::FloatType:
    return TensorArgument::Float;
  case c10::TypeKind::BoolType:
    return TensorArgument::Bool;
  case c10::TypeKind::NumberType:
    return TensorArgument::Number;
  default:
    return std::nullopt;
  }
}

/// True if a slot holds one number in memory of the host.
bool holdsNumber(const Slot &slot) {
  return slot.host && std::all_of(slot.sizes.begin(), slot.sizes.end(), [](int64_t size) { return size == 1; });
}

void prepareArgument(Plan &plan, Step &step, const c10::Argument &argument, const Json &json) {
  size_t position = step.stack.size();
  auto kind = tensorKind(argument.type());
  bool one = json.is_object() && json.contains("t");
  const Json *many = json.is_object() && json.contains("ts") ? &json["ts"] : nullptr;
  // A list of tensors may also be written as a general list.
  if (kind && *kind != TensorArgument::One && json.is_object() && json.contains("list")) {
    Json slots = Json::array();
    for (const Json &item : json["list"]) {
      slots.push_back(item.contains("t") ? item["t"] : Json());
    }
    return prepareArgument(plan, step, argument, Json{{"ts", slots}});
  }
  if (auto number = numberKind(argument.type()); one && !kind && number) {
    int32_t slot = slotOf(json["t"], plan);
    if (slot >= 0 && holdsNumber(plan.slots[size_t(slot)])) {
      step.tensors.push_back({*number, position, {slot}});
      step.stack.emplace_back();
      step.takesNumbers = true;
      return;
    }
  }
  if ((one && (!kind || *kind != TensorArgument::One)) || (many && (!kind || *kind == TensorArgument::One))) {
    throw std::runtime_error("argument '" + argument.name() + "' is " + argument.type()->str() +
                             ", got: " + json.dump());
  }
  if (one) {
    step.tensors.push_back({TensorArgument::One, position, {slotOf(json["t"], plan)}});
    step.stack.emplace_back();
  } else if (many) {
    TensorArgument list{*kind, position, {}};
    for (const Json &item : *many) {
      list.slots.push_back(slotOf(item, plan));
      if (list.slots.back() < 0 && *kind == TensorArgument::List) {
        throw std::runtime_error("argument '" + argument.name() + "' has None in a list of tensors");
      }
    }
    step.tensors.push_back(list);
    step.stack.emplace_back();
  } else {
    step.stack.push_back(convertConstant(json, argument.type(), argument.N(), plan));
  }
}

void prepareArguments(Plan &plan, Step &step, const c10::FunctionSchema &schema, const Json &json) {
  const Json &args = json.at("args");
  Json kwargs = json.value("kwargs", Json::array());
  size_t used = 0;
  if (args.size() > schema.arguments().size()) {
    throw std::runtime_error("is given " + std::to_string(args.size()) + " arguments, takes " +
                             std::to_string(schema.arguments().size()));
  }
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument &argument = schema.arguments()[i];
    const Json *given = i < args.size() ? &args[i] : nullptr;
    for (const Json &pair : kwargs) {
      if (pair.is_array() && pair.size() == 2 && pair[0] == argument.name()) {
        given = &pair[1];
        ++used;
      }
    }
    try {
      if (given) {
        prepareArgument(plan, step, argument, *given);
      } else if (argument.default_value()) {
        step.stack.push_back(*argument.default_value());
      } else {
        throw std::runtime_error("is not given and has no default");
      }
    } catch (const Json::exception &error) {
      throw std::runtime_error("argument '" + argument.name() + "': " + error.what());
    } catch (const std::runtime_error &error) {
      throw std::runtime_error("argument '" + argument.name() + "': " + error.what());
    }
  }
  if (used != kwargs.size()) {
    throw std::runtime_error("is given a keyword argument that it does not take: " + kwargs.dump());
  }
}

void prepareResults(Plan &plan, Step &step, const c10::FunctionSchema &schema, const Json &json) {
  const Json &results = json.at("results");
  // Operators that return nothing, or whose returns nobody uses, may leave the rest out.
  if (results.size() > schema.returns().size()) {
    throw std::runtime_error("has " + std::to_string(results.size()) + " results, returns " +
                             std::to_string(schema.returns().size()));
  }
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    Result result;
    if (i < results.size()) {
      const Json &given = results[i];
      if (given.is_number_integer()) {
        result.slots.push_back(slotOf(given, plan));
      } else if (given.is_object() && given.contains("t")) {
        result.slots.push_back(slotOf(given["t"], plan));
      } else if (given.is_object() && (given.contains("ts") || given.contains("list"))) {
        result.list = true;
        for (const Json &item : given.contains("ts") ? given["ts"] : given["list"]) {
          result.slots.push_back(slotOf(item.is_object() ? item.value("t", Json()) : item, plan));
        }
      } else if (!given.is_null() && !(given.is_object() && given.contains("n"))) {
        throw std::runtime_error("result " + std::to_string(i) + " is not a tensor: " + given.dump());
      }
    }
    const c10::AliasInfo *alias = schema.returns()[i].alias_info();
    result.written = alias && alias->isWrite();
    result.view = alias && !alias->isWrite();
    step.viewing |= result.view;
    step.results.push_back(result);
  }
}

/// Whether an operator takes for its result, on the way, one of another shape: losses that reduce first shape it like their inputs, which memory that is given
/// does not allow.
bool reshapesItsResult(const c10::FunctionSchema &schema) { return schema.argumentIndexWithName("reduction").has_value(); }

/// The `out=` overload with the same arguments and a kernel for the plan's device, if every result is one tensor with
/// memory before the call.
void findOut(Plan &plan, Step &step, const c10::FunctionSchema &schema) {
  for (const Result &result : step.results) {
    if (result.list || result.written || result.view || result.slots.size() != 1 || result.slots[0] < 0 ||
        plan.slots[size_t(result.slots[0])].memory != PKB_ATEN_BOUND) {
      return;
    }
  }
  if (step.results.empty() || reshapesItsResult(schema)) {
    return;
  }
  auto &dispatcher = c10::Dispatcher::singleton();
  auto droppable = [](const std::string &name) {
    return name == "dtype" || name == "layout" || name == "device" || name == "pin_memory";
  };
  const c10::DispatchKey device = plan.device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  for (const c10::OperatorName &name : dispatcher.getAllOpNames()) {
    if (name.name != schema.name()) {
      continue;
    }
    auto candidate = dispatcher.findSchema(name);
    if (!candidate || !candidate->hasComputedKernelForDispatchKey(device)) {
      continue; // aten::narrow_copy.out has a kernel on the CPU alone
    }
    const c10::FunctionSchema &other = candidate->schema();
    std::vector<int32_t> from;
    int32_t outs = 0;
    std::vector<bool> used(schema.arguments().size());
    bool fits = other.returns().size() == schema.returns().size();
    for (const c10::Argument &argument : other.arguments()) {
      if (argument.is_out()) {
        fits = fits && argument.type()->kind() == c10::TypeKind::TensorType;
        from.push_back(-1 - outs++);
        continue;
      }
      bool found = false;
      for (size_t i = 0; i < schema.arguments().size() && !found; ++i) {
        const c10::Argument &mine = schema.arguments()[i];
        if (mine.name() == argument.name() && *mine.type() == *argument.type()) {
          from.push_back(int32_t(i));
          used[i] = found = true;
        }
      }
      fits = fits && found;
    }
    fits = fits && outs == int32_t(step.results.size());
    for (size_t i = 0; i < used.size(); ++i) {
      fits = fits && (used[i] || droppable(schema.arguments()[i].name()));
    }
    if (fits) {
      step.outOp = candidate;
      step.outFrom = from;
      return;
    }
  }
}

} // namespace

void prepareStep(Plan &plan, const Json &json) {
  Step step;
  if (json.at("kind") == "copy" || json.at("kind") == "host_read") {
    step.copy = json.at("kind") == "copy";
    step.hostRead = !step.copy;
    step.name = json.at("kind").get<std::string>();
    step.from = slotOf(json.at("from"), plan);
    step.to = slotOf(json.at("to"), plan);
    plan.steps.push_back(std::move(step));
    return;
  }
  std::string op = json.at("op").get<std::string>(), overload = json.value("overload", "");
  step.name = op + (overload.empty() ? "" : "." + overload);
  step.op = c10::Dispatcher::singleton().findSchema({op, overload == "default" ? "" : overload});
  if (!step.op) {
    throw std::runtime_error("operator '" + step.name + "' is not in this libtorch (" +
                             pkb_aten_table()->torch_version() + ")");
  }
  const c10::FunctionSchema &schema = step.op->schema();
  try {
    prepareArguments(plan, step, schema, json);
    prepareResults(plan, step, schema, json);
  } catch (const std::exception &error) {
    throw std::runtime_error("operator '" + step.name + "' " + error.what());
  }
  findOut(plan, step, schema);
  plan.steps.push_back(std::move(step));
}

} // namespace pkb_aten
