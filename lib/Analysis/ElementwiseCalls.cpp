// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ElementwiseCalls.cpp - what an operator does to one element ------===//

#include "pkb/Analysis/ElementwiseCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pkb;

namespace {

enum class Function {
  Unknown, Copy, Add, Sub, ReverseSub, Mul, Div, Pow, Maximum, Minimum, Clamp, ClampMin, ClampMax, Where, AddCmul,
  Eq, Ne, Lt, Le, Gt, Ge,
  Neg, Abs, Sqrt, Rsqrt, Exp, Exp2, ExpM1, Log, Log2, Log1p, Tanh, Erf, Sin, Cos, Floor, Ceil, Reciprocal, Square, Sigmoid, Silu, Relu, Gelu
};

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Function functionOf(StringRef name) {
  return llvm::StringSwitch<Function>(name)
      .Cases({"_to_copy", "clone", "contiguous"}, Function::Copy)
      .Case("add", Function::Add).Case("sub", Function::Sub).Case("rsub", Function::ReverseSub).Case("mul", Function::Mul)
      .Case("div", Function::Div).Case("pow", Function::Pow).Case("maximum", Function::Maximum).Case("minimum", Function::Minimum)
      .Case("clamp", Function::Clamp).Case("clamp_min", Function::ClampMin).Case("clamp_max", Function::ClampMax)
      .Case("where", Function::Where).Case("addcmul", Function::AddCmul)
      .Case("eq", Function::Eq).Case("ne", Function::Ne).Case("lt", Function::Lt).Case("le", Function::Le).Case("gt", Function::Gt)
      .Case("ge", Function::Ge).Case("neg", Function::Neg).Case("abs", Function::Abs).Case("sqrt", Function::Sqrt)
      .Case("rsqrt", Function::Rsqrt).Case("exp", Function::Exp).Case("exp2", Function::Exp2).Case("expm1", Function::ExpM1)
      .Case("log", Function::Log).Case("log2", Function::Log2).Case("log1p", Function::Log1p).Case("tanh", Function::Tanh)
      .Case("erf", Function::Erf).Case("sin", Function::Sin).Case("cos", Function::Cos).Case("floor", Function::Floor)
      .Case("ceil", Function::Ceil).Case("reciprocal", Function::Reciprocal).Case("square", Function::Square)
      .Case("sigmoid", Function::Sigmoid).Case("silu", Function::Silu).Case("relu", Function::Relu).Case("gelu", Function::Gelu)
      .Default(Function::Unknown);
}

bool isComparison(Function function) { return function >= Function::Eq && function <= Function::Ge; }
bool needsFloat(Function function) {
  switch (function) {
  case Function::Copy: case Function::Add: case Function::Sub: case Function::ReverseSub: case Function::Mul: case Function::Where:
    return false;
  default:
    return !isComparison(function);
  }
}

bool isReal(Type type) { return isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(type); }
bool isNumber(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return isReal(type) || (integer && integer.isSignless());
}

/// What `type` is computed in.
Type computationOf(Type type) {
  return isa<Float16Type, BFloat16Type>(type) ? Float32Type::get(type.getContext()) : type;
}

/// A call by its function: names without the `_` of in-place forms, arguments by position.
struct Call {
  explicit Call(aten::CallOp op);
  Value tensor(size_t index) const; // null where argument `index` is none
  std::optional<double> number(Attribute argument) const;
  std::optional<double> number(size_t index) const { return index < args.size() ? number(args[index]) : std::nullopt; }
  Attribute named(StringRef name) const { return op.getKwargs().get(name); }

  mutable aten::CallOp op; // its accessors are not const
  Function function = Function::Unknown;
  ArrayRef<Attribute> args;
  RankedTensorType result;
};

} // namespace

Call::Call(aten::CallOp op) : op(op) {
  StringRef name = op.getCallee();
  if (!name.consume_front("aten::") || op.isBufferized() || op.getRng() || op.getNumResults() != 1 || op->hasAttr(aten::kHostAttrName))
    return;
  bool inPlace = !op.getMutates().empty();
  if (inPlace && (op.getMutates() != ArrayRef<int64_t>{0} || !name.consume_back("_")))
    return;
  args = op.getArgs().getValue();
  result = typeOf(op.getResult(0));
  function = functionOf(name);
}

