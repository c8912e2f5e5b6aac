//===- AtenVerifiers.cpp - constraints and effects of operations ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb::aten;

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

int64_t CallOp::getNumFresh() {
  if (isBufferized())
    return getOuts().size();
  return getResults().size() - getMutates().size();
}

ResultRange CallOp::getFreshResults() {
  if (isBufferized())
    return getResults();
  return getResults().take_front(getNumFresh());
}

Value CallOp::getNewVersion(int64_t index) {
  if (isBufferized())
    return {};
  for (auto [position, mutated] : llvm::enumerate(getMutates()))
    if (mutated == index)
      return getResult(getNumFresh() + position);
  return {};
}

bool CallOp::isBufferized() {
  return !getOuts().empty() ||
         llvm::any_of(getInputs().getTypes(), llvm::IsaPred<MemRefType>);
}

/// call_c5, of an index in range.
static LogicalResult verifyTensor(CallOp op, int64_t index) {
  if (index < 0 || isa<ShapedType>(op.getInputs()[index].getType()))
    return success();
  return op.emitOpError("must name a tensor there, got: operand ")
         << index << " of type " << op.getInputs()[index].getType();
}

/// Checks one attribute of `args` or `kwargs` (call_c1).
static LogicalResult verifyArgument(CallOp op, Attribute argument) {
  int64_t limit = op.getInputs().size();
  auto inRange = [&](int64_t index, bool mayBeNone) -> LogicalResult {
    if ((index >= 0 && index < limit) || (mayBeNone && index == -1))
      return success();
    return op.emitOpError("argument must name one of ")
           << limit << " operands, got: " << index;
  };
  return TypeSwitch<Attribute, LogicalResult>(argument)
      .Case([&](OperandAttr a) { return inRange(a.getIndex(), false); })
      .Case([&](OperandsAttr a) -> LogicalResult {
        for (int64_t index : a.getIndices())
          if (failed(inRange(index, true)) || failed(verifyTensor(op, index)))
            return failure();
        return success();
      })
      .Case([&](ArrayAttr list) -> LogicalResult {
        for (Attribute element : list)
          if (failed(verifyArgument(op, element)))
            return failure();
        return success();
      })
      .Case([&](IntegerAttr a) -> LogicalResult {
        if (a.getType().isSignlessInteger(64) || a.getType().isInteger(1))
          return success();
        return op.emitOpError("argument must be i64, f64 or bool, got: ") << a;
      })
      .Case([&](FloatAttr a) -> LogicalResult {
        if (a.getType().isF64())
          return success();
        return op.emitOpError("argument must be i64, f64 or bool, got: ") << a;
      })
      .Case<StringAttr, UnitAttr, DenseI64ArrayAttr, DenseF64ArrayAttr,
            DenseBoolArrayAttr, ScalarTypeAttr, TorchLayoutAttr, MemoryFormatAttr,
            DeviceAttr, ComplexAttr>([](Attribute) { return success(); })
      .Default([&](Attribute a) -> LogicalResult {
        return op.emitOpError("argument must be one that torch has, got: ") << a;
      });
}

/// Checks `returns` and collects the results that it names (call_c1).
static LogicalResult verifyReturns(CallOp op, SmallVectorImpl<int64_t> &named) {
  for (Attribute attribute : op.getReturns()) {
    if (auto result = dyn_cast<ResultAttr>(attribute)) {
      named.push_back(result.getIndex());
    } else if (auto results = dyn_cast<ResultsAttr>(attribute)) {
      for (int64_t index : results.getIndices())
        if (index != -1)
          named.push_back(index);
    } else if (isa<OperandAttr, OperandsAttr>(attribute)) {
      if (failed(verifyArgument(op, attribute)))
        return failure();
      if (auto operand = dyn_cast<OperandAttr>(attribute);
          operand && failed(verifyTensor(op, operand.getIndex())))
        return failure();
    } else if (!isa<UnitAttr>(attribute)) {
      return op.emitOpError("returns must hold results, operands or unit, got: ")
             << attribute;
    }
  }
  return success();
}

