// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Homes.cpp - where a program leaves a value in the end ------------===//

#include "passes/Lowering/Homes.h"

using namespace mlir;
using namespace pkb;

std::optional<Home> pkb::homeOf(func::FuncOp function, Value value, aten::ViewWriteOp write) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    std::optional<Home> home;
    if (isa<func::ReturnOp>(user)) {
      if (auto mutation = function.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), aten::kMutationOfAttrName))
        return Home{mutation.getInt(), write, {}};
    } else if (auto next = dyn_cast<aten::ViewWriteOp>(user)) {
      if (next.getBase() == value)
        home = homeOf(function, next.getResult(), write);
      else if (!write)
        home = homeOf(function, next.getResult(), next);
    } else if (auto call = dyn_cast<aten::CallOp>(user)) {
      if (Value next = call.getNewVersion(use.getOperandNumber()))
        home = homeOf(function, next, write);
    }
    if (home) {
      home->path.push_back(user);
      return home;
    }
  }
  return std::nullopt;
}
