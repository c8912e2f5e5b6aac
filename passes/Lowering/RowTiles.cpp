// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowTiles.cpp - what is computed of rows --------------------------===//

#include "passes/Lowering/RowTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace pkb;

static Type elementOf(Value tile) { return getElementTypeOrSelf(cast<xfer::TileType>(tile.getType()).getElementType()); }

static bool isFull(Value tile) { return isa<VectorType>(cast<xfer::TileType>(tile.getType()).getElementType()); }

static Value constantOf(OpBuilder &b, Location loc, Type type, double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

xfer::TileType RowTiles::typeOf(Type element, bool full) {
  return xfer::TileType::get(at.getContext(), full ? VectorType::get({width}, element) : element);
}

Value RowTiles::mapped(ValueRange tiles, Type element, Function function) {
  auto map = xfer::MapOp::create(at, loc, typeOf(element, isFull(tiles.front())), tiles);
  Block &body = map.getBody().emplaceBlock();
  for (Value tile : tiles)
    body.addArgument(elementOf(tile), loc);
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  Value result = function(inside, ValueRange(body.getArguments()));
  xfer::YieldOp::create(inside, loc, result);
  return map.getResult();
}

Value RowTiles::spread(Value tile) { return xfer::BroadcastOp::create(at, loc, typeOf(elementOf(tile), true), tile); }

Value RowTiles::reduced(Value rows, const RowReduction &reduction, Type element) {
  Type wide = reduction.accumulation;
  if (elementOf(rows) != wide || reduction.squares)
    rows = mapped(rows, wide, [&](OpBuilder &b, ValueRange x) -> Value {
      Value value = convertElement(b, loc, x[0], wide);
      return reduction.squares ? arith::MulFOp::create(b, loc, value, value).getResult() : value;
    });
  Value whole = xfer::RowReduceOp::create(at, loc, typeOf(wide, false), reduction.kind, rows);
  if (reduction.scale == 1 && !reduction.squares && element == wide)
    return whole;
  return mapped(whole, element, [&](OpBuilder &b, ValueRange x) {
    Value value = x[0];
    if (reduction.scale != 1)
      value = arith::MulFOp::create(b, loc, value, constantOf(b, loc, wide, reduction.scale));
    if (reduction.squares)
      value = math::SqrtOp::create(b, loc, value);
    return convertElement(b, loc, value, element);
  });
}

static RowReduction reductionOf(const RowOperator &op, comm::ReduceKind kind) {
  RowReduction reduction;
  reduction.kind = kind;
  reduction.rows = op.shape.rows;
  reduction.width = op.shape.width;
  reduction.accumulation = op.computation;
  return reduction;
}

Value RowTiles::softmax(const RowOperator &op, Value rows, Type element) {
  Type wide = op.computation;
  Value most = spread(reduced(rows, reductionOf(op, comm::ReduceKind::Max), wide));
  auto below = [&](OpBuilder &b, ValueRange x) -> Value { return arith::SubFOp::create(b, loc, convertElement(b, loc, x[0], wide), x[1]); };
  Value powers = mapped({rows, most}, wide, [&](OpBuilder &b, ValueRange x) -> Value { return math::ExpOp::create(b, loc, below(b, x)); });
  Value sum = reduced(powers, reductionOf(op, comm::ReduceKind::Sum), wide);
  if (op.function == RowFunction::Softmax)
    return mapped({powers, spread(sum)}, element, [&](OpBuilder &b, ValueRange x) {
      return convertElement(b, loc, arith::DivFOp::create(b, loc, x[0], x[1]), element);
    });
  Value logarithm = mapped(sum, wide, [&](OpBuilder &b, ValueRange x) -> Value { return math::LogOp::create(b, loc, x[0]); });
  return mapped({rows, most, spread(logarithm)}, element, [&](OpBuilder &b, ValueRange x) {
    return convertElement(b, loc, arith::SubFOp::create(b, loc, below(b, x), x[2]), element);
  });
}

/// The variance is the mean of the squared distances from the mean, in a second pass: no cancellation.
SmallVector<Value> RowTiles::layerNorm(const RowOperator &op, Value rows, Value weight, Value bias, ArrayRef<Type> elements) {
  Type wide = op.computation;
  RowReduction average = reductionOf(op, comm::ReduceKind::Sum);
  average.scale = wide.isF64() ? 1.0 / op.shape.width : static_cast<double>(1.0f / static_cast<float>(op.shape.width));
  Value mean = reduced(rows, average, wide);
  Value distances = mapped({rows, spread(mean)}, wide, [&](OpBuilder &b, ValueRange x) -> Value {
    return arith::SubFOp::create(b, loc, convertElement(b, loc, x[0], wide), x[1]);
  });
  Value squares = mapped(distances, wide, [&](OpBuilder &b, ValueRange x) -> Value { return arith::MulFOp::create(b, loc, x[0], x[0]); });
  Value inverse = mapped(reduced(squares, average, wide), wide, [&](OpBuilder &b, ValueRange x) -> Value {
    return math::RsqrtOp::create(b, loc, arith::AddFOp::create(b, loc, x[0], constantOf(b, loc, wide, op.epsilon)));
  });
  SmallVector<Value> tiles{distances, spread(inverse)};
  for (Value each : {weight, bias})
    if (each)
      tiles.push_back(each);
  Value result = mapped(tiles, elements[0], [&](OpBuilder &b, ValueRange x) {
    Value value = arith::MulFOp::create(b, loc, x[0], x[1]);
    if (weight)
      value = arith::MulFOp::create(b, loc, value, convertElement(b, loc, x[2], wide));
    if (bias)
      value = arith::AddFOp::create(b, loc, value, convertElement(b, loc, x.back(), wide));
    return convertElement(b, loc, value, elements[0]);
  });
  auto narrowed = [&](Value tile, Type element) {
    return element == wide ? tile : mapped(tile, element, [&](OpBuilder &b, ValueRange x) { return convertElement(b, loc, x[0], element); });
  };
  return {result, narrowed(mean, elements[1]), narrowed(inverse, elements[2])};
}

SmallVector<Value> RowTiles::computed(const RowOperator &op, Value rows, Value weight, Value bias, ArrayRef<Type> elements) {
  switch (op.function) {
  case RowFunction::Softmax:
  case RowFunction::LogSoftmax:
    return {softmax(op, rows, elements[0])};
  case RowFunction::LayerNorm:
    return layerNorm(op, rows, weight, bias, elements);
  }
  return {};
}