LogicalResult CallOp::verify() {
  // call_c1
  for (Attribute argument : getArgs())
    if (failed(verifyArgument(*this, argument)))
      return failure();
  for (NamedAttribute argument : getKwargs())
    if (failed(verifyArgument(*this, argument.getValue())))
      return failure();
  SmallVector<int64_t> named;
  if (failed(verifyReturns(*this, named)))
    return failure();
  // call_c4
  llvm::SmallSet<int64_t, 4> mutated;
  for (int64_t index : getMutates()) {
    if (index < 0 || index >= int64_t(getInputs().size()))
      return emitOpError("mutates must name one of ")
             << getInputs().size() << " operands, got: " << index;
    if (failed(verifyTensor(*this, index)))
      return failure();
    if (!mutated.insert(index).second)
      return emitOpError("mutates must name an operand once, got twice: ")
             << index;
  }
  int64_t fresh = named.size();
  if (isBufferized()) {
    // call_c3
    if (!getResults().empty())
      return emitOpError("on memrefs must have no results, got: ")
             << getResults().size();
    if (int64_t(getOuts().size()) != fresh)
      return emitOpError("must have as many outs as fresh tensors in returns, got: ")
             << getOuts().size() << " and " << fresh;
  } else {
    // call_c2
    int64_t expected = fresh + int64_t(getMutates().size());
    if (int64_t(getResults().size()) != expected)
      return emitOpError("must have ")
             << fresh << " fresh results and " << getMutates().size()
             << " new versions, got: " << getResults().size();
    for (auto [position, index] : llvm::enumerate(getMutates())) {
      Type before = getInputs()[index].getType();
      Type after = getResult(fresh + position).getType();
      if (before != after)
        return emitOpError("new version of operand ")
               << index << " must have its type " << before
               << ", got: " << after;
    }
  }
  // call_c2, call_c3: each fresh tensor is named once.
  llvm::SmallSet<int64_t, 4> seen;
  for (int64_t index : named)
    if (index < 0 || index >= fresh || !seen.insert(index).second)
      return emitOpError("returns must name each of ")
             << fresh << " fresh results once, got: " << index;
  return success();
}

namespace {
/// The state of torch's random number generators.
struct GeneratorResource
    : public SideEffects::Resource::Base<GeneratorResource> {
  StringRef getName() final { return "RandomGenerator"; }
};
} // namespace

bool pkb::aten::makesUndefined(StringRef callee) {
  return llvm::is_contained({"aten::empty", "aten::empty_like",
                             "aten::new_empty", "aten::empty_strided",
                             "aten::new_empty_strided"},
                            callee);
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (getRng()) {
    effects.emplace_back(MemoryEffects::Read::get(), GeneratorResource::get());
    effects.emplace_back(MemoryEffects::Write::get(), GeneratorResource::get());
  }
  if (isBufferized()) {
    for (OpOperand &operand : getInputsMutable())
      if (isa<MemRefType>(operand.get().getType()))
        effects.emplace_back(MemoryEffects::Read::get(), &operand);
    for (int64_t index : getMutates())
      if (isa<MemRefType>(getInputs()[index].getType()))
        effects.emplace_back(MemoryEffects::Write::get(),
                             &getInputsMutable()[index]);
    for (OpOperand &operand : getOutsMutable())
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    if (getOuts().empty() && getMutates().empty())
      effects.emplace_back(MemoryEffects::Write::get());
    return;
  }
  // Two tensors of undefined contents stay two: each is there to be filled.
  if (makesUndefined(getCallee()))
    for (OpResult result : getOperation()->getOpResults())
      effects.emplace_back(MemoryEffects::Allocate::get(), result);
  // An operator that neither returns nor writes anything is called for what it
  // does elsewhere (an assertion, say).
  if (getResults().empty())
    effects.emplace_back(MemoryEffects::Write::get());
}

//===----------------------------------------------------------------------===//
// Views and literals
//===----------------------------------------------------------------------===//

/// True if the bytes of `inner` lie within those of `outer`.
static bool contains(RankedTensorType outer, RankedTensorType inner) {
  ByteRange o = getWindow(outer), i = getWindow(inner);
  return i.begin == i.end || (i.begin >= o.begin && i.end <= o.end);
}

LogicalResult AsStridedOp::verify() {
  auto base = cast<RankedTensorType>(getBase().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (!base.hasStaticShape() || !result.hasStaticShape())
    return success();
  // as_strided_c1
  if (!contains(base, result))
    return emitOpError("window must lie in that of the base ")
           << base << ", got: " << result;
  return success();
}

RankedTensorType ViewWriteOp::getWindowType() {
  auto piece = cast<RankedTensorType>(getPiece().getType());
  if (!getWindow())
    return piece;
  return getTensorType(piece.getShape(), piece.getElementType(),
                       getWindow()->getStrides(), getWindow()->getOffset());
}

LogicalResult ViewWriteOp::verify() {
  auto base = cast<RankedTensorType>(getBase().getType());
  auto piece = cast<RankedTensorType>(getPiece().getType());
  // view_write_c2
  if (getWindow() &&
      int64_t(getWindow()->getStrides().size()) != piece.getRank())
    return emitOpError("window must have one stride for each of ")
           << piece.getRank()
           << " dimensions, got: " << getWindow()->getStrides().size();
  if (!base.hasStaticShape() || !piece.hasStaticShape())
    return success();
  // view_write_c1
  if (!contains(base, getWindowType()))
    return emitOpError("window must lie in that of the base ")
           << base << ", got: " << getWindowType();
  return success();
}

LogicalResult LiteralOp::verify() {
  // literal_c1
  auto type = dyn_cast<RankedTensorType>(getValue().getType());
  if (!type || type.getEncoding())
    return emitOpError("value must be a contiguous ranked tensor, got: ")
           << getValue().getType();
  return success();
}
