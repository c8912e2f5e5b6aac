// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PhaseMaker.cpp - phases of a comm.fused that is cut --------------===//

#include "pkb/Analysis/PhaseMaker.h"

using namespace mlir;
using namespace pkb;

PhaseMaker::PhaseMaker(OpBuilder &builder, Location loc) : builder(builder), loc(loc), inside(builder.getContext()) {
  inside.setInsertionPointToEnd(body.get());
}

Value PhaseMaker::input(Value outer) {
  Value &inner = known[outer];
  if (!inner) {
    inputs.push_back(outer);
    inner = body->addArgument(outer.getType(), loc);
  }
  return inner;
}

Value PhaseMaker::clone(Value value, IRMapping &mapping, const DenseMap<Value, Value> &outer) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (Value outside = outer.lookup(value)) {
    mapping.map(value, input(outside));
    return mapping.lookup(value);
  }
  Operation *maker = value.getDefiningOp();
  for (Value operand : maker->getOperands())
    clone(operand, mapping, outer);
  inside.clone(*maker, mapping);
  return mapping.lookup(value);
}

comm::FusedOp PhaseMaker::finish(ValueRange yielded) {
  comm::YieldOp::create(inside, loc, yielded);
  auto phase = comm::FusedOp::create(builder, loc, yielded.getTypes(), inputs);
  phase.getBody().push_back(body.release());
  return phase;
}