Value Call::tensor(size_t index) const {
  auto operand = index < args.size() ? dyn_cast<aten::OperandAttr>(args[index]) : aten::OperandAttr();
  return operand && operand.getIndex() >= 0 ? op.getInputs()[operand.getIndex()] : Value();
}

std::optional<double> Call::number(Attribute argument) const {
  if (auto real = dyn_cast_or_null<FloatAttr>(argument))
    return real.getValueAsDouble();
  if (auto integer = dyn_cast_or_null<IntegerAttr>(argument)) {
    int64_t value = integer.getType().isInteger(1) ? int64_t(!integer.getValue().isZero()) : integer.getInt();
    if (value == static_cast<int64_t>(static_cast<double>(value)))
      return value;
  }
  return std::nullopt;
}

/// True if every argument from `first` to `last` is a tensor or a number.
static bool areOperands(const Call &call, size_t first, size_t last) {
  for (size_t index = first; index < last; ++index)
    if (!call.tensor(index) && !call.number(index))
      return false;
  return call.args.size() >= last;
}

static bool hasLegalArguments(const Call &call) {
  auto bound = [&](size_t index) { return index >= call.args.size() || isa<UnitAttr>(call.args[index]) || call.number(index); };
  bool plain = call.op.getKwargs().empty();
  switch (call.function) {
  case Function::Copy:
    for (NamedAttribute argument : call.op.getKwargs())
      if (!isa<aten::ScalarTypeAttr, aten::MemoryFormatAttr, UnitAttr, BoolAttr>(argument.getValue()) &&
          !isa<aten::TorchLayoutAttr>(argument.getValue()))
        return false;
    return bool(call.tensor(0));
  case Function::Add: case Function::Sub: case Function::ReverseSub: {
    bool factor = plain || (call.op.getKwargs().size() == 1 && call.number(call.named("alpha")));
    return factor && areOperands(call, 0, 2) && (call.args.size() == 2 || (call.args.size() == 3 && call.number(size_t(2))));
  }
  case Function::Mul: case Function::Div: case Function::Pow: case Function::Maximum: case Function::Minimum:
    return plain && call.args.size() == 2 && areOperands(call, 0, 2);
  case Function::Clamp:
    return plain && call.tensor(0) && bound(1) && bound(2) && call.args.size() <= 3;
  case Function::ClampMin: case Function::ClampMax:
    return plain && call.args.size() == 2 && call.tensor(0) && call.number(size_t(1));
  case Function::Where:
    return plain && call.args.size() == 3 && call.tensor(0) && typeOf(call.tensor(0)).getElementType().isInteger(1) && areOperands(call, 1, 3);
  case Function::AddCmul:
    return areOperands(call, 0, 3) && call.args.size() == 3 && (plain || (call.op.getKwargs().size() == 1 && call.number(call.named("value"))));
  case Function::Gelu: {
    auto form = dyn_cast_or_null<StringAttr>(call.named("approximate"));
    return call.args.size() == 1 && call.tensor(0) && (plain || (form && (form.getValue() == "none" || form.getValue() == "tanh")));
  }
  default:
    if (isComparison(call.function))
      return plain && call.args.size() == 2 && call.tensor(0) && areOperands(call, 1, 2);
    return plain && call.args.size() == 1 && call.tensor(0);
  }
}

/// True if numbers that the host reads are among the operands: no kernel gets those.
static bool takesNumbers(aten::CallOp op) {
  return !llvm::all_of(op.getInputs().getTypes(), llvm::IsaPred<RankedTensorType>);
}

bool pkb::isElementwiseOperator(StringRef callee) {
  callee.consume_front("aten::");
  callee.consume_back("_");
  return functionOf(callee) != Function::Unknown;
}

