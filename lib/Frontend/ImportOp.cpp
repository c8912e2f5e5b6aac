//===- ImportOp.cpp - operators of the record -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/AtenJson.h"
#include "lib/Frontend/Importer.h"
#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::frontend;

/// Operators that change what a tensor is a view of, not what memory holds.
/// The record gives the tensor a new description.
static bool changesMetadataOnly(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"aten::t_", "aten::transpose_", "aten::squeeze_",
              "aten::unsqueeze_", "aten::as_strided_", "aten::swapaxes_",
              "aten::swapdims_", "aten::detach_", "aten::requires_grad_"},
             true)
      .Default(false);
}

/// Operators that give a tensor another storage or another extent.
static bool replacesStorage(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"aten::set_", "aten::resize_", "aten::resize_as_",
              "aten::set_data", "aten::_resize_output_"},
             true)
      .Default(false);
}

namespace {
/// Collects the operands and results of one call.
class CallBuilder {
public:
  CallBuilder(const RankProgram &program, Storages &storages, Location loc,
              MLIRContext *context)
      : program(program), storages(storages), loc(loc), context(context) {}

  /// The operand of tensor `id`, which is read now.
  llvm::Expected<int64_t> getOperand(int64_t id) {
    llvm::Expected<int64_t> tensor = program.getTensor(id);
    if (!tensor)
      return tensor.takeError();
    auto [at, added] = operandOf.try_emplace(*tensor, operands.size());
    if (added) {
      llvm::Expected<Value> value = storages.read(*tensor, loc);
      if (!value)
        return value.takeError();
      operands.push_back(*value);
      operandTensors.push_back(*tensor);
    }
    return at->second;
  }

  /// Describes one result of the operator.
  llvm::Expected<Attribute> getReturn(const llvm::json::Value &json) {
    const llvm::json::Object *object = json.getAsObject();
    if (const llvm::json::Value *id = object ? object->get("t") : nullptr)
      return getReturnedTensor(*id);
    if (const llvm::json::Array *list = object ? object->getArray("ts") : nullptr)
      return getReturnedList(*list);
    // A number beside tensors follows from their shapes; alone, it is data.
    if (object && object->size() == 1)
      return UnitAttr::get(context);
    std::string text;
    llvm::raw_string_ostream(text) << json;
    return makeError("returns ", text, ", which is not known");
  }

  SmallVector<Value> operands;
  SmallVector<int64_t> operandTensors;
  SmallVector<int64_t> freshTensors;
  DenseMap<int64_t, int64_t> operandOf; // by tensor

private:
  llvm::Expected<Attribute> getReturnedTensor(const llvm::json::Value &json) {
    llvm::Expected<int64_t> id = aten::integerFromJson(json);
    if (!id)
      return id.takeError();
    llvm::Expected<int64_t> tensor = program.getTensor(*id);
    if (!tensor)
      return tensor.takeError();
    if (auto at = operandOf.find(*tensor); at != operandOf.end())
      return aten::OperandAttr::get(context, at->second);
    if (storages.isMade(*tensor))
      return UnitAttr::get(context); // a view of what is there
    freshTensors.push_back(*tensor);
    return aten::ResultAttr::get(context, freshTensors.size() - 1);
  }

  /// A list is all operands (of a foreach operator in place), or fresh tensors;
  /// views among them are nothing.
  llvm::Expected<Attribute> getReturnedList(const llvm::json::Array &list) {
    SmallVector<int64_t> fresh, returned;
    for (const llvm::json::Value &element : list) {
      Attribute attribute;
      if (!element.getAsNull()) {
        llvm::Expected<Attribute> given = getReturnedTensor(element);
        if (!given)
          return given.takeError();
        attribute = *given;
      }
      auto result = dyn_cast_or_null<aten::ResultAttr>(attribute);
      fresh.push_back(result ? result.getIndex() : -1);
      auto operand = dyn_cast_or_null<aten::OperandAttr>(attribute);
      returned.push_back(operand ? operand.getIndex() : -1);
    }
    if (llvm::any_of(returned, [](int64_t index) { return index >= 0; }) &&
        llvm::all_of(fresh, [](int64_t index) { return index < 0; }))
      return aten::OperandsAttr::get(context, returned);
    return aten::ResultsAttr::get(context, fresh);
  }

  const RankProgram &program;
  Storages &storages;
  Location loc;
  MLIRContext *context;
};
} // namespace

/// The arguments of the list `key`, each read by `read`.
static llvm::Error forEach(const llvm::json::Object &event, StringRef key,
                     llvm::function_ref<llvm::Error(const llvm::json::Value &)> read) {
  const llvm::json::Array *list = event.getArray(key);
  if (!list)
    return makeError("has no list '", key, "'");
  for (const llvm::json::Value &value : *list)
    if (llvm::Error error = read(value))
      return error;
  return llvm::Error::success();
}

