//===- CommDialect.cpp - registration and attributes of modules -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Comm/IR/Comm.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace pkb::comm;

#include "dialects/Comm/IR/CommDialect.cpp.inc"

void CommDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Comm/IR/CommOps.cpp.inc"
      >();
}

Operation *CommDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

static LogicalResult verifyRanks(Operation *op, Attribute attribute) {
  auto ranks = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (!isa<FunctionOpInterface>(op))
    return op->emitError("attribute ") << kRanksAttrName
                                       << " must be on a function, got: "
                                       << op->getName();
  bool ascending = ranks && !ranks.empty() && ranks[0] >= 0 &&
                   llvm::is_sorted(ranks.asArrayRef(), std::less_equal<>());
  if (!ascending)
    return op->emitError("attribute ")
           << kRanksAttrName << " must be an array of i64, ascending, got: "
           << attribute;
  return success();
}

static LogicalResult verifyExchange(Operation *op, Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  if (!isa<CollectiveOpInterface>(op))
    return op->emitError("attribute ") << kExchangeAttrName
                                       << " must be on a collective, got: "
                                       << op->getName();
  if (!number || !number.getType().isInteger(64) || number.getInt() < 0)
    return op->emitError("attribute ")
           << kExchangeAttrName
           << " must be an i64 that is not negative, got: " << attribute;
  return success();
}

LogicalResult CommDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kRanksAttrName)
    return verifyRanks(op, attribute.getValue());
  if (attribute.getName() == kDifferenceAttrName) {
    if (isa<FunctionOpInterface>(op) && isa<StringAttr>(attribute.getValue()))
      return success();
    return op->emitError("attribute ")
           << kDifferenceAttrName << " must be a string on a function, got: "
           << attribute.getValue();
  }
  if (attribute.getName() == kExchangeAttrName)
    return verifyExchange(op, attribute.getValue());
  if (attribute.getName() != kMeshAttrName)
    return op->emitError("unknown attribute of dialect comm: ")
           << attribute.getName();
  if (!isa<ModuleOp>(op))
    return op->emitError("attribute ")
           << kMeshAttrName << " must be on a module, got: " << op->getName();
  if (!isa<MeshAttr>(attribute.getValue()))
    return op->emitError("attribute ")
           << kMeshAttrName
           << " must be a #comm.mesh, got: " << attribute.getValue();
  return success();
}

MeshAttr pkb::comm::getMesh(Operation *op) {
  for (Operation *at = op; at; at = at->getParentOp())
    if (auto module = dyn_cast<ModuleOp>(at))
      if (auto mesh =
              module->getAttrOfType<MeshAttr>(kMeshAttrName))
        return mesh;
  return {};
}

OpFoldResult WorldSizeOp::fold(FoldAdaptor) {
  MeshAttr mesh = getMesh(getOperation());
  if (!mesh)
    return {};
  return IntegerAttr::get(IndexType::get(getContext()), mesh.getSize());
}
