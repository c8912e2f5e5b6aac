// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AtenStep.cpp - arguments of aten.call as JSON --------------------===//

#include "AtenStep.h"

#include "dialects/Aten/IR/AtenJson.h"
#include "dialects/Comm/IR/Comm.h"

using namespace mlir;
using namespace pkb;
namespace json = llvm::json;

json::Value pkb::argumentToJson(Attribute argument, SlotOf operand) {
  auto slot = [&](int64_t index) { return json::Value(operand(index)); };
  return aten::argumentToJson(argument, slot, slot);
}

json::Value pkb::returnToJson(Attribute returned, SlotOf operand, SlotOf result) {
  return aten::argumentToJson(
      returned, [&](int64_t index) { return json::Value(operand(index)); },
      [&](int64_t index) { return json::Value(result(index)); });
}

json::Value pkb::treeToJson(aten::TreeAttr tree) {
  // A group is the partition of ranks that it stands for on all of them.
  return aten::treeToJson(tree, [](Attribute value) {
    auto group = cast<comm::GroupAttr>(value);
    json::Array rows;
    for (int64_t row = 0; row < group.getNumRows(); ++row)
      rows.push_back(json::Array(group.getRow(row)));
    return json::Value(std::move(rows));
  });
}
