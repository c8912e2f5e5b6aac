// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Scalar.cpp - one element as its bits ------------------------------===//

#include "Scalar.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;
using llvm::APFloat;

std::optional<ElementType> ElementType::get(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    std::optional<ElementType> half = get(complex.getElementType());
    if (!half || !half->isFloat())
      return std::nullopt;
    return ElementType{NumberClass::Complex, static_cast<uint8_t>(2 * half->bytes), half->semantics};
  }
  if (auto floating = dyn_cast<FloatType>(type)) {
    unsigned width = floating.getWidth();
    if (width != 8 && width != 16 && width != 32 && width != 64)
      return std::nullopt;
    return ElementType{NumberClass::Float, static_cast<uint8_t>(width / 8), &floating.getFloatSemantics()};
  }
  if (type.isIndex())
    return ElementType{NumberClass::Signed, 8, nullptr};
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  unsigned width = integer.getWidth();
  if (width == 1)
    return ElementType{NumberClass::Bool, 1, nullptr};
  if (width != 8 && width != 16 && width != 32 && width != 64)
    return std::nullopt;
  return ElementType{integer.isUnsigned() ? NumberClass::Unsigned : NumberClass::Signed,
                     static_cast<uint8_t>(width / 8), nullptr};
}

Scalar Scalar::load(const char *from, ElementType type) {
  Scalar value;
  std::memcpy(value.words, from, type.bytes);
  return value;
}

void Scalar::store(char *to, ElementType type) const { std::memcpy(to, words, type.bytes); }

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

