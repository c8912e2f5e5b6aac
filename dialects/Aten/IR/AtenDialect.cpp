//===- AtenDialect.cpp - registration and discardable attributes ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb::aten;

/// `[1, 2]`, or `[]`.
static ParseResult parseIntegers(AsmParser &parser,
                                 SmallVector<int64_t> &integers) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square,
      [&] { return parser.parseInteger(integers.emplace_back()); });
}

static void printIntegers(AsmPrinter &printer, ArrayRef<int64_t> integers) {
  printer << "[";
  llvm::interleaveComma(integers, printer);
  printer << "]";
}

#include "dialects/Aten/IR/AtenDialect.cpp.inc"
#include "dialects/Aten/IR/AtenEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Aten/IR/AtenAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Aten/IR/AtenOps.cpp.inc"

void AtenDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Aten/IR/AtenAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Aten/IR/AtenOps.cpp.inc"
      >();
}

Operation *AtenDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type || !isa<RankedTensorType>(type))
    return nullptr;
  return LiteralOp::create(builder, loc, elements);
}

LogicalResult AtenDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kHostAttrName) {
    if (!isa<CallOp>(op) || !isa<UnitAttr>(attribute.getValue()))
      return op->emitError("attribute ")
             << kHostAttrName << " must be a unit attribute of aten.call";
    return success();
  }
  if (attribute.getName() != kProgramAttrName)
    return op->emitError("unknown attribute of dialect aten: ")
           << attribute.getName();
  if (!isa<ModuleOp, FunctionOpInterface>(op))
    return op->emitError("attribute ") << kProgramAttrName
                                       << " must be on a module or function, got: "
                                       << op->getName();
  if (!isa<ProgramAttr>(attribute.getValue()))
    return op->emitError("attribute ")
           << kProgramAttrName
           << " must be an #aten.program, got: " << attribute.getValue();
  return success();
}

/// An alias must name another argument or result: `own` is the one that carries
/// the attribute.
static LogicalResult verifyAlias(Operation *op, Attribute attribute,
                                 int64_t numArguments, int64_t numResults,
                                 AliasAttr own) {
  auto alias = dyn_cast<AliasAttr>(attribute);
  if (!alias)
    return op->emitError("attribute ")
           << kAliasOfAttrName << " must be an #aten.alias, got: " << attribute;
  int64_t limit =
      alias.getKind() == AliasKind::Argument ? numArguments : numResults;
  if (alias.getIndex() < 0 || alias.getIndex() >= limit || alias == own)
    return op->emitError("attribute ")
           << kAliasOfAttrName << " must name another one of " << limit << " "
           << stringifyAliasKind(alias.getKind())
           << "s, got: " << alias.getIndex();
  return success();
}

LogicalResult
AtenDialect::verifyRegionArgAttribute(Operation *op, unsigned regionIndex,
                                      unsigned argIndex,
                                      NamedAttribute attribute) {
  if (attribute.getName() == kAliasOfAttrName && isa<FunctionOpInterface>(op))
    return verifyAlias(
        op, attribute.getValue(), cast<FunctionOpInterface>(op).getNumArguments(),
        0, AliasAttr::get(op->getContext(), AliasKind::Argument, argIndex));
  if (attribute.getName() == kWrittenAttrName)
    return isa<UnitAttr>(attribute.getValue())
               ? success()
               : op->emitError("attribute ") << kWrittenAttrName << " must be a unit attribute, got: " << attribute.getValue();
  if (attribute.getName() == kAliasBytesAttrName) {
    auto bytes = dyn_cast<IntegerAttr>(attribute.getValue());
    return bytes && bytes.getInt() >= 0
               ? success()
               : op->emitError("attribute ") << kAliasBytesAttrName << " must be a number of bytes, got: " << attribute.getValue();
  }
  return op->emitError("unknown attribute of dialect aten on an argument: ")
         << attribute.getName();
}

LogicalResult
AtenDialect::verifyRegionResultAttribute(Operation *op, unsigned regionIndex,
                                         unsigned resultIndex,
                                         NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  int64_t numArguments = function ? function.getNumArguments() : 0;
  if (attribute.getName() == kAliasOfAttrName)
    return verifyAlias(
        op, attribute.getValue(), numArguments,
        function ? function.getNumResults() : 0,
        AliasAttr::get(op->getContext(), AliasKind::Result, resultIndex));
  if (attribute.getName() != kMutationOfAttrName)
    return op->emitError("unknown attribute of dialect aten on a result: ")
           << attribute.getName();
  auto index = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!index || index.getInt() < 0 || index.getInt() >= numArguments)
    return op->emitError("attribute ")
           << kMutationOfAttrName << " must name one of " << numArguments
           << " arguments, got: " << attribute.getValue();
  Type argument = function.getArgumentTypes()[index.getInt()];
  Type result = function.getResultTypes()[resultIndex];
  // After bufferization the argument is a memref, and nothing is returned.
  if (isa<TensorType>(argument) && argument != result)
    return op->emitError("result with ")
           << kMutationOfAttrName << " must have the type of argument "
           << index.getInt() << ": " << argument << ", got: " << result;
  return success();
}
