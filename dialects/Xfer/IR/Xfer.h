// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Xfer.h - level L2 ----------------------------------------*- C++ -*-===//
//
// The only header of the xfer dialect that others include.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_XFER_IR_XFER_H
#define PKB_DIALECTS_XFER_IR_XFER_H

#include "dialects/Comm/IR/Comm.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Xfer/IR/XferDialect.h.inc"
#include "dialects/Xfer/IR/XferEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Xfer/IR/XferAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Xfer/IR/XferTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Xfer/IR/XferOps.h.inc"

namespace pkb::xfer {

/// Name of the discardable attribute by which a collective of level L1 carries its schedule (a ScheduleAttr).
inline constexpr llvm::StringLiteral kScheduleAttrName = "xfer.schedule";

/// Name of the discardable attribute with the predicted time of that schedule in microseconds (an FloatAttr of f64).
inline constexpr llvm::StringLiteral kPredictedAttrName = "xfer.predicted_us";

/// Name of the discardable attribute of a module with the number of multiprocessors of one device (an IntegerAttr of i64).
inline constexpr llvm::StringLiteral kSmsAttrName = "xfer.sms";

/// Bytes of one element in memory; i1 is one byte, a vector as many as its elements. 0 for types that have no fixed size.
int64_t elementBytes(mlir::Type type);

/// Numbers per element of a tile: the length of a vector, else 1.
int64_t elementWidth(mlir::Type type);

/// True if the LL lines of a `lines` buffer are packed, 48 bytes to four lines: its chunks are whole groups of such vectors.
bool isPacked(SymmType type);

/// Bytes of LL lines that a `lines` buffer holds of one rank: those of the longest message of the pipelines that use it.
int64_t linesOf(SymmBufferOp buffer);

/// True if the elements lie one after the other, row by row, wherever the first is; false where a size is not static.
bool isContiguous(mlir::MemRefType type);

/// The kernel's argument that `memory`, itself or another order of its elements, is; null for anything else.
mlir::BlockArgument argumentBehind(mlir::Value memory);

} // namespace pkb::xfer

#endif // PKB_DIALECTS_XFER_IR_XFER_H
