// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ScalarOps.cpp - operations of arith and math on one element -------===//

#include "Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

namespace {

using Unary = double (*)(double);

/// A function of one float, computed in double and rounded once where the type is narrower.
struct UnaryRow {
  StringLiteral name;
  Unary function;
};

double rsqrt(double x) { return 1 / std::sqrt(x); }

constexpr UnaryRow kUnary[] = {
    {math::AbsFOp::getOperationName(), std::fabs},   {math::CeilOp::getOperationName(), std::ceil},
    {math::CosOp::getOperationName(), std::cos},     {math::ErfOp::getOperationName(), std::erf},
    {math::ExpOp::getOperationName(), std::exp},     {math::Exp2Op::getOperationName(), std::exp2},
    {math::ExpM1Op::getOperationName(), std::expm1}, {math::FloorOp::getOperationName(), std::floor},
    {math::LogOp::getOperationName(), std::log},     {math::Log2Op::getOperationName(), std::log2},
    {math::Log10Op::getOperationName(), std::log10}, {math::Log1pOp::getOperationName(), std::log1p},
    {math::RoundOp::getOperationName(), std::round}, {math::RoundEvenOp::getOperationName(), std::nearbyint},
    {math::RsqrtOp::getOperationName(), rsqrt},      {math::SinOp::getOperationName(), std::sin},
    {math::SqrtOp::getOperationName(), std::sqrt},   {math::TanOp::getOperationName(), std::tan},
    {math::TanhOp::getOperationName(), std::tanh},   {math::TruncOp::getOperationName(), std::trunc},
};

} // namespace

static ElementType typeOf(Value value) { return ElementType::get(value.getType()).value_or(ElementType()); }

static uint64_t unsignedOf(Scalar value, ElementType type) {
  type.numbers = type.numbers == NumberClass::Bool ? NumberClass::Bool : NumberClass::Unsigned;
  return static_cast<uint64_t>(toInteger(value, type));
}

static bool compare(arith::CmpIPredicate predicate, Scalar a, Scalar b, ElementType type) {
  // An i1 is -1 or 0 where signs matter; so less means greater as bits.
  int64_t x = toInteger(a, type), y = toInteger(b, type);
  if (type.numbers == NumberClass::Bool) {
    x = -x;
    y = -y;
  }
  uint64_t ux = unsignedOf(a, type), uy = unsignedOf(b, type);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return ux == uy;
  case arith::CmpIPredicate::ne:
    return ux != uy;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  case arith::CmpIPredicate::sge:
    return x >= y;
  case arith::CmpIPredicate::ult:
    return ux < uy;
  case arith::CmpIPredicate::ule:
    return ux <= uy;
  case arith::CmpIPredicate::ugt:
    return ux > uy;
  case arith::CmpIPredicate::uge:
    return ux >= uy;
  }
  llvm_unreachable("all predicates are handled");
}

/// The predicates of floats are numbered by what they accept: bit 0 equal, 1 greater, 2 less, 3 unordered.
static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  unsigned relation = std::isnan(a) || std::isnan(b) ? 8 : a < b ? 4 : a > b ? 2 : 1;
  return static_cast<unsigned>(predicate) & relation;
}

static Scalar shift(Operation *op, Scalar value, Scalar amount, ElementType type) {
  uint64_t by = unsignedOf(amount, type);
  if (by >= type.bytes * 8u)
    return fromInteger(isa<arith::ShRSIOp>(op) && toInteger(value, type) < 0 ? -1 : 0, type);
  if (isa<arith::ShLIOp>(op))
    return fromInteger(static_cast<int64_t>(value.words[0] << by), type);
  return isa<arith::ShRSIOp>(op) ? fromInteger(toInteger(value, type) >> by, type)
                                 : fromInteger(static_cast<int64_t>(unsignedOf(value, type) >> by), type);
}

