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
  if (collectives.empty()) {
    for (auto call : op.getEntry().getOps<aten::CallOp>())
      if (std::optional<RowShape> shape = getReducedRows(call)) {
        count = shape->rows;
        rowWidth = shape->width;
        break;
      }
    return;
  }
  first = collectives.front();
  if (first.getCollectiveInputs().empty())
    return;
  Value message = resolve(first.getCollectiveInputs().front());
  count = typeOf(message).getNumElements();
  // A reduction of as many rows as the message has elements, behind operators that work element by element.
  SmallVector<Value> open{message};
  llvm::DenseSet<Value> looked;
  while (!open.empty() && rowWidth == 1) {
    Value value = resolve(open.pop_back_val());
    auto call = value.getDefiningOp<aten::CallOp>();
    if (!call || !looked.insert(value).second)
      continue;
    std::optional<RowReduction> reduction = getRowReduction(call);
    if (reduction && reduction->rows == count)
      rowWidth = reduction->width;
    else
      open.append(call.getInputs().begin(), call.getInputs().end());
  }
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
  return covered % rowWidth == 0 && (inner == 0 || inner == 1); // a dimension may hold several rows
}

/// The operands of an operator on rows: weights come from outside.
LogicalResult FusedRegion::visitOperands(aten::CallOp call, const RowOperator &rows, std::string &why) {
  for (Value each : {rows.weight, rows.bias}) {
    if (!each)
      continue;
    if (!isa<BlockArgument>(each)) {
      why = "a weight of " + nameOf(call) + " is computed beside it";
      return failure();
    }
    if (!hasRows(broadcastWindow(typeOf(each), typeOf(rows.input).getShape()))) {
      why = "a weight of " + nameOf(call) + " does not lie in one piece";
      return failure();
    }
  }
  return visit(rows.input, why);
}

