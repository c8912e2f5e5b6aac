// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FusedRegion.cpp - how a comm.fused maps onto one kernel ----------===//

#include "pkb/Analysis/FusedRegion.h"

using namespace mlir;
using namespace pkb;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static std::string nameOf(aten::CallOp call) {
  StringRef name = call.getCallee();
  name.consume_front("aten::");
  return name.str();
}

FusedRegion::FusedRegion(comm::FusedOp op) : op(op) {
  SmallVector<comm::CollectiveOpInterface> collectives = op.getCollectives();
  first = collectives.front();
  if (first.getCollectiveInputs().empty())
    return;
  Value message = resolve(first.getCollectiveInputs().front());
  count = typeOf(message).getNumElements();
  if (auto call = message.getDefiningOp<aten::CallOp>())
    if (std::optional<RowReduction> reduction = getRowReduction(call))
      rowWidth = reduction->width;
}

Value FusedRegion::resolve(Value value) {
  while (auto view = value.getDefiningOp<aten::AsStridedOp>()) {
    RankedTensorType from = typeOf(view.getBase()), to = typeOf(view.getResult());
    bool reshape = !from.getEncoding() && !to.getEncoding() && from.getElementType() == to.getElementType() &&
                   from.getNumElements() == to.getNumElements();
    if (!reshape)
      break;
    value = view.getBase();
  }
  return value;
}

bool FusedRegion::isFull(Value value) const { return overRows() && typeOf(value).getNumElements() == count * rowWidth; }

RankedTensorType FusedRegion::broadcastWindow(RankedTensorType leaf, ArrayRef<int64_t> shape) {
  aten::Layout layout = aten::getLayout(leaf);
  int64_t missing = static_cast<int64_t>(shape.size()) - leaf.getRank();
  if (missing < 0)
    return {};
  SmallVector<int64_t> strides(shape.size(), 0);
  for (int64_t dim = 0; dim < leaf.getRank(); ++dim) {
    if (leaf.getDimSize(dim) == shape[dim + missing])
      strides[dim + missing] = layout.strides[dim];
    else if (leaf.getDimSize(dim) != 1)
      return {};
  }
  return aten::getTensorType(shape, leaf.getElementType(), strides, layout.offset);
}

OperandAccess FusedRegion::accessOf(aten::CallOp call, Value operand) const {
  RankedTensorType type = typeOf(operand), result = typeOf(call->getResult(0));
  if (isa<BlockArgument>(operand))
    return broadcastWindow(type, result.getShape()) ? OperandAccess::Memory : OperandAccess::Illegal;
  int64_t missing = result.getRank() - type.getRank();
  if (missing < 0)
    return OperandAccess::Illegal;
  if (type.getNumElements() == result.getNumElements())
    return OperandAccess::SameIndex;
  if (!isFull(call->getResult(0)) || type.getNumElements() != count)
    return OperandAccess::Illegal;
  // One element per row: the last dimensions, which make up a row, are broadcast, and no other is.
  int64_t inRow = 1, dim = result.getRank() - 1;
  for (; dim >= 0 && inRow < rowWidth; --dim) {
    if (dim - missing >= 0 && type.getDimSize(dim - missing) != 1)
      return OperandAccess::Illegal;
    inRow *= result.getDimSize(dim);
  }
  for (; dim >= 0; --dim)
    if ((dim - missing >= 0 ? type.getDimSize(dim - missing) : 1) != result.getDimSize(dim))
      return OperandAccess::Illegal;
  return inRow == rowWidth ? OperandAccess::OfRow : OperandAccess::Illegal;
}

/// True if rows of `window` have neighbouring elements, or one that stands for all.
bool FusedRegion::hasRows(RankedTensorType window) const {
  aten::Layout layout = aten::getLayout(window);
  int64_t covered = 1, inner = -1;
  for (int64_t dim = window.getRank() - 1; dim >= 0 && covered < rowWidth; --dim) {
    int64_t size = window.getDimSize(dim);
    if (size == 1)
      continue;
    if (inner < 0)
      inner = layout.strides[dim];
    else if (layout.strides[dim] != inner * covered)
      return false;
    covered *= size;
  }
  return covered == rowWidth && (inner == 0 || inner == 1);
}

LogicalResult FusedRegion::visit(Value value, std::string &why) {
  value = resolve(value);
  if (!seen.insert(value).second || value.getDefiningOp() == first.getOperation())
    return success();
  if (isa<BlockArgument>(value)) {
    if (isFull(value) && !hasRows(typeOf(value))) {
      why = "the rows of a tensor do not lie in one piece";
      return failure();
    }
    return success();
  }
  auto call = value.getDefiningOp<aten::CallOp>();
  if (!call) {
    why = "a view in between does not keep the order of the elements";
    return failure();
  }
  int64_t elements = typeOf(value).getNumElements();
  if (std::optional<RowReduction> reduction = getRowReduction(call)) {
    if (reduction->rows != count || reduction->width != rowWidth) {
      why = nameOf(call) + " does not reduce the rows that the collective's message is made of";
      return failure();
    }
    return visit(getReducedTensor(call), why);
  }
  if (!isElementwise(call)) {
    why = nameOf(call) + " is not computed element by element";
    return failure();
  }
  if (elements != count && !isFull(value)) {
    why = nameOf(call) + " gives a tensor of another size than the collective";
    return failure();
  }
  for (Value input : call.getInputs()) {
    OperandAccess access = accessOf(call, input);
    if (access == OperandAccess::Illegal) {
      why = "an operand of " + nameOf(call) + " is broadcast in a way that does not follow the rows of the message";
      return failure();
    }
    if (access == OperandAccess::Memory) {
      RankedTensorType window = broadcastWindow(typeOf(input), typeOf(value).getShape());
      if (isFull(value) && !hasRows(window)) {
        why = "the rows of an operand of " + nameOf(call) + " do not lie in one piece";
        return failure();
      }
      continue;
    }
    if (failed(visit(input, why)))
      return failure();
  }
  return success();
}

LogicalResult FusedRegion::check(std::string &why) {
  constexpr int64_t lineBytes = 16;
  auto reduce = dyn_cast<comm::AllReduceOp>(first.getOperation());
  if (!reduce || op.getCollectives().size() != 1 || !overRows()) {
    why = "only an all_reduce of reductions of rows shares a kernel";
    return failure();
  }
  if (reduce.getKind() != comm::ReduceKind::Sum || !isa<FloatType>(reduce.getInput().getType().getElementType())) {
    why = "only sums of real numbers share a kernel";
    return failure();
  }
  if (rowWidth <= lineBytes) {
    why = "rows of " + std::to_string(rowWidth) + " elements are too short for a warp each";
    return failure();
  }
  if (failed(visit(first.getCollectiveInputs().front(), why)))
    return failure();
  for (Value value : op.getEntry().getTerminator()->getOperands()) {
    if (failed(visit(value, why)))
      return failure();
    RankedTensorType type = typeOf(value);
    if (isFull(value) ? !hasRows(type) : type.getNumElements() != count) {
      why = "a result does not have the rows of the message";
      return failure();
    }
    if (aten::getLayout(type).offset != 0) {
      why = "a result is a view";
      return failure();
    }
  }
  return success();
}
