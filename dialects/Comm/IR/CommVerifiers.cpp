//===- CommVerifiers.cpp - constraints of collectives ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Comm/IR/Comm.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace pkb::comm;

/// `whole` holds `size` times `part`, along dimension 0 or along a new one.
static bool isMultiple(Type whole, Type part, int64_t size) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(part).getShape();
  ArrayRef<int64_t> wholeShape = cast<RankedTensorType>(whole).getShape();
  SmallVector<int64_t> stacked(shape), joined(shape);
  stacked.insert(stacked.begin(), size);
  if (!joined.empty())
    joined.front() = ShapedType::isDynamic(joined.front()) ? ShapedType::kDynamic : joined.front() * size;
  return wholeShape == ArrayRef(stacked) || (!shape.empty() && wholeShape == ArrayRef(joined)) ||
         (size == 1 && getFreshType(whole) == getFreshType(part));
}

/// One result that holds the inputs of all ranks, or one for each.
static LogicalResult verifyGathered(Operation *op, Type type, TypeRange results, int64_t size) {
  Type input = getFreshType(type);
  // all_gather_c2, gather_c2
  if (results.size() != 1) {
    for (Type type : results)
      if (type != input)
        return op->emitOpError("each of several results must have the input's type ") << input << ", got: " << type;
    return success();
  }
  // all_gather_c1, gather_c1
  if (!isMultiple(results.front(), input, size))
    return op->emitOpError("result must hold the inputs of ")
           << size << " ranks along dimension 0 or along a new dimension 0 of " << input
           << ", got: " << results.front();
  return success();
}

/// One input that holds the parts of all ranks, or one for each.
static LogicalResult verifyScattered(Operation *op, TypeRange inputs, Type result, int64_t size) {
  // reduce_scatter_c2, scatter_c2
  if (inputs.size() != 1) {
    for (Type type : inputs)
      if (getFreshType(type) != result)
        return op->emitOpError("each of several inputs must have the result's type ") << result << ", got: " << type;
    return success();
  }
  // reduce_scatter_c1, scatter_c1
  if (!isMultiple(inputs.front(), result, size))
    return op->emitOpError("input must hold the results of ")
           << size << " ranks along dimension 0 or along a new dimension 0 of " << result
           << ", got: " << inputs.front();
  return success();
}

LogicalResult AllGatherOp::verify() {
  return verifyGathered(*this, getInput().getType(), getResultTypes(), getGroup().getSize());
}

LogicalResult GatherOp::verify() {
  return verifyGathered(*this, getInput().getType(), getResultTypes(), getGroup().getSize());
}

LogicalResult ReduceScatterOp::verify() {
  return verifyScattered(*this, getInputs().getTypes(), getResult().getType(), getGroup().getSize());
}

LogicalResult ScatterOp::verify() {
  return verifyScattered(*this, getInputs().getTypes(), getResult().getType(), getGroup().getSize());
}

LogicalResult AllToAllOp::verify() {
  // all_to_all_c1
  if (getInputs().size() != getResults().size())
    return emitOpError("must have as many results as inputs, got: ")
           << getResults().size() << " and " << getInputs().size();
  // all_to_all_c3
  auto input = cast<RankedTensorType>(getFreshType(getInputs().front().getType()));
  if (getInputs().size() != 1) {
    for (Type type : llvm::concat<const Type>(
             SmallVector<Type>(getInputs().getTypes()),
             SmallVector<Type>(getResults().getTypes())))
      if (getFreshType(type) != input)
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

LogicalResult AllToAllVOp::verify() {
  // all_to_all_v_c1
  if (getInputs().size() != getResults().size())
    return emitOpError("must have as many results as inputs, got: ")
           << getResults().size() << " and " << getInputs().size();
  return success();
}

LogicalResult PermuteOp::verify() {
  ArrayRef<int64_t> pairs = getPairs();
  if (pairs.size() % 2)
    return emitOpError("pairs must have two ranks each, got: ") << pairs.size() << " ranks";
  llvm::SmallSet<int64_t, 16> senders, receivers;
  for (; !pairs.empty(); pairs = pairs.drop_front(2)) {
    int64_t sender = pairs[0], receiver = pairs[1];
    // permute_c1
    std::optional<int64_t> row = getGroup().getRowOf(sender);
    if (!row || row != getGroup().getRowOf(receiver))
      return emitOpError("pairs must have both ranks in one row of the group, got: [")
             << sender << ", " << receiver << "]";
    // permute_c2
    if (!senders.insert(sender).second)
      return emitOpError("a rank must send once at most, got twice: ") << sender;
    if (!receivers.insert(receiver).second)
      return emitOpError("a rank must get once at most, got twice: ") << receiver;
  }
  // permute_c3
  RankedTensorType input = cast<RankedTensorType>(getInput().getType());
  RankedTensorType result = cast<RankedTensorType>(getResult().getType());
  if (input.hasStaticShape() && result.hasStaticShape() && input.getNumElements() != result.getNumElements())
    return emitOpError("input and result must have as many elements, got: ") << input << " and " << result;
  return success();
}

/// The rank paired with `rank`, which stands at place `at` (0 or 1) of its pair.
static std::optional<int64_t> findPartner(ArrayRef<int64_t> pairs, size_t at, int64_t rank) {
  for (; !pairs.empty(); pairs = pairs.drop_front(2))
    if (pairs[at] == rank)
      return pairs[1 - at];
  return std::nullopt;
}

std::optional<int64_t> PermuteOp::getReceiver(int64_t rank) { return findPartner(getPairs(), 0, rank); }

std::optional<int64_t> PermuteOp::getSender(int64_t rank) { return findPartner(getPairs(), 1, rank); }

LogicalResult AbsentOp::verify() {
  // absent_c1
  if (cast<RankedTensorType>(getResult().getType()).getEncoding())
    return emitOpError("must be contiguous, got: ") << getResult().getType();
  return success();
}

LogicalResult HostReadOp::verify() {
  // host_read_c1
  auto type = cast<RankedTensorType>(getInput().getType());
  if (type.getEncoding() || !type.hasStaticShape() || type.getNumElements() != 1)
    return emitOpError("must read a contiguous tensor of one element, got: ") << type;
  return success();
}