LogicalResult FusedRegion::visit(Value value, std::string &why) {
  value = resolve(value);
  if (!seen.insert(value).second || (first && value.getDefiningOp() == first.getOperation()))
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
  if (std::optional<RowShape> shape = getReducedRows(call)) {
    if (!(*shape == RowShape{count, rowWidth})) {
      why = nameOf(call) + (first ? " does not reduce the rows that the collective's message is made of"
                                  : " does not reduce the rows that others beside it reduce");
      return failure();
    }
    std::optional<RowOperator> rows = getRowOperator(call);
    return rows ? visitOperands(call, *rows, why) : visit(getReducedTensor(call), why);
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

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

BlockArgument FusedRegion::leafOf(Value value) {
  while (auto view = value.getDefiningOp<aten::AsStridedOp>())
    value = view.getBase();
  return dyn_cast<BlockArgument>(value);
}

/// Notes the order in which `value` and what it is computed from are numbered on one side.
LogicalResult FusedRegion::assign(FusedSide side, Value value, const ElementOrder &order, std::string &why) {
  if (leafOf(value))
    return success();
  auto [place, fresh] = orders[static_cast<int>(side)].try_emplace(value, order);
  if (!fresh) {
    if (place->second == order)
      return success();
    why = "a tensor is used in two orders of its elements";
    return failure();
  }
  if (value.getDefiningOp() == first.getOperation()) {
    if (side == FusedSide::Result && order == ElementOrder::rowMajor(typeOf(value).getShape()))
      return success();
    why = "a tensor is used in two orders of its elements";
    return failure();
  }
  if (auto view = value.getDefiningOp<aten::AsStridedOp>()) {
    std::optional<ElementOrder> base = order.through(typeOf(value), typeOf(view.getBase()));
    if (!base) {
      why = "a view takes a part of a tensor that is computed here, or cuts its dimensions";
      return failure();
    }
    return assign(side, view.getBase(), *base, why);
  }
  auto call = value.getDefiningOp<aten::CallOp>();
  if (!call || !isElementwise(call)) {
    why = (call ? nameOf(call) : "an operator") + " is not computed element by element";
    return failure();
  }
  for (Value input : call.getInputs()) {
    if (leafOf(input)) {
      if (broadcastWindow(typeOf(input), typeOf(value).getShape()))
        continue;
    } else if (typeOf(input).getShape() == typeOf(value).getShape()) {
      if (failed(assign(side, input, order, why)))
        return failure();
      continue;
    }
    why = "an operand of " + nameOf(call) + " is broadcast";
    return failure();
  }
  return success();
}

/// From the collective's result on: the order of what is computed from it.
void FusedRegion::propagate() {
  Value result = first.getCollectiveResults().front();
  auto &found = results;
  found.try_emplace(result, ElementOrder::rowMajor(typeOf(result).getShape()));
  for (Operation &user : op.getEntry()) {
    for (Value operand : user.getOperands()) {
      auto place = found.find(operand);
      if (place == found.end() || user.getNumResults() != 1 || isa<comm::CollectiveOpInterface>(user))
        continue;
      std::optional<ElementOrder> order = place->second;
      if (auto view = dyn_cast<aten::AsStridedOp>(user))
        order = order->through(typeOf(operand), typeOf(view.getResult()));
      else if (typeOf(user.getResult(0)).getShape() != typeOf(operand).getShape())
        continue;
      if (order)
        found.try_emplace(user.getResult(0), *order);
      break;
    }
  }
}

/// Collectives whose kernels take messages from, and give results to, whatever computes them.
static bool isFusibleCollective(comm::CollectiveOpInterface op, std::string &why) {
  Operation *any = op.getOperation();
  if (!isa<comm::AllReduceOp, comm::AllGatherOp, comm::AllToAllOp, comm::ReduceScatterOp>(any)) {
    why = any->getName().stripDialect().str() + " does not share a kernel";
    return false;
  }
  if (op.getCollectiveInputs().size() != 1 || op.getCollectiveResults().size() != 1) {
    why = "lists of tensors do not share a kernel";
    return false;
  }
  auto type = typeOf(op.getCollectiveInputs().front());
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  bool number = isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(type.getElementType()) ||
                (integer && integer.isSignless() && integer.getWidth() >= 8);
  if (!number || !type.hasStaticShape() || type.getNumElements() == 0) {
    why = "only tensors of real numbers and signed integers share a kernel";
    return false;
  }
  if (std::optional<comm::ReduceKind> kind = op.getReduceKind()) {
    if (!llvm::is_contained({comm::ReduceKind::Sum, comm::ReduceKind::Avg, comm::ReduceKind::Prod, comm::ReduceKind::Min, comm::ReduceKind::Max}, *kind)) {
      why = "a reduction by " + comm::stringifyReduceKind(*kind).str() + " of such elements does not share a kernel";
      return false;
    }
  }
  return true;
}

/// True if `value` is computed from what the collective gives.
bool FusedRegion::isBehind(Value value) {
  SmallVector<Operation *> open{value.getDefiningOp()};
  llvm::DenseSet<Operation *> looked;
  while (!open.empty()) {
    Operation *maker = open.pop_back_val();
    if (maker == first.getOperation())
      return true;
    if (!maker || !looked.insert(maker).second)
      continue;
    for (Value operand : maker->getOperands())
      open.push_back(operand.getDefiningOp());
  }
  return false;
}

LogicalResult FusedRegion::checkElements(std::string &why) {
  Value message = first.getCollectiveInputs().front(), result = first.getCollectiveResults().front();
  if (failed(assign(FusedSide::Message, message, ElementOrder::rowMajor(typeOf(message).getShape()), why)))
    return failure();
  propagate();
  for (Value value : op.getEntry().getTerminator()->getOperands()) {
    int64_t elements = typeOf(value).getNumElements(), given = typeOf(result).getNumElements();
    if (leafOf(value) || elements != given) {
      auto call = resolve(value).getDefiningOp<aten::CallOp>();
      if (!call || !isBehind(value))
        why = "something that is computed before the collective is needed elsewhere, too";
      else if (elements < given)
        why = "only a part of what it gives goes into " + nameOf(call);
      else
        why = nameOf(call) + " gives a larger tensor than the collective";
      return failure();
    }
    if (aten::getLayout(typeOf(value)).offset != 0 || !aten::isDense(typeOf(value))) {
      why = "a result is a view";
      return failure();
    }
    auto place = results.find(value);
    ElementOrder order = place == results.end() ? ElementOrder::rowMajor(typeOf(value).getShape()) : place->second;
    if (failed(assign(FusedSide::Result, value, order, why)))
      return failure();
  }
  return success();
}

LogicalResult FusedRegion::checkRows(std::string &why) {
  if (first && !isa<comm::AllReduceOp>(first.getOperation())) {
    why = "of reductions of rows only their all_reduce shares a kernel";
    return failure();
  }
  if (first && !isa<FloatType>(typeOf(first.getCollectiveInputs().front()).getElementType())) {
    why = "only reductions of real numbers share a kernel";
    return failure();
  }
  if (rowWidth <= kShortRow) {
    why = whyShort(rowWidth);
    return failure();
  }
  if (first && failed(visit(first.getCollectiveInputs().front(), why)))
    return failure();
  for (Value value : op.getEntry().getTerminator()->getOperands()) {
    if (failed(visit(value, why)))
      return failure();
    RankedTensorType type = typeOf(value);
    if (isFull(value) ? !hasRows(type) : type.getNumElements() != count) {
      why = "a result does not have the rows of what is reduced";
      return failure();
    }
    if (aten::getLayout(type).offset != 0) {
      why = "a result is a view";
      return failure();
    }
  }
  return success();
}

LogicalResult FusedRegion::check(std::string &why) {
  if (op.getCollectives().size() > 1) {
    why = "two collectives do not share a kernel";
    return failure();
  }
  if (first && !isFusibleCollective(first, why))
    return failure();
  return overRows() ? checkRows(why) : checkElements(why);
}

SmallVector<comm::CollectiveOpInterface> pkb::collectivesOf(Operation *op) {
  if (auto fused = dyn_cast<comm::FusedOp>(op))
    return fused.getCollectives();
  return {cast<comm::CollectiveOpInterface>(op)};
}

LogicalResult pkb::checkFused(comm::FusedOp op, std::string &why) {
  SmallVector<comm::FusedOp> phases = comm::getPhases(op);
  if (phases.empty())
    return FusedRegion(op).check(why);
  bool rows = FusedRegion(phases.front()).overRows();
  for (comm::FusedOp phase : phases) {
    FusedRegion region(phase);
    if (failed(region.check(why)))
      return failure();
    // The schedule of a kernel says how many bytes are a chunk of elements, or how many rows.
    if (region.collective() ? region.overRows() != rows : rows) {
      why = "an exchange of one number for each row does not share a kernel with one of elements";
      return failure();
    }
    for (Value result : phase.getResults())
      if (aten::getLayout(typeOf(result)).offset != 0 || !aten::isDense(typeOf(result))) {
        why = "what one collective leaves for the next is a view";
        return failure();
      }
  }
  return success();
}
