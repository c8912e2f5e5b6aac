// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AtenStep.cpp - arguments of aten.call as JSON --------------------===//

#include "AtenStep.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace pkb;
namespace json = llvm::json;

/// JSON has no infinities and no NaN.
static json::Value number(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  return value;
}

static json::Array slotList(ArrayRef<int64_t> indices, SlotOf slotOf) {
  json::Array list;
  for (int64_t index : indices)
    list.push_back(index < 0 ? json::Value(nullptr) : json::Value(slotOf(index)));
  return list;
}

json::Value pkb::argumentToJson(Attribute argument, SlotOf operand) {
  return llvm::TypeSwitch<Attribute, json::Value>(argument)
      .Case([&](aten::OperandAttr a) { return json::Object{{"t", operand(a.getIndex())}}; })
      .Case([&](aten::OperandsAttr a) { return json::Object{{"ts", slotList(a.getIndices(), operand)}}; })
      .Case([](BoolAttr a) { return json::Object{{"b", a.getValue()}}; })
      .Case([](IntegerAttr a) { return json::Object{{"i", a.getValue().getSExtValue()}}; })
      .Case([](FloatAttr a) { return json::Object{{"f", number(a.getValueAsDouble())}}; })
      .Case([](StringAttr a) { return json::Object{{"s", a.getValue()}}; })
      .Case([](UnitAttr) { return json::Object{{"n", nullptr}}; })
      .Case([](DenseI64ArrayAttr a) { return json::Object{{"is", json::Array(a.asArrayRef())}}; })
      .Case([](DenseF64ArrayAttr a) {
        json::Array list;
        for (double value : a.asArrayRef())
          list.push_back(number(value));
        return json::Object{{"fs", std::move(list)}};
      })
      .Case([](DenseBoolArrayAttr a) {
        json::Array list;
        for (bool value : a.asArrayRef())
          list.push_back(value);
        return json::Object{{"bs", std::move(list)}};
      })
      .Case([](aten::ScalarTypeAttr a) { return json::Object{{"dtype", aten::stringifyScalarType(a.getValue())}}; })
      .Case([](aten::TorchLayoutAttr a) { return json::Object{{"layout", aten::stringifyTorchLayout(a.getValue())}}; })
      .Case([](aten::MemoryFormatAttr a) { return json::Object{{"mf", aten::stringifyMemoryFormat(a.getValue())}}; })
      .Case([](aten::DeviceAttr a) {
        std::string device = aten::stringifyDeviceKind(a.getKind()).str();
        if (a.getIndex() >= 0)
          device += ":" + std::to_string(a.getIndex());
        return json::Object{{"device", device}};
      })
      .Case([&](ArrayAttr a) {
        json::Array list;
        for (Attribute item : a)
          list.push_back(argumentToJson(item, operand));
        return json::Object{{"list", std::move(list)}};
      })
      .Default([](Attribute) { return json::Value(nullptr); });
}

json::Value pkb::returnToJson(Attribute returned, SlotOf operand, SlotOf result) {
  return llvm::TypeSwitch<Attribute, json::Value>(returned)
      .Case([&](aten::ResultAttr a) { return json::Object{{"t", result(a.getIndex())}}; })
      .Case([&](aten::ResultsAttr a) { return json::Object{{"ts", slotList(a.getIndices(), result)}}; })
      .Case([&](aten::OperandAttr a) { return json::Object{{"t", operand(a.getIndex())}}; })
      .Case([&](aten::OperandsAttr a) { return json::Object{{"ts", slotList(a.getIndices(), operand)}}; })
      .Default([](Attribute) { return json::Object{{"n", nullptr}}; });
}

static json::Value leafToJson(Attribute value) {
  return llvm::TypeSwitch<Attribute, json::Value>(value)
      .Case([](BoolAttr a) { return a.getValue(); })
      .Case([](IntegerAttr a) { return a.getValue().getSExtValue(); })
      .Case([](FloatAttr a) { return number(a.getValueAsDouble()); })
      .Case([](StringAttr a) { return a.getValue(); })
      .Case([](DenseI64ArrayAttr a) { return json::Array(a.asArrayRef()); })
      .Case([](aten::ScalarTypeAttr a) { return aten::stringifyScalarType(a.getValue()); })
      .Case([](aten::DeviceAttr a) { return aten::stringifyDeviceKind(a.getKind()); })
      .Default([](Attribute) { return nullptr; });
}

json::Value pkb::treeToJson(aten::TreeAttr tree) {
  json::Object object{{"kind", aten::stringifyTreeKind(tree.getKind())}};
  switch (tree.getKind()) {
  case aten::TreeKind::Tensor:
    object["id"] = tree.getIndex();
    break;
  case aten::TreeKind::Tuple:
  case aten::TreeKind::List:
  case aten::TreeKind::Dict: {
    json::Array items, keys;
    for (aten::TreeAttr item : tree.getItems())
      items.push_back(treeToJson(item));
    for (Attribute key : tree.getKeys())
      keys.push_back(leafToJson(key));
    object["items"] = std::move(items);
    if (tree.getKind() == aten::TreeKind::Dict)
      object["keys"] = std::move(keys);
    break;
  }
  case aten::TreeKind::None:
    break;
  default:
    object["value"] = leafToJson(tree.getValue());
  }
  return object;
}
