// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowOperators.cpp - operators that work on rows -------------------===//

#include "pkb/Analysis/RowOperators.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pkb;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool isReal(Type type) { return isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(type); }

/// The rows of `type` of which the last `inRow` dimensions are one.
static RowShape rowsOf(RankedTensorType type, int64_t inRow) {
  RowShape shape{1, 1};
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    (dim < type.getRank() - inRow ? shape.rows : shape.width) *= type.getDimSize(dim);
  return shape;
}

/// The tensor that argument `index` is; null where it is none.
static Value tensorAt(aten::CallOp call, size_t index) {
  ArrayRef<Attribute> args = call.getArgs().getValue();
  auto operand = index < args.size() ? dyn_cast<aten::OperandAttr>(args[index]) : aten::OperandAttr();
  return operand && operand.getIndex() >= 0 ? call.getInputs()[operand.getIndex()] : Value();
}

/// Dimension and type of a softmax are those of the input's last dimension and of a float.
static bool matchSoftmax(aten::CallOp call, RowOperator &op) {
  ArrayRef<Attribute> args = call.getArgs().getValue();
  auto dim = args.size() == 3 ? dyn_cast<IntegerAttr>(args[1]) : IntegerAttr();
  RankedTensorType type = typeOf(op.input);
  if (!dim || call->getNumResults() != 1 || type.getRank() == 0 || (dim.getInt() != -1 && dim.getInt() != type.getRank() - 1))
    return false;
  op.shape = rowsOf(type, 1);
  return true;
}

/// Weight and bias may be absent; what there is has the shape of a row.
static bool matchLayerNorm(aten::CallOp call, RowOperator &op) {
  ArrayRef<Attribute> args = call.getArgs().getValue();
  if (args.size() != 5 || call->getNumResults() != 3)
    return false;
  auto normalized = dyn_cast<DenseI64ArrayAttr>(args[1]);
  auto epsilon = dyn_cast<FloatAttr>(args[4]);
  ArrayRef<int64_t> shape = typeOf(op.input).getShape();
  if (!normalized || !epsilon || normalized.empty() || static_cast<size_t>(normalized.size()) > shape.size() ||
      shape.take_back(normalized.size()) != normalized.asArrayRef())
    return false;
  op.weight = tensorAt(call, 2);
  op.bias = tensorAt(call, 3);
  for (Value each : {op.weight, op.bias})
    if (each && (typeOf(each).getShape() != normalized.asArrayRef() || !isReal(typeOf(each).getElementType()) || aten::isOnHost(each)))
      return false;
  for (size_t index : {2, 3})
    if (!tensorAt(call, index) && !isa<UnitAttr>(args[index]))
      return false;
  op.epsilon = epsilon.getValueAsDouble();
  op.shape = rowsOf(typeOf(op.input), normalized.size());
  return true;
}

std::optional<RowOperator> pkb::getRowOperator(aten::CallOp call) {
  using Matcher = bool (*)(aten::CallOp, RowOperator &);
  auto [function, match] = llvm::StringSwitch<std::pair<RowFunction, Matcher>>(call.getCallee())
                               .Case("aten::_softmax", {RowFunction::Softmax, matchSoftmax})
                               .Case("aten::_log_softmax", {RowFunction::LogSoftmax, matchSoftmax})
                               .Case("aten::native_layer_norm", {RowFunction::LayerNorm, matchLayerNorm})
                               .Default({RowFunction::Softmax, nullptr});
  if (!match || call.isBufferized() || call.getRng() || call->hasAttr(aten::kHostAttrName) || !call.getMutates().empty() || !call.getKwargs().empty())
    return std::nullopt;
  RowOperator op{function, {}, tensorAt(call, 0), {}, {}, 0, {}};
  if (!op.input || !isa<RankedTensorType>(op.input.getType()) || aten::isOnHost(op.input))
    return std::nullopt;
  RankedTensorType type = typeOf(op.input);
  auto isKnown = [](Type result) { return isReal(getElementTypeOrSelf(result)) && cast<ShapedType>(result).hasStaticShape(); };
  if (!isKnown(type) || type.getNumElements() == 0 || !llvm::all_of(call->getResultTypes(), isKnown) || !match(call, op))
    return std::nullopt;
  op.computation = type.getElementType().isF64() ? type.getElementType() : Type(Float32Type::get(call.getContext()));
  return op;
}

bool pkb::isKnownOperator(StringRef callee) {
  return isElementwiseOperator(callee) ||
         llvm::is_contained({"aten::sum", "aten::mean", "aten::amax", "aten::amin", "aten::linalg_vector_norm", "aten::_softmax", "aten::_log_softmax",
                             "aten::native_layer_norm"},
                            callee);
}

std::optional<RowShape> pkb::getReducedRows(aten::CallOp call) {
  if (std::optional<RowReduction> reduction = getRowReduction(call))
    return RowShape{reduction->rows, reduction->width};
  if (std::optional<RowOperator> op = getRowOperator(call))
    return op->shape;
  return std::nullopt;
}

int64_t pkb::rowTeamOf(int64_t rows, int64_t vectors, int64_t threads) {
  // In vectors of one lane after the other; a barrier is about as long as one.
  auto lengthOf = [&](int64_t team) {
    int64_t rounds = llvm::divideCeil(rows, std::max<int64_t>(1, threads / team));
    return rounds * (static_cast<int64_t>(llvm::divideCeil(vectors, team)) + (team > 32 ? 1 : 0));
  };
  int64_t best = 32;
  for (int64_t team : {128, 256, 512, 1024})
    if (team <= threads && lengthOf(team) < lengthOf(best))
      best = team;
  return best;
}

int64_t pkb::rowLanesFor(int64_t rowBytes, int64_t perLane, int64_t most) {
  int64_t lanes = 32;
  for (int64_t team : {128, 256, 512, 1024})
    if (team <= most && team * perLane * 16 <= rowBytes)
      lanes = team;
  return lanes;
}

int64_t pkb::vectorsInFlight(int64_t rowBytes, int64_t threads) {
  constexpr int64_t vectorBytes = 16, lanes = 32;
  int64_t perLane = llvm::divideCeil(rowBytes, vectorBytes * lanes);
  // Blocks of many threads have warps enough to wait for each other, and few registers each.
  return std::clamp<int64_t>(perLane, 1, threads <= 128 ? 16 : threads <= 256 ? 8 : 2);
}