/// Views are told by their storage, not by a table: what they are made from is
/// there already, so a call that only makes views does nothing.
bool Importer::makesOnlyViews(const llvm::json::Object &event) const {
  auto isView = [&](const llvm::json::Value &id) {
    auto number = id.getAsInteger();
    if (!number || !isId(*number))
      return false;
    auto at = program.tensorOfId.find(*number);
    return at != program.tensorOfId.end() && storages.isMade(at->second);
  };
  const llvm::json::Array *results = event.getArray("results");
  if (!results || results->empty())
    return false;
  bool any = false;
  bool only = llvm::all_of(*results, [&](const llvm::json::Value &result) {
    const llvm::json::Object *object = result.getAsObject();
    if (object && object->get("n"))
      return true;
    any = true;
    if (const llvm::json::Value *id = object ? object->get("t") : nullptr)
      return isView(*id);
    const llvm::json::Array *list = object ? object->getArray("ts") : nullptr;
    return list && !list->empty() && llvm::all_of(*list, isView);
  });
  return any && only;
}

llvm::Error Importer::importOp(const Event &event) {
  const llvm::json::Object &object = *event.json;
  StringRef callee = object.getString("op").value_or("");
  StringRef overload = object.getString("overload").value_or("");
  if (callee.empty())
    return makeError("event names no operator");
  if (replacesStorage(callee))
    return makeError("gives a tensor another storage, which is not supported; "
                     "make a new tensor instead");
  if (changesMetadataOnly(callee))
    return llvm::Error::success();
  Location loc = locationOf(event.site);
  MLIRContext *context = builder.getContext();
  CallBuilder call(program, storages, loc, context);
  auto operandOf = [&](int64_t id) { return call.getOperand(id); };

  SmallVector<Attribute> args, returns;
  SmallVector<NamedAttribute> kwargs;
  bool rng = object.getBoolean("rng").value_or(false);
  llvm::Expected<SmallVector<int64_t>> mutated = getTensors(object, "mutates");
  if (!mutated)
    return mutated.takeError();
  if (mutated->empty() && !rng && makesOnlyViews(object))
    return llvm::Error::success();

  if (llvm::Error error = forEach(object, "args", [&](const llvm::json::Value &value) -> llvm::Error {
        auto argument = aten::argumentFromJson(context, value, operandOf);
        if (!argument)
          return argument.takeError();
        args.push_back(*argument);
        return llvm::Error::success();
      }))
    return error;
  if (llvm::Error error = forEach(object, "kwargs", [&](const llvm::json::Value &value) -> llvm::Error {
        const llvm::json::Array *pair = value.getAsArray();
        auto name = pair && pair->size() == 2 ? (*pair)[0].getAsString()
                                              : std::nullopt;
        if (!name)
          return makeError("keyword argument must be a pair of name and value");
        auto argument = aten::argumentFromJson(context, (*pair)[1], operandOf);
        if (!argument)
          return argument.takeError();
        kwargs.emplace_back(builder.getStringAttr(*name), *argument);
        return llvm::Error::success();
      }))
    return error;
  if (llvm::Error error = forEach(object, "results", [&](const llvm::json::Value &value) -> llvm::Error {
        auto result = call.getReturn(value);
        if (!result)
          return result.takeError();
        returns.push_back(*result);
        return llvm::Error::success();
      }))
    return error;

  if (!returns.empty() && call.freshTensors.empty() && mutated->empty() && !rng &&
      llvm::all_of(returns, llvm::IsaPred<UnitAttr>))
    return makeError("gives a value to the host, which is not supported; keep "
                     "it in a tensor");
  SmallVector<Type> types;
  for (int64_t tensor : call.freshTensors) {
    llvm::Expected<RankedTensorType> type = storages.getFreshType(tensor);
    if (!type)
      return type.takeError();
    types.push_back(*type);
  }
  SmallVector<int64_t> mutates;
  for (int64_t tensor : *mutated) {
    auto at = call.operandOf.find(tensor);
    if (at == call.operandOf.end())
      return makeError("writes tensor ", program.tensors[tensor].id,
                       ", which is not an argument");
    mutates.push_back(at->second);
    types.push_back(call.operands[at->second].getType());
  }
  auto op = aten::CallOp::create(
      builder, loc, types, callee, overload, call.operands, ValueRange(),
      builder.getArrayAttr(args), builder.getDictionaryAttr(kwargs),
      builder.getArrayAttr(returns), mutates, rng);

  bool onHost = llvm::any_of(call.freshTensors, [&](int64_t tensor) {
    return program.storages[program.tensors[tensor].storage].onHost;
  });
  if (onHost) {
    op->setAttr(aten::kHostAttrName, builder.getUnitAttr());
    for (int64_t tensor : call.operandTensors) {
      const Storage &storage = program.storages[program.tensors[tensor].storage];
      if (storage.onHost && storage.origin == Origin::Literal)
        return makeError("computes with a constant in host memory, which is not "
                         "supported; move it to the device first");
    }
  }
  for (auto [tensor, value] : llvm::zip(call.freshTensors, op.getFreshResults()))
    storages.define(program.tensors[tensor].storage, storages.getWindow(tensor),
                    value);
  for (auto [tensor, value] :
       llvm::zip_equal(*mutated, op.getResults().drop_front(op.getNumFresh())))
    if (llvm::Error error = storages.write(tensor, value, loc))
      return error;
  return llvm::Error::success();
}
