// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Combination.cpp - how contributions become one tile --------------===//

#include "passes/Lowering/Combination.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pkb;
using comm::ReduceKind;

Type pkb::computedAs(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return complex.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), std::max(8u, integer.getWidth()));
  return element;
}

std::string Combination::refusal() const {
  Type type = computedAs(element);
  bool number = isa<IntegerType, Float64Type, Float32Type, Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type>(type);
  bool floating = isa<FloatType>(type), complex = isa<ComplexType>(element);
  switch (kind) {
  case ReduceKind::Sum:
    break;
  case ReduceKind::Avg:
    number &= !element.isInteger(1) && (floating || complex || accumulation == element);
    break;
  case ReduceKind::PremulSum:
    number &= floating;
    break;
  case ReduceKind::Prod:
  case ReduceKind::Min:
  case ReduceKind::Max:
    number &= !complex;
    break;
  case ReduceKind::BAnd:
  case ReduceKind::BOr:
  case ReduceKind::BXor:
    number &= !floating;
    break;
  }
  if (!number) {
    std::string text;
    llvm::raw_string_ostream(text) << "has no kernel for reduction " << comm::stringifyReduceKind(kind) << " of " << element;
    return text;
  }
  for (double factor : factors)
    if (!std::isfinite(factor))
      return llvm::formatv("has no kernel for a factor that is not finite: {0}", factor);
  return "";
}

/// Minima, maxima and bits need no wider type, and integers wrap to the same bits in any.
bool Combination::rounds() const {
  return isa<FloatType>(computedAs(element)) && kind != ReduceKind::Min && kind != ReduceKind::Max;
}

Value Combination::combine(OpBuilder &builder, Location loc, Value a, Value b) const {
  bool floating = isa<FloatType>(a.getType()), logical = element.isInteger(1), isUnsigned = element.isUnsignedInteger();
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Avg:
  case ReduceKind::PremulSum:
    if (logical)
      return arith::OrIOp::create(builder, loc, a, b);
    return floating ? Value(arith::AddFOp::create(builder, loc, a, b)) : Value(arith::AddIOp::create(builder, loc, a, b));
  case ReduceKind::Prod:
    if (logical)
      return arith::AndIOp::create(builder, loc, a, b);
    return floating ? Value(arith::MulFOp::create(builder, loc, a, b)) : Value(arith::MulIOp::create(builder, loc, a, b));
  case ReduceKind::Min:
    if (floating)
      return arith::MinNumFOp::create(builder, loc, a, b);
    if (logical)
      return arith::AndIOp::create(builder, loc, a, b);
    return isUnsigned ? Value(arith::MinUIOp::create(builder, loc, a, b)) : Value(arith::MinSIOp::create(builder, loc, a, b));
  case ReduceKind::Max:
    if (floating)
      return arith::MaxNumFOp::create(builder, loc, a, b);
    if (logical)
      return arith::OrIOp::create(builder, loc, a, b);
    return isUnsigned ? Value(arith::MaxUIOp::create(builder, loc, a, b)) : Value(arith::MaxSIOp::create(builder, loc, a, b));
  case ReduceKind::BAnd:
    return arith::AndIOp::create(builder, loc, a, b);
  case ReduceKind::BOr:
    return arith::OrIOp::create(builder, loc, a, b);
  case ReduceKind::BXor:
    return arith::XOrIOp::create(builder, loc, a, b);
  }
  return a;
}

Value Combination::meanOf(OpBuilder &builder, Location loc, Value sum, int64_t count) const {
  if (isa<FloatType>(sum.getType()))
    return arith::DivFOp::create(builder, loc, sum, arith::ConstantOp::create(builder, loc, builder.getFloatAttr(sum.getType(), count)));
  Value divisor = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(sum.getType(), count));
  return element.isUnsignedInteger() ? Value(arith::DivUIOp::create(builder, loc, sum, divisor)) : Value(arith::DivSIOp::create(builder, loc, sum, divisor));
}

Value Combination::build(OpBuilder &builder, Location loc, ValueRange tiles) const {
  Type type = computedAs(element);
  Type wide = rounds() ? computedAs(accumulation) : type;
  auto map = xfer::MapOp::create(builder, loc, xfer::TileType::get(builder.getContext(), type), tiles);
  Block &body = map.getBody().emplaceBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  auto constant = [&](double number) -> Value {
    return arith::ConstantOp::create(inside, loc, inside.getFloatAttr(wide, number));
  };
  Value result;
  for (size_t rank = 0; rank < tiles.size(); ++rank) {
    Value value = body.addArgument(type, loc);
    if (wide != type)
      value = arith::ExtFOp::create(inside, loc, wide, value);
    if (kind == ReduceKind::PremulSum)
      value = arith::MulFOp::create(inside, loc, value, constant(factors[rank]));
    result = result ? combine(inside, loc, result, value) : value;
  }
  if (kind == ReduceKind::Avg)
    result = meanOf(inside, loc, result, tiles.size());
  if (wide != type)
    result = arith::TruncFOp::create(inside, loc, type, result);
  xfer::YieldOp::create(inside, loc, result);
  return map.getResult();
}