bool pkb::isElementwise(aten::CallOp op) {
  if (takesNumbers(op))
    return false;
  Call call(op);
  if (call.function == Function::Unknown || !call.result.hasStaticShape() || !hasLegalArguments(call))
    return false;
  Type element = call.result.getElementType();
  if (!isNumber(element) || (needsFloat(call.function) && !isReal(element)))
    return false;
  bool arithmetic = call.function != Function::Copy && call.function != Function::Where && !isComparison(call.function);
  if (arithmetic && element.isInteger(1))
    return false;
  for (Value input : op.getInputs()) {
    RankedTensorType type = typeOf(input);
    if (!type.hasStaticShape() || !isNumber(type.getElementType()) || aten::isOnHost(input))
      return false;
    // In place, ATen computes in a common type that may be wider than the result's.
    if (!op.getMutates().empty() && type.getElementType() != element)
      return false;
    // Of conversions from real numbers only those to real ones are the same everywhere.
    if (!isComparison(call.function) && isReal(type.getElementType()) && !isReal(element))
      return false;
  }
  if (call.function == Function::Copy && isa<IntegerType>(element) && element.isInteger(1) && !typeOf(call.tensor(0)).getElementType().isInteger(1))
    return false;
  if (isComparison(call.function)) {
    Type compared = typeOf(call.tensor(0)).getElementType();
    return isReal(compared) && (!call.tensor(1) || typeOf(call.tensor(1)).getElementType() == compared);
  }
  return true;
}

Value pkb::convertElement(OpBuilder &builder, Location loc, Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  if (isa<FloatType>(from)) {
    if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(builder, loc, type, value);
    if (from.getIntOrFloatBitWidth() == type.getIntOrFloatBitWidth()) // bf16 and f16
      value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
    return arith::TruncFOp::create(builder, loc, type, value);
  }
  bool boolean = from.isInteger(1);
  if (isa<FloatType>(type)) {
    Type wide = computationOf(type);
    Value real = boolean ? arith::UIToFPOp::create(builder, loc, wide, value).getResult() : arith::SIToFPOp::create(builder, loc, wide, value).getResult();
    return convertElement(builder, loc, real, type);
  }
  if (from.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, loc, type, value);
  return boolean ? arith::ExtUIOp::create(builder, loc, type, value).getResult() : arith::ExtSIOp::create(builder, loc, type, value).getResult();
}

namespace {

/// Writes down the function of one call, in the type that it is computed in.
class ElementBuilder {
public:
  ElementBuilder(OpBuilder &b, const Call &call, ArrayRef<Value> elements) : b(b), call(call), elements(elements), loc(call.op.getLoc()) {}
  Value build();

private:
  Value constant(double value) {
    if (isa<FloatType>(type))
      return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
  }
  Value operand(size_t index);
  Value compute();
  Value compare(arith::CmpFPredicate predicate) { return arith::CmpFOp::create(b, loc, predicate, operand(0), operand(1)); }
  Value add(Value x, Value y) {
    return isa<FloatType>(type) ? arith::AddFOp::create(b, loc, x, y).getResult() : arith::AddIOp::create(b, loc, x, y).getResult();
  }
  Value sub(Value x, Value y) {
    return isa<FloatType>(type) ? arith::SubFOp::create(b, loc, x, y).getResult() : arith::SubIOp::create(b, loc, x, y).getResult();
  }
  Value mul(Value x, Value y) {
    return isa<FloatType>(type) ? arith::MulFOp::create(b, loc, x, y).getResult() : arith::MulIOp::create(b, loc, x, y).getResult();
  }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value scaled(Value x, StringRef name, size_t index);
  Value power();
  template <typename Op> Value unary(Value x) { return Op::create(b, loc, x); }

  OpBuilder &b;
  const Call &call;
  ArrayRef<Value> elements;
  Location loc;
  Type type;   // computed in
  Type common; // what operands are converted to first
};

} // namespace

/// Argument `index` as a number of the type of computation.
Value ElementBuilder::operand(size_t index) {
  if (auto number = call.number(index))
    return constant(*number);
  auto place = cast<aten::OperandAttr>(call.args[index]);
  return convertElement(b, loc, convertElement(b, loc, elements[place.getIndex()], common), type);
}

/// x times a factor given by position or name, 1 where it is not.
Value ElementBuilder::scaled(Value x, StringRef name, size_t index) {
  std::optional<double> factor = index < call.args.size() ? call.number(index) : call.number(call.named(name));
  return factor && *factor != 1 ? mul(x, constant(*factor)) : x;
}

Value ElementBuilder::power() {
  Value x = operand(0);
  if (std::optional<double> exponent = call.number(size_t(1)); exponent && call.tensor(0)) {
    if (*exponent == 0.5)
      return unary<math::SqrtOp>(x);
    if (*exponent == -0.5)
      return unary<math::RsqrtOp>(x);
    if (*exponent == 1)
      return x;
    if (*exponent == 2)
      return mul(x, x);
    if (*exponent == 3)
      return mul(mul(x, x), x);
    if (*exponent == -1)
      return div(constant(1), x);
    if (*exponent == -2)
      return div(constant(1), mul(x, x));
  }
  return math::PowFOp::create(b, loc, x, operand(1));
}

