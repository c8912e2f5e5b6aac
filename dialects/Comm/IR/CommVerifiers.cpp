//===- CommVerifiers.cpp - constraints of collectives ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Comm/IR/Comm.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pkb::comm;

LogicalResult pkb::comm::detail::verifyCollective(Operation *op) {
  auto collective = cast<CollectiveOpInterface>(op);
  int64_t size = collective.getGroup().getSize();
  SmallVector<Value> values(collective.getCollectiveInputs());
  llvm::append_range(values, collective.getCollectiveResults());
  for (Value value : values) {
    auto type = cast<RankedTensorType>(value.getType());
    auto first = cast<RankedTensorType>(values.front().getType());
    // collective_c1
    if (type.getElementType() != first.getElementType())
      return op->emitOpError("inputs and results must have one element type, got: ")
             << first.getElementType() << " and " << type.getElementType();
    // collective_c2
    if (type.getEncoding())
      return op->emitOpError("inputs and results must be contiguous, got: ")
             << type;
  }
  if (isa<BarrierOp>(op))
    return success();
  // collective_c3
  int64_t inputs = collective.getCollectiveInputs().size();
  int64_t results = collective.getCollectiveResults().size();
  if (inputs != 1 && inputs != size)
    return op->emitOpError("must have 1 input or one for each of ")
           << size << " ranks, got: " << inputs;
  if (results != 1 && results != size)
    return op->emitOpError("must have 1 result or one for each of ")
           << size << " ranks, got: " << results;
  return success();
}

/// The class of an element type and its width: accumulation widens within one.
static std::pair<char, unsigned> classify(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return {'c', complex.getElementType().getIntOrFloatBitWidth()};
  if (isa<FloatType>(type))
    return {'f', type.getIntOrFloatBitWidth()};
  if (isa<IntegerType>(type))
    return {'i', type.getIntOrFloatBitWidth()};
  return {'?', 0};
}

LogicalResult AllReduceOp::verify() {
  Type element = getInput().getType().getElementType();
  auto [elementClass, elementWidth] = classify(element);
  // all_reduce_c2
  bool defined = true;
  switch (getKind()) {
  case ReduceKind::Sum:
  case ReduceKind::Avg:
  case ReduceKind::Prod:
    defined = elementClass != '?';
    break;
  case ReduceKind::Min:
  case ReduceKind::Max:
    defined = elementClass == 'f' || elementClass == 'i';
    break;
  case ReduceKind::BAnd:
  case ReduceKind::BOr:
  case ReduceKind::BXor:
    defined = elementClass == 'i';
    break;
  case ReduceKind::PremulSum:
    defined = elementClass == 'f' || elementClass == 'c';
    break;
  }
  if (!defined)
    return emitOpError("kind ") << stringifyReduceKind(getKind())
                                << " must be defined for the element type, got: "
                                << element;
  // all_reduce_c3
  auto [sumClass, sumWidth] = classify(getAccumulation());
  bool wider = sumClass == elementClass && sumWidth > elementWidth;
  if (getAccumulation() != element && !wider)
    return emitOpError("accumulation type must be ")
           << element << " or a wider type of its class, got: "
           << getAccumulation();
  return success();
}

LogicalResult AllGatherOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  int64_t size = getGroup().getSize();
  // all_gather_c2
  if (getResults().size() != 1) {
    for (Type type : getResultTypes())
      if (type != input)
        return emitOpError("each of several results must have the input's type ")
               << input << ", got: " << type;
    return success();
  }
  // all_gather_c1
  auto result = cast<RankedTensorType>(getResults().front().getType());
  SmallVector<int64_t> stacked(input.getShape());
  stacked.insert(stacked.begin(), size);
  SmallVector<int64_t> joined(input.getShape());
  if (!joined.empty())
    joined.front() = ShapedType::isDynamic(joined.front())
                         ? ShapedType::kDynamic
                         : joined.front() * size;
  bool legal = result.getShape() == ArrayRef(stacked) ||
               (input.getRank() && result.getShape() == ArrayRef(joined)) ||
               (size == 1 && result == input);
  if (!legal)
    return emitOpError("result must hold the inputs of ")
           << size << " ranks along dimension 0 or along a new dimension 0 of "
           << input << ", got: " << result;
  return success();
}

LogicalResult AllToAllOp::verify() {
  // all_to_all_c1
  if (getInputs().size() != getResults().size())
    return emitOpError("must have as many results as inputs, got: ")
           << getResults().size() << " and " << getInputs().size();
  // all_to_all_c3
  auto input = cast<RankedTensorType>(getInputs().front().getType());
  if (getInputs().size() != 1) {
    for (Type type : llvm::concat<const Type>(
             SmallVector<Type>(getInputs().getTypes()),
             SmallVector<Type>(getResults().getTypes())))
      if (type != input)
        return emitOpError("tensors of the list form must have one type, got: ")
               << input << " and " << type;
    return success();
  }
  // all_to_all_c2
  auto result = cast<RankedTensorType>(getResults().front().getType());
  int64_t size = getGroup().getSize();
  for (RankedTensorType type : {input, result})
    if (type.getRank() == 0 ||
        (!type.isDynamicDim(0) && type.getDimSize(0) % size))
      return emitOpError("dimension 0 must be divisible by the ")
             << size << " ranks of a row, got: " << type;
  if (input.hasStaticShape() && result.hasStaticShape() &&
      input.getNumElements() != result.getNumElements())
    return emitOpError("input and result must have as many elements, got: ")
           << input << " and " << result;
  return success();
}
