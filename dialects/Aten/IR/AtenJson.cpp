//===- AtenJson.cpp - the bundle's encoding of arguments ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/AtenJson.h"
#include "mlir/IR/Builders.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pkb;
using namespace pkb::aten;
namespace json = llvm::json;

static std::string printed(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

llvm::Expected<int64_t> aten::integerFromJson(const json::Value &json) {
  if (auto integer = json.getAsInteger())
    return *integer;
  if (const json::Object *object = json.getAsObject())
    if (auto symbol = object->getString("expr"))
      return makeError("symbolic value '", *symbol,
                   "' is not supported; export without --dynamic");
  return makeError("expected an integer, got: ", printed(json));
}

/// A number, or the name of one that JSON has not.
static llvm::Expected<double> floatFromJson(const json::Value &json) {
  if (auto number = json.getAsNumber())
    return *number;
  if (auto name = json.getAsString()) {
    if (*name == "inf")
      return std::numeric_limits<double>::infinity();
    if (*name == "-inf")
      return -std::numeric_limits<double>::infinity();
    if (*name == "nan")
      return std::numeric_limits<double>::quiet_NaN();
  }
  if (auto integer = integerFromJson(json); !integer)
    return integer.takeError(); // names a symbol
  return makeError("expected a number, got: ", printed(json));
}

static json::Value floatToJson(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  return value;
}

/// "cuda", "cuda:1", "cpu". The device of a rank is its current one, whatever
/// its number was where the program was recorded.
static llvm::Expected<Attribute> deviceFromName(MLIRContext *context,
                                                StringRef name) {
  auto [kindName, indexName] = name.split(':');
  auto kind = symbolizeDeviceKind(kindName);
  if (!kind)
    return makeError("device '", name, "' is not supported");
  return DeviceAttr::get(context, *kind, -1);
}

static std::string deviceName(DeviceAttr device) {
  std::string name = stringifyDeviceKind(device.getKind()).str();
  if (device.getIndex() >= 0)
    name += ":" + std::to_string(device.getIndex());
  return name;
}

/// The elements of a list of scalars, read by `read`.
template <typename T, typename Read>
static llvm::Expected<SmallVector<T>> listFromJson(const json::Value &json,
                                                   Read read) {
  const json::Array *array = json.getAsArray();
  if (!array)
    return makeError("expected a list, got: ", printed(json));
  SmallVector<T> values;
  for (const json::Value &element : *array) {
    auto value = read(element);
    if (!value)
      return value.takeError();
    values.push_back(T(*value));
  }
  return values;
}

static llvm::Expected<bool> boolFromJson(const json::Value &json) {
  if (auto value = json.getAsBoolean())
    return *value;
  return makeError("expected true or false, got: ", printed(json));
}

/// One encoding of a closed set of names.
template <typename AttrT, typename Enum>
static llvm::Expected<Attribute>
enumFromJson(MLIRContext *context, StringRef what, const json::Value &json,
             std::optional<Enum> (*symbolize)(StringRef)) {
  auto name = json.getAsString();
  if (!name)
    return makeError("expected the name of a ", what, ", got: ", printed(json));
  if (auto value = symbolize(*name))
    return AttrT::get(context, *value);
  return makeError(what, " '", *name, "' is not supported");
}

llvm::Expected<Attribute>
aten::argumentFromJson(MLIRContext *context, const json::Value &json,
                       IndexOfTensor operandOf) {
  const json::Object *object = json.getAsObject();
  if (!object || object->size() != 1)
    return makeError("expected an argument, got: ", printed(json));
  StringRef key = object->begin()->first;
  const json::Value &value = object->begin()->second;
  Builder b(context);
  if (key == "t" || key == "i") {
    auto integer = integerFromJson(value);
    if (!integer)
      return integer.takeError();
    if (key == "i")
      return b.getI64IntegerAttr(*integer);
    auto index = operandOf(*integer);
    if (!index)
      return index.takeError();
    return OperandAttr::get(context, *index);
  }
  if (key == "ts") {
    auto indices = listFromJson<int64_t>(
        value, [&](const json::Value &id) -> llvm::Expected<int64_t> {
          if (id.getAsNull())
            return -1;
          auto integer = integerFromJson(id);
          return integer ? operandOf(*integer) : std::move(integer);
        });
    if (!indices)
      return indices.takeError();
    return OperandsAttr::get(context, *indices);
  }
  if (key == "f") {
    auto number = floatFromJson(value);
    if (!number)
      return number.takeError();
    return b.getF64FloatAttr(*number);
  }
  if (key == "c") {
    auto parts = listFromJson<double>(value, floatFromJson);
    if (!parts)
      return parts.takeError();
    if (parts->size() != 2)
      return makeError("expected two parts of a complex number, got: ",
                       printed(value));
    return ComplexAttr::get(context, b.getF64FloatAttr((*parts)[0]),
                            b.getF64FloatAttr((*parts)[1]));
  }
  if (key == "b") {
    auto boolean = boolFromJson(value);
    if (!boolean)
      return boolean.takeError();
    return b.getBoolAttr(*boolean);
  }
  if (key == "s") {
    if (auto text = value.getAsString())
      return b.getStringAttr(*text);
    return makeError("expected a string, got: ", printed(value));
  }
  if (key == "n")
    return b.getUnitAttr();
  if (key == "is") {
    auto list = listFromJson<int64_t>(value, integerFromJson);
    if (!list)
      return list.takeError();
    return b.getDenseI64ArrayAttr(*list);
  }
  if (key == "fs") {
    auto list = listFromJson<double>(value, floatFromJson);
    if (!list)
      return list.takeError();
    return b.getDenseF64ArrayAttr(*list);
  }
  if (key == "bs") {
    auto list = listFromJson<bool>(value, boolFromJson);
    if (!list)
      return list.takeError();
    return b.getDenseBoolArrayAttr(*list);
  }
  if (key == "dtype")
    return enumFromJson<ScalarTypeAttr>(context, "dtype", value,
                                        symbolizeScalarType);
  if (key == "layout")
    return enumFromJson<TorchLayoutAttr>(context, "layout", value,
                                         symbolizeTorchLayout);
  if (key == "mf")
    return enumFromJson<MemoryFormatAttr>(context, "memory format", value,
                                          symbolizeMemoryFormat);
  if (key == "device") {
    if (auto name = value.getAsString())
      return deviceFromName(context, *name);
    return makeError("expected the name of a device, got: ", printed(value));
  }
  if (key == "list") {
    auto list = listFromJson<Attribute>(value, [&](const json::Value &element) {
      return argumentFromJson(context, element, operandOf);
    });
    if (!list)
      return list.takeError();
    return b.getArrayAttr(*list);
  }
  if (key == "expr")
    return integerFromJson(json).takeError();
  return makeError("argument encoding '", key, "' is not known");
}

json::Value aten::argumentToJson(Attribute argument, TensorOfIndex operand,
                                 TensorOfIndex result) {
  auto tensors = [](ArrayRef<int64_t> indices, TensorOfIndex of) {
    json::Array ids;
    for (int64_t index : indices)
      ids.push_back(index < 0 ? json::Value(nullptr) : of(index));
    return json::Object{{"ts", std::move(ids)}};
  };
  return TypeSwitch<Attribute, json::Object>(argument)
      .Case([&](OperandAttr a) {
        return json::Object{{"t", operand(a.getIndex())}};
      })
      .Case([&](OperandsAttr a) { return tensors(a.getIndices(), operand); })
      .Case([&](ResultAttr a) {
        return json::Object{{"t", result(a.getIndex())}};
      })
      .Case([&](ResultsAttr a) { return tensors(a.getIndices(), result); })
      .Case([&](BoolAttr a) { return json::Object{{"b", a.getValue()}}; })
      .Case([&](IntegerAttr a) { return json::Object{{"i", a.getInt()}}; })
      .Case([&](FloatAttr a) {
        return json::Object{{"f", floatToJson(a.getValueAsDouble())}};
      })
      .Case([&](ComplexAttr a) {
        return json::Object{
            {"c", json::Array{floatToJson(a.getReal().getValueAsDouble()),
                              floatToJson(a.getImaginary().getValueAsDouble())}}};
      })
      .Case([&](StringAttr a) { return json::Object{{"s", a.getValue()}}; })
      .Case([&](UnitAttr) { return json::Object{{"n", nullptr}}; })
      .Case([&](DenseI64ArrayAttr a) {
        return json::Object{{"is", json::Array(a.asArrayRef())}};
      })
      .Case([&](DenseF64ArrayAttr a) {
        json::Array list;
        for (double value : a.asArrayRef())
          list.push_back(floatToJson(value));
        return json::Object{{"fs", std::move(list)}};
      })
      .Case([&](DenseBoolArrayAttr a) {
        return json::Object{{"bs", json::Array(a.asArrayRef())}};
      })
      .Case([&](ScalarTypeAttr a) {
        return json::Object{{"dtype", stringifyScalarType(a.getValue())}};
      })
      .Case([&](TorchLayoutAttr a) {
        return json::Object{{"layout", stringifyTorchLayout(a.getValue())}};
      })
      .Case([&](MemoryFormatAttr a) {
        return json::Object{{"mf", stringifyMemoryFormat(a.getValue())}};
      })
      .Case([&](DeviceAttr a) {
        return json::Object{{"device", deviceName(a)}};
      })
      .Case([&](ArrayAttr a) {
        json::Array list;
        for (Attribute element : a)
          list.push_back(argumentToJson(element, operand, result));
        return json::Object{{"list", std::move(list)}};
      })
      .Default([](Attribute) { return json::Object{{"n", nullptr}}; });
}

json::Object aten::callToJson(CallOp op, TensorOfIndex operand,
                              TensorOfIndex result) {
  json::Array args, kwargs, results, mutates;
  for (Attribute argument : op.getArgs())
    args.push_back(argumentToJson(argument, operand, result));
  for (NamedAttribute argument : op.getKwargs())
    kwargs.push_back(json::Array{
        argument.getName().getValue(),
        argumentToJson(argument.getValue(), operand, result)});
  for (Attribute returned : op.getReturns())
    results.push_back(argumentToJson(returned, operand, result));
  for (int64_t index : op.getMutates())
    mutates.push_back(operand(index));
  return json::Object{{"op", op.getCallee()},
                      {"overload", op.getOverload()},
                      {"args", std::move(args)},
                      {"kwargs", std::move(kwargs)},
                      {"results", std::move(results)},
                      {"mutates", std::move(mutates)}};
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

llvm::Expected<TreeAttr> aten::treeFromJson(
    MLIRContext *context, const json::Value &json, IndexOfTensor indexOf,
    llvm::function_ref<llvm::Expected<Attribute>(int64_t)> groupOf) {
  const json::Object *object = json.getAsObject();
  auto kindName = object ? object->getString("kind") : std::nullopt;
  if (!kindName)
    return makeError("expected a tree, got: ", printed(json));
  auto kind = symbolizeTreeKind(*kindName);
  if (!kind)
    return makeError("value of kind '", *kindName, "' is not supported");
  Builder b(context);
  int64_t index = -1;
  SmallVector<TreeAttr> items;
  SmallVector<Attribute> keys;
  Attribute value;
  json::Value null(nullptr);
  const json::Value *given = object->get("value");
  if (!given)
    given = &null;
  // Scalars share the encodings of arguments.
  auto scalar = [&](StringRef key) -> llvm::Error {
    auto attribute = argumentFromJson(
        context, json::Object{{key, *given}}, indexOf);
    if (!attribute)
      return attribute.takeError();
    value = *attribute;
    return llvm::Error::success();
  };
  llvm::Error failed = llvm::Error::success();
  switch (*kind) {
  case TreeKind::Tensor:
  case TreeKind::Group: {
    const json::Value *id = object->get("id");
    auto integer = integerFromJson(id ? *id : null);
    if (!integer)
      return integer.takeError();
    if (*kind == TreeKind::Group) {
      auto group = groupOf(*integer);
      if (!group)
        return group.takeError();
      value = *group;
      break;
    }
    auto position = indexOf(*integer);
    if (!position)
      return position.takeError();
    index = *position;
    break;
  }
  case TreeKind::Tuple:
  case TreeKind::List:
  case TreeKind::Dict:
  case TreeKind::Module:
    if (*kind == TreeKind::Module)
      value = b.getStringAttr(object->getString("class").value_or(""));
    if (const json::Array *array = object->getArray("items"))
      for (const json::Value &element : *array) {
        auto item = treeFromJson(context, element, indexOf, groupOf);
        if (!item)
          return item.takeError();
        items.push_back(*item);
      }
    if (const json::Array *array = object->getArray("keys"))
      for (const json::Value &key : *array) {
        if (auto text = key.getAsString())
          keys.push_back(b.getStringAttr(*text));
        else if (auto integer = key.getAsInteger())
          keys.push_back(b.getI64IntegerAttr(*integer));
        else
          return makeError("key of a dict must be a string or an integer, got: ",
                       printed(key));
      }
    if ((*kind == TreeKind::Dict || *kind == TreeKind::Module) &&
        keys.size() != items.size())
      return makeError(*kindName, " must have as many keys as items, got: ", keys.size(),
                   " and ", items.size());
    break;
  case TreeKind::None:
    break;
  case TreeKind::Int:
    failed = scalar("i");
    break;
  case TreeKind::Float:
    failed = scalar("f");
    break;
  case TreeKind::Bool:
    failed = scalar("b");
    break;
  case TreeKind::Str:
    failed = scalar("s");
    break;
  case TreeKind::Size:
    failed = scalar("is");
    break;
  case TreeKind::DType:
    failed = scalar("dtype");
    break;
  case TreeKind::Device:
    failed = scalar("device");
    break;
  }
  if (failed)
    return std::move(failed);
  return TreeAttr::get(context, *kind, index, items, keys, value);
}

json::Value
aten::treeToJson(TreeAttr tree,
                 llvm::function_ref<json::Value(Attribute)> group) {
  json::Object object{{"kind", stringifyTreeKind(tree.getKind())}};
  auto none = [](int64_t) { return json::Value(nullptr); };
  switch (tree.getKind()) {
  case TreeKind::Tensor:
    object["id"] = tree.getIndex();
    break;
  case TreeKind::Group:
    object["value"] = group(tree.getValue());
    break;
  case TreeKind::None:
    break;
  case TreeKind::Tuple:
  case TreeKind::List:
  case TreeKind::Dict:
  case TreeKind::Module: {
    json::Array items;
    for (TreeAttr item : tree.getItems())
      items.push_back(treeToJson(item, group));
    object["items"] = std::move(items);
    if (tree.getKind() == TreeKind::Module)
      object["class"] = cast<StringAttr>(tree.getValue()).getValue();
    if (tree.getKind() == TreeKind::Tuple || tree.getKind() == TreeKind::List)
      break;
    json::Array keys;
    for (Attribute key : tree.getKeys()) {
      if (auto text = dyn_cast<StringAttr>(key))
        keys.push_back(text.getValue());
      else
        keys.push_back(cast<IntegerAttr>(key).getInt());
    }
    object["keys"] = std::move(keys);
    break;
  }
  default: {
    json::Value value = argumentToJson(tree.getValue(), none, none);
    object["value"] = std::move(value.getAsObject()->begin()->second);
  }
  }
  return object;
}

StringRef aten::getDTypeName(Type elementType) {
  auto dtype = getScalarType(elementType);
  return dtype ? stringifyScalarType(*dtype) : StringRef();
}
