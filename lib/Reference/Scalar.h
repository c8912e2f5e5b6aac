// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Scalar.h - one element as its bits -----------------------*- C++ -*-===//
//
// Element types of both levels and what can be done with one element. Private to lib/Reference.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_REFERENCE_SCALAR_H
#define PKB_LIB_REFERENCE_SCALAR_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include <optional>
#include <string>

namespace mlir {
class Operation;
} // namespace mlir

namespace pkb::reference {

enum class NumberClass : uint8_t { Float, Signed, Unsigned, Bool, Complex };

/// What the bits of an element mean. Signless integers are signed; bool is a byte, 0 or 1.
struct ElementType {
  NumberClass numbers = NumberClass::Signed;
  uint8_t bytes = 8;                             // in memory; of a complex number, both halves
  const llvm::fltSemantics *semantics = nullptr; // of floats and of the halves of complex numbers

  /// std::nullopt for types that no tensor has.
  static std::optional<ElementType> get(mlir::Type type);
  bool isFloat() const { return numbers == NumberClass::Float; }
  bool isComplex() const { return numbers == NumberClass::Complex; }
  /// The type of the halves of a complex number.
  ElementType half() const { return {NumberClass::Float, static_cast<uint8_t>(bytes / 2), semantics}; }
};

/// The memory image of one element, zero-extended.
struct Scalar {
  uint64_t words[2] = {0, 0};

  static Scalar load(const char *from, ElementType type);
  void store(char *to, ElementType type) const;
};

/// The number in a float of any type (exact), and back: rounded to nearest even; what is narrower than float is rounded
/// to float first. A NaN becomes the type's one NaN, as on the device.
double toDouble(Scalar value, ElementType type);
Scalar fromDouble(double number, ElementType type);
/// The number in an integer or bool, and back: the low bits.
int64_t toInteger(Scalar value, ElementType type);
Scalar fromInteger(int64_t number, ElementType type);

/// Sums of complex numbers by halves; of bools, "or"; products of bools, "and". Integers wrap, and divide to 0 by 0.
/// What is narrower than float is computed in float and rounded once. Min and max are NaN if an operand is; those of a collective are not (combineParts).
enum class Arithmetic : uint8_t { Add, Sub, Mul, Div, Min, Max, And, Or, Xor };
Scalar combine(Arithmetic operation, Scalar a, Scalar b, ElementType type);

/// The product or quotient with a real number that is first rounded to the type; complex numbers by halves, quotients of integers rounded towards zero.
Scalar scale(Arithmetic operation, Scalar value, double by, ElementType type);

/// `value` as an element of another type of any class.
Scalar convert(Scalar value, ElementType from, ElementType to);

/// What the operation (of arith or math, on scalars) makes of `operands`; std::nullopt if it is not known here.
std::optional<Scalar> evaluate(mlir::Operation *op, llvm::ArrayRef<Scalar> operands);

/// The element as a person reads it.
std::string toText(Scalar value, ElementType type);

} // namespace pkb::reference

#endif // PKB_LIB_REFERENCE_SCALAR_H