Value ElementBuilder::compute() {
  switch (call.function) {
  case Function::Copy:
    return operand(0);
  case Function::Add:
    return add(operand(0), scaled(operand(1), "alpha", 2));
  case Function::Sub:
    return sub(operand(0), scaled(operand(1), "alpha", 2));
  case Function::ReverseSub:
    return sub(operand(1), scaled(operand(0), "alpha", 2));
  case Function::Mul:
    return mul(operand(0), operand(1));
  case Function::Div:
    // By a number ATen multiplies with the inverse, rounded in the type of computation.
    if (auto number = call.number(size_t(1)); number && call.tensor(0)) {
      double inverse = type.isF64() ? 1 / *number : static_cast<double>(1.0f / static_cast<float>(*number));
      return mul(operand(0), constant(inverse));
    }
    return div(operand(0), operand(1));
  case Function::Pow:
    return power();
  case Function::Maximum:
    return arith::MaximumFOp::create(b, loc, operand(0), operand(1));
  case Function::Minimum:
    return arith::MinimumFOp::create(b, loc, operand(0), operand(1));
  case Function::ClampMin:
    return arith::MaximumFOp::create(b, loc, operand(0), operand(1));
  case Function::ClampMax:
    return arith::MinimumFOp::create(b, loc, operand(0), operand(1));
  case Function::Clamp: {
    Value x = operand(0);
    if (call.number(size_t(1)))
      x = arith::MaximumFOp::create(b, loc, x, operand(1));
    return call.number(size_t(2)) ? arith::MinimumFOp::create(b, loc, x, operand(2)).getResult() : x;
  }
  case Function::Where:
    return arith::SelectOp::create(b, loc, elements[cast<aten::OperandAttr>(call.args[0]).getIndex()], operand(1), operand(2));
  case Function::AddCmul: // ((value * t1) * t2) + self
    return add(operand(0), mul(scaled(operand(1), "value", call.args.size()), operand(2)));
  case Function::Eq:
    return compare(arith::CmpFPredicate::OEQ);
  case Function::Ne:
    return compare(arith::CmpFPredicate::UNE);
  case Function::Lt:
    return compare(arith::CmpFPredicate::OLT);
  case Function::Le:
    return compare(arith::CmpFPredicate::OLE);
  case Function::Gt:
    return compare(arith::CmpFPredicate::OGT);
  case Function::Ge:
    return compare(arith::CmpFPredicate::OGE);
  case Function::Neg:
    return unary<arith::NegFOp>(operand(0));
  case Function::Abs:
    return unary<math::AbsFOp>(operand(0));
  case Function::Sqrt:
    return unary<math::SqrtOp>(operand(0));
  case Function::Rsqrt:
    return unary<math::RsqrtOp>(operand(0));
  case Function::Exp:
    return unary<math::ExpOp>(operand(0));
  case Function::Exp2:
    return unary<math::Exp2Op>(operand(0));
  case Function::ExpM1:
    return unary<math::ExpM1Op>(operand(0));
  case Function::Log:
    return unary<math::LogOp>(operand(0));
  case Function::Log2:
    return unary<math::Log2Op>(operand(0));
  case Function::Log1p:
    return unary<math::Log1pOp>(operand(0));
  case Function::Tanh:
    return unary<math::TanhOp>(operand(0));
  case Function::Erf:
    return unary<math::ErfOp>(operand(0));
  case Function::Sin:
    return unary<math::SinOp>(operand(0));
  case Function::Cos:
    return unary<math::CosOp>(operand(0));
  case Function::Floor:
    return unary<math::FloorOp>(operand(0));
  case Function::Ceil:
    return unary<math::CeilOp>(operand(0));
  case Function::Reciprocal:
    return div(constant(1), operand(0));
  case Function::Square: {
    Value x = operand(0);
    return mul(x, x);
  }
  case Function::Sigmoid:
    return div(constant(1), add(constant(1), unary<math::ExpOp>(unary<arith::NegFOp>(operand(0)))));
  case Function::Silu: {
    Value x = operand(0);
    return div(x, add(constant(1), unary<math::ExpOp>(unary<arith::NegFOp>(x))));
  }
  case Function::Relu:
    return arith::MaximumFOp::create(b, loc, operand(0), constant(0));
  case Function::Gelu: {
    Value x = operand(0);
    auto form = dyn_cast_or_null<StringAttr>(call.named("approximate"));
    if (form && form.getValue() == "tanh") {
      Value cube = mul(mul(x, x), x);
      Value inner = mul(constant(llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi), add(x, mul(constant(0.044715), cube)));
      return mul(mul(constant(0.5), x), add(constant(1), unary<math::TanhOp>(inner)));
    }
    return mul(mul(x, constant(0.5)), add(constant(1), unary<math::ErfOp>(mul(x, constant(llvm::numbers::sqrt2 / 2)))));
  }
  case Function::Unknown:
    break;
  }
  return {};
}

