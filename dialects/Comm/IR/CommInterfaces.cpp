//===- CommInterfaces.cpp - what collectives have in common ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Comm/IR/Comm.h"
#include "dialects/Aten/IR/Aten.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace pkb::comm;

#include "dialects/Comm/IR/CommOpInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// CollectiveOpInterface
//===----------------------------------------------------------------------===//

std::optional<ReduceKind> CollectiveOpInterface::getReduceKind() {
  if (auto reduction = dyn_cast<ReductionOpInterface>(getOperation()))
    return reduction.getKind();
  return std::nullopt;
}

RankedTensorType pkb::comm::getFreshType(Type input) {
  return aten::getContiguousType(cast<RankedTensorType>(input));
}

LogicalResult pkb::comm::detail::verifyCollective(Operation *op) {
  auto collective = cast<CollectiveOpInterface>(op);
  int64_t size = collective.getGroup().getSize();
  SmallVector<Value> values(collective.getCollectiveInputs());
  size_t inputCount = values.size();
  llvm::append_range(values, collective.getCollectiveResults());
  for (auto [index, value] : llvm::enumerate(values)) {
    auto type = cast<RankedTensorType>(value.getType());
    auto first = cast<RankedTensorType>(values.front().getType());
    // collective_c1
    if (type.getElementType() != first.getElementType())
      return op->emitOpError("inputs and results must have one element type, got: ")
             << first.getElementType() << " and " << type.getElementType();
    // collective_c2
    if (type.getEncoding() && !(index < inputCount && pkb::aten::isRowMajor(type)))
      return op->emitOpError("inputs and results must be contiguous, results from offset 0, got: ") << type;
  }
  if (isa<BarrierOp>(op))
    return success();
  // collective_c3
  int64_t inputs = inputCount;
  int64_t results = collective.getCollectiveResults().size();
  if (inputs != 1 && inputs != size)
    return op->emitOpError("must have 1 input or one for each of ") << size << " ranks, got: " << inputs;
  if (results != 1 && results != size)
    return op->emitOpError("must have 1 result or one for each of ") << size << " ranks, got: " << results;
  return success();
}

//===----------------------------------------------------------------------===//
// ReductionOpInterface
//===----------------------------------------------------------------------===//

namespace {
/// Accumulation widens within one class.
enum class ElementClass : uint8_t { Complex, Float, Integer, Other };
} // namespace

static std::pair<ElementClass, unsigned> classify(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return {ElementClass::Complex, complex.getElementType().getIntOrFloatBitWidth()};
  if (isa<FloatType>(type))
    return {ElementClass::Float, type.getIntOrFloatBitWidth()};
  if (isa<IntegerType>(type))
    return {ElementClass::Integer, type.getIntOrFloatBitWidth()};
  return {ElementClass::Other, 0};
}

static bool isDefined(ReduceKind kind, ElementClass element, bool isBool) {
  bool floating = element == ElementClass::Float || element == ElementClass::Complex;
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Prod:
    return element != ElementClass::Other;
  case ReduceKind::Avg:
    return element != ElementClass::Other && !isBool;
  case ReduceKind::PremulSum:
    return floating;
  case ReduceKind::Min:
  case ReduceKind::Max:
    return element == ElementClass::Float || element == ElementClass::Integer;
  case ReduceKind::BAnd:
  case ReduceKind::BOr:
  case ReduceKind::BXor:
    return element == ElementClass::Integer;
  }
  llvm_unreachable("all kinds are above");
}

LogicalResult pkb::comm::detail::verifyReduction(Operation *op) {
  auto reduction = cast<ReductionOpInterface>(op);
  auto collective = cast<CollectiveOpInterface>(op);
  ReduceKind kind = reduction.getKind();
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  auto [elementClass, elementWidth] = classify(element);
  // reduction_c1
  if (!isDefined(kind, elementClass, element.isInteger(1)))
    return op->emitOpError("kind ") << stringifyReduceKind(kind)
                                    << " must be defined for the element type, got: " << element;
  // reduction_c2
  auto [sumClass, sumWidth] = classify(reduction.getAccumulation());
  bool wider = sumClass == elementClass && sumWidth > elementWidth;
  if (reduction.getAccumulation() != element && !wider)
    return op->emitOpError("accumulation type must be ")
           << element << " or a wider type of its class, got: " << reduction.getAccumulation();
  // reduction_c3
  size_t expected = kind == ReduceKind::PremulSum ? collective.getGroup().getRanks().size() : 0;
  std::optional<ArrayRef<double>> factors = reduction.getFactors();
  if (expected != (factors ? factors->size() : 0))
    return op->emitOpError("must have ") << expected << " factors for kind " << stringifyReduceKind(kind)
                                         << ", got: " << (factors ? factors->size() : 0);
  for (double factor : factors.value_or(ArrayRef<double>()))
    if (!std::isfinite(factor))
      return op->emitOpError("factors must be finite, got: ") << factor;
  return success();
}