std::optional<Scalar> reference::evaluate(Operation *op, ArrayRef<Scalar> operands) {
  if (op->getNumResults() != 1 || !ElementType::get(op->getResult(0).getType()))
    return std::nullopt;
  ElementType result = typeOf(op->getResult(0));
  ElementType type = op->getNumOperands() ? typeOf(op->getOperand(0)) : result;
  auto both = [&](Arithmetic operation) { return combine(operation, operands[0], operands[1], type); };
  // Integer operations on i1 are those of one bit, not of bool.
  auto bits = [&](Arithmetic operation, bool isSigned) {
    ElementType plain = type;
    bool oneBit = type.numbers == NumberClass::Bool;
    plain.numbers = isSigned && !oneBit ? NumberClass::Signed : NumberClass::Unsigned;
    Scalar value = combine(operation, operands[0], operands[1], plain);
    return oneBit ? fromInteger(toInteger(value, plain), type) : value;
  };
  auto smaller = [&](Arithmetic operation) { // minnumf, maxnumf: a NaN is as if it were not there
    double a = toDouble(operands[0], type), b = toDouble(operands[1], type);
    return std::isnan(a) ? operands[1] : std::isnan(b) ? operands[0] : both(operation);
  };
  auto remainder = [&](bool isSigned) {
    uint64_t ux = unsignedOf(operands[0], type), uy = unsignedOf(operands[1], type);
    int64_t x = toInteger(operands[0], type), y = toInteger(operands[1], type);
    if (!isSigned)
      return fromInteger(uy ? static_cast<int64_t>(ux % uy) : 0, type);
    return fromInteger(y == 0 || y == -1 ? 0 : x % y, type);
  };
  for (const UnaryRow &row : kUnary)
    if (op->getName().getStringRef() == row.name)
      return fromDouble(row.function(toDouble(operands[0], type)), result);
  using Result = std::optional<Scalar>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::ConstantOp constant) -> Result {
        if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
          Scalar value;
          value.words[0] = number.getValue().bitcastToAPInt().getZExtValue();
          return value;
        }
        if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
          return fromInteger(static_cast<int64_t>(number.getValue().getZExtValue()), result);
        return std::nullopt;
      })
      .Case<arith::AddFOp>([&](auto) { return both(Arithmetic::Add); })
      .Case<arith::SubFOp>([&](auto) { return both(Arithmetic::Sub); })
      .Case<arith::MulFOp>([&](auto) { return both(Arithmetic::Mul); })
      .Case<arith::DivFOp>([&](auto) { return both(Arithmetic::Div); })
      .Case<arith::MinimumFOp>([&](auto) { return both(Arithmetic::Min); })
      .Case<arith::MaximumFOp>([&](auto) { return both(Arithmetic::Max); })
      .Case<arith::MinNumFOp>([&](auto) { return smaller(Arithmetic::Min); })
      .Case<arith::MaxNumFOp>([&](auto) { return smaller(Arithmetic::Max); })
      .Case<arith::AddIOp>([&](auto) { return bits(Arithmetic::Add, true); })
      .Case<arith::SubIOp>([&](auto) { return bits(Arithmetic::Sub, true); })
      .Case<arith::MulIOp>([&](auto) { return bits(Arithmetic::Mul, true); })
      .Case<arith::DivSIOp>([&](auto) { return bits(Arithmetic::Div, true); })
      .Case<arith::DivUIOp>([&](auto) { return bits(Arithmetic::Div, false); })
      .Case<arith::MinSIOp>([&](auto) { return bits(Arithmetic::Min, true); })
      .Case<arith::MaxSIOp>([&](auto) { return bits(Arithmetic::Max, true); })
      .Case<arith::MinUIOp>([&](auto) { return bits(Arithmetic::Min, false); })
      .Case<arith::MaxUIOp>([&](auto) { return bits(Arithmetic::Max, false); })
      .Case<arith::AndIOp>([&](auto) { return both(Arithmetic::And); })
      .Case<arith::OrIOp>([&](auto) { return both(Arithmetic::Or); })
      .Case<arith::XOrIOp>([&](auto) { return both(Arithmetic::Xor); })
      .Case<arith::RemSIOp>([&](auto) { return remainder(true); })
      .Case<arith::RemUIOp>([&](auto) { return remainder(false); })
      .Case<arith::RemFOp>(
          [&](auto) { return fromDouble(std::fmod(toDouble(operands[0], type), toDouble(operands[1], type)), result); })
      .Case<arith::NegFOp>([&](auto) {
        Scalar value = operands[0];
        value.words[0] ^= uint64_t(1) << (8 * type.bytes - 1);
        return value;
      })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(
          [&](auto) { return shift(op, operands[0], operands[1], type); })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return convert(operands[0], type, result); })
      .Case<arith::SIToFPOp, arith::ExtSIOp>([&](auto) {
        int64_t number = toInteger(operands[0], type);
        ElementType wide{NumberClass::Signed, 8, nullptr};
        return convert(fromInteger(type.numbers == NumberClass::Bool ? -number : number, wide), wide, result);
      })
      .Case<arith::UIToFPOp>([&](auto) {
        uint64_t number = unsignedOf(operands[0], type);
        return result.bytes == 8 ? fromDouble(static_cast<double>(number), result)
                                 : fromDouble(static_cast<float>(number), result);
      })
      .Case<arith::ExtUIOp, arith::TruncIOp, arith::IndexCastUIOp>(
          [&](auto) { return fromInteger(static_cast<int64_t>(unsignedOf(operands[0], type)), result); })
      .Case<arith::IndexCastOp>([&](auto) { return fromInteger(toInteger(operands[0], type), result); })
      .Case<arith::FPToSIOp>([&](auto) { return convert(operands[0], type, result); })
      .Case<arith::FPToUIOp>([&](auto) {
        double number = toDouble(operands[0], type);
        bool fits = number > -1 && number < 18446744073709551616.0;
        return fromInteger(fits ? static_cast<int64_t>(static_cast<uint64_t>(number)) : 0, result);
      })
      .Case<arith::BitcastOp>([&](auto) { return operands[0]; })
      .Case<arith::SelectOp>([&](auto) { return operands[0].words[0] ? operands[1] : operands[2]; })
      .Case([&](arith::CmpIOp cmp) {
        return fromInteger(compare(cmp.getPredicate(), operands[0], operands[1], type), result);
      })
      .Case([&](arith::CmpFOp cmp) {
        return fromInteger(compare(cmp.getPredicate(), toDouble(operands[0], type), toDouble(operands[1], type)),
                           result);
      })
      .Case<math::AbsIOp>([&](auto) {
        int64_t number = toInteger(operands[0], type);
        return fromInteger(number < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(number)) : number, type);
      })
      .Case<math::FmaOp>([&](auto) {
        double a = toDouble(operands[0], type), b = toDouble(operands[1], type), c = toDouble(operands[2], type);
        return fromDouble(type.bytes == 8
                              ? std::fma(a, b, c)
                              : std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)),
                          result);
      })
      .Case<math::PowFOp>(
          [&](auto) { return fromDouble(std::pow(toDouble(operands[0], type), toDouble(operands[1], type)), result); })
      .Case<math::Atan2Op>([&](auto) {
        return fromDouble(std::atan2(toDouble(operands[0], type), toDouble(operands[1], type)), result);
      })
      .Case<math::CopySignOp>([&](auto) {
        return fromDouble(std::copysign(toDouble(operands[0], type), toDouble(operands[1], type)), result);
      })
      .Default([](Operation *) -> Result { return std::nullopt; });
}
