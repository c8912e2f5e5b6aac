//===- CommDialect.cpp - registration and attributes of modules -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Comm/IR/Comm.h"
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

LogicalResult CommDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
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