template <typename To, typename From>
static To bitsAs(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

double reference::toDouble(Scalar value, ElementType type) {
  if (type.bytes == 8)
    return bitsAs<double>(value.words[0]);
  if (type.bytes == 4)
    return bitsAs<float>(static_cast<uint32_t>(value.words[0]));
  return APFloat(*type.semantics, llvm::APInt(type.bytes * 8, value.words[0], false, true)).convertToDouble();
}

Scalar reference::fromDouble(double number, ElementType type) {
  Scalar value;
  if (type.bytes == 8) {
    value.words[0] = std::isnan(number) ? 0x7ff8000000000000ull : bitsAs<uint64_t>(number);
  } else if (type.bytes == 4) {
    value.words[0] = std::isnan(number) ? 0x7fc00000u : bitsAs<uint32_t>(static_cast<float>(number));
  } else if (std::isnan(number)) {
    value.words[0] = type.bytes == 2 ? 0x7fff : 0x7f;
  } else {
    APFloat narrow(static_cast<float>(number));
    bool inexact = false;
    narrow.convert(*type.semantics, APFloat::rmNearestTiesToEven, &inexact);
    value.words[0] = narrow.bitcastToAPInt().getZExtValue();
  }
  return value;
}

int64_t reference::toInteger(Scalar value, ElementType type) {
  unsigned shift = 64 - 8 * type.bytes;
  if (type.numbers == NumberClass::Bool)
    return value.words[0] != 0;
  if (type.numbers == NumberClass::Unsigned)
    return static_cast<int64_t>(value.words[0] << shift >> shift);
  return static_cast<int64_t>(value.words[0] << shift) >> shift;
}

Scalar reference::fromInteger(int64_t number, ElementType type) {
  unsigned shift = 64 - 8 * type.bytes;
  Scalar value;
  value.words[0] = type.numbers == NumberClass::Bool ? (number & 1) : static_cast<uint64_t>(number) << shift >> shift;
  return value;
}

static Scalar complexOf(double real, double imaginary, ElementType type) {
  ElementType half = type.half();
  char bytes[16];
  fromDouble(real, half).store(bytes, half);
  fromDouble(imaginary, half).store(bytes + half.bytes, half);
  return Scalar::load(bytes, type);
}

static std::pair<double, double> partsOf(Scalar value, ElementType type) {
  ElementType half = type.half();
  char bytes[16];
  value.store(bytes, type);
  return {toDouble(Scalar::load(bytes, half), half), toDouble(Scalar::load(bytes + half.bytes, half), half)};
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Sum, difference, product or quotient in `Real`.
template <typename Real>
static Real arithmetic(Arithmetic operation, Real a, Real b) {
  switch (operation) {
  case Arithmetic::Add:
    return a + b;
  case Arithmetic::Sub:
    return a - b;
  case Arithmetic::Mul:
    return a * b;
  default:
    return a / b;
  }
}

static double inPrecision(Arithmetic operation, double a, double b, ElementType type) {
  return type.bytes == 8 ? arithmetic<double>(operation, a, b)
                         : arithmetic<float>(operation, static_cast<float>(a), static_cast<float>(b));
}

static Scalar combineFloats(Arithmetic operation, Scalar a, Scalar b, ElementType type) {
  double x = toDouble(a, type), y = toDouble(b, type);
  // These choose an operand and leave its bits alone.
  if (operation == Arithmetic::Min)
    return std::isnan(x) ? a : std::isnan(y) ? b : x < y ? a : b;
  if (operation == Arithmetic::Max)
    return std::isnan(x) ? a : std::isnan(y) ? b : x > y ? a : b;
  return fromDouble(inPrecision(operation, x, y, type), type);
}

static Scalar combineComplex(Arithmetic operation, Scalar a, Scalar b, ElementType type) {
  auto [ar, ai] = partsOf(a, type);
  auto [br, bi] = partsOf(b, type);
  ElementType half = type.half();
  auto in = [&](Arithmetic op, double x, double y) { return inPrecision(op, x, y, half); };
  constexpr Arithmetic add = Arithmetic::Add, sub = Arithmetic::Sub, mul = Arithmetic::Mul, div = Arithmetic::Div;
  if (operation == add || operation == sub)
    return complexOf(in(operation, ar, br), in(operation, ai, bi), type);
  if (operation == mul)
    return complexOf(in(sub, in(mul, ar, br), in(mul, ai, bi)), in(add, in(mul, ar, bi), in(mul, ai, br)), type);
  double norm = in(add, in(mul, br, br), in(mul, bi, bi));
  return complexOf(in(div, in(add, in(mul, ar, br), in(mul, ai, bi)), norm),
                   in(div, in(sub, in(mul, ai, br), in(mul, ar, bi)), norm), type);
}

static Scalar combineIntegers(Arithmetic operation, Scalar a, Scalar b, ElementType type) {
  int64_t x = toInteger(a, type), y = toInteger(b, type);
  uint64_t ux = x, uy = y;
  bool isBool = type.numbers == NumberClass::Bool;
  bool less = type.numbers == NumberClass::Unsigned ? ux < uy : x < y;
  switch (operation) {
  case Arithmetic::Add:
    return fromInteger(isBool ? ux | uy : ux + uy, type);
  case Arithmetic::Sub:
    return fromInteger(isBool ? ux ^ uy : ux - uy, type);
  case Arithmetic::Mul:
    return fromInteger(isBool ? ux & uy : ux * uy, type);
  case Arithmetic::Div:
    if (type.numbers == NumberClass::Unsigned)
      return fromInteger(uy ? ux / uy : 0, type);
    return fromInteger(y == 0 ? 0 : y == -1 ? 0 - ux : x / y, type);
  case Arithmetic::Min:
    return less ? a : b;
  case Arithmetic::Max:
    return less ? b : a;
  case Arithmetic::And:
    return fromInteger(ux & uy, type);
  case Arithmetic::Or:
    return fromInteger(ux | uy, type);
  case Arithmetic::Xor:
    return fromInteger(ux ^ uy, type);
  }
  llvm_unreachable("all operations are handled");
}

Scalar reference::combine(Arithmetic operation, Scalar a, Scalar b, ElementType type) {
  if (type.isFloat())
    return combineFloats(operation, a, b, type);
  if (type.isComplex())
    return combineComplex(operation, a, b, type);
  return combineIntegers(operation, a, b, type);
}

Scalar reference::scale(Arithmetic operation, Scalar value, double by, ElementType type) {
  if (!type.isComplex() && !type.isFloat())
    return combineIntegers(operation, value, fromInteger(static_cast<int64_t>(by), type), type);
  if (!type.isComplex())
    return combineFloats(operation, value, fromDouble(by, type), type);
  auto [real, imaginary] = partsOf(value, type);
  ElementType half = type.half();
  double factor = toDouble(fromDouble(by, half), half);
  return complexOf(inPrecision(operation, real, factor, half), inPrecision(operation, imaginary, factor, half), type);
}

static bool sameType(ElementType a, ElementType b) {
  return a.numbers == b.numbers && a.bytes == b.bytes && a.semantics == b.semantics;
}

Scalar reference::convert(Scalar value, ElementType from, ElementType to) {
  if (sameType(from, to))
    return value;
  if (from.isComplex() || to.isComplex()) {
    auto [real, imaginary] = from.isComplex()
                                 ? partsOf(value, from)
                                 : std::pair(from.isFloat() ? toDouble(value, from) : toInteger(value, from), 0.0);
    return to.isComplex() ? complexOf(real, imaginary, to) : convert(fromDouble(real, from.half()), from.half(), to);
  }
  if (from.isFloat()) {
    double number = toDouble(value, from);
    if (to.isFloat())
      return fromDouble(number, to);
    if (to.numbers == NumberClass::Bool)
      return fromInteger(number != 0, to);
    bool fits = number > -9223372036854775808.0 && number < 9223372036854775808.0;
    return fromInteger(fits ? static_cast<int64_t>(number) : 0, to);
  }
  int64_t number = toInteger(value, from);
  if (to.numbers == NumberClass::Bool)
    return fromInteger(number != 0, to);
  if (!to.isFloat())
    return fromInteger(number, to);
  return to.bytes == 8 ? fromDouble(static_cast<double>(number), to) : fromDouble(static_cast<float>(number), to);
}

std::string reference::toText(Scalar value, ElementType type) {
  auto print = [](double real, int bytes) {
    char text[40];
    std::snprintf(text, sizeof(text), bytes == 8 ? "%.17g" : bytes == 4 ? "%.9g" : "%.5g", real);
    return std::string(text);
  };
  if (type.isComplex()) {
    auto [real, imaginary] = partsOf(value, type);
    return "(" + print(real, type.bytes / 2) + ", " + print(imaginary, type.bytes / 2) + ")";
  }
  if (type.isFloat())
    return print(toDouble(value, type), type.bytes);
  if (type.numbers == NumberClass::Unsigned)
    return std::to_string(static_cast<uint64_t>(toInteger(value, type)));
  return std::to_string(toInteger(value, type));
}