//===----------------------------------------------------------------------===//
// RootedOpInterface
//===----------------------------------------------------------------------===//

int64_t RootedOpInterface::getRootPosition(int64_t row) {
  GroupAttr group = cast<CollectiveOpInterface>(getOperation()).getGroup();
  return *group.getPositionOf(getRoots()[row]);
}

std::optional<int64_t> RootedOpInterface::getUniformRootPosition() {
  int64_t first = getRootPosition(0);
  for (int64_t row = 1; row < int64_t(getRoots().size()); ++row)
    if (getRootPosition(row) != first)
      return std::nullopt;
  return first;
}

LogicalResult pkb::comm::detail::verifyRooted(Operation *op) {
  GroupAttr group = cast<CollectiveOpInterface>(op).getGroup();
  ArrayRef<int64_t> roots = cast<RootedOpInterface>(op).getRoots();
  // rooted_c1
  if (int64_t(roots.size()) != group.getNumRows())
    return op->emitOpError("must have a root for each of ") << group.getNumRows() << " rows, got: " << roots.size();
  // rooted_c2
  for (auto [row, root] : llvm::enumerate(roots))
    if (!llvm::is_contained(group.getRow(row), root))
      return op->emitOpError("root must be a rank of row ") << row << " of the group, got: " << root;
  return success();
}

//===----------------------------------------------------------------------===//
// UnevenOpInterface
//===----------------------------------------------------------------------===//

static bool haveElements(ValueRange tensors, ArrayRef<int64_t> counts) {
  return tensors.size() == counts.size() && llvm::all_of(llvm::zip_equal(tensors, counts), [](auto pair) {
           auto type = cast<RankedTensorType>(std::get<0>(pair).getType());
           return !type.hasStaticShape() || type.getNumElements() == std::get<1>(pair);
         });
}

bool UnevenOpInterface::fits(int64_t index) {
  auto collective = cast<CollectiveOpInterface>(getOperation());
  return haveElements(collective.getCollectiveInputs(), getInputCounts(index)) &&
         haveElements(collective.getCollectiveResults(), getResultCounts(index));
}

LogicalResult pkb::comm::detail::verifyUneven(Operation *op) {
  auto uneven = cast<UnevenOpInterface>(op);
  int64_t ranks = cast<CollectiveOpInterface>(op).getGroup().getRanks().size();
  ArrayRef<int64_t> counts = uneven.getCounts();
  // uneven_c1
  if (int64_t(counts.size()) != ranks * uneven.getCountsPerRank())
    return op->emitOpError("must have ") << uneven.getCountsPerRank() << " counts for each of " << ranks
                                         << " ranks, got: " << counts.size();
  // uneven_c2
  for (int64_t count : counts)
    if (count < 0)
      return op->emitOpError("counts must not be negative, got: ") << count;
  // uneven_c3
  if (llvm::none_of(llvm::seq(ranks), [&](int64_t index) { return uneven.fits(index); }))
    return op->emitOpError("inputs and results must have the elements that counts gives to one of the ranks, got: ")
           << op->getOperandTypes() << " to " << op->getResultTypes();
  return success();
}

/// The counts of the ranks in the row of rank number `index` of the group.
static ArrayRef<int64_t> rowOf(ArrayRef<int64_t> counts, GroupAttr group, int64_t index) {
  return counts.slice(index / group.getSize() * group.getSize(), group.getSize());
}

/// One tensor or several with these parts.
static SmallVector<int64_t> joinUnless(bool several, ArrayRef<int64_t> parts) {
  if (several)
    return SmallVector<int64_t>(parts);
  return {std::accumulate(parts.begin(), parts.end(), int64_t(0))};
}

SmallVector<int64_t> AllGatherVOp::getInputCounts(int64_t index) { return {getCounts()[index]}; }

SmallVector<int64_t> AllGatherVOp::getResultCounts(int64_t index) {
  return joinUnless(getResults().size() > 1, rowOf(getCounts(), getGroup(), index));
}

SmallVector<int64_t> ReduceScatterVOp::getInputCounts(int64_t index) {
  return joinUnless(getInputs().size() > 1, rowOf(getCounts(), getGroup(), index));
}

SmallVector<int64_t> ReduceScatterVOp::getResultCounts(int64_t index) { return {getCounts()[index]}; }

SmallVector<int64_t> AllToAllVOp::getInputCounts(int64_t index) {
  int64_t size = getGroup().getSize();
  return joinUnless(getInputs().size() > 1, getCounts().slice(index * size, size));
}

SmallVector<int64_t> AllToAllVOp::getResultCounts(int64_t index) {
  int64_t size = getGroup().getSize(), first = index / size * size;
  SmallVector<int64_t> column;
  for (int64_t sender = first; sender < first + size; ++sender)
    column.push_back(getCounts()[sender * size + index % size]);
  return joinUnless(getResults().size() > 1, column);
}