Value ElementBuilder::build() {
  Type element = call.result.getElementType();
  // A copy has no type of computation of its own.
  common = isComparison(call.function) || call.function == Function::Copy ? typeOf(call.tensor(0)).getElementType() : element;
  type = call.function == Function::Copy ? common : computationOf(common);
  return convertElement(b, loc, compute(), element);
}

Value pkb::buildElementwise(OpBuilder &builder, aten::CallOp op, ArrayRef<Value> elements) {
  Call call(op);
  return ElementBuilder(builder, call, elements).build();
}

Value pkb::getReducedTensor(aten::CallOp op) { return Call(op).tensor(0); }

std::optional<RowReduction> pkb::getRowReduction(aten::CallOp op) {
  if (takesNumbers(op))
    return std::nullopt;
  Call call(op);
  Value input = call.result ? call.tensor(0) : Value();
  if (!input || !op.getMutates().empty() || aten::isOnHost(input))
    return std::nullopt;
  RankedTensorType type = typeOf(input);
  if (!type.hasStaticShape() || !isReal(type.getElementType()) || !isReal(call.result.getElementType()))
    return std::nullopt;
  StringRef name = op.getCallee();
  RowReduction reduction;
  size_t dimsAt = 1;
  if (name == "aten::sum" || name == "aten::mean")
    reduction.kind = comm::ReduceKind::Sum;
  else if (name == "aten::amax")
    reduction.kind = comm::ReduceKind::Max;
  else if (name == "aten::amin")
    reduction.kind = comm::ReduceKind::Min;
  else if (name == "aten::linalg_vector_norm" && (call.args.size() < 2 || call.number(size_t(1)) == 2.0)) {
    reduction.kind = comm::ReduceKind::Sum;
    reduction.squares = true;
    dimsAt = 2;
  } else
    return std::nullopt;
  for (NamedAttribute argument : op.getKwargs())
    if (!isa<aten::ScalarTypeAttr, UnitAttr>(argument.getValue()))
      return std::nullopt;

  // The reduced dimensions: all of them if none is named, else they must be the last ones.
  llvm::SmallDenseSet<int64_t> dims;
  if (dimsAt < call.args.size())
    if (auto list = dyn_cast<DenseI64ArrayAttr>(call.args[dimsAt]))
      for (int64_t dim : list.asArrayRef())
        dims.insert(dim < 0 ? dim + type.getRank() : dim);
  if (dimsAt < call.args.size() && !isa<DenseI64ArrayAttr, UnitAttr>(call.args[dimsAt]))
    return std::nullopt;
  int64_t first = dims.empty() ? 0 : type.getRank() - static_cast<int64_t>(dims.size());
  reduction.rows = reduction.width = 1;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (dim >= first && !dims.empty() && !dims.contains(dim))
      return std::nullopt;
    (dim < first ? reduction.rows : reduction.width) *= type.getDimSize(dim);
  }
  if (call.result.getNumElements() != reduction.rows || reduction.rows == 0 || reduction.width == 0)
    return std::nullopt;
  bool wide = type.getElementType().isF64() || call.result.getElementType().isF64();
  reduction.accumulation = wide ? Type(Float64Type::get(op.getContext())) : Type(Float32Type::get(op.getContext()));
  if (name == "aten::mean")
    reduction.scale = wide ? 1.0 / reduction.width : static_cast<double>(1.0f / static_cast<float>(reduction.width));
  return reduction;
}
