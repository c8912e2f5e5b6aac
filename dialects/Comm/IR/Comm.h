//===- Comm.h - the comm dialect: umbrella header ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives on tensors with value semantics. The only header of this dialect
// that other folders include.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_COMM_IR_COMM_H
#define DIALECTS_COMM_IR_COMM_H

#include "dialects/Comm/IR/CommConstants.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

#include "dialects/Comm/IR/CommDialect.h.inc"
#include "dialects/Comm/IR/CommEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Comm/IR/CommAttrs.h.inc"

namespace pkb::comm {

/// The order in which a program communicates, as a side-effect resource.
struct OrderResource
    : public mlir::SideEffects::Resource::Base<OrderResource> {
  llvm::StringRef getName() final { return "CommunicationOrder"; }
};

/// The mesh of the module that holds `op`; null if the module has none.
MeshAttr getMesh(mlir::Operation *op);

/// The ranks that run a function; null if all do.
inline mlir::DenseI64ArrayAttr getRanks(mlir::Operation *function) {
  return function->getAttrOfType<mlir::DenseI64ArrayAttr>(kRanksAttrName);
}

/// The number of a collective in functions of different ranks; null in a
/// function that all ranks run.
inline mlir::IntegerAttr getExchange(mlir::Operation *collective) {
  return collective->getAttrOfType<mlir::IntegerAttr>(kExchangeAttrName);
}

/// The type of a fresh tensor like `input`, a ranked tensor: with its shape and
/// element type, contiguous from the start of its storage.
mlir::RankedTensorType getFreshType(mlir::Type input);

/// The text of `factors`: numbers that are read as what they were (MLIR prints those of an array with six digits).
void printFactors(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::DenseF64ArrayAttr factors);
mlir::ParseResult parseFactors(mlir::OpAsmParser &parser, mlir::DenseF64ArrayAttr &factors);

namespace detail {
/// The checks that the interfaces make for each implementation.
llvm::LogicalResult verifyCollective(mlir::Operation *op);
llvm::LogicalResult verifyReduction(mlir::Operation *op);
llvm::LogicalResult verifyRooted(mlir::Operation *op);
llvm::LogicalResult verifyUneven(mlir::Operation *op);
} // namespace detail
} // namespace pkb::comm

#include "dialects/Comm/IR/CommOpInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Comm/IR/CommOps.h.inc"

namespace pkb::comm {
/// The phases of a region, in order; none where it holds its collective itself.
llvm::SmallVector<FusedOp> getPhases(FusedOp op);
} // namespace pkb::comm

#endif // DIALECTS_COMM_IR_COMM_H
